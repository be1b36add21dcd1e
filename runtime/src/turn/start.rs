//! Sessions and subagents begin, and subagents end without a word. Whoever waits for the hooks of these does not wait for long.

use std::time::Duration;

use super::record;
use crate::audit::AuditSink;
use crate::pipeline::Context;
use crate::runtime::{Asked, Runtime};
use crate::seams::{
    Agent, Contexts, Seam, SeamName, Session, SessionStart, SubagentStart, SubagentStop, Turn,
};
use crate::stop::Stop;

/// What hooks have to say at the start of something.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Started {
    /// What the model reads before the first prompt, in order.
    pub contexts: Vec<Context>,
    /// Whoever wants the agent to stop before it has begun.
    pub stop: Option<Stop>,
}

/// A session begins. Hooks that fail or take longer than the deadline keep nothing from beginning.
pub async fn start_session(
    runtime: &Runtime,
    session: &Session,
    deadline: Duration,
    audit: Option<&dyn AuditSink>,
) -> Started {
    let asked = runtime.ask_within::<SessionStart>(session, deadline).await;
    started(asked, &session.agent, audit)
}

/// A subagent begins.
pub async fn start_subagent(
    runtime: &Runtime,
    subagent: &Agent,
    deadline: Duration,
    audit: Option<&dyn AuditSink>,
) -> Started {
    let asked = runtime
        .ask_within::<SubagentStart>(subagent, deadline)
        .await;
    started(asked, subagent, audit)
}

/// A subagent has ended, and never came to ask whether it may: it failed, was cancelled, or its prompt was rejected. Hooks that
/// were told of its start are told of its end, so that every start has one; there is nothing that they could make go on.
///
/// A subagent that wants to end is asked about with [`StopGuard::ask`](super::StopGuard::ask) instead.
pub async fn subagent_ended(
    runtime: &Runtime,
    subagent: &Agent,
    deadline: Duration,
    audit: Option<&dyn AuditSink>,
) -> Option<Stop> {
    let event = Turn {
        agent: subagent.clone(),
        forced_continuations: 0,
        last_message: None,
    };
    let asked = runtime.ask_within::<SubagentStop>(&event, deadline).await;
    let (answers, stop) = (&asked.answers, asked.stop.as_ref());
    // It has ended already, so what can't be recorded keeps nothing from happening.
    drop(record(
        audit,
        subagent,
        None,
        SubagentStop::NAME,
        answers,
        stop,
    ));
    asked.stop
}

fn started<S: Seam<Folded = Contexts>>(
    asked: Asked<S>,
    agent: &Agent,
    audit: Option<&dyn AuditSink>,
) -> Started {
    let seam: SeamName = S::NAME;
    // A notice: what can't be recorded keeps nothing from beginning either.
    drop(record(
        audit,
        agent,
        None,
        seam,
        &asked.answers,
        asked.stop.as_ref(),
    ));
    let contexts = asked
        .decision
        .map(|folded| folded.contexts)
        .unwrap_or_default();
    Started {
        contexts: contexts.into_iter().map(Context::from).collect(),
        stop: asked.stop,
    }
}
