//! The bridge: shell hooks at the seams of an agent loop that embeds the runtime.
//!
//! A [`Bridge`] reads the hook file that a team has for Claude Code or Codex and puts one native hook at each seam that the
//! file is about. When the seam is asked, the bridge writes the dialect's payload, runs the hooks that the file lists for it,
//! and turns what they say into a decision of the seam.
//!
//! ```text
//! seam ─► payload ─► the file's hooks, one after another ─► protocol::fold ─► decision
//! ```
//!
//! A bridge decides where its hooks denied, and only adds to what other hooks say everywhere else: it asks the hooks after it
//! in every case but that one.
//!
//! # Profiles
//!
//! What is in here is the profile `harness`: seven events of Claude Code, five of Codex, command hooks only, run one after
//! another, with a record of each in the audit log. It is the profile of the conformance checklist. What the real clients do
//! at all of their events is the profile `upstream`, which has its own rooms beside each dialect's host adapter.

mod config;
mod file;
mod payload;
mod point;
mod seams;

use std::path::PathBuf;
use std::sync::Arc;

use seamgate::audit::{AuditSink, HookRuns};
use seamgate::seams::Agent;
use seamgate::{HookName, Runtime};

pub use config::{BridgeConfig, DEFAULT_TIMEOUT_MS};
use file::HookFile;

use crate::dialect::Dialect;
use crate::protocol::Detached;

/// What a bridge has to know of the agent loop that it is part of. The defaults are those of a loop that keeps nothing.
pub trait Surroundings: Send + Sync {
    /// The turn that is open, for an agent. Hooks that run outside of one leave no record.
    fn open_turn(&self, _agent: &Agent) -> Option<u32> {
        None
    }

    /// The turn that would be next where none is open. Payloads that have a turn name it.
    fn next_turn(&self, _agent: &Agent) -> u32 {
        1
    }

    /// Where the agent's session is written to, as an absolute path, where it is written at all. Asking must not create it.
    fn transcript(&self, _agent: &Agent) -> Option<PathBuf> {
        None
    }

    /// Where the records of hooks go.
    fn audit(&self) -> Option<&dyn AuditSink> {
        None
    }

    /// Something that a person should read: about the file, or about something that a hook said and that has no effect.
    fn warn(&self, warning: &str);
}

/// The shell hooks of one file, in the profile `harness`.
///
/// Cheap to clone; a clone is the same bridge.
#[derive(Clone)]
pub struct Bridge(Arc<Shared>);

/// What the bridge's hooks at all seams share.
struct Shared {
    dialect: Dialect,
    name: HookName,
    config: BridgeConfig,
    /// Nothing, where the file could not be used: then no hook is registered.
    file: Option<HookFile>,
    surroundings: Arc<dyn Surroundings>,
    runs: HookRuns,
    running: Detached,
}

impl Bridge {
    /// Reads a hook file, once, for every session of this process.
    ///
    /// A file that can't be read, is no JSON or has a matcher that is no expression is used not even in part: there is one
    /// warning, and the agent runs without these hooks.
    pub fn load(
        dialect: Dialect,
        config: BridgeConfig,
        surroundings: Arc<dyn Surroundings>,
    ) -> Self {
        let (file, warnings) = match HookFile::read(dialect, &config) {
            Ok((file, warnings)) => (Some(file), warnings),
            Err(rejected) => (None, vec![rejected]),
        };
        for warning in warnings {
            surroundings.warn(&warning);
        }
        Self(Arc::new(Shared {
            dialect,
            name: HookName::from(format!("hooks-{dialect}")),
            runs: HookRuns::new(dialect.as_str()).stderr_summary(config.stderr_summary_max_chars()),
            file,
            config,
            surroundings,
            running: Detached::new(),
        }))
    }

    /// Puts the bridge at the seams that its file is about, after all hooks that are there.
    pub fn register(&self, runtime: &mut Runtime) {
        seams::register(&self.0, runtime);
    }

    /// The name that everything its hooks say is stamped with: `hooks-claude`, `hooks-codex`.
    pub fn name(&self) -> &HookName {
        &self.0.name
    }

    /// Waits until every process that was told to end has ended and is reaped. A loop does that after it cancelled something and
    /// before it says that it is idle.
    pub async fn settled(&self) {
        self.0.running.settled().await;
    }

    /// Takes the bridge's hooks away, ends what runs and waits for it. Afterwards no process of a hook is left.
    ///
    /// Whoever holds the runtime removes the hooks from it: [`Runtime::remove`] with [`Bridge::name`].
    pub async fn dispose(&self) {
        self.0.running.drain().await;
    }
}
