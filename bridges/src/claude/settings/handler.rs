//! What a settings file says is run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::claude::facts::EventFacts;

/// One handler, with everything about it that its file says.
#[derive(Debug, Clone, PartialEq)]
pub struct Handler {
    /// Where it stands.
    pub place: Place,
    /// Whose it is.
    pub source: Source,
    /// The event it is for.
    pub event: &'static EventFacts,
    /// The matcher of its group, as it is written.
    pub matcher: Option<String>,
    /// What is run.
    pub kind: HandlerKind,
    /// `if`: the permission rule that a call has to fit.
    pub condition: Option<String>,
    /// How long it may take, where it says so.
    pub timeout: Option<Duration>,
    /// `statusMessage`: what the user sees meanwhile.
    pub status_message: Option<String>,
    /// `once`: not again after the first success. Only what a skill registers can be that.
    pub once: bool,
    /// `onFailure: "block"`: a failure counts as exit code 2.
    pub failure_blocks: bool,
}

/// What a handler runs.
#[derive(Debug, Clone, PartialEq)]
pub enum HandlerKind {
    /// A command.
    Command(CommandHandler),
    /// A request to a server.
    Http(HttpHandler),
    /// A tool of an MCP server.
    McpTool {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// Its arguments, in which `${path.to.field}` is a part of the payload.
        input: Option<Value>,
    },
    /// A question to a model.
    Prompt {
        /// The question.
        prompt: String,
        /// The model.
        model: Option<String>,
        /// Whether the turn goes on after a no.
        continue_on_block: bool,
    },
    /// A question to an agent, which may look around.
    Agent {
        /// The question.
        prompt: String,
        /// The model.
        model: Option<String>,
    },
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandHandler {
    /// A line for a shell, or with `args` a program.
    pub command: String,
    /// The program's arguments. Their presence makes `command` a program, even where there are none.
    pub args: Option<Vec<String>>,
    /// Which shell.
    pub shell: Shell,
    /// Whether somebody waits for it.
    pub waiting: Waiting,
}

/// Which shell reads a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shell {
    /// A POSIX shell.
    #[default]
    Bash,
    /// PowerShell.
    PowerShell,
}

/// Whether the agent waits for a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Waiting {
    /// It does.
    #[default]
    Sync,
    /// It does not: the hook decides nothing.
    Async,
    /// It does not, but an exit code of 2 wakes the model.
    AsyncRewake,
}

/// A request to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpHandler {
    /// Where to.
    pub url: String,
    /// Headers, in which `$NAME` and `${NAME}` are variables.
    pub headers: BTreeMap<String, String>,
    /// The variables that may be used in them.
    pub allowed_env_vars: Vec<String>,
}

impl HandlerKind {
    /// The word of `type`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Command(_) => "command",
            Self::Http(_) => "http",
            Self::McpTool { .. } => "mcp_tool",
            Self::Prompt { .. } => "prompt",
            Self::Agent { .. } => "agent",
        }
    }
}

/// A place in a file. Lines and columns count from 1; columns in characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The file.
    pub file: Arc<PathBuf>,
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// Whose hooks a file has. The earlier of two is the mightier.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// `managed-settings.json`, and what is beside it.
    Managed,
    /// `--settings`.
    CommandLine,
    /// `.claude/settings.local.json`.
    Local,
    /// `.claude/settings.json`.
    Project,
    /// `~/.claude/settings.json`.
    User,
    /// `hooks/hooks.json` of a plugin.
    Plugin {
        /// Where it is installed.
        root: PathBuf,
        /// Where it keeps its data.
        data: PathBuf,
    },
    /// The front matter of a skill or a command.
    Skill,
    /// The front matter of a subagent.
    Agent,
}
