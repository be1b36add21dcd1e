//! Keeps an agent from rewriting or overwriting the branches that others build on.
//!
//! `commands.rs` finds the git commands of a call, `push.rs` judges pushes, `local.rs` what changes branches and
//! settings of the local repository, and `branches.rs` says which branches are protected.

mod branches;
mod commands;
mod local;
mod push;

#[cfg(test)]
mod tests;

use seamgate_sdk::shell::CallError;
use seamgate_sdk::{PreToolDecision, ToolCall};
use serde::Deserialize;

/// The policy's settings.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Names of branches, in which `*` stands for any text.
    pub protected_branches: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            protected_branches: ["main", "master", "release/*"].map(str::to_owned).into(),
        }
    }
}

/// What speaks against a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Finding {
    /// A person should agree first.
    Ask(String),
    /// It does not run.
    Deny(String),
}

/// The decision on a tool call.
///
/// # Errors
///
/// The call is one of a shell tool, and its command can't be read.
pub fn pre_tool(call: &ToolCall, settings: &Settings) -> Result<PreToolDecision, CallError> {
    let mut asked = None;
    // The strictest finding decides, and of equals the first.
    for finding in commands::findings(call, settings)? {
        match finding {
            Finding::Deny(reason) => return Ok(PreToolDecision::deny(reason)),
            Finding::Ask(reason) => asked = asked.or(Some(reason)),
        }
    }
    Ok(asked.map_or_else(PreToolDecision::abstain, PreToolDecision::ask))
}

seamgate_sdk::policy! {
    settings: Settings,
    pre_tool: pre_tool,
}
