//! How much depends on a path.

use seamgate_sdk::shell::{Part, Script, Word};

use crate::Judged;

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A folder of the system, or something in one.
    System,
    /// A home folder as a whole.
    Home,
    /// A folder that the project lies in.
    Above,
    /// The project as a whole.
    Project,
    /// The project's `.git`.
    Repository,
    /// Something within the project, or where the settings allow it.
    Inside,
    /// Something within a folder for temporary files.
    Temporary,
    /// Anything else.
    Outside,
    /// It can't be known.
    Unknown,
}

/// System folders that are not touched at any depth.
const CORE: [&str; 14] = [
    "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "sys", "usr",
    "System", "Windows",
];
/// System folders of which the whole counts, while what is deep within is somebody's data.
const TOP: [&str; 12] = [
    "home",
    "opt",
    "srv",
    "var",
    "mnt",
    "media",
    "run",
    "Users",
    "Applications",
    "Library",
    "private",
    "Volumes",
];
const TEMPORARY: [&[&str]; 6] = [
    &["tmp"],
    &["var", "tmp"],
    &["private", "tmp"],
    &["private", "var", "tmp"],
    &["dev", "shm"],
    &["private", "var", "folders"],
];

/// In place of a component that is there and not known.
const UNKNOWN: &str = "\u{fffd}";

/// A path that is resolved as far as it is known.
#[derive(Debug, Clone)]
struct Resolved {
    /// The folders from the root on. A leading part that is not known is not among them.
    components: Vec<String>,
    /// Whether the start is not known.
    unknown_start: bool,
}

/// Where a word leads to, for a command with this folder.
pub fn of(word: &Word, judged: &Judged<'_>) -> Place {
    let base = base(judged);
    let Some(resolved) = resolve(word, &base, judged) else {
        return Place::Unknown;
    };
    let cwd = judged.cwd.map(absolute);
    classify(resolved, cwd.as_deref(), judged)
}

/// The path as text, for a word that is wholly known. Used for devices.
pub fn path(word: &Word, judged: &Judged<'_>) -> Option<String> {
    word.text()?;
    let resolved = resolve(word, &base(judged), judged)?;
    (!resolved.unknown_start).then(|| format!("/{}", resolved.components.join("/")))
}

/// The folder the command runs in.
fn base(judged: &Judged<'_>) -> Resolved {
    let start = match judged.cwd {
        Some(cwd) => Resolved {
            components: absolute(cwd),
            unknown_start: false,
        },
        None => Resolved {
            components: Vec::new(),
            unknown_start: true,
        },
    };
    match &judged.command.folder {
        None => start,
        Some(folder) => resolve(folder, &start, judged).unwrap_or(Resolved {
            components: Vec::new(),
            unknown_start: true,
        }),
    }
}

fn absolute(path: &str) -> Vec<String> {
    let mut components = Vec::new();
    append(&mut components, path);
    components
}

fn append(components: &mut Vec<String>, path: &str) -> bool {
    for component in path.split('/') {
        match component {
            "" | "." => {}
            ".." => {
                if components.pop().is_none() {
                    return false;
                }
            }
            other => components.push(other.to_owned()),
        }
    }
    true
}

/// None where nothing useful is known.
fn resolve(word: &Word, base: &Resolved, judged: &Judged<'_>) -> Option<Resolved> {
    let mut text = String::new();
    let mut parts = word.parts.iter();
    let mut start = base.clone();
    let first = parts.next()?;
    match first {
        Part::Literal(literal) => {
            if literal.starts_with('/') {
                start = Resolved {
                    components: Vec::new(),
                    unknown_start: false,
                };
            }
            text.push_str(literal);
        }
        Part::Glob(glob) => text.push_str(glob),
        Part::Tilde(_) => {
            start = Resolved {
                components: home(judged.cwd),
                unknown_start: false,
            }
        }
        Part::Variable(name) => match name.as_str() {
            "HOME" => {
                start = Resolved {
                    components: home(judged.cwd),
                    unknown_start: false,
                }
            }
            "PWD" | "CLAUDE_PROJECT_DIR" => {}
            "TMPDIR" | "TMP" | "TEMP" => start = temporary(),
            _ => return None,
        },
        Part::Substitution(range) => match only_name(judged.script, range.start)? {
            "mktemp" => {
                start = temporary();
                start.components.push(UNKNOWN.into());
            }
            "pwd" => {}
            "git" => start = base.clone(),
            _ => return None,
        },
        Part::Process(_) | Part::Unknown => return None,
    }
    for part in parts {
        match part.text() {
            Some(known) => text.push_str(known),
            // One step further down than is known, whatever it is called.
            None => {
                text.push_str(UNKNOWN);
                break;
            }
        }
    }
    let expanded = !matches!(first, Part::Literal(_) | Part::Glob(_));
    if expanded && !text.is_empty() && !text.starts_with('/') {
        // `$HOME.old` is beside the folder, not in it.
        if let Some(last) = start.components.last_mut() {
            let (suffix, rest) = text.split_once('/').unwrap_or((&text, ""));
            last.push_str(suffix);
            text = rest.to_owned();
        }
    }
    if !append(&mut start.components, &text) {
        if start.unknown_start {
            // Above a folder that is not known.
            return None;
        }
        // `..` at the root is the root.
        let mut components = Vec::new();
        for component in text.split('/') {
            append(&mut components, component);
        }
        start.components = components;
    }
    Some(start)
}

fn temporary() -> Resolved {
    Resolved {
        components: vec!["tmp".into()],
        unknown_start: false,
    }
}

/// The name of the command in a substitution of one command, and only of those that print a folder.
fn only_name(script: &Script, index: usize) -> Option<&str> {
    let command = script.commands.get(index)?;
    match command.name()? {
        "git" => {
            let arguments: Vec<&str> = command.arguments().iter().filter_map(Word::text).collect();
            (arguments == ["rev-parse", "--show-toplevel"]).then_some("git")
        }
        name => Some(name),
    }
}

/// The home folder, as far as the agent's folder tells. Any other home is as bad to lose.
fn home(cwd: Option<&str>) -> Vec<String> {
    let components = cwd.map(absolute).unwrap_or_default();
    match components.as_slice() {
        [top, user, ..] if top == "home" || top == "Users" => vec![top.clone(), user.clone()],
        [top, ..] if top == "root" => vec![top.clone()],
        _ => vec!["home".into(), UNKNOWN.into()],
    }
}

/// Whether a component stands for everything in its folder.
fn is_everything(component: &str) -> bool {
    component.contains('*') && component.chars().all(|each| "*?.[]!{},".contains(each))
}

fn classify(mut resolved: Resolved, cwd: Option<&[String]>, judged: &Judged<'_>) -> Place {
    let components = &mut resolved.components;
    while components.last().is_some_and(|last| is_everything(last)) {
        components.pop();
    }
    if resolved.unknown_start {
        return match components.is_empty() {
            true => Place::Unknown,
            false => Place::Inside,
        };
    }
    let path: Vec<&str> = components.iter().map(String::as_str).collect();
    let allowed = judged.settings.allow_paths.iter().any(|allowed| {
        let allowed = absolute(allowed);
        !allowed.is_empty() && starts_with(&path, &allowed)
    });
    if allowed {
        return Place::Inside;
    }
    if is_home(&path) {
        return Place::Home;
    }
    let cwd = cwd.unwrap_or_default();
    if !cwd.is_empty() && starts_with(&path, cwd) {
        return match path.len() - cwd.len() {
            0 => Place::Project,
            1 if path[cwd.len()] == ".git" => Place::Repository,
            _ => Place::Inside,
        };
    }
    if TEMPORARY
        .iter()
        .any(|folder| path.len() > folder.len() && path.starts_with(folder))
    {
        return Place::Temporary;
    }
    match path.as_slice() {
        [] => return Place::System,
        ["usr", "local" | "src", _, ..] => return Place::Outside,
        [only] if TOP.contains(only) => return Place::System,
        [only] if only.contains(['*', '?', '[']) => return Place::System,
        [first, ..] if CORE.contains(first) => return Place::System,
        [UNKNOWN] => return Place::Unknown,
        _ => {}
    }
    let is_above =
        !cwd.is_empty() && path.len() < cwd.len() && cwd.iter().zip(&path).all(|(a, b)| a == b);
    if is_above {
        Place::Above
    } else {
        Place::Outside
    }
}

fn starts_with(path: &[&str], start: &[String]) -> bool {
    path.len() >= start.len() && path.iter().zip(start).all(|(a, b)| a == b)
}

fn is_home(path: &[&str]) -> bool {
    matches!(path, ["home" | "Users", _] | ["root"] | ["var", "root"])
}
