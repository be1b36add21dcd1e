//! "Could not decide": what a hook's failure is, told apart from every decision.
//!
//! A decision is something that a hook said; a failure is something that happened to it. No hook can produce a failure of
//! a code other than [`FailureCode::Reported`], so an audit can tell "policy said no" from "machinery broke".

use std::fmt;
use std::sync::Arc;

/// The name of a hook, as the configuration or the embedding program gave it.
///
/// It is stamped on everything the hook says, by the runtime; a hook has no way to write it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HookName(Arc<str>);

impl HookName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<Arc<str>>> From<T> for HookName {
    fn from(name: T) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for HookName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for HookName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}

impl serde::Serialize for HookName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// A hook could not decide.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("hook `{hook}` could not decide ({code}): {message}")]
pub struct Failure {
    /// Which hook.
    pub hook: HookName,
    /// What happened to it, from a closed set.
    pub code: FailureCode,
    /// The same for a person and the log. It may hold text of the hook's own, so it is never shown to a model.
    pub message: String,
}

impl Failure {
    /// What a model may read in place of the decision: which hook, and what happened to it. Nothing in it was written by
    /// the hook: where the message may hold text of the hook's own, only the code is told.
    pub fn for_model(&self) -> String {
        let happened = match self.code {
            FailureCode::Reported | FailureCode::BadDecision | FailureCode::Panic => String::new(),
            FailureCode::Trap
            | FailureCode::Timeout
            | FailureCode::Cpu
            | FailureCode::Memory
            | FailureCode::Stack
            | FailureCode::Oversize
            | FailureCode::Unavailable => format!(": {}", self.message),
        };
        format!(
            "hook `{}` could not decide ({}){happened}. So this is refused, which says nothing about the request itself. Tell \
             the user, who can see all that the hook said with `seamgate replay`",
            self.hook, self.code
        )
    }
}

/// What can happen to a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum FailureCode {
    /// The hook itself said that it could not decide. The only code a hook can cause at will.
    Reported,
    /// A policy trapped: it panicked, ran into an unreachable instruction, or left its memory.
    Trap,
    /// It took longer than its wall-clock limit.
    Timeout,
    /// It computed for longer than its limit.
    Cpu,
    /// It wanted more memory, tables or instances than its limits.
    Memory,
    /// It ran out of stack.
    Stack,
    /// It answered with something that is no decision of this seam: lossy JSON, or `pass` without a call of `next`.
    BadDecision,
    /// Its decision is larger than its limit.
    Oversize,
    /// It could not be loaded, or no instance of it could be made.
    Unavailable,
    /// A native hook panicked.
    Panic,
}

impl fmt::Display for FailureCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Reported => "REPORTED",
            Self::Trap => "TRAP",
            Self::Timeout => "TIMEOUT",
            Self::Cpu => "CPU",
            Self::Memory => "MEMORY",
            Self::Stack => "STACK",
            Self::BadDecision => "BAD_DECISION",
            Self::Oversize => "OVERSIZE",
            Self::Unavailable => "UNAVAILABLE",
            Self::Panic => "PANIC",
        })
    }
}
