//! The fold of what several hooks said about one event.

use std::borrow::Borrow;

use super::output::{HookDecision, HookOutput};

/// The decision of all hooks of an event. The later of two wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum FoldedDecision {
    /// No hook decided.
    #[default]
    None,
    /// One or more let it happen, and nobody wants more.
    Allow,
    /// A person has to say.
    Ask,
    /// It must not happen.
    Deny,
}

impl From<HookDecision> for FoldedDecision {
    fn from(decision: HookDecision) -> Self {
        match decision {
            HookDecision::Approve | HookDecision::Allow => Self::Allow,
            HookDecision::Ask => Self::Ask,
            HookDecision::Block | HookDecision::Deny => Self::Deny,
        }
    }
}

/// What all hooks of an event said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Folded {
    /// The strictest decision, whatever the order.
    pub decision: FoldedDecision,
    /// The reasons of those who decided so, in order, with a blank line between them. None for allow.
    pub reason: Option<String>,
    /// Whether a hook said that the agent must stop.
    pub stop: bool,
    /// Why, as the first that said so gives it; nothing where that one gives none.
    pub stop_reason: Option<String>,
    /// What the model should know, in order. None is empty.
    pub additional_contexts: Vec<String>,
    /// What the user should know, in order. None is empty.
    pub system_messages: Vec<String>,
}

/// Folds what the hooks of an event said, in the order of the configuration.
pub fn fold<O: Borrow<HookOutput>>(outputs: impl IntoIterator<Item = O>) -> Folded {
    let mut folded = Folded::default();
    let mut reasons: Vec<String> = Vec::new();
    for output in outputs {
        let output: &HookOutput = output.borrow();
        let decision = output.decision.map_or(FoldedDecision::None, Into::into);
        if decision > folded.decision {
            folded.decision = decision;
            reasons.clear();
        }
        if decision == folded.decision && decision >= FoldedDecision::Ask {
            reasons.extend(not_empty(output.reason.as_ref()));
        }
        if output.continues == Some(false) && !folded.stop {
            folded.stop = true;
            folded.stop_reason.clone_from(&output.stop_reason);
        }
        let contexts = not_empty(output.additional_context.as_ref());
        folded.additional_contexts.extend(contexts);
        let messages = not_empty(output.system_message.as_ref());
        folded.system_messages.extend(messages);
    }
    if !reasons.is_empty() {
        folded.reason = Some(reasons.join("\n\n"));
    }
    folded
}

fn not_empty(text: Option<&String>) -> Option<String> {
    text.filter(|text| !text.is_empty()).cloned()
}
