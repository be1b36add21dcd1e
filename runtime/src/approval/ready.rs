//! Approvers that are ready to use.

use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex, PoisonError};

use super::{ApprovalOutcome, ApprovalRequest, Approver};
use crate::contained::Boxed;

/// Says no to everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct AlwaysReject;

impl Approver for AlwaysReject {
    fn approve<'a>(&'a self, _: &'a ApprovalRequest) -> Boxed<'a, Option<ApprovalOutcome>> {
        Box::pin(async { Some(ApprovalOutcome::Rejected) })
    }
}

/// Asks a function of the embedding program.
pub struct Callback<F>(pub F);

impl<F, R> Approver for Callback<F>
where
    F: Fn(ApprovalRequest) -> R + Send + Sync,
    R: Future<Output = Option<ApprovalOutcome>> + Send + 'static,
{
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> Boxed<'a, Option<ApprovalOutcome>> {
        Box::pin((self.0)(request.clone()))
    }
}

/// Asks a person at a terminal, one question at a time. `y` and `yes` allow the call once; anything else rejects it.
///
/// A terminal that ends is one at which nobody is.
pub struct Terminal<I, O>(Arc<Mutex<(I, O)>>);

impl<I: BufRead + Send + 'static, O: Write + Send + 'static> Terminal<I, O> {
    /// Reads answers from one and writes questions to the other.
    pub fn new(input: I, output: O) -> Self {
        Self(Arc::new(Mutex::new((input, output))))
    }
}

impl<I: BufRead + Send + 'static, O: Write + Send + 'static> Approver for Terminal<I, O> {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> Boxed<'a, Option<ApprovalOutcome>> {
        let question = question(request);
        let signal = request.signal.clone();
        let terminal = self.0.clone();
        Box::pin(async move {
            // A read can't be taken back, so it gets a thread that may outlive the question.
            let asking = tokio::task::spawn_blocking(move || {
                let mut both = terminal.lock().unwrap_or_else(PoisonError::into_inner);
                if signal.is_fired() {
                    return Ok(ApprovalOutcome::Cancelled);
                }
                let (input, output) = &mut *both;
                ask(input, output, &question)
            });
            match asking.await {
                Ok(Ok(outcome)) => Some(outcome),
                Ok(Err(_)) | Err(_) => Some(ApprovalOutcome::Unavailable),
            }
        })
    }
}

fn ask(
    input: &mut impl BufRead,
    output: &mut impl Write,
    question: &str,
) -> io::Result<ApprovalOutcome> {
    output.write_all(question.as_bytes())?;
    output.flush()?;
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Ok(ApprovalOutcome::Unavailable);
    }
    Ok(match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => ApprovalOutcome::AllowedOnce,
        _ => ApprovalOutcome::Rejected,
    })
}

/// What the person reads. Everything in it may be written by a model, so nothing in it reaches the terminal as a command.
fn question(request: &ApprovalRequest) -> String {
    let mut text = format!(
        "\nThe agent wants to run {} with {}\n",
        printable(&request.call.tool),
        printable(request.call.arguments.text())
    );
    if let Some(original) = &request.original_arguments {
        text += &format!("(the model wrote {})\n", printable(original.text()));
    }
    // Each reason with its author: a hook may write anything, and does not get to speak for somebody else.
    for said in &request.asked_by {
        let (hook, reason) = (printable(said.hook.as_str()), printable(&said.text));
        text += &format!("hook `{hook}` asks: {reason}\n");
    }
    text + "Allow this once? [y/N] "
}

/// How much of a text a question shows, in characters.
const SHOWN: usize = 8_000;

fn printable(text: &str) -> String {
    let shown: String = visible(text).take(SHOWN).collect();
    match text.chars().count() {
        all if all > SHOWN => {
            format!(
                "{shown}… (and {} characters more, which you have not seen)",
                all - SHOWN
            )
        }
        _ => shown,
    }
}

fn visible(text: &str) -> impl Iterator<Item = char> {
    text.chars().map(|character| match character {
        '\n' => ' ',
        // Invisible and reordering characters would let a call read as another one.
        '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}' => '\u{fffd}',
        character if character.is_control() => '\u{fffd}',
        character => character,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::json::Json;
    use crate::pipeline::Signal;
    use crate::seams::{Agent, Attributed, ToolCall};

    fn request() -> ApprovalRequest {
        let call = ToolCall {
            call_id: "c".to_owned(),
            root_call_id: "c".to_owned(),
            tool: "Bash\u{1b}[2J".to_owned(),
            arguments: Json::parse(r#"{"command":"ls"}"#).unwrap(),
            agent: Agent::default(),
        };
        ApprovalRequest::new(
            Agent::default(),
            call,
            None,
            vec![Attributed::new(&"careful".into(), "look\u{202e}first")],
            Signal::never(),
        )
    }

    async fn answer(line: &str) -> (Option<ApprovalOutcome>, String) {
        let terminal = Terminal::new(Cursor::new(line.to_owned()), Vec::new());
        let outcome = terminal.approve(&request()).await;
        let both = terminal.0.lock().unwrap();
        (outcome, String::from_utf8(both.1.clone()).unwrap())
    }

    #[tokio::test]
    async fn only_a_clear_yes_is_one() {
        for (line, outcome) in [
            ("y\n", ApprovalOutcome::AllowedOnce),
            (" Yes \n", ApprovalOutcome::AllowedOnce),
            ("\n", ApprovalOutcome::Rejected),
            ("yesterday\n", ApprovalOutcome::Rejected),
            ("", ApprovalOutcome::Unavailable),
        ] {
            assert_eq!(answer(line).await.0, Some(outcome), "{line:?}");
        }
    }

    #[tokio::test]
    async fn a_question_commands_no_terminal() {
        let (_, asked) = answer("n\n").await;
        assert_eq!(
            asked,
            "\nThe agent wants to run Bash\u{fffd}[2J with {\"command\":\"ls\"}\nhook `careful` asks: look\u{fffd}first\nAllow this once? [y/N] "
        );
    }

    #[tokio::test]
    async fn a_question_that_shows_only_a_part_says_so() {
        let mut long = request();
        long.asked_by[0].text = "ä".repeat(SHOWN + 7);
        let asked = question(&long);
        assert!(asked.contains("ä… (and 7 characters more, which you have not seen)"));
        assert!(!question(&request()).contains("more"));
    }

    #[test]
    fn every_question_has_an_id_of_its_own_and_one_digest_for_one_content() {
        let (one, two) = (request(), request());
        assert_ne!(one.id, two.id);
        assert_eq!(one.digest, two.digest);
    }
}
