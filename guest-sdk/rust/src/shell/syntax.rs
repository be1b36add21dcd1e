//! The syntax tree of a line, before any expansion.

use std::cell::OnceCell;
use std::rc::Rc;

use super::RedirectionOperator;

/// A word as it is written.
#[derive(Debug, Clone, Default)]
pub(super) struct RawWord {
    pub source: String,
    pub pieces: Vec<Piece>,
}

/// A piece of a word as it is written.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    /// Unquoted text.
    Plain(String),
    /// Quoted text. It makes a word even where it is empty.
    Quoted(String),
    /// Unquoted `*`, `?`, `[…]`.
    Glob(String),
    /// `~` or `~user` at the start.
    Tilde(String),
    /// An unquoted `{`, `,` or `}`, until it is clear whether braces are expanded.
    Brace(char),
    /// `$name`, `${name}`, `${name[@]}`, `${name:-fallback}`.
    Variable(Rc<Parameter>),
    /// `$(…)` and backquotes.
    Substitution { list: Rc<List>, quoted: bool },
    /// `<(…)` and `>(…)`.
    Process(Rc<List>),
    /// An expansion whose value is not worked out. The commands in it count all the same.
    Unknown(Rc<Vec<Piece>>),
}

/// A use of a variable.
#[derive(Debug)]
pub(super) struct Parameter {
    pub name: String,
    pub quoted: bool,
    /// `$@`, `$*`, `${name[@]}`: all items, not the first.
    pub all: bool,
    /// The operator and the word after it, as in `${name:-word}`.
    pub fallback: Option<(Fallback, Vec<Piece>)>,
}

/// What the word of `${name:-word}` is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fallback {
    /// `-`, `?`: it counts where the variable has no value.
    WhenUnset,
    /// `=`: likewise, and the variable gets it as its value.
    Assign,
    /// `+`: it counts where the variable has one.
    WhenSet,
}

/// Commands one after another.
pub(super) type List = Vec<Step>;

/// A pipeline, and when it runs.
#[derive(Debug)]
pub(super) struct Step {
    pub link: Link,
    pub background: bool,
    pub stages: Vec<Stage>,
}

/// What joins a pipeline to the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    Always,
    And,
    Or,
}

/// One command of a pipeline.
#[derive(Debug)]
pub(super) struct Stage {
    pub node: Node,
    pub redirections: Vec<RawRedirection>,
}

/// A simple or compound command.
#[derive(Debug)]
pub(super) enum Node {
    Simple {
        assignments: Vec<RawAssignment>,
        words: Vec<RawWord>,
    },
    Group(List),
    Subshell(List),
    /// The first list always runs, the others may.
    If(Vec<List>),
    /// Condition and body, which run any number of times.
    Loop(List),
    For {
        name: String,
        words: Option<Vec<RawWord>>,
        body: List,
    },
    Case {
        words: Vec<RawWord>,
        arms: Vec<List>,
    },
    Function {
        name: String,
        body: Rc<Stage>,
    },
    /// `((…))`
    Arithmetic(Vec<Piece>),
}

#[derive(Debug)]
pub(super) struct RawAssignment {
    pub name: String,
    pub append: bool,
    /// An item of a list (`x[1]=…`), which is not followed.
    pub item: bool,
    pub value: RawValue,
}

#[derive(Debug)]
pub(super) enum RawValue {
    Word(RawWord),
    List(Vec<RawWord>),
}

#[derive(Debug)]
pub(super) struct RawRedirection {
    pub descriptor: Option<String>,
    pub operator: RedirectionOperator,
    pub target: Target,
}

#[derive(Debug)]
pub(super) enum Target {
    Word(RawWord),
    /// A here-document, whose body is read later than its operator. Empty where the line ended before.
    Document(Rc<OnceCell<RawWord>>),
}
