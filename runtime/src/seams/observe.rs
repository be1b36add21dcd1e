//! Every event of an agent that has no seam of its own.

use super::{Agent, Described, Seam, SeamName};
use crate::failure::HookName;
use crate::json::Json;
use crate::sandbox::{CallContext, Lifted, PolicySeam, wire};

/// The seam `observe`.
#[derive(Debug)]
pub struct Observe;

/// An event in the agent's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentEvent {
    /// Who it happened to.
    pub agent: Agent,
    /// Its name, as the agent calls it.
    pub name: String,
    /// Its whole payload.
    pub payload: Json,
}

impl Seam for Observe {
    const NAME: SeamName = SeamName::Observe;
    type Event = AgentEvent;
    type Decision = ();
    type Folded = ();

    fn lift(_: &HookName, (): ()) {}

    fn combine((): (), (): ()) {}

    fn closes((): &()) -> bool {
        false
    }

    fn agent(event: &AgentEvent) -> &Agent {
        &event.agent
    }

    fn describe((): &()) -> Described {
        Described::word("told")
    }
}

impl PolicySeam for Observe {
    type Wire = wire::observe::Event;

    fn to_wire(event: &AgentEvent) -> Self::Wire {
        wire::observe::Event {
            agent: event.agent.to_wire(),
            name: event.name.clone(),
            payload: event.payload.text().to_owned(),
        }
    }

    async fn call(mut context: CallContext<'_>, event: &Self::Wire) -> Lifted<()> {
        let guest = context
            .seam(|exports| &exports.observe)?
            .load(&mut context.store, context.instance)?;
        guest.call_observe(&mut context.store, event).await?;
        Ok(Ok(()))
    }
}
