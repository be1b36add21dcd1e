//! Shell command lines as the commands they would run.
//!
//! A policy that looks for `rm -rf /` with a regular expression stops a commit message that mentions it, and lets
//! `r''m -r -f "/"` pass. [`parse`] reads the line as a shell would and lists the simple commands in it, each as a list
//! of arguments with the quoting done:
//!
//! ```
//! use seamgate_sdk::shell;
//!
//! let script = shell::parse("git commit -m 'rm -rf /' && sudo r''m -rf build");
//! let commands: Vec<_> = script.commands.iter().map(|command| command.to_string()).collect();
//! assert_eq!(commands, ["git commit -m rm -rf /", "sudo rm -rf build", "rm -rf build"]);
//! assert_eq!(script.incomplete, None);
//! ```
//!
//! * **Every layer is listed.** `sudo rm x` is two commands, the outer one and the one it runs, which names the first
//!   as its [`Origin`]. So a policy matches names and never has to look through `sudo`, `env`, `xargs`, `find -exec`,
//!   `bash -c`, `eval` or a substitution itself.
//! * **Data is not commands.** Quoted arguments and here-documents are data, unless something on the line runs them: a
//!   shell that reads a here-document has its commands listed.
//! * **Nothing is guessed.** What can't be known is a [`Part`] that says so, between the parts that can. Variables
//!   are followed within the line (`x='rm -rf'; $x /`) as long as their value is certain.
//! * **What was not read is told.** [`Script::incomplete`] says that the list may lack commands. A gate must not take
//!   it for a harmless line.
//!
//! It never panics and never runs away: the limits are [`LINE_LIMIT`], [`DEPTH_LIMIT`], [`COMMAND_LIMIT`] and
//! [`EXPANSION_LIMIT`].
//!
//! The syntax is that of bash, of which POSIX `sh` is a part, and which `zsh` shares as far as it matters here.

mod braces;
mod builtins;
mod call;
mod compound;
mod control;
mod environment;
mod expand;
mod output;
mod parser;
mod reader;
mod redirections;
mod run;
mod shells;
mod substitutions;
mod syntax;
mod walk;
mod wrappers;

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;

pub use call::{CallError, ShellCall, shell_call};
pub use wrappers::skip_options;

/// How long a line may be, in bytes. A longer one is not read at all.
pub const LINE_LIMIT: usize = 256 * 1024;
/// How deep substitutions, groups and scripts within scripts may nest.
pub const DEPTH_LIMIT: usize = 32;
/// How many commands are listed.
pub const COMMAND_LIMIT: usize = 4096;
/// How much text, in bytes, the values of variables and the scripts within the line may add up to.
pub const EXPANSION_LIMIT: usize = 512 * 1024;

/// Lists the commands of a command line, as `bash -c` would run it.
///
/// It does not fail: see [`Script::incomplete`].
pub fn parse(line: &str) -> Script {
    walk::script(line)
}

/// Lists the commands of an argument list that is run without a shell, such as `["bash", "-lc", "make && make check"]`.
///
/// It does not fail: see [`Script::incomplete`].
pub fn parse_arguments<T: AsRef<str>>(arguments: &[T]) -> Script {
    walk::arguments(arguments)
}

/// The commands of a line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// The commands, in the order in which they stand on the line. A command comes before the commands in its
    /// substitutions, and before those it runs. A loop over known words has its body listed once for each.
    pub commands: Vec<Command>,
    /// Why commands may be missing, or none where the whole line was understood.
    pub incomplete: Option<Incomplete>,
}

/// Why a line was not read to its end. The commands up to there are listed all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incomplete {
    /// The line is longer than [`LINE_LIMIT`].
    TooLong,
    /// It nests deeper than [`DEPTH_LIMIT`].
    TooDeep,
    /// It has more than [`COMMAND_LIMIT`] commands, four times as many words, or its text grows beyond [`EXPANSION_LIMIT`].
    TooMuch,
    /// It is not the shell's syntax, as far as this module knows it. The text says what is wrong.
    Syntax(&'static str),
}

impl fmt::Display for Incomplete {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => formatter.write_str("it is too long"),
            Self::TooDeep => formatter.write_str("it nests too deep"),
            Self::TooMuch => formatter.write_str("it expands to too much"),
            Self::Syntax(what) => write!(formatter, "syntax: {what}"),
        }
    }
}

/// One simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Its name and its arguments. Empty where there are only assignments or redirections, and for the redirections
    /// of a group or a loop, which are listed as a command of their own.
    pub words: Vec<Word>,
    /// The assignments before its name, or in place of one.
    pub assignments: Vec<Assignment>,
    /// Its redirections.
    pub redirections: Vec<Redirection>,
    /// Who runs it.
    pub origin: Origin,
    /// The commands whose output is its standard input, as a range of [`Script::commands`]. Empty where nothing is
    /// piped into it.
    pub fed_by: Range<usize>,
    /// What it runs in its turn.
    pub runs: Runs,
    /// The folder that a `cd` before it went to, or none where it runs where the line runs. It is relative where
    /// `cd` was given a relative folder.
    pub folder: Option<Word>,
    /// The function in whose body it stands.
    pub function: Option<String>,
}

/// Who runs a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The line itself, also within groups, loops and functions.
    Line,
    /// A substitution: its output becomes part of a word.
    Substitution,
    /// A command that takes a command as its arguments: `sudo`, `env`, `xargs`, `find -exec` …
    Wrapped {
        /// That command's index in [`Script::commands`].
        by: usize,
    },
    /// A command that takes a text and runs it as a script: `bash -c`, `eval`, a shell that reads a here-document …
    Script {
        /// That command's index in [`Script::commands`].
        by: usize,
    },
    /// `ssh`: it runs on another machine.
    Remote {
        /// That command's index in [`Script::commands`].
        by: usize,
    },
}

impl Origin {
    /// The index of the command that runs this one, where one does.
    pub fn by(self) -> Option<usize> {
        match self {
            Self::Line | Self::Substitution => None,
            Self::Wrapped { by } | Self::Script { by } | Self::Remote { by } => Some(by),
        }
    }
}

/// What a command runs in its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// It is none of the commands that run others, as far as this module knows.
    Nothing,
    /// Commands that are listed, with this one as their [`Origin`].
    Listed,
    /// A shell script in a file, whose text is not on the line: `bash build.sh`, `source <(…)`.
    File,
    /// What it reads from its standard input, whose text is not known: `… | sh`.
    Input,
    /// Something that can't be known: `eval "$x"`, `bash -c "$(…)"`.
    Unknown,
}

/// A word after expansion. It may stand for several arguments, or for none, where it has an unquoted unknown part or a
/// glob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// As it is written on the line. Several words share one source where an expansion made them.
    pub source: String,
    /// What it is made of. None for an empty word (`''`).
    pub parts: Vec<Part>,
    text: Option<String>,
}

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text that stands for itself.
    Literal(String),
    /// Unquoted `*`, `?`, `[…]`, which the shell replaces by the names of files.
    Glob(String),
    /// A `~` or `~user` that the shell replaces by a home folder.
    Tilde(String),
    /// A variable by its name, whose value is not known.
    Variable(String),
    /// The output of these commands, a range of [`Script::commands`], which is not known.
    Substitution(Range<usize>),
    /// The name of a file that connects to these commands, a range of [`Script::commands`]: `<(…)` and `>(…)`.
    Process(Range<usize>),
    /// Anything else that is not known: arithmetic, `${x%.*}`, what `xargs` and `find` fill in.
    Unknown,
}

impl Part {
    /// The text, where it is known. Globs and tildes count as known, as they are written.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Literal(text) | Self::Glob(text) | Self::Tilde(text) => Some(text),
            Self::Variable(_) | Self::Substitution(_) | Self::Process(_) | Self::Unknown => None,
        }
    }
}

impl Word {
    pub(crate) fn new(source: &str, parts: Vec<Part>) -> Self {
        let text = parts.iter().map(Part::text).collect();
        Self {
            source: source.into(),
            parts,
            text,
        }
    }

    /// The whole text, where every part is known. Globs and tildes are in it as they are written.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The known text at the start: all of it, or up to the first part that is not known.
    pub fn prefix(&self) -> String {
        self.parts.iter().map_while(Part::text).collect()
    }

    /// The known texts without what is not known between them. Good for suspicion, not for proof.
    pub fn literals(&self) -> String {
        self.parts.iter().filter_map(Part::text).collect()
    }

    /// Whether nothing of it is known.
    pub fn is_opaque(&self) -> bool {
        !self.parts.is_empty() && self.parts.iter().all(|part| part.text().is_none())
    }
}

impl fmt::Display for Word {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            match part {
                Part::Literal(text) | Part::Glob(text) | Part::Tilde(text) => {
                    formatter.write_str(text)?
                }
                Part::Variable(name) => write!(formatter, "${{{name}}}")?,
                Part::Substitution(_) => formatter.write_str("$(…)")?,
                Part::Process(_) => formatter.write_str("<(…)")?,
                Part::Unknown => formatter.write_str("…")?,
            }
        }
        Ok(())
    }
}

impl Command {
    /// The command's name without its folder (`rm` for `/bin/rm`), where it is known. It is not where it has a glob:
    /// `/bin/r?` is whatever file matches.
    pub fn name(&self) -> Option<&str> {
        let first = self.words.first()?;
        let text = first.text()?;
        // `[` alone is a command, and no glob.
        if text != "[" && first.parts.iter().any(|part| matches!(part, Part::Glob(_))) {
            return None;
        }
        Some(text.rsplit('/').next().unwrap_or(text))
    }

    /// The words after the name.
    pub fn arguments(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }
}

/// The words with a space between them, for messages and tests. Quoting is lost, so it is not for running.
impl fmt::Display for Command {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, word) in self.words.iter().enumerate() {
            if index > 0 {
                formatter.write_str(" ")?;
            }
            write!(formatter, "{word}")?;
        }
        Ok(())
    }
}

/// `name=value` before a command, or by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// Its value. For a list (`x=(a b)`) its items, and for `x+=y` the whole of what it comes to.
    pub values: Vec<Word>,
}

/// Where a command's input comes from or its output goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirection {
    /// The number or name before the operator (`2` in `2>`), where there is one.
    pub descriptor: Option<String>,
    /// What it does.
    pub operator: RedirectionOperator,
    /// The file, the descriptor, or the text.
    pub target: Word,
}

/// The operators of redirections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectionOperator {
    /// `<`
    Read,
    /// `>`, `>|` and `&>`: the file is emptied first.
    Write,
    /// `>>` and `&>>`
    Append,
    /// `<>`
    ReadWrite,
    /// `<&` and `>&`: the target is a descriptor.
    Duplicate,
    /// `<<` and `<<-`: the target is the text.
    HereDocument,
    /// `<<<`: the target is the text.
    HereString,
}

impl Script {
    /// The indexes of all commands whose output can reach this one: what is piped into it, the substitutions in its
    /// words and redirections, and whatever reaches those.
    pub fn upstream(&self, index: usize) -> Vec<usize> {
        let mut seen = vec![false; self.commands.len()];
        let mut next = vec![index];
        while let Some(at) = next.pop() {
            let Some(command) = self.commands.get(at) else {
                continue;
            };
            // What a wrapper was given to read, the command within it reads.
            let mut targets = Vec::new();
            let mut outer = Some(command);
            while let Some(giving) = outer {
                targets.extend(giving.redirections.iter().map(|each| &each.target));
                let by = giving.origin.by();
                outer = by.and_then(|by| self.commands.get(by));
            }
            let ranges = command
                .words
                .iter()
                .chain(targets)
                .flat_map(|word| &word.parts)
                .filter_map(|part| match part {
                    Part::Substitution(range) | Part::Process(range) => Some(range.clone()),
                    _ => None,
                })
                .chain([command.fed_by.clone()]);
            for reaching in ranges.flatten() {
                if let Some(mark) = seen.get_mut(reaching)
                    && !std::mem::replace(mark, true)
                {
                    next.push(reaching);
                }
            }
        }
        (0..seen.len())
            .filter(|&each| seen[each] && each != index)
            .collect()
    }

    /// The text that a command reads from its standard input, where it is known: its here-document or here-string,
    /// or what a plain `echo`, `printf` or `cat` pipes into it.
    pub fn input(&self, index: usize) -> Option<String> {
        output::input(&self.commands, index)
    }
}
