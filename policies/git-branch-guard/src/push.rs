//! Pushes.

use seamgate_sdk::shell::Word;

use crate::Finding;
use crate::branches::{self, Branch};
use crate::commands::Git;

/// The finding on `git push`.
pub fn judge(git: &Git<'_>) -> Option<Finding> {
    if git.has(&["--dry-run", "--help"]) || git.has_flag('n') {
        return None;
    }
    let texts = git.texts();
    // Git takes the start of an option for the option.
    let long = |option: &str, least: usize| {
        texts.iter().any(|text| {
            let given = text.split('=').next().unwrap_or_default();
            given.len() >= least && option.starts_with(given)
        })
    };
    if long("--mirror", 4) {
        return Some(Finding::Deny(
            "`git push --mirror` overwrites and deletes branches of the remote; push the one branch you mean".into(),
        ));
    }
    let operands = git.operands(
        "o",
        &[
            "--push-option",
            "--repo",
            "--receive-pack",
            "--exec",
            "--recurse-submodules",
        ],
    );
    let refspecs = operands.get(1..).unwrap_or_default();
    let forced = git.has_flag('f')
        || texts
            .iter()
            .any(|text| *text == "--force" || *text == "--forc");
    let plus = refspecs.iter().find(|word| word.prefix().starts_with('+'));
    if forced || plus.is_some() {
        return Some(Finding::Deny(format!(
            "`{}` is a force push, which overwrites what others may have built on; push new commits instead, or ask the user to do it",
            git.command
        )));
    }
    if long("--all", 5) || long("--branches", 4) {
        return Some(Finding::Deny(
            "this pushes every branch, the protected ones included; push the one branch you mean"
                .into(),
        ));
    }
    let deletes = git.has_flag('d') || long("--delete", 4);
    let mut asked = None;
    for refspec in refspecs {
        match target(refspec, deletes, git) {
            Some(Finding::Deny(why)) => return Some(Finding::Deny(why)),
            Some(ask) => asked = asked.or(Some(ask)),
            None => {}
        }
    }
    if asked.is_some() {
        return asked;
    }
    if refspecs.is_empty()
        && let Some(branch) = git.is_on_protected()
    {
        return Some(updates(branch));
    }
    if long("--force-with-lease", 9) {
        return Some(Finding::Ask(format!(
            "`{}` rewrites the branch on the remote",
            git.command
        )));
    }
    if long("--no-verify", 6) {
        return Some(Finding::Ask(
            "the agent wants to push without the repository's hooks".into(),
        ));
    }
    if long("--prune", 5) {
        return Some(Finding::Ask(
            "the agent wants to delete branches of the remote that are not here".into(),
        ));
    }
    None
}

fn updates(branch: &str) -> Finding {
    Finding::Deny(format!(
        "`{branch}` is a protected branch; push a branch of your own and open a pull request"
    ))
}

/// What a refspec does to the branch it names on the remote.
fn target(refspec: &Word, deletes: bool, git: &Git<'_>) -> Option<Finding> {
    let text = match branches::read(refspec, git.script) {
        Branch::Current => {
            return git.is_on_protected().map(updates);
        }
        Branch::Starting(start) => {
            let name = start
                .rsplit_once(':')
                .map_or(start.as_str(), |(_, name)| name);
            return branches::may_be_protected(name, git.settings).then(|| {
                Finding::Ask(format!(
                    "the agent wants to push to `{refspec}`, which is not known before and may be a protected branch"
                ))
            });
        }
        Branch::Named(text) => text,
    };
    let (source, name) = match text.split_once(':') {
        Some((source, name)) => (Some(source), name),
        None => (None, text),
    };
    if text == ":" {
        return Some(Finding::Ask(
            "the agent wants to push every branch that the remote has too".into(),
        ));
    }
    if name.contains('*') {
        return branches::may_be_protected(
            name.split('*').next().unwrap_or_default(),
            git.settings,
        )
        .then(|| {
            Finding::Deny(format!(
                "`{text}` includes protected branches; push the one branch you mean"
            ))
        });
    }
    if !branches::is_protected(name, git.settings) {
        return None;
    }
    if deletes || source == Some("") {
        return Some(Finding::Deny(format!(
            "`{name}` is a protected branch, and deleting it on the remote takes it from everybody"
        )));
    }
    Some(updates(name))
}
