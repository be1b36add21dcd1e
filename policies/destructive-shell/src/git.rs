//! What loses work in a git repository that is not committed, or not kept anywhere else.

use seamgate_sdk::shell::{Word, skip_options};

use crate::{Finding, Judged};

/// The finding on a git command.
pub fn judge(judged: &Judged<'_>) -> Option<Finding> {
    if judged.name != "git" {
        return None;
    }
    let long = [
        "--git-dir",
        "--work-tree",
        "--namespace",
        "--config-env",
        "--super-prefix",
    ];
    let rest = &judged.arguments[skip_options(judged.arguments, "Cc", &long)..];
    let (subcommand, arguments) = rest.split_first()?;
    let texts: Vec<&str> = arguments.iter().filter_map(Word::text).collect();
    let judged = Judged {
        arguments,
        ..*judged
    };
    let all = texts
        .iter()
        .any(|text| matches!(*text, "." | "./" | "*" | ":/" | ":/*" | ":(top)"));
    let forced = judged.has_flag(&['f']) || judged.has(&["--force"]);
    let lost = match subcommand.text()? {
        "reset" if judged.has(&["--hard", "--merge"]) => "changes that are not committed",
        "checkout" if all || forced => "changes that are not committed",
        "switch" if forced || judged.has(&["--discard-changes"]) => {
            "changes that are not committed"
        }
        "restore" if all && restores_files(&judged) => "changes that are not committed",
        "clean" if forced && !judged.has_flag(&['n']) && !judged.has(&["--dry-run"]) => {
            "files that git does not track"
        }
        "stash" if matches!(texts.first(), Some(&("drop" | "clear"))) => "stashed changes",
        "branch" if judged.has_flag(&['D']) || judged.has_flag(&['d']) && forced => {
            "commits that are on no other branch"
        }
        "worktree" if texts.first() == Some(&"remove") && forced => "changes in the worktree",
        "reflog" if matches!(texts.first(), Some(&("expire" | "delete"))) => {
            "the way back to earlier commits"
        }
        "gc" | "prune"
            if texts
                .iter()
                .any(|text| matches!(*text, "--prune=now" | "--prune=all" | "--expire=now")) =>
        {
            "the way back to earlier commits"
        }
        "rm" if forced && all => "changes that are not committed",
        _ => return None,
    };
    Some(Finding::Ask(format!(
        "`{}` loses {lost} for good",
        judged.command
    )))
}

/// Whether `git restore` touches files, and not only what is staged.
fn restores_files(judged: &Judged<'_>) -> bool {
    let staged = judged.has(&["--staged"]) || judged.has_flag(&['S']);
    let files = judged.has(&["--worktree"]) || judged.has_flag(&['W']);
    files || !staged
}
