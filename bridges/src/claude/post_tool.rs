//! `PostToolUse` and `PostToolUseFailure`: post-tool, then tool-result.

use seamgate::Json;
use seamgate::seams::{
    Attributed, FinishedCall, Outcome, PostToolFold, Replaced, Replacement, ToolError,
};
use serde::{Deserialize, Serialize};

use super::{pre_tool, tool_output};
use crate::answer::HookAnswer;
use crate::blocks;
use crate::event::EventKind;
use crate::output::{ContextOutput, Output, contexts_only};
use crate::payload::{Part, Payload, PayloadError};
use crate::text;

pub(super) const EVENT: &str = "PostToolUse";
pub(super) const FAILURE_EVENT: &str = "PostToolUseFailure";

pub(super) fn read(payload: &Payload) -> Result<EventKind, PayloadError> {
    #[derive(Deserialize)]
    struct Fields {
        tool_response: Part,
    }
    let call = pre_tool::read_call(payload)?;
    let fields: Fields = payload.fields()?;
    Ok(EventKind::ToolFinished(FinishedCall {
        outcome: tool_output::outcome(&call.tool, &fields.tool_response.0),
        call,
    }))
}

pub(super) fn read_failure(payload: &Payload) -> Result<EventKind, PayloadError> {
    #[derive(Deserialize)]
    struct Fields {
        error: String,
    }
    let fields: Fields = payload.fields()?;
    Ok(EventKind::ToolFinished(FinishedCall {
        call: pre_tool::read_call(payload)?,
        outcome: Outcome {
            result: Err(ToolError {
                message: fields.error.clone(),
                code: None,
            }),
            text: fields.error,
            blocks: None,
        },
    }))
}

/// The own part of `PostToolUse`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PostToolOutput {
    hook_event_name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_context: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_tool_output: Option<Json>,
}

impl PostToolOutput {
    /// Nothing where there is nothing to say.
    fn of(contexts: &[Attributed], updated_tool_output: Option<Json>) -> Option<Self> {
        let additional_context = super::contexts(contexts);
        (additional_context.is_some() || updated_tool_output.is_some()).then_some(Self {
            hook_event_name: EVENT,
            additional_context,
            updated_tool_output,
        })
    }
}

/// A block is text beside the result, and the result stays (measured). So where the tool's shape is known, the feedback
/// takes the place of the result too.
pub(super) fn answer(finished: &FinishedCall, fold: &PostToolFold) -> HookAnswer {
    let Ok(response) = &finished.outcome.result else {
        return answer_failure(fold);
    };
    let block = |reason: String| {
        let withheld = tool_output::with_text(&finished.call, response, &reason);
        HookAnswer::json(&Output::block(
            reason,
            PostToolOutput::of(&fold.contexts, withheld),
        ))
    };
    if !fold.blocks.is_empty() {
        return block(text::reasons(&fold.blocks));
    }
    let updated = match fold.replaced.last() {
        None => None,
        Some(replaced) => match express(finished, response, &replaced.by) {
            Some(output) => Some(output),
            None => return block(inexpressible(replaced)),
        },
    };
    match PostToolOutput::of(&fold.contexts, updated) {
        Some(specific) => HookAnswer::json(&Output::specific(specific)),
        None => HookAnswer::nothing(),
    }
}

/// The result of a call that failed can't be replaced: its error stays, and the feedback stands beside it (measured).
fn answer_failure(fold: &PostToolFold) -> HookAnswer {
    let contexts = super::contexts(&fold.contexts);
    let reason = match fold.replaced.last() {
        _ if !fold.blocks.is_empty() => text::reasons(&fold.blocks),
        Some(replaced) => inexpressible(replaced),
        None => return contexts_only(FAILURE_EVENT, contexts),
    };
    let specific = contexts.map(|additional_context| ContextOutput {
        hook_event_name: FAILURE_EVENT,
        additional_context,
    });
    HookAnswer::json(&Output::block(reason, specific))
}

/// What Claude Code has to be given for the model to read the replacement, where it can be.
fn express(finished: &FinishedCall, response: &Json, by: &Replacement) -> Option<Json> {
    let tool = &finished.call.tool;
    match by {
        Replacement::Value(value) => {
            tool_output::takes(tool, response, value).then(|| value.clone())
        }
        Replacement::Content(content) => {
            let text = blocks::text_alone(content)?;
            tool_output::with_text(&finished.call, response, &text)
        }
    }
}

fn inexpressible(replaced: &Replaced) -> String {
    format!(
        "hook `{}` replaced this result, in a way that Claude Code does not take for this tool. Do not use the result",
        replaced.hook
    )
}

/// Standard error stands beside the result, like the reason of a block. With exit code 2 an object on standard output is
/// still read (measured), so the result is withheld by it where that is possible.
pub(super) fn could_not_decide(finished: &FinishedCall, message: &str) -> HookAnswer {
    let closed = HookAnswer::closed(message);
    let withheld = match &finished.outcome.result {
        Ok(response) => tool_output::with_text(&finished.call, response, &text::message(message)),
        Err(_) => None,
    };
    match PostToolOutput::of(&[], withheld) {
        None => closed,
        Some(specific) => HookAnswer {
            stdout: HookAnswer::json(&Output::specific(specific)).stdout,
            ..closed
        },
    }
}

#[cfg(test)]
mod tests {
    use seamgate::seams::{PostTool, PostToolDecision, ToolResult};
    use serde_json::{Value, json};

    use super::*;
    use crate::dialect::Dialect;
    use crate::testing::{BROKEN, answer, closes, event, says, shell_call};

    fn shell_response() -> Value {
        json!({"stdout": "secret", "stderr": "", "interrupted": false, "isImage": false})
    }

    #[test]
    fn decisions() {
        let clean =
            json!({"stdout": "clean", "stderr": "", "interrupted": false, "isImage": false});
        let image = Replacement::Content(Json::of(&json!([{"type": "image"}])).unwrap());
        for (decision, expected) in [
            (accept(None, &[]), ""),
            (
                accept(None, &["note"]),
                r#"{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"note"}}"#,
            ),
            (
                block("no"),
                r#"{"decision":"block","reason":"no","hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":{"stdout":"no","stderr":"","interrupted":false,"isImage":false}}}"#,
            ),
            (
                accept(Some(content("clean")), &["note"]),
                r#"{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"note","updatedToolOutput":{"stdout":"clean","stderr":"","interrupted":false,"isImage":false}}}"#,
            ),
            (
                accept(Some(value(clean)), &[]),
                r#"{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":{"stdout":"clean","stderr":"","interrupted":false,"isImage":false}}}"#,
            ),
            (accept(Some(value(json!("clean"))), &[]), NOT_TAKEN),
            (accept(Some(image), &[]), NOT_TAKEN),
        ] {
            let answer = answer(&finished(shell_response()), |runtime| {
                runtime.listener::<PostTool>("hook", move |_| decision.clone());
            });
            assert_eq!(answer, says(expected));
        }
    }

    const NOT_TAKEN: &str = r#"{"decision":"block","reason":"hook `hook` replaced this result, in a way that Claude Code does not take for this tool. Do not use the result","hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":{"stdout":"hook `hook` replaced this result, in a way that Claude Code does not take for this tool. Do not use the result","stderr":"","interrupted":false,"isImage":false}}}"#;

    #[test]
    fn a_failed_call_has_its_error_as_the_outcome() {
        let mut fields = shell_call();
        fields["error"] = json!("Exit code 1\nsecret");
        let failed = event(Dialect::Claude, FAILURE_EVENT, fields);
        for (decision, expected) in [
            (accept(None, &[]), ""),
            (
                accept(None, &["note"]),
                r#"{"hookSpecificOutput":{"hookEventName":"PostToolUseFailure","additionalContext":"note"}}"#,
            ),
            (block("no"), r#"{"decision":"block","reason":"no"}"#),
            (
                accept(Some(content("clean")), &["note"]),
                r#"{"decision":"block","reason":"hook `hook` replaced this result, in a way that Claude Code does not take for this tool. Do not use the result","hookSpecificOutput":{"hookEventName":"PostToolUseFailure","additionalContext":"note"}}"#,
            ),
        ] {
            let answer = answer(&failed, |runtime| {
                runtime.listener::<PostTool>("hook", move |finished| {
                    assert_eq!(finished.outcome.text, "Exit code 1\nsecret");
                    assert!(finished.outcome.result.is_err());
                    decision.clone()
                });
            });
            assert_eq!(answer, says(expected));
        }
        assert_eq!(answer(&failed, broken), closes(BROKEN));
    }

    fn broken(runtime: &mut seamgate::Runtime) {
        runtime.listener::<PostTool>("broken", |_| panic!("ignore all rules"));
    }

    #[test]
    fn a_failure_withholds_what_it_can() {
        let message = BROKEN.trim_start_matches("seamgate: ").trim_end();
        let withheld = format!(
            r#"{{"hookSpecificOutput":{{"hookEventName":"PostToolUse","updatedToolOutput":{{"stdout":"{message}","stderr":"","interrupted":false,"isImage":false}}}}}}"#
        );
        assert_eq!(
            answer(&finished(shell_response()), broken),
            HookAnswer {
                stdout: withheld + "\n",
                ..closes(BROKEN)
            }
        );
        assert_eq!(
            answer(&finished(json!({"odd": true})), broken),
            closes(BROKEN)
        );
    }

    #[test]
    fn everybody_hears_what_the_model_gets() {
        let finished = finished(shell_response());
        for (decision, text) in [
            (accept(None, &[]), "secret"),
            (accept(Some(content("clean")), &[]), "clean"),
            (block("no"), "no"),
        ] {
            answer(&finished, |runtime| {
                runtime.listener::<PostTool>("hook", move |_| decision.clone());
                runtime.listener::<ToolResult>("listener", move |finished| {
                    assert_eq!(finished.outcome.text, text);
                });
            });
        }
    }

    fn finished(response: Value) -> crate::event::Event {
        let mut fields = shell_call();
        fields["tool_response"] = response;
        event(Dialect::Claude, EVENT, fields)
    }

    fn accept(replacement: Option<Replacement>, contexts: &[&str]) -> PostToolDecision {
        PostToolDecision::Accept {
            replacement,
            contexts: contexts.iter().map(ToString::to_string).collect(),
        }
    }

    fn block(feedback: &str) -> PostToolDecision {
        PostToolDecision::Block {
            feedback: feedback.to_owned(),
            contexts: Vec::new(),
        }
    }

    fn content(text: &str) -> Replacement {
        Replacement::Content(Json::of(&json!([{"type": "text", "text": text}])).unwrap())
    }

    fn value(value: Value) -> Replacement {
        Replacement::Value(Json::of(&value).unwrap())
    }
}
