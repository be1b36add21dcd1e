//! Keeps an agent's shell from destroying what can't be brought back.
//!
//! Each file judges one kind of command and knows nothing of the others: `files.rs` what deletes or moves files,
//! `devices.rs` disks and the machine, `git.rs`, `data.rs` databases and infrastructure, `downloads.rs` shells that run
//! what nobody has read. `place.rs` says how much depends on a path. `powershell.rs` has plain checks of its own.

mod data;
mod devices;
mod downloads;
mod files;
mod git;
mod place;
mod powershell;

#[cfg(test)]
mod tests;

use seamgate_sdk::shell::{self, CallError, Command, Script, ShellCall, Word};
use seamgate_sdk::{PreToolDecision, ToolCall};
use serde::Deserialize;

/// The policy's settings.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Absolute folders outside the project in which the agent may delete without being asked about it.
    pub allow_paths: Vec<String>,
}

/// What speaks against a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Finding {
    /// A person should agree first.
    Ask(String),
    /// It does not run.
    Deny(String),
}

/// One command with everything that is needed to judge it.
#[derive(Clone, Copy)]
pub(crate) struct Judged<'line> {
    pub script: &'line Script,
    pub index: usize,
    pub command: &'line Command,
    /// The command's name, or what is taken for it where it is not known.
    pub name: &'line str,
    pub arguments: &'line [Word],
    pub cwd: Option<&'line str>,
    pub settings: &'line Settings,
}

impl Judged<'_> {
    /// The known texts of the arguments. What is not known is left out.
    pub fn texts(&self) -> Vec<&str> {
        self.arguments.iter().filter_map(Word::text).collect()
    }

    /// Whether one of these is among the arguments.
    pub fn has(&self, texts: &[&str]) -> bool {
        self.texts().iter().any(|text| texts.contains(text))
    }

    /// Whether one of these letters is among the short options.
    pub fn has_flag(&self, letters: &[char]) -> bool {
        self.texts().iter().any(|text| {
            text.strip_prefix('-')
                .is_some_and(|flags| !flags.starts_with('-') && flags.contains(letters))
        })
    }
}

/// The decision on a tool call.
///
/// # Errors
///
/// The call is one of a shell tool, and its command can't be read.
pub fn pre_tool(call: &ToolCall, settings: &Settings) -> Result<PreToolDecision, CallError> {
    let findings = if let Some(shell) = shell::shell_call(call)? {
        judge(&shell, settings)
    } else if call.tool == "PowerShell" {
        powershell::judge(call)?
    } else {
        Vec::new()
    };
    Ok(decide(findings))
}

/// The strictest finding decides, and of equals the first.
fn decide(findings: Vec<Finding>) -> PreToolDecision {
    let mut asked = None;
    for finding in findings {
        match finding {
            Finding::Deny(reason) => return PreToolDecision::deny(reason),
            Finding::Ask(reason) => asked = asked.or(Some(reason)),
        }
    }
    asked.map_or_else(PreToolDecision::abstain, PreToolDecision::ask)
}

fn judge(shell: &ShellCall, settings: &Settings) -> Vec<Finding> {
    let script = &shell.script;
    let mut findings = Vec::new();
    for (index, command) in script.commands.iter().enumerate() {
        let judged = Judged {
            script,
            index,
            command,
            name: command.name().unwrap_or_default(),
            arguments: command.arguments(),
            cwd: shell.folder.as_deref(),
            settings,
        };
        findings.extend(devices::redirections(&judged));
        findings.extend(downloads::judge(&judged));
        match command.name() {
            Some(_) => findings.extend(judge_named(&judged)),
            None => findings.extend(judge_unnamed(&judged)),
        }
    }
    if let Some(why) = script.incomplete {
        findings.push(Finding::Ask(format!(
            "the command line can't be read in full ({why}), so nobody can say what it destroys; write it in a simpler way"
        )));
    }
    findings
}

fn judge_named(judged: &Judged<'_>) -> Option<Finding> {
    files::judge(judged)
        .or_else(|| devices::judge(judged))
        .or_else(|| git::judge(judged))
        .or_else(|| data::judge(judged))
}

/// A command whose name can't be known. Ordinary lines have those too (`$CC main.c`), so it counts only where the rest
/// would be destructive after `rm`.
fn judge_unnamed(judged: &Judged<'_>) -> Option<Finding> {
    let first = judged.command.words.first()?;
    let literals = first.literals();
    let written = literals.rsplit('/').next().unwrap_or_default();
    // `r${empty}m` and `/bin/r?` are ways to hide a name. Nobody writes a name like that for another reason.
    if !first.is_opaque() && !written.is_empty() {
        let stripped = written.replace(['*', '?', '[', ']'], "");
        let hidden = ["rm", "dd", "chmod", "chown", "mv", "shred", "find"]
            .into_iter()
            .find(|name| *name == stripped || glob_fits(written, name));
        if let Some(name) = hidden {
            let finding = judge_named(&Judged { name, ..*judged })?;
            return Some(match finding {
                Finding::Deny(why) => {
                    Finding::Deny(format!("the command's name is disguised, and {why}"))
                }
                Finding::Ask(why) => {
                    Finding::Ask(format!("the command's name is disguised, and {why}"))
                }
            });
        }
        return None;
    }
    let forced = judged.has_flag(&['r', 'R']) && judged.has_flag(&['f']);
    let finding = files::judge(&Judged {
        name: "rm",
        ..*judged
    })?;
    match finding {
        Finding::Deny(_) if forced => Some(Finding::Deny(format!(
            "`{}` runs a command that is not known on the line with the options and the target of a recursive deletion; name the command and delete only what is inside the project",
            judged.command
        ))),
        _ => None,
    }
}

/// Whether a pattern of `*` and `?` fits a name. Short names only.
fn glob_fits(pattern: &str, name: &str) -> bool {
    let mut characters = pattern.chars();
    match characters.next() {
        None => name.is_empty(),
        Some('*') => (0..=name.len()).any(|start| glob_fits(characters.as_str(), &name[start..])),
        Some('?') => !name.is_empty() && glob_fits(characters.as_str(), &name[1..]),
        Some('[') => {
            let rest = characters.as_str();
            let Some((set, after)) = rest.split_once(']') else {
                return false;
            };
            name.chars().next().is_some_and(|first| set.contains(first))
                && glob_fits(after, &name[1..])
        }
        Some(literal) => {
            name.starts_with(literal) && glob_fits(characters.as_str(), &name[literal.len_utf8()..])
        }
    }
}

seamgate_sdk::policy! {
    settings: Settings,
    pre_tool: pre_tool,
}
