//! What is run: a program, its surroundings and its limits.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long a hook may take where nothing else is said.
pub const TIMEOUT: Duration = Duration::from_secs(600);

/// How many bytes of standard output, and as many of standard error, are kept where nothing else is said.
pub const OUTPUT_BYTES: usize = 64_000;

/// How long a hook that is told to end may take, and how long its pipes are read after its end.
const GRACE: Duration = Duration::from_secs(3);

/// Parts of a variable's name by which its value is taken for a secret.
const SECRETS: [&str; 4] = ["KEY", "PASSWORD", "SECRET", "TOKEN"];

/// Variables with this prefix are our own.
const OWN: &str = "SEAMGATE_";

/// What keeps programs from talking to a person, who is not there.
pub const QUIET: [(&str, &str); 4] = [
    ("NO_COLOR", "1"),
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
];

/// One command hook, ready to be run.
#[derive(Debug, Clone)]
pub struct HookCommand {
    /// A path, or a name that is looked up on the `PATH` of [`HookCommand::environment`].
    pub program: OsString,
    /// What it is started with.
    pub arguments: Vec<OsString>,
    /// All that it finds in its environment.
    pub environment: Environment,
    /// Where it runs: the first of these that is a folder. With none named, where this process runs. If none of those named
    /// is a folder, it can't be run.
    pub folders: Vec<PathBuf>,
    /// What it can read. It need not: nothing is made of a reader that goes away.
    pub stdin: Arc<[u8]>,
    /// How long it may take.
    pub timeout: Duration,
    /// How long its process group has between being asked to end (`SIGTERM`) and being made to (`SIGKILL`). With zero it is
    /// made to at once.
    pub grace: Duration,
    /// How long its pipes are read after it ended, if a process that it left behind holds them open. Without a value until
    /// they are closed, and the timeout counts on.
    pub drain: Option<Duration>,
    /// What becomes of processes of its group when it has ended by itself.
    pub leftovers: Leftovers,
    /// How many bytes of standard output, and as many of standard error, are kept. More is read and dropped.
    pub output_bytes: usize,
}

/// What becomes of the processes that a hook leaves behind in its group when it has ended by itself and its pipes have been
/// read. After a timeout or a cancellation none is ever left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Leftovers {
    /// They are killed. What has to outlive its hook starts a session of its own (`setsid`).
    #[default]
    Kill,
    /// They live on.
    Leave,
}

impl HookCommand {
    /// A program with its arguments, an empty environment and no input; the rest as usual.
    pub fn new(
        program: impl Into<OsString>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            environment: Environment::default(),
            folders: Vec::new(),
            stdin: Arc::new([]),
            timeout: TIMEOUT,
            grace: GRACE,
            drain: Some(GRACE),
            leftovers: Leftovers::default(),
            output_bytes: OUTPUT_BYTES,
        }
    }

    /// A line for the shell, which expands it; it is handed over as it stands. Not a login shell, so no profile is read.
    pub fn bash(line: impl AsRef<OsStr>) -> Self {
        Self::new("bash", [OsStr::new("-c"), line.as_ref()])
    }

    /// Whether running both would be running one hook twice: the same command in the same surroundings.
    pub fn same_as(&self, other: &Self) -> bool {
        self.program == other.program
            && self.arguments == other.arguments
            && self.environment == other.environment
            && self.folders == other.folders
    }
}

/// The variables of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// Exactly these, the later of two with one name.
    pub fn of(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self(variables.into_iter().collect())
    }

    /// These without what looks like a secret and without our own, and with [`QUIET`]. What a hook is meant to have
    /// nevertheless is added afterwards with [`Environment::set`].
    pub fn scrubbed(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut kept = Self::of(variables.into_iter().filter(|(name, _)| !is_private(name)));
        for (name, value) in QUIET {
            kept.set(name, value);
        }
        kept
    }

    /// Sets one variable.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.0.insert(name.into(), value.into());
    }

    /// The value of one variable.
    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.0.get(name.as_ref()).map(OsString::as_os_str)
    }

    /// All of them, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

fn is_private(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    name.starts_with(OWN) || SECRETS.iter().any(|secret| name.contains(secret))
}

/// A payload as the bytes of standard input: compact JSON, with a line's end after it where the dialect has one.
///
/// # Errors
/// The value can't be written as JSON: a map in it has keys that are no strings.
pub fn payload(
    value: &impl serde::Serialize,
    trailing_newline: bool,
) -> Result<Arc<[u8]>, serde_json::Error> {
    let mut bytes = serde_json::to_vec(value)?;
    if trailing_newline {
        bytes.push(b'\n');
    }
    Ok(bytes.into())
}

/// A number of seconds that is no timeout.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("a timeout of {0} seconds\nhint: a timeout is a number of seconds above 0")]
pub struct BadTimeout(pub f64);

/// The timeout that a configuration gives in seconds, or else the usual one. A number too large for the clock is as good as
/// no limit.
///
/// # Errors
/// The number is not finite, or not above zero.
pub fn timeout_of(seconds: Option<f64>, usual: Duration) -> Result<Duration, BadTimeout> {
    match seconds {
        None => Ok(usual),
        Some(seconds) if seconds.is_finite() && seconds > 0.0 => {
            Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
        }
        Some(seconds) => Err(BadTimeout(seconds)),
    }
}
