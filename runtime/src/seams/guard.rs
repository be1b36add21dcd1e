//! The last gate before a tool runs, after every approval.

use super::{Agent, Attributed, Described, Seam, SeamName, ToolCall};
use crate::failure::HookName;
use crate::sandbox::{CallContext, Lifted, PolicySeam, wire};

/// The seam `guard`.
#[derive(Debug)]
pub struct Guard;

/// What one guard says about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardDecision {
    /// Nothing to say.
    Abstain,
    /// The call does not run, whoever approved it.
    Deny(String),
}

/// What all guards say about a call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GuardFold {
    /// The reasons of those that deny it, in order. Empty where none does.
    pub denials: Vec<Attributed>,
}

impl Seam for Guard {
    const NAME: SeamName = SeamName::Guard;
    type Event = ToolCall;
    type Decision = GuardDecision;
    type Folded = GuardFold;

    fn lift(hook: &HookName, decision: GuardDecision) -> GuardFold {
        match decision {
            GuardDecision::Abstain => GuardFold::default(),
            GuardDecision::Deny(reason) => GuardFold {
                denials: vec![Attributed::new(hook, reason)],
            },
        }
    }

    fn combine(mut earlier: GuardFold, later: GuardFold) -> GuardFold {
        earlier.denials.extend(later.denials);
        earlier
    }

    fn closes(folded: &GuardFold) -> bool {
        !folded.denials.is_empty()
    }

    fn tool(call: &ToolCall) -> Option<&str> {
        Some(&call.tool)
    }

    fn agent(call: &ToolCall) -> &Agent {
        &call.agent
    }

    fn describe(folded: &GuardFold) -> Described {
        if folded.denials.is_empty() {
            Described::word("abstain")
        } else {
            Described::because("deny", &folded.denials)
        }
    }
}

impl PolicySeam for Guard {
    type Wire = wire::types::ToolCall;

    fn to_wire(call: &ToolCall) -> Self::Wire {
        call.to_wire()
    }

    async fn call(mut context: CallContext<'_>, call: &Self::Wire) -> Lifted<GuardDecision> {
        let guest = context
            .seam(|exports| &exports.guard)?
            .load(&mut context.store, context.instance)?;
        let said = guest.call_decide(&mut context.store, call).await?;
        Ok(said.map(|said| match said {
            wire::guard::GuardDecision::Abstain => GuardDecision::Abstain,
            wire::guard::GuardDecision::Deny(reason) => GuardDecision::Deny(reason),
        }))
    }
}
