//! The seams of a turn, for programs that run an agent loop of their own.
//!
//! | When | What to call |
//! |---|---|
//! | a session begins | [`start_session`], and wait: its contexts go ahead of the first prompt |
//! | a prompt arrives | [`PromptGate::submit`], before its turn or inside it |
//! | the model called tools | [`Pipeline::execute_batch`](crate::Pipeline::execute_batch) with a [`ContextQueue`], then [`ContextQueue::settle`] |
//! | nothing is left to do | [`StopGuard::ask`], with one guard for each turn |
//! | the conversation is to be compacted | [`may_compact`] |
//! | a subagent begins, and ends | [`start_subagent`]; [`StopGuard::ask`] at [`SubagentStop`](crate::seams::SubagentStop), or [`subagent_ended`] |
//! | anything else happens | [`observe`] |
//!
//! Each of them may come to a [`Stop`], and then the loop does nothing more until a person says so. A whole loop that is put
//! together from these is in `tests/reference/`.

mod compaction;
mod contexts;
mod gate;
mod start;
mod stop_guard;

pub use compaction::{Compacting, may_compact, observe};
pub use contexts::ContextQueue;
pub use gate::{Entered, Gate, PromptGate};
pub use start::{Started, start_session, start_subagent, subagent_ended};
pub use stop_guard::{DEFAULT_CAP, Ending, StopGuard, StoppingSeam};

use crate::audit::{self, AuditAnswer, AuditError, AuditEvent, AuditSink};
use crate::runtime::Answer;
use crate::seams::{Agent, SeamName};
use crate::stop::Stop;

/// Records what the hooks of a turn's seam said.
fn record(
    audit: Option<&dyn AuditSink>,
    agent: &Agent,
    turn: Option<u32>,
    seam: SeamName,
    answers: &[Answer],
    stop: Option<&Stop>,
) -> Result<(), AuditError> {
    let Some(sink) = audit else {
        return Ok(());
    };
    if answers.is_empty() {
        return Ok(());
    }
    let event = AuditEvent::SeamDecided {
        seam,
        call_id: None,
        tool_name: None,
        hooks: answers.iter().map(AuditAnswer::from).collect(),
        stops: stop.map_or_else(Vec::new, |stop| stop.by().to_vec()),
    };
    audit::append(sink, agent.into(), turn, event)
}
