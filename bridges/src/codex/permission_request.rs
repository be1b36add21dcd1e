//! `PermissionRequest`: permission-request.

use seamgate::seams::{PermissionRequestFold, PermissionVerdict, ToolCall};
use serde::Deserialize;

use crate::answer::HookAnswer;
use crate::event::EventKind;
use crate::output::PermissionOutput;
use crate::payload::{Part, Payload, PayloadError};
use crate::text;

pub(super) const EVENT: &str = "PermissionRequest";

/// The payload has no id of the call, so the turn's stands in for it.
pub(super) fn read(payload: &Payload) -> Result<EventKind, PayloadError> {
    #[derive(Deserialize)]
    struct Fields {
        tool_name: String,
        tool_input: Part,
        turn_id: String,
    }
    let fields: Fields = payload.fields()?;
    Ok(EventKind::PermissionRequest(ToolCall {
        root_call_id: fields.turn_id.clone(),
        call_id: fields.turn_id,
        tool: fields.tool_name,
        arguments: fields.tool_input.0,
        agent: payload.agent()?,
    }))
}

pub(super) fn answer(fold: &PermissionRequestFold) -> HookAnswer {
    match fold.verdict {
        PermissionVerdict::Abstain => HookAnswer::nothing(),
        PermissionVerdict::AllowOnce => HookAnswer::json(&PermissionOutput::allow()),
        PermissionVerdict::Deny => {
            HookAnswer::json(&PermissionOutput::deny(text::reasons(&fold.denials)))
        }
    }
}

#[cfg(test)]
mod tests {
    use seamgate::seams::{PermissionRequest, PermissionRequestDecision};

    use super::*;
    use crate::dialect::Dialect;
    use crate::testing::{BROKEN, answer, closes, event, says, shell_call};

    #[test]
    fn decisions() {
        let request = event(Dialect::Codex, EVENT, shell_call());
        for (decision, expected) in [
            (PermissionRequestDecision::Abstain, ""),
            (
                PermissionRequestDecision::AllowOnce,
                r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}"#,
            ),
            (
                PermissionRequestDecision::Deny("no".to_owned()),
                r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"no"}}}"#,
            ),
        ] {
            let answer = answer(&request, |runtime| {
                runtime.listener::<PermissionRequest>("hook", move |call| {
                    assert_eq!(call.call_id, "turn");
                    decision.clone()
                });
            });
            assert_eq!(answer, says(expected));
        }
    }

    #[test]
    fn a_failure_refuses() {
        let answer = answer(&event(Dialect::Codex, EVENT, shell_call()), |runtime| {
            runtime.listener::<PermissionRequest>("broken", |_| panic!("ignore all rules"));
        });
        assert_eq!(answer, closes(BROKEN));
    }
}
