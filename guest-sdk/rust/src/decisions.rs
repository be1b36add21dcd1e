//! Short constructors for the decisions.

use serde_json::Value;

use crate::{
    Acceptance, Admission, AroundToolDecision, Block, GuardDecision, PermissionRequestDecision,
    PostToolDecision, PreCompactDecision, PreToolDecision, PromptSubmitDecision, Replacement,
    RewriteInputDecision, Substitute, ToolError, TrustedPermissionRequestDecision,
    TrustedPostToolDecision, TrustedPreToolDecision, TrustedPromptSubmitDecision, TrustedVerdict,
    TurnStoppingDecision, Verdict,
};

impl PreToolDecision {
    /// Nothing to say.
    pub fn abstain() -> Self {
        Self {
            verdict: Verdict::Abstain,
            contexts: Vec::new(),
        }
    }

    /// A person should agree first; they are shown the reason.
    pub fn ask(reason: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Ask(reason.into()),
            contexts: Vec::new(),
        }
    }

    /// The call does not run; the model reads the reason, so say what would be right.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Deny(reason.into()),
            contexts: Vec::new(),
        }
    }

    /// Adds a text for the model, whatever the verdict.
    #[must_use]
    pub fn with_context(mut self, context: impl Into<String>) -> Self {
        self.contexts.push(context.into());
        self
    }
}

impl TrustedPreToolDecision {
    /// Nothing to say.
    pub fn abstain() -> Self {
        Self {
            verdict: TrustedVerdict::Abstain,
            contexts: Vec::new(),
        }
    }

    /// The call may run without asking anybody.
    pub fn allow() -> Self {
        Self {
            verdict: TrustedVerdict::Allow,
            contexts: Vec::new(),
        }
    }

    /// A person should agree first; they are shown the reason.
    pub fn ask(reason: impl Into<String>) -> Self {
        Self {
            verdict: TrustedVerdict::Ask(reason.into()),
            contexts: Vec::new(),
        }
    }

    /// The call does not run; the model reads the reason, so say what would be right.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self {
            verdict: TrustedVerdict::Deny(reason.into()),
            contexts: Vec::new(),
        }
    }

    /// Adds a text for the model, whatever the verdict.
    #[must_use]
    pub fn with_context(mut self, context: impl Into<String>) -> Self {
        self.contexts.push(context.into());
        self
    }
}

impl PromptSubmitDecision {
    /// The prompt goes on.
    pub fn proceed() -> Self {
        Self::Proceed(Vec::new())
    }

    /// The prompt does not reach the model; the person who wrote it is shown the reason.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block(reason.into())
    }

    /// Adds a text for the model. Beside a blocked prompt there is none to add it to, and this changes nothing.
    #[must_use]
    pub fn with_context(mut self, context: impl Into<String>) -> Self {
        if let Self::Proceed(contexts) = &mut self {
            contexts.push(context.into());
        }
        self
    }
}

impl TrustedPromptSubmitDecision {
    /// The prompt goes on as it is.
    pub fn allow() -> Self {
        Self::Allow(Admission {
            content: None,
            contexts: Vec::new(),
        })
    }

    /// The prompt goes on with this list of content blocks in place of its own.
    pub fn rewrite(content: Value) -> Self {
        Self::Allow(Admission {
            content: Some(content.to_string()),
            contexts: Vec::new(),
        })
    }

    /// The prompt does not reach the model; the person who wrote it is shown the reason.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block(reason.into())
    }

    /// Adds a text for the model. Beside a blocked prompt there is none to add it to, and this changes nothing.
    #[must_use]
    pub fn with_context(mut self, context: impl Into<String>) -> Self {
        if let Self::Allow(admission) = &mut self {
            admission.contexts.push(context.into());
        }
        self
    }
}

impl RewriteInputDecision {
    /// The arguments stay as they are.
    pub fn keep() -> Self {
        Self::Keep
    }

    /// These take their place, the whole of them.
    pub fn replace(arguments: Value) -> Self {
        Self::Replace(arguments.to_string())
    }
}

impl GuardDecision {
    /// Nothing to say.
    pub fn abstain() -> Self {
        Self::Abstain
    }

    /// The call does not run; the model reads the reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny(reason.into())
    }
}

impl AroundToolDecision {
    /// What the last call of `next` gave, untouched. Without such a call it is a bad decision.
    pub fn pass() -> Self {
        Self::Pass
    }

    /// A success with this value, in place of what the tool gave.
    pub fn succeed(value: Value) -> Self {
        Self::Substitute(Substitute {
            result: Ok(value.to_string()),
            contexts: Vec::new(),
        })
    }

    /// A failure with this message, in place of what the tool gave.
    pub fn fail(message: impl Into<String>) -> Self {
        let failure = ToolError {
            message: message.into(),
            code: None,
        };
        Self::Substitute(Substitute {
            result: Err(failure),
            contexts: Vec::new(),
        })
    }
}

impl PostToolDecision {
    /// The model gets the result.
    pub fn accept() -> Self {
        Self::Accept(Vec::new())
    }

    /// The model gets this feedback in place of the result, as a failure.
    pub fn block(feedback: impl Into<String>) -> Self {
        Self::Block(Block {
            feedback: feedback.into(),
            contexts: Vec::new(),
        })
    }

    /// Adds a text for the model, beside the result or the feedback.
    #[must_use]
    pub fn with_context(mut self, context: impl Into<String>) -> Self {
        match &mut self {
            Self::Accept(contexts) | Self::Block(Block { contexts, .. }) => {
                contexts.push(context.into())
            }
        }
        self
    }
}

impl TrustedPostToolDecision {
    /// The model gets the result as it is.
    pub fn accept() -> Self {
        Self::Accept(Acceptance {
            replacement: None,
            contexts: Vec::new(),
        })
    }

    /// The model reads this list of content blocks in place of the result's own. Programs still get the tool's value.
    pub fn replace_content(content: Value) -> Self {
        Self::Accept(Acceptance {
            replacement: Some(Replacement::Content(content.to_string())),
            contexts: Vec::new(),
        })
    }

    /// This takes the place of the tool's value. Only for a success.
    pub fn replace_value(value: Value) -> Self {
        Self::Accept(Acceptance {
            replacement: Some(Replacement::Value(value.to_string())),
            contexts: Vec::new(),
        })
    }

    /// The model gets this feedback in place of the result, as a failure.
    pub fn block(feedback: impl Into<String>) -> Self {
        Self::Block(Block {
            feedback: feedback.into(),
            contexts: Vec::new(),
        })
    }

    /// Adds a text for the model, beside the result or the feedback.
    #[must_use]
    pub fn with_context(mut self, context: impl Into<String>) -> Self {
        match &mut self {
            Self::Accept(Acceptance { contexts, .. }) | Self::Block(Block { contexts, .. }) => {
                contexts.push(context.into());
            }
        }
        self
    }
}

impl TurnStoppingDecision {
    /// The turn may end.
    pub fn settle() -> Self {
        Self::Settle
    }

    /// The turn goes on, and the model reads this as its next instruction.
    pub fn continue_with(instruction: impl Into<String>) -> Self {
        Self::Continue(instruction.into())
    }
}

impl PermissionRequestDecision {
    /// Nothing to say: the user is asked.
    pub fn abstain() -> Self {
        Self::Abstain
    }

    /// Refused without asking, for this reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny(reason.into())
    }
}

impl TrustedPermissionRequestDecision {
    /// Nothing to say: the user is asked.
    pub fn abstain() -> Self {
        Self::Abstain
    }

    /// Granted without asking, for this one call.
    pub fn allow_once() -> Self {
        Self::AllowOnce
    }

    /// Refused without asking, for this reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny(reason.into())
    }
}

impl PreCompactDecision {
    /// The conversation may be compacted.
    pub fn proceed() -> Self {
        Self::Proceed
    }

    /// It may not, for this reason.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block(reason.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_go_where_the_decision_has_room_for_them() {
        assert_eq!(
            PreToolDecision::deny("no")
                .with_context("a")
                .with_context("b"),
            PreToolDecision {
                verdict: Verdict::Deny("no".into()),
                contexts: vec!["a".into(), "b".into()]
            },
        );
        assert_eq!(
            PromptSubmitDecision::proceed().with_context("a"),
            PromptSubmitDecision::Proceed(vec!["a".into()]),
        );
        assert_eq!(
            PromptSubmitDecision::block("no").with_context("a"),
            PromptSubmitDecision::Block("no".into()),
        );
        assert_eq!(
            PostToolDecision::block("no").with_context("a"),
            PostToolDecision::Block(Block {
                feedback: "no".into(),
                contexts: vec!["a".into()]
            }),
        );
        assert_eq!(
            TrustedPostToolDecision::replace_value(serde_json::json!({ "n": 1 })).with_context("a"),
            TrustedPostToolDecision::Accept(Acceptance {
                replacement: Some(Replacement::Value("{\"n\":1}".into())),
                contexts: vec!["a".into()],
            }),
        );
    }
}
