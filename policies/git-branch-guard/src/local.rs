//! What changes branches, history, hooks and settings of the local repository.

use seamgate_sdk::shell::{Command, Word};

use crate::branches::{is_protected, may_be_protected};
use crate::commands::Git;
use crate::{Finding, Settings};

/// The finding on a subcommand other than `push`.
pub fn judge(subcommand: &str, git: &Git<'_>) -> Option<Finding> {
    match subcommand {
        "branch" => branch(git),
        "checkout" | "switch" => reset_branch(subcommand, git),
        "update-ref" => update_reference(git),
        "fetch" | "pull" => fetch(git),
        "config" => config(git),
        "filter-branch" | "filter-repo" => Some(Finding::Ask(format!(
            "`git {subcommand}` rewrites history that others may have"
        ))),
        "send-pack" | "http-push" => Some(Finding::Ask(format!(
            "`git {subcommand}` pushes past the usual checks"
        ))),
        "subtree" if git.texts().first() == Some(&"push") => {
            let branch = git.operands("P", &["--prefix"]).pop()?.text()?;
            is_protected(branch, git.settings).then(|| {
                Finding::Deny(format!(
                    "`{branch}` is a protected branch; push a branch of your own and open a pull request"
                ))
            })
        }
        "rebase" => rebase(git).or_else(|| skips_hooks(subcommand, git)),
        _ => skips_hooks(subcommand, git),
    }
}

fn skips_hooks(subcommand: &str, git: &Git<'_>) -> Option<Finding> {
    if !matches!(
        subcommand,
        "commit" | "merge" | "rebase" | "cherry-pick" | "am" | "revert"
    ) {
        return None;
    }
    // `-n` means that only to `commit`.
    let short = subcommand == "commit" && has_short_no_verify(&git.texts());
    let long = git
        .texts()
        .iter()
        .any(|text| text.len() > 5 && "--no-verify".starts_with(text));
    let off = git.command.assignments.iter().any(|assignment| {
        matches!(assignment.name.as_str(), "HUSKY" | "LEFTHOOK")
            && assignment
                .values
                .iter()
                .any(|value| value.text() == Some("0"))
    });
    (short || long || off).then(|| {
        Finding::Ask(format!(
            "the agent wants to `git {subcommand}` without the repository's hooks"
        ))
    })
}

/// `-n` by itself or among other flags, and not as the value of an option such as `-m`.
fn has_short_no_verify(texts: &[&str]) -> bool {
    let mut is_value = false;
    texts.iter().any(|text| {
        if std::mem::take(&mut is_value) {
            return false;
        }
        let Some(flags) = text
            .strip_prefix('-')
            .filter(|flags| !flags.starts_with('-'))
        else {
            is_value = matches!(*text, "--message" | "--file" | "--author" | "--date");
            return false;
        };
        // The rest of the word is the value of such an option, or else the next word is.
        let end = flags.find(['m', 'F', 'C', 'c', 't']);
        is_value = end.is_some_and(|end| end + 1 == flags.len());
        flags[..end.unwrap_or(flags.len())].contains('n')
    })
}

fn branch(git: &Git<'_>) -> Option<Finding> {
    let deletes = git.has_flag('d') || git.has_flag('D') || git.has(&["--delete"]);
    let renames = git.has_flag('m') || git.has_flag('M') || git.has(&["--move"]);
    let forces = git.has_flag('f') || git.has(&["--force"]) || git.has_flag('C');
    if !(deletes || renames || forces) || git.has_flag('r') {
        return None;
    }
    let operands = git.operands("u", &["--set-upstream-to"]);
    let does = match (deletes, renames) {
        (true, _) => "deleting",
        (_, true) => "renaming",
        _ => "moving",
    };
    // The start of `git branch -f name start` may be a protected branch; a name of two may not be one.
    let names = match deletes || renames || git.has_flag('C') {
        true => operands.len(),
        false => 1,
    };
    if renames
        && operands.len() == 1
        && let Some(current) = git.is_on_protected()
    {
        return Some(Finding::Deny(format!(
            "renaming `{current}`, a protected branch, breaks what others build on"
        )));
    }
    let named = operands.into_iter().take(names);
    let protected = named
        .filter_map(Word::text)
        .find(|name| is_protected(name, git.settings))?;
    Some(Finding::Deny(format!(
        "{does} `{protected}`, a protected branch, breaks what others build on; work on a branch of your own"
    )))
}

/// `checkout -B main x` and `switch -C main x` move a branch.
fn reset_branch(subcommand: &str, git: &Git<'_>) -> Option<Finding> {
    let texts = git.texts();
    let options: &[&str] = match subcommand {
        "checkout" => &["-B"],
        _ => &["-C", "--force-create"],
    };
    let place = texts.iter().position(|text| options.contains(text))?;
    let name = texts.get(place + 1)?;
    is_protected(name, git.settings).then(|| {
        Finding::Deny(format!(
            "moving `{name}`, a protected branch, breaks what others build on; work on a branch of your own"
        ))
    })
}

fn update_reference(git: &Git<'_>) -> Option<Finding> {
    let operands = git.operands("m", &[]);
    let name = operands.first().and_then(|word| word.text());
    if let Some(name) = name
        && (is_protected(name, git.settings) || name == "HEAD" && git.is_on_protected().is_some())
    {
        return Some(Finding::Deny(format!(
            "`git update-ref` would move or delete `{name}`, a protected branch"
        )));
    }
    Some(Finding::Ask(
        "`git update-ref` moves or deletes a branch without git's checks".into(),
    ))
}

/// `git fetch . +x:main` moves the local branch.
fn fetch(git: &Git<'_>) -> Option<Finding> {
    let forced = git.has_flag('f') || git.has(&["--force"]);
    let operands = git.operands(
        "joX",
        &[
            "--depth",
            "--deepen",
            "--jobs",
            "--server-option",
            "--upload-pack",
            "--refmap",
        ],
    );
    operands
        .iter()
        .skip(1)
        .filter_map(|word| word.text())
        .find_map(|refspec| {
            let (source, name) = refspec.split_once(':')?;
            let overwrites =
                (forced || source.starts_with('+')) && is_protected(name, git.settings);
            overwrites.then(|| {
                Finding::Deny(format!(
                    "`{refspec}` overwrites `{name}`, a protected branch"
                ))
            })
        })
}

fn rebase(git: &Git<'_>) -> Option<Finding> {
    if git.has(&[
        "--abort",
        "--continue",
        "--skip",
        "--quit",
        "--show-current-patch",
    ]) {
        return None;
    }
    let operands = git.operands(
        "xsXC",
        &["--onto", "--exec", "--strategy", "--strategy-option"],
    );
    let named = operands.get(1).and_then(|word| word.text());
    let branch = named
        .filter(|name| is_protected(name, git.settings))
        .or(git.is_on_protected());
    if let Some(branch) = branch {
        return Some(Finding::Ask(format!(
            "the agent wants to rebase `{branch}`, a protected branch, which rewrites its history"
        )));
    }
    git.has(&["--root"])
        .then(|| Finding::Ask("the agent wants to rebase from the first commit on".into()))
}

/// Settings that change what later commands do, or that no hook runs.
fn changes_much(key: &str, value: Option<&str>) -> Option<&'static str> {
    let key = key.to_ascii_lowercase();
    if key == "core.hookspath" {
        return Some("takes the repository's hooks out of force");
    }
    if let Some(value) = value
        && key.starts_with("alias.")
        && (value.starts_with('!') || value.contains("push"))
    {
        return Some("hides a command behind an alias");
    }
    if key.starts_with("remote.") && (key.ends_with(".push") || key.ends_with(".mirror")) {
        return Some("changes which branches a plain `git push` updates");
    }
    None
}

fn config(git: &Git<'_>) -> Option<Finding> {
    let reads = git.has(&[
        "--get",
        "--get-all",
        "--get-regexp",
        "--list",
        "-l",
        "get",
        "list",
        "--get-urlmatch",
    ]);
    let operands = git.operands("ft", &["--file", "--type", "--blob", "--default"]);
    let mut texts: Vec<&str> = operands
        .into_iter()
        .map(|word| word.text().unwrap_or_default())
        .collect();
    if matches!(texts.first(), Some(&("set" | "unset"))) {
        texts.remove(0);
    }
    let unsets = git.has(&["--unset", "--unset-all", "unset"]);
    if reads || texts.len() < 2 && !unsets {
        return None;
    }
    let why = changes_much(texts.first()?, texts.get(1).copied())?;
    Some(Finding::Ask(format!("`{}` {why}", git.command)))
}

/// `git -c key=value …`, and the same through variables.
pub fn settings_of_one_command(options: &[Word], command: &Command) -> Option<Finding> {
    let given = options
        .iter()
        .zip(options.iter().skip(1))
        .filter(|(option, _)| matches!(option.text(), Some("-c" | "--config-env")))
        .map(|(_, value)| value.literals());
    let joined = options
        .iter()
        .filter_map(|word| Some(word.text()?.strip_prefix("--config-env=")?.to_owned()));
    for pair in given.chain(joined) {
        let (key, value) = pair.split_once('=').unwrap_or((&pair, ""));
        let alias = key.to_ascii_lowercase().starts_with("alias.");
        if let Some(why) =
            changes_much(key, Some(value)).or(alias.then_some("hides a command behind an alias"))
        {
            return Some(Finding::Ask(format!("`{command}` {why}")));
        }
    }
    command
        .assignments
        .iter()
        .any(|assignment| assignment.name.starts_with("GIT_CONFIG"))
        .then(|| {
            Finding::Ask(format!(
                "`{command}` runs git with settings of the line's own"
            ))
        })
}

/// `gh api` on a protected branch.
pub fn github(command: &Command, settings: &Settings) -> Option<Finding> {
    let texts: Vec<&str> = command.arguments().iter().filter_map(Word::text).collect();
    if texts.first() != Some(&"api") {
        return None;
    }
    let changes = texts.iter().any(|text| {
        let method = text
            .trim_start_matches("-X")
            .trim_start_matches("--method=");
        matches!(method, "DELETE" | "PATCH" | "PUT" | "POST")
            || text.starts_with("-f")
            || text.starts_with("-F")
    });
    let branch = texts.iter().find_map(|text| {
        let (_, after) = text
            .split_once("/git/refs/heads/")
            .or_else(|| text.split_once("/branches/"))?;
        Some(after.trim_end_matches("/protection"))
    })?;
    (changes && may_be_protected(branch, settings)).then(|| {
        Finding::Ask(format!(
            "the agent wants to change `{branch}`, a protected branch, on the server"
        ))
    })
}
