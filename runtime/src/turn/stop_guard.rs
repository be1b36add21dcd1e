//! The end of a turn, and the guard against hooks that never let it come.

use std::time::Duration;

use super::record;
use crate::audit::{self, AuditEvent, AuditSink};
use crate::failure::Failure;
use crate::pipeline::DEFAULT_SEAM_LIMIT;
use crate::runtime::Runtime;
use crate::seams::{Agent, Attributed, Seam, SubagentStop, Turn, TurnStopping, TurnStoppingFold};
use crate::stop::Stop;

/// How often hooks may make one turn go on, unless said otherwise.
pub const DEFAULT_CAP: u32 = 8;

/// The seams at which something wants to end: [`TurnStopping`] and [`SubagentStop`].
pub trait StoppingSeam: Seam<Event = Turn, Folded = TurnStoppingFold> {}

impl StoppingSeam for TurnStopping {}
impl StoppingSeam for SubagentStop {}

/// Counts how often hooks have made one turn of one agent go on, whatever kind of hooks they are, and ends that.
///
/// A turn has one; the next turn has another.
#[derive(Debug, Clone)]
pub struct StopGuard {
    cap: u32,
    forced: u32,
    limit: Duration,
}

/// What becomes of a turn that wants to end.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Ending {
    /// It ends.
    Settle,
    /// It goes on, and this is what the model reads next, in order.
    Continue(Vec<Attributed>),
    /// It ends, although hooks want it to go on: they have had that too often. The user should read about it.
    Capped {
        /// How often hooks had made it go on.
        forced_continuations: u32,
        /// What the model would have read.
        continuations: Vec<Attributed>,
    },
    /// It ends, and nothing follows: a hook wants the agent to stop altogether. What other hooks wanted is moot.
    Stop(Stop),
    /// It ends in an error: a hook could not decide.
    Failed(Failure),
    /// It ends in an error: what was decided could not be written to the audit log.
    Unrecorded(String),
}

impl Default for StopGuard {
    fn default() -> Self {
        Self::new(DEFAULT_CAP)
    }
}

impl StopGuard {
    /// One that lets hooks make a turn go on so often. Zero is never.
    pub fn new(cap: u32) -> Self {
        Self::resumed(cap, 0)
    }

    /// One for a turn that was begun before, by another process.
    pub fn resumed(cap: u32, forced_continuations: u32) -> Self {
        Self {
            cap,
            forced: forced_continuations,
            limit: DEFAULT_SEAM_LIMIT,
        }
    }

    /// How long all hooks may take together, each time they are asked. One that has not answered by then could not decide.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// How often hooks have made the turn go on. What a resumed turn needs.
    pub fn forced_continuations(&self) -> u32 {
        self.forced
    }

    /// Whether a hook made the turn go on to where it is: `stop_hook_active`.
    pub fn is_active(&self) -> bool {
        self.forced > 0
    }

    /// The user said something, so the turn goes on for their sake.
    pub fn user_message(&mut self) {
        self.forced = 0;
    }

    /// Asks whether the turn may end.
    pub async fn ask<S: StoppingSeam>(
        &mut self,
        runtime: &Runtime,
        agent: &Agent,
        last_message: Option<String>,
        turn: Option<u32>,
        audit: Option<&dyn AuditSink>,
    ) -> Ending {
        let event = Turn {
            agent: agent.clone(),
            forced_continuations: self.forced,
            last_message,
        };
        let asked = runtime.ask_within::<S>(&event, self.limit).await;
        let stop = asked.stop.as_ref();
        let recorded = record(audit, agent, turn, S::NAME, &asked.answers, stop);
        // A stop ends more than this turn, so it holds also where it can't be recorded.
        if let Some(stop) = asked.stop {
            return Ending::Stop(stop);
        }
        if let Err(error) = recorded {
            return Ending::Unrecorded(error.to_string());
        }
        let continuations = match asked.decision {
            Err(failure) => return Ending::Failed(failure),
            Ok(folded) => folded.continuations,
        };
        if continuations.is_empty() {
            return Ending::Settle;
        }
        if self.forced >= self.cap {
            let forced_continuations = self.forced;
            if let Some(sink) = audit {
                let capped = AuditEvent::StopCapped {
                    forced_continuations,
                    continuations: continuations.clone(),
                };
                if let Err(error) = audit::append(sink, agent.into(), turn, capped) {
                    return Ending::Unrecorded(error.to_string());
                }
            }
            return Ending::Capped {
                forced_continuations,
                continuations,
            };
        }
        self.forced += 1;
        Ending::Continue(continuations)
    }
}
