//! The records of shell hooks: one when a hook starts, and one when it ends.
//!
//! Policies and native hooks have none. What they decided stands in the record of their seam; a shell hook is a process of
//! its own, with an exit code and an error stream that people have to find again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{AuditError, AuditEvent, AuditSink, Who, append};

/// How many characters of a hook's error stream are kept, unless said otherwise.
pub const STDERR_SUMMARY: usize = 500;

/// Writes the records of one dialect's hooks.
#[derive(Debug)]
pub struct HookRuns {
    dialect: &'static str,
    stderr_summary: usize,
    next: AtomicU64,
}

/// Where and for whom a hook runs.
///
/// Hooks run in a turn or have no records: what happens outside one is not part of what a turn can be blamed for.
#[derive(Debug, Clone, Copy)]
pub struct HookPoint<'a> {
    /// The session.
    pub session: &'a str,
    /// The subagent, where it is one.
    pub agent: Option<&'a str>,
    /// The turn that is open.
    pub turn: u32,
    /// The event of the dialect.
    pub point: &'a str,
    /// The matcher as it was configured. Empty and `*` are the same as none.
    pub matcher: Option<&'a str>,
}

/// A hook that has started and not ended. Dropped without [`HookRun::ended`] it was not waited for, and passed.
#[must_use = "the hook is recorded as one that was not waited for"]
pub struct HookRun<'a> {
    sink: &'a dyn AuditSink,
    at: HookPoint<'a>,
    handler_id: String,
    stderr_summary: usize,
    ended: bool,
}

/// How a hook ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct HookEnd<'a> {
    /// Its own decision in its own word, where it made one.
    pub decision: Option<&'a str>,
    /// Whether it wants the agent to stop altogether.
    pub stop: bool,
    /// What it exited with, where it did.
    pub exit_code: Option<i32>,
    /// Its error stream.
    pub stderr: &'a str,
    /// How long it took.
    pub duration: Duration,
}

impl HookRuns {
    /// For the hooks of a dialect.
    pub fn new(dialect: &'static str) -> Self {
        Self {
            dialect,
            stderr_summary: STDERR_SUMMARY,
            next: AtomicU64::new(0),
        }
    }

    /// Keeps so many characters of a hook's error stream.
    #[must_use]
    pub fn stderr_summary(mut self, characters: usize) -> Self {
        self.stderr_summary = characters;
        self
    }

    /// A hook is about to start.
    ///
    /// # Errors
    /// The event has no name, or the record can't be kept. The hook should not start then.
    pub fn start<'a>(
        &self,
        sink: &'a dyn AuditSink,
        at: HookPoint<'a>,
    ) -> Result<HookRun<'a>, AuditError> {
        if at.point.is_empty() {
            return Err(AuditError::Other(
                "a hook's record needs the name of its event".to_owned(),
            ));
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut run = HookRun {
            sink,
            at,
            handler_id: format!("{}:{}:{number}", self.dialect, at.point),
            stderr_summary: self.stderr_summary,
            // Until its beginning is kept there is nothing to end.
            ended: true,
        };
        let matcher = at.matcher.filter(|matcher| !matches!(*matcher, "" | "*"));
        run.append(AuditEvent::HookInvoked {
            point: at.point.to_owned(),
            dialect: self.dialect.to_owned(),
            handler_id: run.handler_id.clone(),
            matcher: matcher.map(str::to_owned),
        })?;
        run.ended = false;
        Ok(run)
    }
}

impl HookRun<'_> {
    /// The run's own id: `<dialect>:<point>:<number>`.
    pub fn handler_id(&self) -> &str {
        &self.handler_id
    }

    /// The hook has ended.
    ///
    /// # Errors
    /// The record can't be kept.
    pub fn ended(mut self, end: HookEnd<'_>) -> Result<(), AuditError> {
        self.ended = true;
        self.result(end)
    }

    fn result(&self, end: HookEnd<'_>) -> Result<(), AuditError> {
        let decision = end
            .decision
            .unwrap_or(if end.stop { "stop" } else { "pass" });
        self.append(AuditEvent::HookResult {
            point: self.at.point.to_owned(),
            handler_id: self.handler_id.clone(),
            decision: decision.to_owned(),
            exit_code: end.exit_code,
            stderr_summary: summary(end.stderr, self.stderr_summary),
            duration_ms: end.duration.as_secs_f64() * 1e3,
        })
    }

    fn append(&self, event: AuditEvent) -> Result<(), AuditError> {
        let who = Who {
            session: Some(self.at.session),
            agent: self.at.agent,
        };
        append(self.sink, who, Some(self.at.turn), event)
    }
}

impl Drop for HookRun<'_> {
    fn drop(&mut self) {
        if !self.ended {
            // Nobody is left to tell that this could not be kept either.
            drop(self.result(HookEnd::default()));
        }
    }
}

/// The beginning of an error stream, or none where it is blank.
fn summary(stderr: &str, limit: usize) -> Option<String> {
    let stderr = stderr.trim();
    if stderr.is_empty() {
        return None;
    }
    Some(match stderr.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &stderr[..end]),
        None => stderr.to_owned(),
    })
}
