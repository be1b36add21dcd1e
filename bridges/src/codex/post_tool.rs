//! `PostToolUse`: post-tool, then tool-result. There is no event for a call that failed, and a command with an exit code
//! other than 0 counts as one that succeeded; nothing in the payload tells the two apart.

use seamgate::Json;
use seamgate::seams::{FinishedCall, PostToolFold, Replaced, Replacement};
use serde::Deserialize;

use super::pre_tool;
use crate::answer::HookAnswer;
use crate::blocks;
use crate::event::EventKind;
use crate::output::{ContextOutput, Output, contexts_only};
use crate::payload::{Part, Payload, PayloadError};
use crate::text;

pub(super) const EVENT: &str = "PostToolUse";

pub(super) fn read(payload: &Payload) -> Result<EventKind, PayloadError> {
    #[derive(Deserialize)]
    struct Fields {
        tool_response: Part,
    }
    let fields: Fields = payload.fields()?;
    Ok(EventKind::ToolFinished(FinishedCall {
        call: pre_tool::read_call(payload)?,
        outcome: blocks::outcome_of(&fields.tool_response.0),
    }))
}

/// The reason of a block takes the place of the result, as a call that failed. There is no other way to replace a
/// result, so a replacement is one too.
pub(super) fn answer(fold: &PostToolFold) -> HookAnswer {
    let contexts = text::contexts(&fold.contexts);
    let reason = match fold.replaced.last() {
        _ if !fold.blocks.is_empty() => text::reasons(&fold.blocks),
        Some(replaced) => replacement(replaced),
        None => return contexts_only(EVENT, contexts),
    };
    let specific = contexts.map(|additional_context| ContextOutput {
        hook_event_name: EVENT,
        additional_context,
    });
    HookAnswer::json(&Output::block(reason, specific))
}

fn replacement(replaced: &Replaced) -> String {
    let hook = &replaced.hook;
    let text = match &replaced.by {
        Replacement::Value(value) => Some(text_of_value(value)),
        Replacement::Content(content) => blocks::text_alone(content),
    };
    match text {
        Some(text) => format!(
            "hook `{hook}` replaced this result, which Codex shows as a failure. It is now:\n{text}"
        ),
        None => format!(
            "hook `{hook}` replaced this result by something other than text, which Codex does not take"
        ),
    }
}

/// How a value reads: a string as its text, anything else as its JSON.
fn text_of_value(value: &Json) -> String {
    blocks::outcome_of(value).text
}

#[cfg(test)]
mod tests {
    use seamgate::seams::{PostTool, PostToolDecision, ToolResult};
    use serde_json::{Value, json};

    use super::*;
    use crate::dialect::Dialect;
    use crate::testing::{BROKEN, answer, closes, event, says, shell_call};

    fn shell_response() -> Value {
        json!("secret")
    }

    #[test]
    fn decisions() {
        let image = Replacement::Content(Json::of(&json!([{"type": "image"}])).unwrap());
        let block_with_context = PostToolDecision::Block {
            feedback: " ".to_owned(),
            contexts: vec!["note".to_owned()],
        };
        for (decision, expected) in [
            (accept(None, &[]), ""),
            (
                accept(None, &["note"]),
                r#"{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"note"}}"#,
            ),
            (block("no"), r#"{"decision":"block","reason":"no"}"#),
            (
                block_with_context,
                r#"{"decision":"block","reason":"hook `hook` refused this and gave no reason","hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"note"}}"#,
            ),
            (
                accept(Some(content("clean")), &[]),
                r#"{"decision":"block","reason":"hook `hook` replaced this result, which Codex shows as a failure. It is now:\nclean"}"#,
            ),
            (
                accept(Some(value(json!({"a": 1}))), &[]),
                r#"{"decision":"block","reason":"hook `hook` replaced this result, which Codex shows as a failure. It is now:\n{\"a\":1}"}"#,
            ),
            (
                accept(Some(image), &[]),
                r#"{"decision":"block","reason":"hook `hook` replaced this result by something other than text, which Codex does not take"}"#,
            ),
        ] {
            let answer = answer(&finished(shell_response()), |runtime| {
                runtime.listener::<PostTool>("hook", move |_| decision.clone());
            });
            assert_eq!(answer, says(expected));
        }
        let broken = answer(&finished(shell_response()), |runtime| {
            runtime.listener::<PostTool>("broken", |_| panic!("ignore all rules"));
        });
        assert_eq!(broken, closes(BROKEN));
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
        event(Dialect::Codex, EVENT, fields)
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
