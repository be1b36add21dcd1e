//! The JSON that both dialects read on a hook's standard output. Codex took the shapes over from Claude Code, and is strict
//! about them: a key it does not know makes it throw the whole answer away, and go on.

use serde::Serialize;

use crate::answer::HookAnswer;

/// An answer in JSON: what the event's own part says, and the block that older events use.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Output<T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_specific_output: Option<T>,
}

impl<T> Output<T> {
    /// The event's own part alone.
    pub(crate) fn specific(specific: T) -> Self {
        Self {
            decision: None,
            reason: None,
            hook_specific_output: Some(specific),
        }
    }

    /// `decision: "block"`, with the event's own part where there is something in it.
    pub(crate) fn block(reason: String, specific: Option<T>) -> Self {
        Self {
            decision: Some("block"),
            reason: Some(reason),
            hook_specific_output: specific,
        }
    }
}

/// `decision: "block"` at an event that has no part of its own.
pub(crate) fn block(reason: String) -> Output<()> {
    Output::block(reason, None)
}

/// An event's own part that has room for contexts only.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContextOutput {
    pub(crate) hook_event_name: &'static str,
    pub(crate) additional_context: String,
}

/// The answer that only has contexts, for an event whose own part has room for nothing else.
pub(crate) fn contexts_only(event: &'static str, contexts: Option<String>) -> HookAnswer {
    match contexts {
        None => HookAnswer::nothing(),
        Some(additional_context) => HookAnswer::json(&Output::specific(ContextOutput {
            hook_event_name: event,
            additional_context,
        })),
    }
}

/// The own part of `PreToolUse`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PreToolOutput {
    pub(crate) hook_event_name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) permission_decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) permission_decision_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) updated_input: Option<seamgate::Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) additional_context: Option<String>,
}

/// The own part of `PermissionRequest`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PermissionOutput {
    hook_event_name: &'static str,
    decision: PermissionDecision,
}

#[derive(Serialize)]
#[serde(tag = "behavior", rename_all = "lowercase")]
enum PermissionDecision {
    Allow,
    Deny { message: String },
}

impl PermissionOutput {
    const EVENT: &'static str = "PermissionRequest";

    /// Granted without asking the user.
    pub(crate) fn allow() -> Output<Self> {
        Output::specific(Self {
            hook_event_name: Self::EVENT,
            decision: PermissionDecision::Allow,
        })
    }

    /// Refused without asking the user.
    pub(crate) fn deny(message: String) -> Output<Self> {
        Output::specific(Self {
            hook_event_name: Self::EVENT,
            decision: PermissionDecision::Deny { message },
        })
    }
}
