//! Plain checks for PowerShell. They go by words, not by its syntax: what is hidden from them, the agent's own rules and
//! the sandbox must stop.

use seamgate_sdk::ToolCall;
use seamgate_sdk::shell::CallError;
use serde_json::Value;

use crate::Finding;

/// The findings on a call of the tool `PowerShell`.
///
/// # Errors
///
/// The call has no command.
pub fn judge(call: &ToolCall) -> Result<Vec<Finding>, CallError> {
    let arguments: Value = call
        .arguments()
        .map_err(|reason| CallError::new(&call.tool, &reason.to_string()))?;
    let command = arguments
        .get("command")
        .and_then(Value::as_str)
        .ok_or_else(|| CallError::new(&call.tool, "there is no command"))?;
    Ok(judge_text(command))
}

fn judge_text(text: &str) -> Vec<Finding> {
    let lower = text.replace('`', "").to_ascii_lowercase();
    let mut findings = Vec::new();
    let mut downloaded = false;
    for statement in lower.split([';', '\n', '&']) {
        for stage in statement.split('|') {
            let words: Vec<&str> = stage
                .split(|each: char| each.is_whitespace() || each == ',')
                .map(|word| word.trim_matches(['"', '\'', '(', ')', '{', '}']))
                .filter(|word| !word.is_empty())
                .collect();
            findings.extend(judge_words(&words));
            let fetches = [
                "invoke-webrequest",
                "iwr",
                "invoke-restmethod",
                "irm",
                "curl",
                "wget",
            ];
            downloaded |=
                words.iter().any(|word| fetches.contains(word)) || stage.contains("downloadstring");
            if downloaded
                && words
                    .iter()
                    .any(|word| matches!(*word, "iex" | "invoke-expression"))
            {
                findings.push(Finding::Deny(
                    "this runs a download that nobody has read; download it to a file and show it first".into(),
                ));
            }
        }
    }
    findings
}

fn judge_words(words: &[&str]) -> Option<Finding> {
    let (name, rest) = words.split_first()?;
    match *name {
        "remove-item" | "ri" | "rm" | "del" | "rd" | "rmdir" | "erase" => {
            let recursive = rest.iter().any(|word| {
                word.strip_prefix('-')
                    .is_some_and(|flag| flag.starts_with('r'))
                    || *word == "/s"
            });
            let target = rest.iter().find(|word| recursive && is_vital(word))?;
            Some(Finding::Deny(format!(
                "`{target}` is a drive, a home folder or a folder of the system; delete only what is inside the project"
            )))
        }
        "format-volume" | "clear-disk" | "initialize-disk" | "remove-partition" | "format"
        | "diskpart" => Some(Finding::Deny(
            "this destroys a disk or a volume; ask the user to do it themselves".into(),
        )),
        "stop-computer" | "restart-computer" | "shutdown" => Some(Finding::Deny(
            "this stops the machine that the agent runs on; ask the user to do it themselves"
                .into(),
        )),
        "git" => {
            let has = |text: &str| rest.contains(&text);
            let loses = has("reset") && has("--hard")
                || has("clean")
                    && rest
                        .iter()
                        .any(|word| word.starts_with("-") && word.contains('f'))
                || has("checkout") && has(".")
                || has("stash") && (has("clear") || has("drop"));
            loses
                .then(|| Finding::Ask("this loses changes that are not committed, for good".into()))
        }
        _ => None,
    }
}

fn is_vital(path: &str) -> bool {
    let path = path.replace('\\', "/");
    let path = path.trim_end_matches(['/', '*', '.']);
    let is_drive = path.is_empty() || path.len() == 2 && path.ends_with(':');
    let system = [
        "/windows",
        "/program files",
        "/program",
        "/users",
        "/etc",
        "/usr",
        "/bin",
        "/home",
        "/var",
    ];
    let without_drive = path.split_once(':').map_or(path, |(_, after)| after);
    let home = [
        "~",
        "$home",
        "$env:userprofile",
        "${home}",
        "$env:systemroot",
        "$env:systemdrive",
    ];
    is_drive
        || home.contains(&path)
        || system.contains(&without_drive)
        || without_drive.starts_with("/windows/")
        || path == ".."
}
