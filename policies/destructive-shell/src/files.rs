//! What deletes, moves or locks files.

use seamgate_sdk::shell::{Origin, Part, Word, skip_options};

use crate::place::{self, Place};
use crate::{Finding, Judged};

/// The finding on a command of this file's kind.
pub fn judge(judged: &Judged<'_>) -> Option<Finding> {
    match judged.name {
        "rm" | "unlink" | "rimraf" | "trash" | "grm" => delete(judged),
        "find" | "gfind" | "fd" | "fdfind" => find(judged),
        "chmod" | "chown" | "chgrp" | "setfacl" | "chattr" | "chflags" => permissions(judged),
        "mv" => rename(judged),
        "rsync" => synchronise(judged),
        "truncate" | "shred" => overwrite(judged),
        "crontab" => judged.has_flag(&['r']).then(|| {
            Finding::Deny(
                "`crontab -r` removes all scheduled jobs of the user at once; edit the one entry that should go".into(),
            )
        }),
        _ => None,
    }
}

/// The words that are not options.
fn operands<'line>(judged: &Judged<'line>) -> Vec<&'line Word> {
    let mut only_operands = false;
    let mut operands = Vec::new();
    for word in judged.arguments {
        let is_option = word.prefix().starts_with('-') && !only_operands;
        if word.text() == Some("--") {
            only_operands = true;
        } else if !is_option {
            operands.push(word);
        }
    }
    operands
}

fn delete(judged: &Judged<'_>) -> Option<Finding> {
    // `rm $flags x`: the options are not known, so they may be these.
    let recursive = judged.name == "rimraf"
        || judged.has_flag(&['r', 'R'])
        || judged.texts().iter().any(|text| text.starts_with("--r"))
        || judged
            .arguments
            .iter()
            .any(|word| matches!(word.parts.as_slice(), [Part::Variable(_)]));
    if let Some(finding) = from_search(judged) {
        return Some(finding);
    }
    let filled_in = matches!(
        judged.command.origin,
        Origin::Wrapped { .. } | Origin::Script { .. }
    );
    let mut asked = None;
    for word in operands(judged) {
        if filled_in && word.parts.contains(&Part::Unknown) && word.prefix().is_empty() {
            // What `xargs` and `find` fill in is judged by where they search.
            continue;
        }
        let why = match place::of(word, judged) {
            Place::System => {
                return Some(Finding::Deny(format!(
                    "`{word}` belongs to the system, and deleting it can't be undone; delete only what is inside the project"
                )));
            }
            Place::Home if recursive => {
                return Some(Finding::Deny(format!(
                    "`{word}` is a whole home folder; delete only what is inside the project"
                )));
            }
            Place::Above if recursive => {
                return Some(Finding::Deny(format!(
                    "`{word}` is a folder that the project itself lies in; delete only what is inside the project"
                )));
            }
            Place::Home | Place::Above => "is outside the project",
            Place::Project => "is the whole project",
            Place::Repository => "is the repository with its history",
            Place::Outside if recursive => "is outside the project",
            Place::Unknown if recursive => "is not known before it runs, and could be anything",
            _ => continue,
        };
        asked.get_or_insert_with(|| {
            Finding::Ask(format!("the agent wants to delete `{word}`, which {why}"))
        });
    }
    asked
}

/// `find / … | xargs rm`: what is deleted is what the search finds.
fn from_search(judged: &Judged<'_>) -> Option<Finding> {
    let by = judged.command.origin.by()?;
    let filled = judged
        .arguments
        .iter()
        .any(|word| word.parts.contains(&Part::Unknown));
    if !filled {
        return None;
    }
    let searches = judged.script.upstream(by);
    searches.into_iter().find_map(|index| {
        let command = judged.script.commands.get(index)?;
        let name = command
            .name()
            .filter(|name| matches!(*name, "find" | "gfind"))?;
        search(&Judged {
            index,
            command,
            name,
            arguments: command.arguments(),
            ..*judged
        })
    })
}

fn find(judged: &Judged<'_>) -> Option<Finding> {
    let deletes = judged.has(&["-delete"]) || runs_deletion(judged);
    if deletes { search(judged) } else { None }
}

/// Whether a command that the search runs deletes.
fn runs_deletion(judged: &Judged<'_>) -> bool {
    let commands = &judged.script.commands;
    commands.iter().any(|command| {
        let mut origin = command.origin.by();
        while let Some(by) = origin {
            if by == judged.index {
                return matches!(
                    command.name(),
                    Some("rm" | "unlink" | "shred" | "rmdir" | "mv")
                );
            }
            origin = commands.get(by).and_then(|outer| outer.origin.by());
        }
        false
    })
}

/// Judges a search whose results are deleted.
fn search(judged: &Judged<'_>) -> Option<Finding> {
    let after_options = skip_options(judged.arguments, "D", &[]);
    // `-H`, `-L`, `-P`, `-O3` come before the folders; everything else with a dash is a condition.
    let options = judged.arguments[..after_options]
        .iter()
        .take_while(|word| {
            matches!(word.text(), Some("-H" | "-L" | "-P")) || word.prefix().starts_with("-O")
        })
        .count();
    let roots: Vec<&Word> = judged.arguments[options..]
        .iter()
        .take_while(|word| !word.prefix().starts_with(['-', '(', '!']))
        .collect();
    let conditions = &judged.arguments[options + roots.len()..];
    let selects = conditions.iter().filter_map(Word::text).any(|text| {
        matches!(
            text,
            "-name"
                | "-iname"
                | "-path"
                | "-ipath"
                | "-wholename"
                | "-regex"
                | "-iregex"
                | "-empty"
                | "-newer"
                | "-mtime"
                | "-mmin"
                | "-atime"
                | "-ctime"
                | "-amin"
                | "-cmin"
                | "-size"
                | "-user"
        )
    });
    let mut asked = None;
    for root in roots {
        match place::of(root, judged) {
            place @ (Place::System | Place::Home | Place::Above) => {
                let what = match place {
                    Place::System => "a folder of the system",
                    Place::Home => "a whole home folder",
                    _ => "a folder that the project itself lies in",
                };
                return Some(Finding::Deny(format!(
                    "this deletes what is found in `{root}`, {what}; search inside the project only"
                )));
            }
            Place::Outside => {
                asked = Some(format!(
                    "the agent wants to delete what is found in `{root}`, outside the project"
                ));
            }
            Place::Unknown => {
                asked = Some(format!(
                    "the agent wants to delete what is found in `{root}`, which is not known before it runs"
                ));
            }
            Place::Project if !selects => {
                asked = Some(
                    "the agent wants to delete everything that is found in the project".into(),
                );
            }
            _ => {}
        }
    }
    asked.map(Finding::Ask)
}

fn permissions(judged: &Judged<'_>) -> Option<Finding> {
    if !(judged.has_flag(&['R']) || judged.has(&["--recursive"])) {
        return None;
    }
    operands(judged).into_iter().find_map(|word| match place::of(word, judged) {
        Place::System | Place::Home | Place::Above => Some(Finding::Deny(format!(
            "`{}` on `{word}` with everything in it can't be undone; change only the files that need it, inside the project",
            judged.name
        ))),
        _ => None,
    })
}

fn rename(judged: &Judged<'_>) -> Option<Finding> {
    let operands = operands(judged);
    let (target, sources) = operands.split_last()?;
    if place::path(target, judged).as_deref() == Some("/dev/null") {
        return Some(Finding::Deny(
            "moving to /dev/null does not delete: it loses the files and may replace the device; delete with `rm` what should go".into(),
        ));
    }
    sources.iter().find_map(|word| match place::of(word, judged) {
        Place::System | Place::Home | Place::Above => Some(Finding::Deny(format!(
            "moving `{word}` away breaks what depends on it; move only what is inside the project"
        ))),
        _ => None,
    })
}

fn synchronise(judged: &Judged<'_>) -> Option<Finding> {
    let deletes = judged.texts().iter().any(|text| text.starts_with("--del"));
    let target = operands(judged).pop().filter(|_| deletes)?;
    match place::of(target, judged) {
        Place::System | Place::Home | Place::Above => Some(Finding::Deny(format!(
            "`rsync --delete` into `{target}` deletes whatever the source lacks; give it a folder of its own"
        ))),
        _ => None,
    }
}

fn overwrite(judged: &Judged<'_>) -> Option<Finding> {
    for word in operands(judged) {
        if matches!(place::of(word, judged), Place::System) {
            return Some(Finding::Deny(format!(
                "`{}` on `{word}` destroys something of the system",
                judged.name
            )));
        }
    }
    (judged.name == "shred" && !operands(judged).is_empty())
        .then(|| Finding::Ask("the agent wants to shred files, which nothing brings back".into()))
}
