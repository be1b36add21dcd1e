//! Claude Code. Protocol facts are those of version 2.1.332, measured where a comment says so.
//!
//! One file per seam: what Claude Code says there, and what it can be answered. Its payloads are one JSON object on
//! standard input; its answers are an exit code, and one JSON object on standard output.
//!
//! # How it fails
//!
//! Exit code 0 with nothing on standard output is no objection. Exit code 2 closes most gates, with standard error as the
//! reason, which the model reads. Any other exit code, and an object with a value of the wrong type, is no objection.

pub mod facts;
mod observe;
mod permission_request;
mod post_tool;
mod pre_compact;
mod pre_tool;
mod prompt_submit;
mod session_start;
pub mod settings;
mod subagent_start;
mod subagent_stop;
mod tool_output;
mod turn_stopping;

use seamgate::seams::Attributed;

use self::facts::EventFacts;
use crate::answer::HookAnswer;
use crate::asking::Decided;
use crate::event::{Event, EventKind};
use crate::output::PermissionOutput;
use crate::payload::{Payload, PayloadError};
use crate::text;

/// The most that one hook may add to a conversation at one event, in UTF-16 units. Of anything longer the model gets
/// the path of a file and the first 2,000 (Claude Code 2.1.332).
const MAX_CONTEXT: usize = 10_000;

/// Reads any event.
pub(crate) fn read(payload: &Payload) -> Result<(&'static str, EventKind), PayloadError> {
    let name = EventFacts::of(payload.name())
        .ok_or_else(|| payload.unknown_event())?
        .name;
    let kind = match name {
        pre_tool::EVENT => pre_tool::read(payload)?,
        post_tool::EVENT => post_tool::read(payload)?,
        post_tool::FAILURE_EVENT => post_tool::read_failure(payload)?,
        prompt_submit::EVENT => prompt_submit::read(payload)?,
        session_start::EVENT => session_start::read(payload)?,
        turn_stopping::EVENT => turn_stopping::read(payload)?,
        subagent_start::EVENT => subagent_start::read(payload)?,
        subagent_stop::EVENT => subagent_stop::read(payload)?,
        pre_compact::EVENT => pre_compact::read(payload)?,
        permission_request::EVENT => permission_request::read(payload)?,
        _ => observe::read(payload)?,
    };
    Ok((name, kind))
}

/// Puts a decision into Claude Code's words.
pub(crate) fn answer(decided: Decided<'_>) -> HookAnswer {
    match decided {
        Decided::ToolCall(decision) => pre_tool::answer(decision),
        Decided::ToolFinished(finished, fold) => post_tool::answer(finished, &fold),
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
        EventKind::ToolFinished(finished) => post_tool::could_not_decide(finished, message),
        // Keeping the turn alive would not make the hook decide, and would go round until Claude Code's cap.
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
    close(name, message)
}

/// Closes a gate by the name of its event, or leaves a note where there is nothing that a hook of ours could close.
fn close(name: &str, message: &str) -> HookAnswer {
    match name {
        // Exit code 2 changes nothing there, and what stands on standard error is dropped.
        permission_request::EVENT => {
            HookAnswer::json(&PermissionOutput::deny(text::message(message))).and_note(message)
        }
        pre_tool::EVENT
        | post_tool::EVENT
        | post_tool::FAILURE_EVENT
        | prompt_submit::EVENT
        | turn_stopping::EVENT
        | subagent_stop::EVENT
        | pre_compact::EVENT => HookAnswer::closed(message),
        known if EventFacts::of(known).is_some() => HookAnswer::noted(message),
        _ => HookAnswer::closed(message),
    }
}

/// Contexts, as many as fit.
fn contexts(said: &[Attributed]) -> Option<String> {
    text::contexts(said).map(|contexts| text::cut(contexts, MAX_CONTEXT))
}
