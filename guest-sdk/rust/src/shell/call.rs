//! The shell command in a tool call, for the tools of the agents that have one.

use std::fmt;

use serde_json::Value;

use super::{Script, parse, parse_arguments};
use crate::ToolCall;

/// A tool call that runs a shell command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCall {
    /// The command as it is written, or the argument list with spaces between.
    pub command: String,
    /// Its commands.
    pub script: Script,
    /// The folder it runs in: the one the call names, or else the agent's.
    pub folder: Option<String>,
}

/// Why the command of a call can't be read: its arguments are not as this tool's are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallError(String);

impl CallError {
    /// For a tool of your own: its name, and what is wrong with its arguments.
    pub fn new(tool: &str, what: &str) -> Self {
        Self(format!("the arguments of `{tool}`: {what}"))
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for CallError {}

/// The tools that run a command line, and the argument that holds it.
const TOOLS: [(&str, &str); 7] = [
    ("Bash", "command"),
    ("shell", "command"),
    ("shell_command", "command"),
    ("local_shell", "command"),
    ("container.exec", "command"),
    ("exec_command", "cmd"),
    ("run_shell_command", "command"),
];

/// The shell command of a tool call, or none where the tool is not one that runs commands of a POSIX shell. It knows
/// the shell tools of Claude Code, Codex, Gemini CLI and those derived from them, by their names.
///
/// # Errors
///
/// It is such a tool, and its command is missing or of an unexpected type. That is no harmless call: pass the error on.
pub fn shell_call(call: &ToolCall) -> Result<Option<ShellCall>, CallError> {
    let Some((_, key)) = TOOLS.iter().find(|(tool, _)| *tool == call.tool) else {
        return Ok(None);
    };
    let error = |what: &str| CallError::new(&call.tool, what);
    let arguments: Value =
        serde_json::from_str(&call.arguments).map_err(|reason| error(&reason.to_string()))?;
    // Codex has changed between the two names.
    let command = [key, "command", "cmd"]
        .into_iter()
        .find_map(|key| arguments.get(key))
        .ok_or_else(|| error("there is no command"))?;
    let folder = ["workdir", "cwd", "directory"]
        .into_iter()
        .find_map(|key| arguments.get(key)?.as_str());
    let folder = match (folder, &call.agent.cwd) {
        (Some(folder), Some(cwd)) if !folder.starts_with('/') => Some(format!("{cwd}/{folder}")),
        (Some(folder), _) => Some(folder.to_owned()),
        (None, cwd) => cwd.clone(),
    };
    let (command, script) = match command {
        Value::String(line) => (line.clone(), parse(line)),
        Value::Array(items) => {
            let items: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            let items = items.ok_or_else(|| error("the command is not a list of strings"))?;
            (items.join(" "), parse_arguments(&items))
        }
        _ => return Err(error("the command is neither a string nor a list")),
    };
    Ok(Some(ShellCall {
        command,
        script,
        folder,
    }))
}
