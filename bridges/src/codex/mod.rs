//! Codex. Protocol facts are those of version 0.171.0, measured.
//!
//! One file per seam: what Codex says there, and what it can be answered. Its payloads and answers look like Claude Code's
//! and are read by stricter rules.
//!
//! # How it fails
//!
//! Codex fails open. An object with one key that it does not know, or with a word that it knows and does not support
//! (`ask`, a bare `allow`), is no objection; so is exit code 2 with nothing on standard error, and any other exit code.
//! Exit code 2 with text closes the gates of a turn, and means nothing at the other events.

mod observe;
mod permission_request;
mod post_tool;
mod pre_compact;
mod pre_tool;
mod prompt_submit;
mod session_start;
mod subagent_start;
mod subagent_stop;
mod turn_stopping;

use crate::answer::HookAnswer;
use crate::asking::Decided;
use crate::event::{Event, EventKind};
use crate::payload::{Payload, PayloadError};
use crate::text;

/// Every event of Codex 0.171.0, in its own order.
const EVENTS: [&str; 14] = [
    "PreModelRequest",
    "PostModelRequest",
    pre_tool::EVENT,
    permission_request::EVENT,
    post_tool::EVENT,
    pre_compact::EVENT,
    "PostCompact",
    session_start::EVENT,
    "SessionEnd",
    prompt_submit::EVENT,
    subagent_start::EVENT,
    subagent_stop::EVENT,
    turn_stopping::EVENT,
    "Interrupt",
];

/// Reads any event.
pub(crate) fn read(payload: &Payload) -> Result<(&'static str, EventKind), PayloadError> {
    let name = *EVENTS
        .iter()
        .find(|name| **name == payload.name())
        .ok_or_else(|| payload.unknown_event())?;
    let kind = match name {
        pre_tool::EVENT => pre_tool::read(payload)?,
        permission_request::EVENT => permission_request::read(payload)?,
        post_tool::EVENT => post_tool::read(payload)?,
        pre_compact::EVENT => pre_compact::read(payload)?,
        session_start::EVENT => session_start::read(payload)?,
        prompt_submit::EVENT => prompt_submit::read(payload)?,
        subagent_start::EVENT => subagent_start::read(payload)?,
        subagent_stop::EVENT => subagent_stop::read(payload)?,
        turn_stopping::EVENT => turn_stopping::read(payload)?,
        _ => observe::read(payload)?,
    };
    Ok((name, kind))
}

/// Puts a decision into Codex's words.
pub(crate) fn answer(decided: Decided<'_>) -> HookAnswer {
    match decided {
        Decided::ToolCall(decision) => pre_tool::answer(decision),
        Decided::ToolFinished(_, fold) => post_tool::answer(&fold),
        Decided::PromptSubmit(fold) => prompt_submit::answer(&fold),
        Decided::SessionStart(contexts) => session_start::answer(&contexts),
        Decided::TurnStopping(fold) => turn_stopping::answer(&fold),
        Decided::SubagentStart(contexts) => subagent_start::answer(&contexts),
        Decided::SubagentStop(fold) => subagent_stop::answer(&fold),
        Decided::PreCompact(fold) => pre_compact::answer(&fold),
        Decided::PermissionRequest(fold) => permission_request::answer(&fold),
        Decided::Observed => observe::answer(),
    }
}

/// Closes the gate of an event about which nothing could be decided.
pub(crate) fn could_not_decide(event: &Event, message: &str) -> HookAnswer {
    match &event.kind {
        EventKind::TurnStopping(turn) | EventKind::SubagentStop(turn)
            if turn.forced_continuations > 0 =>
        {
            HookAnswer::noted(message)
                .and_note("hooks have made this turn go on before, so it ends all the same")
        }
        _ => close(event.name, message),
    }
}

/// Closes the gate of an event that can't be read.
pub(crate) fn could_not_read(name: &str, message: &str) -> HookAnswer {
    match name {
        // Whether hooks have made the turn go on before is not known, and Codex would let them do it for ever.
        turn_stopping::EVENT | subagent_stop::EVENT => HookAnswer::noted(message),
        _ => close(name, message),
    }
}

/// Closes a gate by the name of its event, or leaves a note where there is nothing that a hook of ours could close.
fn close(name: &str, message: &str) -> HookAnswer {
    match name {
        // Exit code 2 is one failed hook more there, and compaction goes on.
        pre_compact::EVENT => pre_compact::stop(text::message(message)).and_note(message),
        pre_tool::EVENT
        | permission_request::EVENT
        | post_tool::EVENT
        | prompt_submit::EVENT
        | turn_stopping::EVENT
        | subagent_stop::EVENT => HookAnswer::closed(message),
        known if EVENTS.contains(&known) => HookAnswer::noted(message),
        _ => HookAnswer::closed(message),
    }
}
