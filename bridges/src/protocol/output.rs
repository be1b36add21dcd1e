//! What a hook's output says.

use std::collections::BTreeMap;

use seamgate::{Json, JsonError};
use serde_json::value::RawValue;

use super::run::HookEnd;

/// The members of an object, each still as text. Of several with one name the last counts, as for JavaScript.
pub type Fields = BTreeMap<String, Box<RawValue>>;

/// A hook's word about what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HookDecision {
    /// The older word for allow.
    Approve,
    /// Let it happen.
    Allow,
    /// The word of exit code 2, and the older one for deny.
    Block,
    /// Don't let it happen.
    Deny,
    /// Let a person say.
    Ask,
}

impl HookDecision {
    /// The word itself.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Allow => "allow",
            Self::Block => "block",
            Self::Deny => "deny",
            Self::Ask => "ask",
        }
    }
}

/// What one hook said.
#[derive(Debug, Clone, Default)]
pub struct HookOutput {
    /// Its exit code, where it ended by itself.
    pub exit_code: Option<i32>,
    /// What it wrote to standard output, without the blanks around it.
    pub stdout: String,
    /// What it wrote to standard error, without the blanks around it.
    pub stderr: String,
    /// What its standard output was taken for.
    pub stdout_kind: StdoutKind,
    /// `continue`: whether the agent may go on at all.
    pub continues: Option<bool>,
    /// `stopReason`: why it may not.
    pub stop_reason: Option<String>,
    /// What it decided.
    pub decision: Option<HookDecision>,
    /// Why.
    pub reason: Option<String>,
    /// The event that it says it answers, even if it is another one.
    pub event_name: Option<String>,
    /// What the model should know.
    pub additional_context: Option<String>,
    /// What the user should know.
    pub system_message: Option<String>,
    /// The arguments that it wants instead. An error where they are an object that two readers could understand
    /// differently, so nobody may run it.
    pub updated_input: Option<Result<Json, JsonError>>,
    /// `suppressOutput`, which has no effect here.
    pub suppress_output: Option<bool>,
    /// Every member of the object that it printed, for what only one dialect knows.
    pub fields: Fields,
    /// The same of `hookSpecificOutput`. Empty where that answers another event.
    pub specific: Fields,
    /// Fields that it gave a value of a wrong type, which counts as none.
    pub ignored: Vec<&'static str>,
    /// Why it could not decide, where that is so.
    pub problem: Option<HookProblem>,
}

/// What standard output was taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StdoutKind {
    /// Nothing: it is empty, or it does not count with this exit code.
    #[default]
    Nothing,
    /// Text.
    Text,
    /// An object, whose fields count.
    Object,
    /// Something that looks like JSON and is no object.
    BrokenJson,
    /// Only the end of it is known, so it can't be used.
    Truncated,
}

/// Why a hook could not decide.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HookProblem {
    /// It exited with a code that decides nothing.
    #[error("it exited with {0}")]
    ExitCode(i32),
    /// A signal ended it.
    #[error("it was killed by signal {0}")]
    Killed(i32),
    /// Its time was up.
    #[error("it took too long")]
    TimedOut,
    /// Nobody wanted to know any more. Not a fault of the hook's.
    #[error("it was cancelled")]
    Cancelled,
    /// It could not be run.
    #[error("{0}")]
    Failed(String),
    /// It exited with 2 but said nothing, and the dialect does not take that for a decision.
    #[error("it exited with 2 and gave no reason on standard error")]
    BlockWithoutReason,
    /// What it printed looks like JSON, and is no object.
    #[error("its output looks like JSON but is no object: {0}")]
    BrokenJson(String),
    /// It printed more than is kept.
    #[error("it printed more than is kept, so its output can't be used")]
    Truncated,
}

impl HookProblem {
    /// What kept a run with this end from deciding. Nothing, where it exited with 0 or 2.
    pub(super) fn of(end: &HookEnd) -> Option<Self> {
        match end {
            HookEnd::Exited(0 | 2) => None,
            HookEnd::Exited(code) => Some(Self::ExitCode(*code)),
            HookEnd::Killed(signal) => Some(Self::Killed(*signal)),
            HookEnd::TimedOut => Some(Self::TimedOut),
            HookEnd::Cancelled { .. } => Some(Self::Cancelled),
            HookEnd::Failed(message) => Some(Self::Failed(message.clone())),
        }
    }
}
