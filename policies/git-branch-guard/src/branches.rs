//! Which branches are protected.

use seamgate_sdk::shell::{Part, Script, Word};

use crate::Settings;

/// Whether a branch of this name is protected. `refs/heads/` before it makes no difference.
pub fn is_protected(name: &str, settings: &Settings) -> bool {
    let name = short(name);
    settings
        .protected_branches
        .iter()
        .any(|pattern| fits(pattern, name))
}

/// Whether a branch whose name starts like this may be protected.
pub fn may_be_protected(start: &str, settings: &Settings) -> bool {
    let start = short(start);
    settings.protected_branches.iter().any(|pattern| {
        let literal = pattern.split('*').next().unwrap_or_default();
        match pattern.contains('*') {
            true => literal.starts_with(start) || start.starts_with(literal),
            false => literal.starts_with(start),
        }
    })
}

fn short(name: &str) -> &str {
    name.strip_prefix("refs/heads/")
        .or_else(|| name.strip_prefix("heads/"))
        .unwrap_or(name)
}

fn fits(pattern: &str, name: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(rest) = name.strip_prefix(before) else {
        return false;
    };
    let mut ends = (0..=rest.len()).filter(|&end| rest.is_char_boundary(end));
    ends.any(|end| fits(after, &rest[end..]))
}

/// What a word says of a branch.
pub enum Branch<'word> {
    /// Its name.
    Named(&'word str),
    /// The branch that is checked out.
    Current,
    /// Only how the name starts is known.
    Starting(String),
}

/// Reads a word as a branch.
pub fn read<'word>(word: &'word Word, script: &Script) -> Branch<'word> {
    match word.text() {
        Some("HEAD" | "@") => Branch::Current,
        Some(name) => Branch::Named(name),
        None if asks_for_current(word, script) => Branch::Current,
        None => Branch::Starting(word.prefix()),
    }
}

/// `"$(git branch --show-current)"` and the like.
fn asks_for_current(word: &Word, script: &Script) -> bool {
    let [Part::Substitution(range)] = word.parts.as_slice() else {
        return false;
    };
    let Some(command) = script.commands.get(range.start) else {
        return false;
    };
    let texts: Vec<&str> = command.arguments().iter().filter_map(Word::text).collect();
    command.name() == Some("git")
        && range.len() == 1
        && matches!(
            texts.as_slice(),
            ["branch", "--show-current"]
                | ["rev-parse", "--abbrev-ref", "HEAD"]
                | ["symbolic-ref", "--short", "HEAD"]
        )
}
