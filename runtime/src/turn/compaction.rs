//! The conversation is about to be compacted, and everything else that happens in a turn.

use super::record;
use crate::audit::AuditSink;
use crate::failure::Failure;
use crate::pipeline::DEFAULT_SEAM_LIMIT;
use crate::runtime::Runtime;
use crate::seams::{AgentEvent, Attributed, Compaction, Observe, PreCompact, SeamName};
use crate::stop::Stop;

/// Whether a conversation is compacted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Compacting {
    /// It is.
    Proceed,
    /// It is not.
    Block {
        /// Why, and who says so, in order.
        reasons: Vec<Attributed>,
    },
    /// It is not, and a hook wants the agent to stop altogether.
    Stop(Stop),
    /// It is not: a hook could not decide.
    Failed(Failure),
    /// It is not: what was decided could not be written to the audit log.
    Unrecorded(String),
}

/// Asks whether a conversation may be compacted.
pub async fn may_compact(
    runtime: &Runtime,
    compaction: &Compaction,
    turn: Option<u32>,
    audit: Option<&dyn AuditSink>,
) -> Compacting {
    let asked = runtime
        .ask_within::<PreCompact>(compaction, DEFAULT_SEAM_LIMIT)
        .await;
    let (answers, stop) = (&asked.answers, asked.stop.as_ref());
    let seam = SeamName::PreCompact;
    if let Err(error) = record(audit, &compaction.agent, turn, seam, answers, stop) {
        return Compacting::Unrecorded(error.to_string());
    }
    if let Some(stop) = asked.stop {
        return Compacting::Stop(stop);
    }
    match asked.decision {
        Err(failure) => Compacting::Failed(failure),
        Ok(folded) if !folded.blocks.is_empty() => Compacting::Block {
            reasons: folded.blocks,
        },
        Ok(_) => Compacting::Proceed,
    }
}

/// Tells hooks of an event that has no seam of its own. Whoever fails at it changes nothing.
pub async fn observe(
    runtime: &Runtime,
    event: &AgentEvent,
    turn: Option<u32>,
    audit: Option<&dyn AuditSink>,
) -> Option<Stop> {
    let asked = runtime
        .ask_within::<Observe>(event, DEFAULT_SEAM_LIMIT)
        .await;
    let (answers, stop) = (&asked.answers, asked.stop.as_ref());
    // A notice: what can't be recorded keeps nothing from happening either.
    drop(record(
        audit,
        &event.agent,
        turn,
        SeamName::Observe,
        answers,
        stop,
    ));
    asked.stop
}
