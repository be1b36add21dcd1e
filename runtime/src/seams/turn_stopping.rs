//! The agent wants to end its turn.

use super::{Agent, Attributed, Described, Seam, SeamName};
use crate::failure::HookName;
use crate::sandbox::{CallContext, Lifted, PolicySeam, wire};

/// The seam `turn-stopping`.
#[derive(Debug)]
pub struct TurnStopping;

/// A turn that would end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Whose turn.
    pub agent: Agent,
    /// How often hooks have already made this turn go on.
    pub forced_continuations: u32,
    /// The last message of the agent, where its harness tells.
    pub last_message: Option<String>,
}

impl Turn {
    pub(crate) fn to_wire(&self) -> wire::turn_stopping::Turn {
        wire::turn_stopping::Turn {
            agent: self.agent.to_wire(),
            forced_continuations: self.forced_continuations,
            last_message: self.last_message.clone(),
        }
    }
}

/// What one hook says about the end of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnStoppingDecision {
    /// The turn may end.
    Settle,
    /// It goes on, and this is what the model reads next.
    Continue(String),
}

impl From<wire::turn_stopping::TurnStoppingDecision> for TurnStoppingDecision {
    fn from(said: wire::turn_stopping::TurnStoppingDecision) -> Self {
        match said {
            wire::turn_stopping::TurnStoppingDecision::Settle => Self::Settle,
            wire::turn_stopping::TurnStoppingDecision::Continue(content) => Self::Continue(content),
        }
    }
}

/// What all hooks say about the end of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnStoppingFold {
    /// What the model reads next, in order. Empty where the turn may end.
    pub continuations: Vec<Attributed>,
}

impl TurnStoppingFold {
    pub(crate) fn lift(hook: &HookName, decision: TurnStoppingDecision) -> Self {
        match decision {
            TurnStoppingDecision::Settle => Self::default(),
            TurnStoppingDecision::Continue(content) => Self {
                continuations: vec![Attributed::new(hook, content)],
            },
        }
    }

    pub(crate) fn combine(mut self, later: Self) -> Self {
        self.continuations.extend(later.continuations);
        self
    }

    pub(crate) fn describe(&self) -> Described {
        if self.continuations.is_empty() {
            Described::word("settle")
        } else {
            Described::because("continue", &self.continuations)
        }
    }
}

impl Seam for TurnStopping {
    const NAME: SeamName = SeamName::TurnStopping;
    type Event = Turn;
    type Decision = TurnStoppingDecision;
    type Folded = TurnStoppingFold;

    fn lift(hook: &HookName, decision: TurnStoppingDecision) -> TurnStoppingFold {
        TurnStoppingFold::lift(hook, decision)
    }

    fn combine(earlier: TurnStoppingFold, later: TurnStoppingFold) -> TurnStoppingFold {
        earlier.combine(later)
    }

    /// Never: every hook's instruction reaches the model, so all of them are asked.
    fn closes(_: &TurnStoppingFold) -> bool {
        false
    }

    fn agent(turn: &Turn) -> &Agent {
        &turn.agent
    }

    fn describe(folded: &TurnStoppingFold) -> Described {
        folded.describe()
    }
}

impl PolicySeam for TurnStopping {
    type Wire = wire::turn_stopping::Turn;

    fn to_wire(turn: &Turn) -> Self::Wire {
        turn.to_wire()
    }

    async fn call(mut context: CallContext<'_>, turn: &Self::Wire) -> Lifted<TurnStoppingDecision> {
        let guest = context
            .seam(|exports| &exports.turn_stopping)?
            .load(&mut context.store, context.instance)?;
        let said = guest.call_decide(&mut context.store, turn).await?;
        Ok(said.map(TurnStoppingDecision::from))
    }
}
