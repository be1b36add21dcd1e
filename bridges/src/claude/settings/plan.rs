//! Which handlers an event is for, and why not the others.

use std::path::PathBuf;
use std::sync::Arc;

use super::handler::Handler;

/// Where an event happens. Patterns and placeholders are read by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// The project's root, which is `CLAUDE_PROJECT_DIR`.
    pub project: PathBuf,
    /// The user's home folder, where there is one.
    pub home: Option<PathBuf>,
}

/// A handler that an event made somebody look at.
#[derive(Debug, Clone, PartialEq)]
pub struct Considered {
    /// The handler.
    pub handler: Arc<Handler>,
    /// What becomes of it.
    pub fate: Fate,
}

/// What becomes of a handler at one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It runs.
    Runs,
    /// It does not.
    Skipped(Skip),
    /// Whether it is meant can't be told, so what happens must not: the client does the same at PreToolUse and
    /// PermissionRequest (2.1.288).
    Blocks(String),
}

/// Why a handler does not run at an event that its file lists it for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Skip {
    /// Its group is for others.
    #[error("its matcher `{matcher}` does not fit `{subject}`")]
    Matcher {
        /// The matcher.
        matcher: String,
        /// What it was tested against.
        subject: String,
    },
    /// Its matcher can't be tested.
    #[error("its matcher can't be tested: {0}")]
    BadMatcher(String),
    /// Its `if` names other calls.
    #[error("its `if` rule `{0}` does not fit the call")]
    Condition(String),
    /// It has an `if`, and at this event nothing fits one.
    #[error("it has an `if`, and at {0} a handler with one never runs")]
    ConditionElsewhere(&'static str),
    /// The event does not run handlers of its type.
    #[error("{event} runs no handler of the type `{kind}`")]
    Kind {
        /// The event.
        event: &'static str,
        /// The type.
        kind: &'static str,
    },
    /// It is the same as one that runs.
    #[error("it is the same as the one in {0}")]
    Duplicate(String),
    /// A switch turned it off. The text names the switch and its file.
    #[error("{0}")]
    SwitchedOff(String),
    /// It is one that ran before, and runs once.
    #[error("it has `once`, and has run")]
    Once,
}
