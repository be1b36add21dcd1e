//! Shells and interpreters that run what nobody has read.

use seamgate_sdk::shell::{Command, Runs};

use crate::{Finding, Judged};

/// The finding on a command that runs text from elsewhere.
pub fn judge(judged: &Judged<'_>) -> Option<Finding> {
    if !runs_unread_text(judged) {
        return None;
    }
    let upstream = judged.script.upstream(judged.index);
    let sources = || {
        upstream
            .iter()
            .filter_map(|&index| judged.script.commands.get(index))
    };
    if let Some(source) = sources().find(|command| downloads(command)) {
        return Some(Finding::Deny(format!(
            "`{}` would run what `{source}` downloads, which nobody has read; download it to a file and show it first",
            judged.command
        )));
    }
    if let Some(source) = sources().find(|command| decodes(command)) {
        return Some(Finding::Deny(format!(
            "`{}` would run what `{source}` decodes, so that nobody sees the commands; write them plainly",
            judged.command
        )));
    }
    None
}

fn runs_unread_text(judged: &Judged<'_>) -> bool {
    match judged.command.runs {
        Runs::File | Runs::Input => true,
        Runs::Unknown => judged.command.name().is_some(),
        Runs::Listed => false,
        // `… | python3`, `python3 <(…)`: without a script of its own it runs what it reads.
        Runs::Nothing => {
            let interprets = matches!(
                judged.name,
                "perl" | "ruby" | "node" | "php" | "lua" | "deno" | "osascript"
            ) || judged.name.starts_with("python");
            let own = judged
                .arguments
                .iter()
                .any(|word| word.text().is_some_and(|text| text != "-"));
            interprets && !own || judged.command.name().is_none() && is_a_script(judged)
        }
    }
}

/// `$(curl …)` in the place of a command.
fn is_a_script(judged: &Judged<'_>) -> bool {
    use seamgate_sdk::shell::Part;
    let first = judged.command.words.first();
    first.is_some_and(|word| matches!(word.parts.as_slice(), [Part::Substitution(_)]))
}

fn downloads(command: &Command) -> bool {
    matches!(
        command.name(),
        Some(
            "curl"
                | "wget"
                | "fetch"
                | "aria2c"
                | "http"
                | "https"
                | "xh"
                | "lynx"
                | "nc"
                | "ncat"
                | "netcat"
                | "socat"
        )
    )
}

/// Whether a command turns something unreadable into text.
fn decodes(command: &Command) -> bool {
    let texts: Vec<&str> = command
        .arguments()
        .iter()
        .filter_map(|word| word.text())
        .collect();
    let flag = |letters: &[char]| {
        texts.iter().any(|text| {
            text.strip_prefix('-')
                .is_some_and(|flags| !flags.starts_with('-') && flags.contains(letters))
        })
    };
    match command.name() {
        Some("base64" | "base32" | "basenc" | "gbase64") => {
            flag(&['d', 'D']) || texts.iter().any(|text| text.starts_with("--d"))
        }
        Some("openssl") => texts.contains(&"-d"),
        Some("xxd") => flag(&['r']),
        Some("rev" | "uudecode" | "tac") => true,
        _ => false,
    }
}
