//! The agent is about to ask its user for permission.

use super::{Agent, Attributed, Described, Seam, SeamName, ToolCall};
use crate::failure::HookName;
use crate::sandbox::{CallContext, Lifted, PolicySeam, wire};

/// The seam `permission-request`.
#[derive(Debug)]
pub struct PermissionRequest;

/// What one hook says about a permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermissionRequestDecision {
    /// Nothing: the user is asked.
    Abstain,
    /// Granted for this one call, without asking.
    AllowOnce,
    /// Refused without asking.
    Deny(String),
}

/// The strictest answer wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum PermissionVerdict {
    /// The user is asked.
    #[default]
    Abstain,
    /// Granted for this one call.
    AllowOnce,
    /// Refused.
    Deny,
}

/// What all hooks say about a permission.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PermissionRequestFold {
    /// The strictest answer.
    pub verdict: PermissionVerdict,
    /// The reasons of those that refuse it, in order.
    pub denials: Vec<Attributed>,
}

impl Seam for PermissionRequest {
    const NAME: SeamName = SeamName::PermissionRequest;
    type Event = ToolCall;
    type Decision = PermissionRequestDecision;
    type Folded = PermissionRequestFold;

    fn lift(hook: &HookName, decision: PermissionRequestDecision) -> PermissionRequestFold {
        match decision {
            PermissionRequestDecision::Abstain => PermissionRequestFold::default(),
            PermissionRequestDecision::AllowOnce => PermissionRequestFold {
                verdict: PermissionVerdict::AllowOnce,
                denials: Vec::new(),
            },
            PermissionRequestDecision::Deny(reason) => PermissionRequestFold {
                verdict: PermissionVerdict::Deny,
                denials: vec![Attributed::new(hook, reason)],
            },
        }
    }

    fn combine(
        mut earlier: PermissionRequestFold,
        later: PermissionRequestFold,
    ) -> PermissionRequestFold {
        earlier.verdict = earlier.verdict.max(later.verdict);
        earlier.denials.extend(later.denials);
        earlier
    }

    fn closes(folded: &PermissionRequestFold) -> bool {
        folded.verdict == PermissionVerdict::Deny
    }

    fn tool(call: &ToolCall) -> Option<&str> {
        Some(&call.tool)
    }

    fn agent(call: &ToolCall) -> &Agent {
        &call.agent
    }

    fn describe(folded: &PermissionRequestFold) -> Described {
        match folded.verdict {
            PermissionVerdict::Abstain => Described::word("abstain"),
            PermissionVerdict::AllowOnce => Described::word("allow-once"),
            PermissionVerdict::Deny => Described::because("deny", &folded.denials),
        }
    }
}

impl PolicySeam for PermissionRequest {
    type Wire = wire::types::ToolCall;

    fn to_wire(call: &ToolCall) -> Self::Wire {
        call.to_wire()
    }

    async fn call(
        mut context: CallContext<'_>,
        call: &Self::Wire,
    ) -> Lifted<PermissionRequestDecision> {
        if let Some(seam) = &context.exports.trusted_permission_request {
            use wire::trusted_permission_request::TrustedPermissionRequestDecision as Said;
            let guest = seam.load(&mut context.store, context.instance)?;
            let said = guest.call_decide(&mut context.store, call).await?;
            return Ok(said.map(|said| match said {
                Said::Abstain => PermissionRequestDecision::Abstain,
                Said::AllowOnce => PermissionRequestDecision::AllowOnce,
                Said::Deny(reason) => PermissionRequestDecision::Deny(reason),
            }));
        }
        use wire::permission_request::PermissionRequestDecision as Said;
        let guest = context
            .seam(|exports| &exports.permission_request)?
            .load(&mut context.store, context.instance)?;
        let said = guest.call_decide(&mut context.store, call).await?;
        Ok(said.map(|said| match said {
            Said::Abstain => PermissionRequestDecision::Abstain,
            Said::Deny(reason) => PermissionRequestDecision::Deny(reason),
        }))
    }
}
