//! Around a tool: what a hook may make of a call. How its way goes is `pipeline/around.rs`.
//!
//! It is the one seam whose decisions do not fold: each hook holds the rest of the way in its hands, policies included, and what
//! the outermost one says is what the call comes to.

use crate::contained::Boxed;
use crate::content;
use crate::failure::{Failure, FailureCode, HookName};
use crate::json::Json;
use crate::pipeline::{AroundNext, Candidate, Token, Unchecked};
use crate::seams::{ToolCall, ToolError};

/// A native hook around tools.
pub trait AroundTool: Send + Sync {
    /// Whether it is asked about this call at all.
    fn concerns(&self, _call: &ToolCall) -> bool {
        true
    }

    /// Says what the call comes to. `next` runs the hooks further in, and the tool.
    ///
    /// # Errors
    /// The hook could not decide, or passes on that one further in could not. The call then fails.
    fn around<'a>(
        &'a self,
        call: &'a ToolCall,
        next: AroundNext<'a>,
    ) -> Boxed<'a, Result<Around, AroundError>>;
}

/// Why a call could not be got around.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AroundError {
    /// A hook could not decide.
    #[error(transparent)]
    Hook(#[from] Failure),
    /// A hook answered with something that is no value of the tool.
    #[error("hook `{hook}` answered in the tool's place: {}", error.message)]
    Answer {
        /// The hook.
        hook: HookName,
        /// What is wrong with its answer.
        error: ToolError,
    },
}

impl AroundError {
    /// Which hook could not decide, and what happened to it.
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Self::Hook(failure) => failure.clone(),
            Self::Answer { hook, error } => Failure {
                hook: hook.clone(),
                code: FailureCode::BadDecision,
                message: error.message.clone(),
            },
        }
    }
}

/// What running the rest of the way came to. It is whole and checked; a tool that failed is a failed one of these.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Of which call. What another call gave is not taken on trust.
    pub(crate) token: Token,
    pub(crate) candidate: Candidate,
}

impl Ran {
    /// The tool's value, or its failure.
    pub fn result(&self) -> Result<&Json, &ToolError> {
        self.candidate.result.as_ref()
    }

    /// What the model would read.
    pub fn text(&self) -> String {
        content::text_of(&self.candidate.content)
    }
}

/// What a hook makes of a call.
#[derive(Debug, Clone)]
pub struct Around {
    pub(crate) by: By,
    pub(crate) contexts: Vec<String>,
}

/// What takes the place of what `next` gave.
#[derive(Debug, Clone)]
pub(crate) enum By {
    Pass(Box<Ran>),
    Value(Unchecked),
    Failure {
        error: ToolError,
        content: Option<Unchecked>,
        meta: Option<Unchecked>,
    },
}

impl Around {
    /// The decision in a word.
    pub(crate) fn word(&self) -> &'static str {
        match &self.by {
            By::Pass(_) => "pass",
            By::Value(_) => "substitute",
            By::Failure { .. } => "fail",
        }
    }

    /// What `next` gave, untouched.
    pub fn pass(ran: Ran) -> Self {
        By::Pass(Box::new(ran)).into()
    }

    /// This value in its place. It is validated against the tool's output, and rendered anew.
    pub fn value(value: impl Into<Unchecked>) -> Self {
        By::Value(value.into()).into()
    }

    /// A failure in its place.
    pub fn failure(error: ToolError) -> Self {
        By::Failure {
            error,
            content: None,
            meta: None,
        }
        .into()
    }

    /// A failure in its place that reads otherwise than its message, and may have something beside it.
    pub fn failure_with(error: ToolError, content: Unchecked, meta: Option<Unchecked>) -> Self {
        By::Failure {
            error,
            content: Some(content),
            meta,
        }
        .into()
    }

    /// Contexts for the model beside it.
    #[must_use]
    pub fn with_contexts(mut self, contexts: impl IntoIterator<Item = String>) -> Self {
        self.contexts.extend(contexts);
        self
    }
}

impl From<By> for Around {
    fn from(by: By) -> Self {
        Self {
            by,
            contexts: Vec::new(),
        }
    }
}
