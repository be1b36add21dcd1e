//! The conversation is about to be compacted.

use super::{Agent, Attributed, Described, Seam, SeamName};
use crate::failure::HookName;
use crate::sandbox::{CallContext, Lifted, PolicySeam, wire};

/// The seam `pre-compact`.
#[derive(Debug)]
pub struct PreCompact;

/// A compaction that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// Whose conversation.
    pub agent: Agent,
    /// What set it off.
    pub trigger: CompactTrigger,
    /// What the user wrote for it, where they did.
    pub instructions: Option<String>,
}

/// What set a compaction off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactTrigger {
    /// The user asked for it.
    Manual,
    /// The conversation grew too long.
    Auto,
    /// In the agent's own word.
    Other(String),
}

impl From<&str> for CompactTrigger {
    fn from(word: &str) -> Self {
        match word {
            "manual" => Self::Manual,
            "auto" => Self::Auto,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// What one hook says about a compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreCompactDecision {
    /// It may happen.
    Proceed,
    /// It may not.
    Block(String),
}

/// What all hooks say about a compaction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PreCompactFold {
    /// The reasons of those that block it, in order. Empty where none does.
    pub blocks: Vec<Attributed>,
}

impl Seam for PreCompact {
    const NAME: SeamName = SeamName::PreCompact;
    type Event = Compaction;
    type Decision = PreCompactDecision;
    type Folded = PreCompactFold;

    fn lift(hook: &HookName, decision: PreCompactDecision) -> PreCompactFold {
        match decision {
            PreCompactDecision::Proceed => PreCompactFold::default(),
            PreCompactDecision::Block(reason) => PreCompactFold {
                blocks: vec![Attributed::new(hook, reason)],
            },
        }
    }

    fn combine(mut earlier: PreCompactFold, later: PreCompactFold) -> PreCompactFold {
        earlier.blocks.extend(later.blocks);
        earlier
    }

    fn closes(folded: &PreCompactFold) -> bool {
        !folded.blocks.is_empty()
    }

    fn agent(compaction: &Compaction) -> &Agent {
        &compaction.agent
    }

    fn describe(folded: &PreCompactFold) -> Described {
        if folded.blocks.is_empty() {
            Described::word("proceed")
        } else {
            Described::because("block", &folded.blocks)
        }
    }
}

impl PolicySeam for PreCompact {
    type Wire = wire::pre_compact::Compaction;

    fn to_wire(compaction: &Compaction) -> Self::Wire {
        use wire::pre_compact::CompactTrigger as Trigger;
        wire::pre_compact::Compaction {
            agent: compaction.agent.to_wire(),
            trigger: match &compaction.trigger {
                CompactTrigger::Manual => Trigger::Manual,
                CompactTrigger::Auto => Trigger::Auto,
                CompactTrigger::Other(word) => Trigger::Other(word.clone()),
            },
            instructions: compaction.instructions.clone(),
        }
    }

    async fn call(
        mut context: CallContext<'_>,
        compaction: &Self::Wire,
    ) -> Lifted<PreCompactDecision> {
        let guest = context
            .seam(|exports| &exports.pre_compact)?
            .load(&mut context.store, context.instance)?;
        let said = guest.call_decide(&mut context.store, compaction).await?;
        Ok(said.map(|said| match said {
            wire::pre_compact::PreCompactDecision::Proceed => PreCompactDecision::Proceed,
            wire::pre_compact::PreCompactDecision::Block(reason) => {
                PreCompactDecision::Block(reason)
            }
        }))
    }
}
