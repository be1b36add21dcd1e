//! A tool call's arguments, before the call has an identity.

use super::{Described, Seam, SeamName, ToolCall};
use crate::failure::HookName;
use crate::json::Json;
use crate::sandbox::{CallContext, Lifted, PolicySeam, lossless, wire};

/// The seam `rewrite-input`.
#[derive(Debug)]
pub struct RewriteInput;

/// What one hook makes of the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RewriteInputDecision {
    /// They stay.
    Keep,
    /// These take their place, the whole of them.
    Replace(Json),
}

/// One step of a chain of rewrites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// Who rewrote them.
    pub hook: HookName,
    /// What they became.
    pub arguments: Json,
}

/// What all hooks made of the arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RewriteInputFold {
    /// Every rewrite, in order. The last one holds.
    pub rewrites: Vec<Rewrite>,
}

impl RewriteInputFold {
    /// The arguments that replace the original ones, where somebody rewrote them.
    pub fn arguments(&self) -> Option<&Json> {
        self.rewrites.last().map(|rewrite| &rewrite.arguments)
    }
}

impl Seam for RewriteInput {
    const NAME: SeamName = SeamName::RewriteInput;
    type Event = ToolCall;
    type Decision = RewriteInputDecision;
    type Folded = RewriteInputFold;

    fn lift(hook: &HookName, decision: RewriteInputDecision) -> RewriteInputFold {
        match decision {
            RewriteInputDecision::Keep => RewriteInputFold::default(),
            RewriteInputDecision::Replace(arguments) => RewriteInputFold {
                rewrites: vec![Rewrite {
                    hook: hook.clone(),
                    arguments,
                }],
            },
        }
    }

    fn combine(mut earlier: RewriteInputFold, later: RewriteInputFold) -> RewriteInputFold {
        earlier.rewrites.extend(later.rewrites);
        earlier
    }

    fn closes(_: &RewriteInputFold) -> bool {
        false
    }

    fn advance(call: &ToolCall, folded: &RewriteInputFold) -> Option<ToolCall> {
        folded.arguments().map(|arguments| ToolCall {
            arguments: arguments.clone(),
            ..call.clone()
        })
    }

    fn tool(call: &ToolCall) -> Option<&str> {
        Some(&call.tool)
    }

    fn describe(folded: &RewriteInputFold) -> Described {
        Described::word(if folded.rewrites.is_empty() {
            "keep"
        } else {
            "replace"
        })
    }
}

impl PolicySeam for RewriteInput {
    type Wire = wire::types::ToolCall;

    fn to_wire(call: &ToolCall) -> Self::Wire {
        call.to_wire()
    }

    async fn call(mut context: CallContext<'_>, call: &Self::Wire) -> Lifted<RewriteInputDecision> {
        use wire::rewrite_input::RewriteInputDecision as Said;
        let guest = context
            .seam(|exports| &exports.rewrite_input)?
            .load(&mut context.store, context.instance)?;
        match guest.call_decide(&mut context.store, call).await? {
            Ok(Said::Keep) => Ok(Ok(RewriteInputDecision::Keep)),
            Ok(Said::Replace(arguments)) => {
                Ok(Ok(RewriteInputDecision::Replace(lossless(arguments)?)))
            }
            Err(problem) => Ok(Err(problem)),
        }
    }
}
