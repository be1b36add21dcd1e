//! What a command hook gives back to the agent that called it.

use serde::Serialize;

use crate::text;

/// The exit code by which a hook of both dialects closes a gate, with the reason on standard error.
const CLOSES: u8 = 2;

/// An answer, as the process that the agent started has to give it: all of it, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HookAnswer {
    /// For standard output: nothing, or one JSON object and a line end.
    pub stdout: String,
    /// For standard error: nothing, or lines, the first of which begins with `seamgate: `.
    pub stderr: String,
    /// The exit code.
    pub exit_code: u8,
}

impl HookAnswer {
    /// No objection, and nothing to say. This is not an approval: the agent goes on as if there were no hook.
    pub(crate) fn nothing() -> Self {
        Self {
            stdout: String::new(),
            stderr: String::new(),
            exit_code: 0,
        }
    }

    /// A decision in JSON.
    pub(crate) fn json(output: &impl Serialize) -> Self {
        match serde_json::to_string(output) {
            Ok(json) => Self {
                stdout: json + "\n",
                ..Self::nothing()
            },
            // Everything in an output is text or JSON that was checked before. If it can't be written down all the same,
            // a decision must not turn into silence.
            Err(error) => Self::closed(&format!("the decision can't be written down: {error}")),
        }
    }

    /// The gate closes, with this as the reason.
    pub(crate) fn closed(message: &str) -> Self {
        Self {
            exit_code: CLOSES,
            ..Self::noted(message)
        }
    }

    /// A note for whoever reads the agent's log, which changes nothing.
    pub(crate) fn noted(message: &str) -> Self {
        Self::nothing().and_note(message)
    }

    /// The same answer with a note more.
    pub(crate) fn and_note(mut self, message: &str) -> Self {
        self.stderr.push_str("seamgate: ");
        self.stderr.push_str(&text::message(message));
        self.stderr.push('\n');
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_whole_lines() {
        assert_eq!(
            HookAnswer::json(&["a"]),
            HookAnswer {
                stdout: "[\"a\"]\n".to_owned(),
                stderr: String::new(),
                exit_code: 0
            }
        );
        assert_eq!(
            HookAnswer::closed("first\nsecond\u{1b}[31m").and_note("third"),
            HookAnswer {
                stdout: String::new(),
                stderr: "seamgate: first\nsecond [31m\nseamgate: third\n".to_owned(),
                exit_code: 2
            }
        );
    }

    #[test]
    fn a_closing_answer_is_never_blank() {
        // Codex takes exit code 2 without text for no objection.
        assert_eq!(
            HookAnswer::closed(" \n").stderr,
            "seamgate: nothing could be decided\n"
        );
    }
}
