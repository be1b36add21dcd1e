//! Keeps private keys, credential files and files that other programs take orders from out of an agent's reach.
//!
//! `tool_paths.rs` and `command_paths.rs` say which paths a call touches, `path.rs` brings each to one spelling, and
//! `rules.rs` says what is protected.

mod command_paths;
mod glob;
mod path;
mod rules;
mod tool_paths;

use std::error::Error;

use seamgate_sdk::{PreToolDecision, ToolCall, Verdict, shell};
use serde::Deserialize;
use serde_json::{Map, Value};

use rules::Access;
use tool_paths::{Start, Touch};

/// The policy's settings. Patterns have `*`, `?` and `**`; one that does not begin with `/` or `~` may begin at any part.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Further paths that nobody reads or writes.
    pub deny: Vec<String>,
    /// Further paths whose writing is asked about.
    pub ask: Vec<String>,
    /// Paths that the built-in rules say nothing about.
    pub except: Vec<String>,
    /// What becomes of writes outside the agent's folder.
    pub outside_project: OutsideProject,
}

/// What becomes of writes outside the agent's folder.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutsideProject {
    /// A person is asked.
    #[default]
    Ask,
    /// They are denied.
    Deny,
    /// Nothing is said.
    Abstain,
}

/// Denies calls that read or write protected paths, and asks about writes that matter.
///
/// # Errors
///
/// The arguments can't be read.
pub fn pre_tool(call: &ToolCall, settings: &Settings) -> Result<PreToolDecision, Box<dyn Error>> {
    let project = call
        .agent
        .cwd
        .as_deref()
        .map(|folder| path::normalise(folder, None));
    let Value::Object(arguments) = call.arguments::<Value>()? else {
        // Not an object: no tool takes it, and no path is in it.
        return Ok(PreToolDecision::abstain());
    };
    let (folder, script) = match shell::shell_call(call)? {
        Some(shell_call) => {
            let folder = shell_call
                .folder
                .map(|folder| path::normalise(&folder, project.as_deref()));
            (folder, Some(shell_call.script))
        }
        None => (
            project.clone(),
            command_line(&call.tool, &arguments).map(shell::parse),
        ),
    };
    let touches = match &script {
        Some(script) => command_paths::touches(script),
        None => tool_paths::touches(&call.tool, &arguments),
    };
    let mut asking = None;
    for touch in &touches {
        let decision = decide(touch, project.as_deref(), folder.as_deref(), settings);
        match decision.verdict {
            Verdict::Deny(_) => return Ok(decision),
            Verdict::Ask(_) => asking = asking.or(Some(decision)),
            Verdict::Abstain => {}
        }
    }
    if let (None, Some(incomplete)) = (&asking, script.and_then(|script| script.incomplete)) {
        return Ok(PreToolDecision::ask(format!(
            "the command line can't be read to its end ({incomplete}), so it may touch protected files"
        )));
    }
    Ok(asking.unwrap_or_else(PreToolDecision::abstain))
}

/// The command line of a tool that is not known to run one, and has an argument that says so.
fn command_line<'a>(tool: &str, arguments: &'a Map<String, Value>) -> Option<&'a str> {
    if tool.eq_ignore_ascii_case("apply_patch") {
        return None;
    }
    arguments.get("command")?.as_str()
}

/// The decision on one path. The folders are normalised: the agent's, and the one that relative paths start at.
fn decide(
    touch: &Touch,
    project: Option<&str>,
    folder: Option<&str>,
    settings: &Settings,
) -> PreToolDecision {
    if touch.path.is_empty() || (touch.path.contains("://") && !touch.path.starts_with("file://")) {
        return PreToolDecision::abstain();
    }
    let start = match &touch.start {
        Start::Agent => folder.map(str::to_owned),
        Start::Folder(other) => Some(path::normalise(other, folder)),
        Start::Unknown => None,
    };
    let path = path::normalise(&touch.path, start.as_deref());
    let shown: String = touch
        .path
        .chars()
        .filter(|letter| !letter.is_control())
        .take(200)
        .collect();
    let any = |patterns: &[String]| patterns.iter().any(|pattern| glob::matches(pattern, &path));

    if any(&settings.deny) {
        return PreToolDecision::deny(format!(
            "`{shown}` is protected here: it is neither read nor written"
        ));
    }
    if any(&settings.except) {
        return PreToolDecision::abstain();
    }
    if is_credential(&path, touch.access) {
        return PreToolDecision::deny(format!(
            "`{shown}` holds credentials, which are neither read nor written here; ask the user for what you need to know"
        ));
    }
    if touch.access == Access::Read {
        return PreToolDecision::abstain();
    }
    if rules::is_git_internal(&path) {
        return PreToolDecision::deny(format!(
            "`{shown}` belongs to git itself; use git's commands instead"
        ));
    }
    if let Some(name) = rules::takes_orders(&path) {
        return PreToolDecision::ask(format!("the agent wants to change `{shown}`, {name}"));
    }
    if any(&settings.ask) {
        return PreToolDecision::ask(format!("the agent wants to change `{shown}`"));
    }
    if is_outside(&path, project) {
        return match settings.outside_project {
            OutsideProject::Ask => PreToolDecision::ask(format!(
                "the agent wants to change `{shown}`, which is outside the project"
            )),
            OutsideProject::Deny => PreToolDecision::deny(format!(
                "`{shown}` is outside the project, and nothing is changed there; work within the project's folder"
            )),
            OutsideProject::Abstain => PreToolDecision::abstain(),
        };
    }
    PreToolDecision::abstain()
}

/// Whether a path, which may be a pattern, names credentials.
fn is_credential(path: &str, access: Access) -> bool {
    if rules::is_credential(path, access) {
        return true;
    }
    if !path.contains(['*', '?']) {
        return false;
    }
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    rules::names_credentials(path) || rules::is_credential(folder, Access::Read)
}

/// Whether a path is known to lie outside the project, and not where everybody's temporary files are.
fn is_outside(path: &str, project: Option<&str>) -> bool {
    if rules::is_scratch(path)
        || !(path.starts_with(['/', '~']) || path.as_bytes().get(1) == Some(&b':'))
    {
        return false;
    }
    let Some(project) = project else { return true };
    if path::is_within(path, project) {
        return false;
    }
    // The home folder is not told. Where the project lies in somebody's, `~` is taken to be that one.
    match (path.strip_prefix("~/"), home_of(project)) {
        (Some(rest), Some(home)) => !path::is_within(&format!("{home}/{rest}"), project),
        _ => true,
    }
}

fn home_of(project: &str) -> Option<&str> {
    if path::is_within(project, "/root") {
        return Some("/root");
    }
    let rest = project
        .strip_prefix("/home/")
        .or_else(|| project.strip_prefix("/users/"))?;
    let name_length = rest.find('/').unwrap_or(rest.len());
    Some(&project[..project.len() - rest.len() + name_length])
}

seamgate_sdk::policy! {
    settings: Settings,
    pre_tool: pre_tool,
}

#[cfg(test)]
mod tests;
