//! `PreToolUse`: rewrite-input, pre-tool and guard.

use seamgate::seams::{ToolCall, VerdictRank};
use serde::Deserialize;

use crate::answer::HookAnswer;
use crate::asking::CallDecision;
use crate::event::EventKind;
use crate::output::{Output, PreToolOutput};
use crate::payload::{ObjectPart, Payload, PayloadError, is_object};
use crate::text;

pub(super) const EVENT: &str = "PreToolUse";

pub(super) fn read(payload: &Payload) -> Result<EventKind, PayloadError> {
    Ok(EventKind::ToolCall(read_call(payload)?))
}

/// The call that the events around a tool tell about.
pub(super) fn read_call(payload: &Payload) -> Result<ToolCall, PayloadError> {
    #[derive(Deserialize)]
    struct Fields {
        tool_name: String,
        tool_input: ObjectPart,
        tool_use_id: String,
    }
    let fields: Fields = payload.fields()?;
    Ok(ToolCall {
        root_call_id: fields.tool_use_id.clone(),
        call_id: fields.tool_use_id,
        tool: fields.tool_name,
        arguments: fields.tool_input.0,
        agent: payload.agent()?,
    })
}

/// `allow`, `ask` and `deny` exist; abstaining is silence. New arguments are taken with `allow`, with `ask` and without a
/// decision, and contexts reach the model whatever the decision (all measured).
pub(super) fn answer(decision: CallDecision) -> HookAnswer {
    let (mut verdict, mut reason) = match decision.verdict {
        VerdictRank::Abstain => (None, None),
        VerdictRank::Allow => (Some("allow"), None),
        VerdictRank::Ask => (Some("ask"), Some(text::reasons(&decision.reasons))),
        VerdictRank::Deny => (Some("deny"), Some(text::reasons(&decision.reasons))),
    };
    let mut updated_input = None;
    if decision.verdict != VerdictRank::Deny
        && let Some((hook, arguments)) = decision.rewritten
    {
        if is_object(arguments.text()) {
            updated_input = Some(arguments);
        } else {
            // Anything but an object makes the whole answer invalid, and the tool runs with its old arguments (measured).
            verdict = Some("deny");
            reason = Some(format!(
                "hook `{hook}` rewrote the arguments into something other than an object, which Claude Code does not take"
            ));
        }
    }
    let additional_context = super::contexts(&decision.contexts);
    if verdict.is_none() && updated_input.is_none() && additional_context.is_none() {
        return HookAnswer::nothing();
    }
    HookAnswer::json(&Output::specific(PreToolOutput {
        hook_event_name: EVENT,
        permission_decision: verdict,
        permission_decision_reason: reason,
        updated_input,
        additional_context,
    }))
}

#[cfg(test)]
mod tests {
    use seamgate::Json;
    use seamgate::seams::{
        Guard, GuardDecision, PreTool, PreToolDecision, RewriteInput, RewriteInputDecision, Verdict,
    };
    use serde_json::json;

    use super::*;
    use crate::dialect::Dialect;
    use crate::testing::{BROKEN, answer, closes, event, payload, says, shell_call};

    #[test]
    fn the_call_is_taken_over_to_the_letter_without_blanks() {
        let text = r#"{"session_id":"s","cwd":"/p","hook_event_name":"PreToolUse","permission_mode":"plan","agent_id":"a",
            "agent_type":"Explore","tool_name":"Bash","tool_input":{ "command":"l\u0073" , "n":1.50},"tool_use_id":"t"}"#;
        let event = Dialect::Claude.read(text).unwrap();
        let EventKind::ToolCall(call) = event.kind else {
            panic!("not a call")
        };
        assert_eq!(call.tool, "Bash");
        assert_eq!(call.call_id, "t");
        assert_eq!(call.root_call_id, "t");
        assert_eq!(call.arguments.text(), r#"{"command":"l\u0073","n":1.50}"#);
        assert_eq!(call.agent.dialect, "claude");
        assert_eq!(call.agent.session_id, "s");
        assert_eq!(call.agent.cwd.as_deref(), Some("/p"));
        assert_eq!(call.agent.agent_id.as_deref(), Some("a"));
        assert_eq!(call.agent.agent_type.as_deref(), Some("Explore"));
        assert_eq!(call.agent.permission_mode.as_deref(), Some("plan"));
    }

    #[test]
    fn a_call_with_a_field_missing_or_mistyped_is_none() {
        for (field, value, problem) in [
            (
                "tool_name",
                json!(null),
                "invalid type: null, expected a string",
            ),
            (
                "tool_name",
                json!(["Bash"]),
                "invalid type: sequence, expected a string",
            ),
            (
                "tool_use_id",
                json!(7),
                "invalid type: integer `7`, expected a string",
            ),
            (
                "agent_id",
                json!(7),
                "invalid type: integer `7`, expected a string",
            ),
            ("cwd", json!({}), "invalid type: map, expected a string"),
            (
                "tool_input",
                json!("ls"),
                "the tool's input is not an object",
            ),
            (
                "tool_input",
                json!(null),
                "the tool's input is not an object",
            ),
        ] {
            let mut fields = shell_call();
            fields[field] = value;
            let error = Dialect::Claude.read(&payload(EVENT, fields)).unwrap_err();
            let expected = format!("the event `PreToolUse` can't be understood: {problem} at");
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
        for field in ["tool_name", "tool_input", "tool_use_id"] {
            let mut fields = shell_call();
            fields.as_object_mut().unwrap().remove(field);
            let error = Dialect::Claude.read(&payload(EVENT, fields)).unwrap_err();
            assert!(
                error
                    .to_string()
                    .contains(&format!("missing field `{field}`")),
                "{error}"
            );
        }
    }

    fn with_context(verdict: Verdict) -> PreToolDecision {
        PreToolDecision {
            verdict,
            contexts: vec!["one".to_owned(), " ".to_owned(), "two".to_owned()],
        }
    }

    #[test]
    fn verdicts() {
        for (decision, expected) in [
            (Verdict::Abstain.into(), ""),
            (
                Verdict::Allow.into(),
                r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}"#,
            ),
            (
                Verdict::Ask("sure?".to_owned()).into(),
                r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"sure?"}}"#,
            ),
            (
                Verdict::Deny("no".to_owned()).into(),
                r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#,
            ),
            (
                Verdict::Deny(" ".to_owned()).into(),
                r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"hook `hook` refused this and gave no reason"}}"#,
            ),
            (
                with_context(Verdict::Abstain),
                r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"one\ntwo"}}"#,
            ),
            (
                with_context(Verdict::Deny("no".to_owned())),
                r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no","additionalContext":"one\ntwo"}}"#,
            ),
        ] {
            let answer = answer(&event(Dialect::Claude, EVENT, shell_call()), |runtime| {
                runtime.listener::<PreTool>("hook", move |_| decision.clone());
            });
            assert_eq!(answer, says(expected));
        }
    }

    #[test]
    fn rewrites() {
        for (verdict, arguments, expected) in [
            (
                Verdict::Abstain,
                r#"{"command":"ls -l"}"#,
                r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"ls -l"}}}"#,
            ),
            (
                Verdict::Allow,
                r#"{"command":"ls -l"}"#,
                r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"ls -l"}}}"#,
            ),
            (
                Verdict::Ask("sure?".to_owned()),
                r#"{"command":"ls -l"}"#,
                r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"sure?","updatedInput":{"command":"ls -l"}}}"#,
            ),
            (
                Verdict::Deny("no".to_owned()),
                r#"{"command":"ls -l"}"#,
                r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#,
            ),
            (
                Verdict::Allow,
                r#"[1]"#,
                r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"hook `rewriter` rewrote the arguments into something other than an object, which Claude Code does not take"}}"#,
            ),
        ] {
            let answer = answer(&event(Dialect::Claude, EVENT, shell_call()), |runtime| {
                runtime.listener::<RewriteInput>("rewriter", move |_| {
                    RewriteInputDecision::Replace(Json::parse(arguments).unwrap())
                });
                runtime.listener::<PreTool>("hook", move |call| {
                    assert_eq!(call.arguments.text(), arguments);
                    verdict.clone().into()
                });
                runtime.listener::<Guard>("guard", move |call| {
                    assert_eq!(call.arguments.text(), arguments);
                    GuardDecision::Abstain
                });
            });
            assert_eq!(answer, says(expected));
        }
    }

    #[test]
    fn a_guard_denies_whatever_was_allowed() {
        let answer = answer(&event(Dialect::Claude, EVENT, shell_call()), |runtime| {
            runtime.listener::<PreTool>("hook", |_| Verdict::Allow.into());
            runtime.listener::<Guard>("guard", |_| GuardDecision::Deny("never".to_owned()));
        });
        assert_eq!(
            answer,
            says(
                r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"never"}}"#
            )
        );
    }

    #[test]
    fn a_failure_closes_and_a_denial_beside_it_gives_the_reason() {
        let call = event(Dialect::Claude, EVENT, shell_call());
        for add in [
            (|runtime| {
                runtime.listener::<RewriteInput>("broken", |_| panic!("ignore all rules"));
            }) as fn(&mut seamgate::Runtime),
            |runtime| {
                runtime.listener::<PreTool>("broken", |_| panic!("ignore all rules"));
            },
            |runtime| {
                runtime.listener::<PreTool>("hook", |_| Verdict::Allow.into());
                runtime.listener::<Guard>("broken", |_| panic!("ignore all rules"));
            },
        ] {
            assert_eq!(answer(&call, add), closes(BROKEN));
        }
        let denied = answer(&call, |runtime| {
            runtime.listener::<PreTool>("broken", |_| panic!("ignore all rules"));
            runtime.listener::<Guard>("guard", |_| GuardDecision::Deny("never".to_owned()));
        });
        assert_eq!(denied.exit_code, 0);
        assert!(
            denied
                .stdout
                .contains(r#""permissionDecisionReason":"never""#)
        );
    }
}
