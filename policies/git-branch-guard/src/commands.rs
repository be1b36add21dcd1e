//! The git commands of a tool call.

use seamgate_sdk::ToolCall;
use seamgate_sdk::shell::{self, CallError, Command, Script, Word, skip_options};
use serde_json::Value;

use crate::branches::is_protected;
use crate::{Finding, Settings, local, push};

/// A git command with everything that is needed to judge it.
pub struct Git<'line> {
    pub script: &'line Script,
    pub command: &'line Command,
    /// What comes after the subcommand.
    pub arguments: &'line [Word],
    pub settings: &'line Settings,
    /// The branch that an earlier command of the line checked out.
    pub current: Option<&'line str>,
}

impl<'line> Git<'line> {
    /// The known texts of the arguments before `--`.
    pub fn texts(&self) -> Vec<&'line str> {
        let texts = self
            .arguments
            .iter()
            .map_while(|word| (word.text() != Some("--")).then(|| word.text()));
        texts.flatten().collect()
    }

    pub fn has(&self, options: &[&str]) -> bool {
        self.texts().iter().any(|text| options.contains(text))
    }

    /// Whether the letter is among the short options.
    pub fn has_flag(&self, letter: char) -> bool {
        self.texts().iter().any(|text| {
            text.strip_prefix('-')
                .is_some_and(|flags| !flags.starts_with('-') && flags.contains(letter))
        })
    }

    /// The words that are neither options nor the values of these.
    pub fn operands(&self, valued: &str, long_valued: &[&str]) -> Vec<&'line Word> {
        let mut operands = Vec::new();
        let mut rest = self.arguments;
        loop {
            let options = skip_options(rest, valued, long_valued);
            let ended = rest[..options]
                .last()
                .is_some_and(|word| word.text() == Some("--"));
            rest = &rest[options..];
            if ended {
                operands.extend(rest);
                return operands;
            }
            let Some((operand, after)) = rest.split_first() else {
                return operands;
            };
            operands.push(operand);
            rest = after;
        }
    }
}

/// What speaks against a call.
///
/// # Errors
///
/// The call is one of a shell tool, and its command can't be read.
pub fn findings(call: &ToolCall, settings: &Settings) -> Result<Vec<Finding>, CallError> {
    if let Some(shell) = shell::shell_call(call)? {
        let mut findings = judge(&shell.script, settings);
        if let Some(why) = shell.script.incomplete {
            findings.push(Finding::Ask(format!(
                "the command line can't be read in full ({why}), so nobody can say what it does to branches; write it in a simpler way"
            )));
        }
        return Ok(findings);
    }
    if call.tool != "PowerShell" {
        return Ok(Vec::new());
    }
    let arguments: Value = call
        .arguments()
        .map_err(|reason| CallError::new(&call.tool, &reason.to_string()))?;
    let command = arguments
        .get("command")
        .and_then(Value::as_str)
        .ok_or_else(|| CallError::new(&call.tool, "there is no command"))?;
    // Another language, in which plain git commands look the same. What does not read as a shell's is left alone.
    Ok(judge(&shell::parse(command), settings))
}

fn judge(script: &Script, settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut current: Option<&str> = None;
    for command in &script.commands {
        match command.name() {
            Some("git" | "git.exe" | "hub") => {}
            Some("gh") => {
                findings.extend(local::github(command, settings));
                continue;
            }
            Some(_) => continue,
            None => {
                findings.extend(unnamed(script, command, settings, current));
                continue;
            }
        }
        findings.extend(git(script, command, settings, current));
        current = checked_out(command).or(current);
    }
    findings
}

/// A command whose name can't be known. It counts where the rest would be refused of git.
fn unnamed(
    script: &Script,
    command: &Command,
    settings: &Settings,
    current: Option<&str>,
) -> Option<Finding> {
    let first = command.words.first()?;
    let written = first.literals();
    let name = written.rsplit('/').next().unwrap_or_default();
    let disguised = name == "git"
        || !name.is_empty() && name.contains(['?', '*', '[']) && name.starts_with('g');
    if !(disguised || first.is_opaque()) {
        return None;
    }
    match git(script, command, settings, current)? {
        Finding::Deny(why) if disguised => Some(Finding::Deny(why)),
        Finding::Deny(why) => Some(Finding::Ask(format!(
            "`{command}` runs a command that is not known before; if it is git: {why}"
        ))),
        Finding::Ask(_) => None,
    }
}

const LONG_VALUED: [&str; 5] = [
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--config-env",
    "--super-prefix",
];

fn git(
    script: &Script,
    command: &Command,
    settings: &Settings,
    current: Option<&str>,
) -> Option<Finding> {
    let arguments = command.arguments();
    let (options, rest) = arguments.split_at(skip_options(arguments, "Cc", &LONG_VALUED));
    let by_settings = local::settings_of_one_command(options, command);
    let judged = rest.split_first().and_then(|(subcommand, arguments)| {
        let git = Git {
            script,
            command,
            arguments,
            settings,
            current,
        };
        match subcommand.text() {
            Some("push") => push::judge(&git),
            Some(name) => local::judge(name, &git),
            // `git $x --force origin main`: whatever it is, it looks like a push.
            None => match push::judge(&git)? {
                Finding::Deny(why) => Some(Finding::Ask(format!(
                    "`{command}` runs a subcommand that is not known before; if it is a push: {why}"
                ))),
                Finding::Ask(_) => None,
            },
        }
    });
    match (judged, by_settings) {
        (Some(Finding::Deny(why)), _) => Some(Finding::Deny(why)),
        (judged, by_settings) => by_settings.or(judged),
    }
}

/// The branch that this command checks out.
fn checked_out(command: &Command) -> Option<&str> {
    let arguments = command.arguments();
    let rest = &arguments[skip_options(arguments, "Cc", &LONG_VALUED)..];
    let texts: Vec<&str> = rest.iter().filter_map(Word::text).collect();
    match texts.as_slice() {
        ["checkout", "-b" | "-B", name, ..] | ["switch", "-c" | "-C" | "--create", name, ..] => {
            Some(name)
        }
        ["checkout" | "switch", name] if !name.starts_with('-') => Some(name),
        ["checkout" | "switch", ..] => texts.last().copied().filter(|last| !last.starts_with('-')),
        _ => None,
    }
}

impl Git<'_> {
    /// Whether the line itself has checked out a protected branch.
    pub fn is_on_protected(&self) -> Option<&str> {
        self.current
            .filter(|name| is_protected(name, self.settings))
    }
}
