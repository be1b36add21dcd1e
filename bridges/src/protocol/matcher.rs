//! Which hooks an event is for.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long a pattern may be.
const PATTERN_BYTES: usize = 10_000;

/// How long a subject may be to be matched with an ECMAScript expression. Names of tools and files are far shorter.
const SUBJECT_BYTES: usize = 4_096;

/// How long an ECMAScript expression may take.
const BUDGET: Duration = Duration::from_millis(500);

/// Up to how many bytes of subject a simple ECMAScript expression needs no watching.
const SHORT_BYTES: usize = 256;

/// What a dialect's configuration may have for a matcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatcherRules {
    /// The dialect's name, for errors.
    pub dialect: &'static str,
    /// What is a list of names and no expression.
    pub names: Names,
    /// What kind of expression the rest is.
    pub engine: Engine,
}

/// What is a list of names, each of which matches itself and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// Nothing: every matcher is an expression.
    None,
    /// Letters, digits, `_`, and `|` between the names.
    Bar,
    /// Also `-`, and `,` between the names, which may have spaces around them.
    BarAndComma,
}

/// What an expression is written in. It is searched for anywhere in the subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// ECMAScript, without flags. Look-around and back-references exist, and so do patterns that take forever.
    EcmaScript,
    /// Rust's `regex`, which takes time in proportion.
    Rust,
}

/// A matcher that is no regular expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidMatcher {
    /// Whose configuration it is in.
    pub dialect: &'static str,
    /// The matcher.
    pub pattern: String,
    /// The event it is for, where that is known.
    pub event: Option<String>,
    /// What is wrong with it.
    pub problem: String,
}

impl InvalidMatcher {
    /// Says which event it is for.
    #[must_use]
    pub fn on_event(mut self, event: impl Into<String>) -> Self {
        self.event = Some(event.into());
        self
    }
}

impl std::error::Error for InvalidMatcher {}

impl fmt::Display for InvalidMatcher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        write!(
            formatter,
            "invalid {} regex matcher {}",
            self.dialect,
            quoted(&self.pattern)
        )?;
        if let Some(event) = &self.event {
            write!(formatter, " on event {}", quoted(event))?;
        }
        write!(formatter, ": {}", self.problem)
    }
}

/// Whether a matcher matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matching {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// It took too long to say, or the subject is too long. For the protocol that is a no which somebody should hear of; a
    /// gate may want to close.
    Unknown,
}

/// A matcher, ready for use. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Matcher(Kind);

#[derive(Debug, Clone)]
enum Kind {
    All,
    Nothing,
    Names(Arc<[String]>),
    Rust(regex::Regex),
    EcmaScript(Arc<EcmaScript>),
}

impl Matcher {
    /// Reads a matcher. An absent one, an empty one and `*` match everything.
    ///
    /// # Errors
    /// It is an expression, and no valid one.
    pub fn load(matcher: Option<&str>, rules: &MatcherRules) -> Result<Self, InvalidMatcher> {
        let pattern = match matcher {
            None | Some("" | "*") => return Ok(Self(Kind::All)),
            Some(pattern) => pattern,
        };
        if let Some(names) = rules.names.read(pattern) {
            return Ok(Self(Kind::Names(names)));
        }
        let invalid = |problem: String| InvalidMatcher {
            dialect: rules.dialect,
            pattern: pattern.to_owned(),
            event: None,
            problem,
        };
        if pattern.len() > PATTERN_BYTES {
            return Err(invalid(format!("it is longer than {PATTERN_BYTES} bytes")));
        }
        match rules.engine {
            Engine::Rust => regex::Regex::new(pattern)
                .map(|regex| Self(Kind::Rust(regex)))
                .map_err(|error| invalid(error.to_string())),
            Engine::EcmaScript => regress::Regex::new(pattern)
                .map(|regex| Self(Kind::EcmaScript(Arc::new(EcmaScript::new(pattern, regex)))))
                .map_err(|error| invalid(error.text)),
        }
    }

    /// The same for a dialect in which an invalid matcher matches nothing. The error is told beside it.
    pub fn load_or_nothing(
        matcher: Option<&str>,
        rules: &MatcherRules,
    ) -> (Self, Option<InvalidMatcher>) {
        match Self::load(matcher, rules) {
            Ok(matcher) => (matcher, None),
            Err(error) => (Self(Kind::Nothing), Some(error)),
        }
    }

    /// Whether it matches this subject. May take half a second where the pattern is an evil one, once.
    pub fn matches(&self, subject: &str) -> Matching {
        let matches = match &self.0 {
            Kind::All => true,
            Kind::Nothing => false,
            Kind::Names(names) => names.iter().any(|name| name == subject),
            Kind::Rust(regex) => regex.is_match(subject),
            Kind::EcmaScript(regex) => return regex.matches(subject),
        };
        if matches { Matching::Yes } else { Matching::No }
    }

    /// Whether it matches one of these, which are names of one thing.
    pub fn matches_any<'a>(&self, subjects: impl IntoIterator<Item = &'a str>) -> Matching {
        let mut result = Matching::No;
        for subject in subjects {
            match self.matches(subject) {
                Matching::Yes => return Matching::Yes,
                Matching::Unknown => result = Matching::Unknown,
                Matching::No => {}
            }
        }
        result
    }
}

impl Names {
    fn read(self, pattern: &str) -> Option<Arc<[String]>> {
        let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
        match self {
            Self::None => None,
            Self::Bar => pattern
                .chars()
                .all(|character| is_name(character) || character == '|')
                .then(|| pattern.split('|').map(str::to_owned).collect()),
            Self::BarAndComma => pattern
                .chars()
                .all(|character| is_name(character) || "|,- ".contains(character))
                .then(|| {
                    let names = pattern.split(['|', ',']);
                    names.map(|name| name.trim().to_owned()).collect()
                }),
        }
    }
}

/// An ECMAScript expression.
///
/// A pattern like `(a+)+$` can take longer than the universe lasts, and the engine can neither be given a number of steps nor
/// be stopped. So a pattern that might is matched on a thread of its own. One that did not come to an end is left to itself
/// and never tried again: that thread goes on, but there is only one per pattern.
struct EcmaScript {
    regex: Arc<regress::Regex>,
    is_simple: bool,
    given_up: AtomicBool,
}

impl EcmaScript {
    fn new(pattern: &str, regex: regress::Regex) -> Self {
        Self {
            regex: Arc::new(regex),
            is_simple: is_simple(pattern),
            given_up: AtomicBool::new(false),
        }
    }

    fn matches(&self, subject: &str) -> Matching {
        if self.is_simple && subject.len() <= SHORT_BYTES {
            return of(self.regex.find(subject).is_some());
        }
        if subject.len() > SUBJECT_BYTES || self.given_up.load(Ordering::Relaxed) {
            return Matching::Unknown;
        }
        let (sender, receiver) = mpsc::sync_channel(1);
        let regex = Arc::clone(&self.regex);
        let subject = subject.to_owned();
        let thread = thread::Builder::new()
            .name("matcher".to_owned())
            .spawn(move || {
                // Nobody listens any more when it took too long.
                let _ = sender.send(regex.find(&subject).is_some());
            });
        if thread.is_err() {
            return Matching::Unknown;
        }
        receiver.recv_timeout(BUDGET).map_or_else(
            |_| {
                self.given_up.store(true, Ordering::Relaxed);
                Matching::Unknown
            },
            of,
        )
    }
}

impl fmt::Debug for EcmaScript {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.regex, formatter)
    }
}

fn of(matches: bool) -> Matching {
    if matches { Matching::Yes } else { Matching::No }
}

/// Whether the time that a pattern takes grows no faster than with the third power of a subject's length: it repeats no
/// group, and not more than two things at all. Nearly all matchers are like that.
fn is_simple(pattern: &str) -> bool {
    let mut repetitions = 0;
    let mut before = ' ';
    for character in pattern.chars() {
        if matches!(character, '*' | '+' | '{' | '?') {
            repetitions += 1;
            if before == ')' {
                return false;
            }
        }
        before = character;
    }
    repetitions <= 2
}
