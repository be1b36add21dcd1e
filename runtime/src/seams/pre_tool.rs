//! A tool is about to run.

use serde::Serialize;

use super::{Agent, Attributed, Described, Seam, SeamName, ToolCall, join};
use crate::failure::HookName;
use crate::sandbox::{CallContext, Lifted, PolicySeam, wire};

/// The seam `pre-tool`.
#[derive(Debug)]
pub struct PreTool;

/// What one hook says about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreToolDecision {
    /// The verdict.
    pub verdict: Verdict,
    /// Contexts for the model, whatever the verdict.
    pub contexts: Vec<String>,
}

impl From<Verdict> for PreToolDecision {
    fn from(verdict: Verdict) -> Self {
        Self {
            verdict,
            contexts: Vec::new(),
        }
    }
}

/// The verdict on a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing to say.
    Abstain,
    /// The call may run without asking anybody. Guards still apply.
    Allow,
    /// A person should agree first.
    Ask(String),
    /// The call does not run.
    Deny(String),
}

/// How strict a verdict is; the strictest wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum VerdictRank {
    /// Nobody said anything.
    #[default]
    Abstain,
    /// Somebody allowed it, and nobody was stricter.
    Allow,
    /// Somebody wants a person asked.
    Ask,
    /// Somebody denied it.
    Deny,
}

impl VerdictRank {
    /// The verdict in a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Abstain => "abstain",
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// A reason, with its author and the verdict it was given for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The verdict it explains.
    pub verdict: VerdictRank,
    /// Who gave it, and its text.
    #[serde(flatten)]
    pub said: Attributed,
}

/// What all hooks say about a call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PreToolFold {
    /// The strictest verdict.
    pub verdict: VerdictRank,
    /// The reasons of every ask and deny, in order.
    pub reasons: Vec<Reason>,
    /// All contexts, in order.
    pub contexts: Vec<Attributed>,
}

impl PreToolFold {
    /// The reasons for the verdict itself, one under the other.
    pub fn reason(&self) -> Option<String> {
        join(&self.decisive())
    }

    /// The reasons for the verdict itself, each with its author.
    pub fn decisive(&self) -> Vec<Attributed> {
        self.reasons
            .iter()
            .filter(|reason| reason.verdict == self.verdict)
            .map(|reason| reason.said.clone())
            .collect()
    }
}

impl Seam for PreTool {
    const NAME: SeamName = SeamName::PreTool;
    type Event = ToolCall;
    type Decision = PreToolDecision;
    type Folded = PreToolFold;

    fn lift(hook: &HookName, decision: PreToolDecision) -> PreToolFold {
        let (verdict, reason) = match decision.verdict {
            Verdict::Abstain => (VerdictRank::Abstain, None),
            Verdict::Allow => (VerdictRank::Allow, None),
            Verdict::Ask(reason) => (VerdictRank::Ask, Some(reason)),
            Verdict::Deny(reason) => (VerdictRank::Deny, Some(reason)),
        };
        PreToolFold {
            verdict,
            reasons: reason
                .map(|text| Reason {
                    verdict,
                    said: Attributed::new(hook, text),
                })
                .into_iter()
                .collect(),
            contexts: Attributed::all(hook, decision.contexts),
        }
    }

    fn combine(mut earlier: PreToolFold, later: PreToolFold) -> PreToolFold {
        earlier.verdict = earlier.verdict.max(later.verdict);
        earlier.reasons.extend(later.reasons);
        earlier.contexts.extend(later.contexts);
        earlier
    }

    fn closes(folded: &PreToolFold) -> bool {
        folded.verdict == VerdictRank::Deny
    }

    fn tool(call: &ToolCall) -> Option<&str> {
        Some(&call.tool)
    }

    fn agent(call: &ToolCall) -> &Agent {
        &call.agent
    }

    fn describe(folded: &PreToolFold) -> Described {
        Described {
            reason: folded.reason(),
            ..Described::word(folded.verdict.as_str()).with_contexts(&folded.contexts)
        }
    }
}

impl PolicySeam for PreTool {
    type Wire = wire::types::ToolCall;

    fn to_wire(call: &ToolCall) -> Self::Wire {
        call.to_wire()
    }

    async fn call(mut context: CallContext<'_>, call: &Self::Wire) -> Lifted<PreToolDecision> {
        if let Some(seam) = &context.exports.trusted_pre_tool {
            let guest = seam.load(&mut context.store, context.instance)?;
            let said = guest.call_decide(&mut context.store, call).await?;
            return Ok(said.map(|said| PreToolDecision {
                verdict: match said.verdict {
                    wire::trusted_pre_tool::TrustedVerdict::Abstain => Verdict::Abstain,
                    wire::trusted_pre_tool::TrustedVerdict::Allow => Verdict::Allow,
                    wire::trusted_pre_tool::TrustedVerdict::Ask(reason) => Verdict::Ask(reason),
                    wire::trusted_pre_tool::TrustedVerdict::Deny(reason) => Verdict::Deny(reason),
                },
                contexts: said.contexts,
            }));
        }
        let guest = context
            .seam(|exports| &exports.pre_tool)?
            .load(&mut context.store, context.instance)?;
        let said = guest.call_decide(&mut context.store, call).await?;
        Ok(said.map(|said| PreToolDecision {
            verdict: match said.verdict {
                wire::pre_tool::Verdict::Abstain => Verdict::Abstain,
                wire::pre_tool::Verdict::Ask(reason) => Verdict::Ask(reason),
                wire::pre_tool::Verdict::Deny(reason) => Verdict::Deny(reason),
            },
            contexts: said.contexts,
        }))
    }
}
