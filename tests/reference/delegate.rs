//! The tool that gives work to a child: another agent, with this same loop.

use std::pin::pin;
use std::sync::{Arc, Weak};

use seamgate::pipeline::{Invocation, Tool};
use seamgate::seams::{Agent, ToolError};
use seamgate::turn::subagent_ended;
use serde::Deserialize;
use serde_json::json;

use super::agent::{AgentLoop, Setup};
use super::inbox::{CancelCause, Fate};
use super::log::{Event, TurnEnd};
use super::message::{blocks, fresh_id};
use super::tools::{Returned, read, schema};

/// Gives work to a child of this agent. `make` says what the child is made of; where it can't, the child does not start.
///
/// A child has a log of its own, and so a pipeline of its own that records there. Whether its pipeline has somebody who
/// approves is up to `make`: a person who watches the parent may not want to be asked by a child that they don't see.
pub fn delegate<F>(parent: &Arc<AgentLoop>, make: F) -> Tool
where
    F: Fn(Agent) -> Result<Setup, String> + Send + Sync + 'static,
{
    // The parent holds its tools, so a tool must not hold the parent.
    let (parent, make) = (Arc::downgrade(parent), Arc::new(make));
    let body = move |invocation: Invocation| work(parent.clone(), make.clone(), invocation);
    Tool::new("delegate", schema(&json!({"type": "string"})), body)
        .parameters(schema(&json!({
            "type": "object",
            "properties": {"task": {"type": "string"}, "kind": {"type": "string"}},
            "required": ["task"],
            "additionalProperties": false,
        })))
        .overlaps(|_| true)
}

#[derive(Deserialize)]
struct Work {
    task: String,
    kind: Option<String>,
}

async fn work<F>(parent: Weak<AgentLoop>, make: Arc<F>, invocation: Invocation) -> Returned
where
    F: Fn(Agent) -> Result<Setup, String> + Send + Sync + 'static,
{
    let Some(parent) = parent.upgrade() else {
        return Err(ToolError::new("the agent is gone"));
    };
    let Work { task, kind } = read(&invocation)?;
    let who = Agent {
        agent_id: Some(fresh_id("agent")),
        agent_type: kind.clone(),
        ..parent.who().clone()
    };
    // A child that can't be made never started, and no hook hears of it.
    let setup = make(who.clone()).map_err(|problem| {
        ToolError::coded(
            format!("no subagent could be started: {problem}"),
            "NO_SUBAGENT",
        )
    })?;
    let runtime = setup.pipeline.runtime();
    let (log, deadline) = (setup.log.clone(), setup.options.start_deadline);
    let agent_id = who.agent_id.clone().unwrap_or_default();
    let started = Event::SubagentStart {
        agent_id: agent_id.clone(),
        agent_type: kind.clone(),
    };
    parent.log().append(started).map_err(unlogged)?;

    // What hooks have to say at its start is waited for, and goes ahead of its first prompt.
    let child = AgentLoop::start_child(setup).await;
    let prompt = child.followup(blocks(&task));
    {
        let mut driving = pin!(child.drive());
        tokio::select! {
            biased;
            () = &mut driving => {}
            () = invocation.signal().fired() => {
                child.cancel(CancelCause::Parent);
                // Not dropped: it closes what it has open first.
                driving.await;
            }
        }
    }
    // Whatever it has not read by now, it never will.
    child.cancel(CancelCause::Disposed);
    let fate = prompt.fate().await;

    let ended = Ended::of(&fate, &child);
    let mut stop = child.halted();
    if !child.end_was_asked() {
        let stopped = subagent_ended(&runtime, &who, deadline, Some(log.as_ref())).await;
        stop = stop.or(stopped.map(|stop| stop.reason()));
    }
    let end = Event::SubagentEnd {
        agent_id,
        agent_type: kind,
        reason: ended.reason,
        last_message: ended.last_message.clone(),
    };
    parent.log().append(end).map_err(unlogged)?;
    if let Some(reason) = stop {
        // "Altogether" means the one that had the idea too.
        parent.halt(reason);
    }
    match ended.problem {
        None => Ok(json!(ended.last_message.unwrap_or_default()).into()),
        Some(problem) => Err(ToolError::coded(problem, "SUBAGENT_FAILED")),
    }
}

/// How a child ended.
struct Ended {
    /// In a word, the same for hooks and programs.
    reason: &'static str,
    /// What it said last. None where it failed: half an answer is not one.
    last_message: Option<String>,
    /// What its parent reads instead.
    problem: Option<String>,
}

impl Ended {
    fn of(fate: &Fate, child: &AgentLoop) -> Self {
        let failed = |reason, problem: String| Self {
            reason,
            last_message: None,
            problem: Some(problem),
        };
        match fate {
            Fate::Ran { end, .. } => match end {
                TurnEnd::Completed | TurnEnd::MaxTokens => Self {
                    reason: if *end == TurnEnd::MaxTokens {
                        "max-tokens"
                    } else {
                        "completed"
                    },
                    last_message: child.log().last_answer(),
                    problem: None,
                },
                TurnEnd::Blocked => {
                    failed("refusal", "the subagent's prompt was rejected".to_owned())
                }
                TurnEnd::Aborted { .. } => failed("aborted", aborted(child)),
                TurnEnd::Error { message, .. } => {
                    failed("error", format!("the subagent failed: {message}"))
                }
            },
            Fate::Blocked { reasons } => {
                let reasons: Vec<&str> = reasons.iter().map(|said| said.text.as_str()).collect();
                let reasons = reasons.join("\n");
                failed(
                    "refusal",
                    format!("the subagent's prompt was rejected: {reasons}"),
                )
            }
            Fate::Cancelled => failed("aborted", aborted(child)),
            Fate::Failed { message } => failed("error", format!("the subagent failed: {message}")),
        }
    }
}

fn aborted(child: &AgentLoop) -> String {
    match child.halted() {
        Some(reason) => format!("a hook stopped the subagent: {reason}"),
        None => "the subagent was cancelled".to_owned(),
    }
}

fn unlogged(error: std::io::Error) -> ToolError {
    ToolError::coded(
        format!("the session's log can't be written: {error}"),
        "LOG",
    )
}
