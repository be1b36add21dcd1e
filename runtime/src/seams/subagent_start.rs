//! A subagent begins.

use super::session_start::Contexts;
use super::{Agent, Described, Seam, SeamName};
use crate::failure::HookName;
use crate::sandbox::{CallContext, Lifted, PolicySeam, wire};

/// The seam `subagent-start`. Its event is the subagent itself.
#[derive(Debug)]
pub struct SubagentStart;

impl Seam for SubagentStart {
    const NAME: SeamName = SeamName::SubagentStart;
    type Event = Agent;
    type Decision = Vec<String>;
    type Folded = Contexts;

    fn lift(hook: &HookName, contexts: Vec<String>) -> Contexts {
        Contexts::lift(hook, contexts)
    }

    fn combine(earlier: Contexts, later: Contexts) -> Contexts {
        earlier.combine(later)
    }

    fn closes(_: &Contexts) -> bool {
        false
    }

    fn agent(agent: &Agent) -> &Agent {
        agent
    }

    fn describe(folded: &Contexts) -> Described {
        folded.describe()
    }
}

impl PolicySeam for SubagentStart {
    type Wire = wire::subagent_start::Subagent;

    fn to_wire(agent: &Agent) -> Self::Wire {
        wire::subagent_start::Subagent {
            agent: agent.to_wire(),
        }
    }

    async fn call(mut context: CallContext<'_>, subagent: &Self::Wire) -> Lifted<Vec<String>> {
        let guest = context
            .seam(|exports| &exports.subagent_start)?
            .load(&mut context.store, context.instance)?;
        guest.call_decide(&mut context.store, subagent).await
    }
}
