//! A subagent wants to end.

use super::turn_stopping::{Turn, TurnStoppingDecision, TurnStoppingFold};
use super::{Agent, Described, Seam, SeamName};
use crate::failure::HookName;
use crate::sandbox::{CallContext, Lifted, PolicySeam, wire};

/// The seam `subagent-stop`: [`TurnStopping`](super::TurnStopping) for a subagent.
#[derive(Debug)]
pub struct SubagentStop;

impl Seam for SubagentStop {
    const NAME: SeamName = SeamName::SubagentStop;
    type Event = Turn;
    type Decision = TurnStoppingDecision;
    type Folded = TurnStoppingFold;

    fn lift(hook: &HookName, decision: TurnStoppingDecision) -> TurnStoppingFold {
        TurnStoppingFold::lift(hook, decision)
    }

    fn combine(earlier: TurnStoppingFold, later: TurnStoppingFold) -> TurnStoppingFold {
        earlier.combine(later)
    }

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

impl PolicySeam for SubagentStop {
    type Wire = wire::turn_stopping::Turn;

    fn to_wire(turn: &Turn) -> Self::Wire {
        turn.to_wire()
    }

    async fn call(mut context: CallContext<'_>, turn: &Self::Wire) -> Lifted<TurnStoppingDecision> {
        let guest = context
            .seam(|exports| &exports.subagent_stop)?
            .load(&mut context.store, context.instance)?;
        let said = guest.call_decide(&mut context.store, turn).await?;
        Ok(said.map(TurnStoppingDecision::from))
    }
}
