//! One event of the dialect: which hooks it is for, and what they say together.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use seamgate::audit::{HookEnd as RecordedEnd, HookPoint};
use seamgate::pipeline::Signal;
use seamgate::seams::Agent;
use seamgate::{Failure, FailureCode};
use tokio::sync::oneshot;

use super::Shared;
use super::file::ShellHook;
use super::payload::Payload;
use crate::dialect::Dialect;
use crate::protocol::{
    Cancel, Captured, Clock, Decoding, Environment, Folded, HookCommand, HookEnd, HookOutput,
    HookRun, Matching, decode, fold, run,
};

/// The events that this profile knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Point {
    SessionStart,
    UserPromptSubmit,
    PreToolUse,
    PostToolUse,
    Stop,
    SubagentStart,
    SubagentStop,
}

impl Point {
    pub(super) const ALL: [Self; 7] = [
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PostToolUse,
        Self::Stop,
        Self::SubagentStart,
        Self::SubagentStop,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::Stop => "Stop",
            Self::SubagentStart => "SubagentStart",
            Self::SubagentStop => "SubagentStop",
        }
    }

    pub(super) fn exists_in(self, dialect: Dialect) -> bool {
        match self {
            Self::SubagentStart | Self::SubagentStop => dialect == Dialect::Claude,
            Self::SessionStart
            | Self::UserPromptSubmit
            | Self::PreToolUse
            | Self::PostToolUse
            | Self::Stop => true,
        }
    }

    /// Whether a matcher is tested against anything.
    pub(super) fn has_subject(self) -> bool {
        !matches!(self, Self::UserPromptSubmit | Self::Stop)
    }

    /// Whether its hooks have records.
    fn is_recorded(self) -> bool {
        match self {
            Self::UserPromptSubmit | Self::PreToolUse | Self::PostToolUse | Self::Stop => true,
            Self::SessionStart | Self::SubagentStart | Self::SubagentStop => false,
        }
    }

    /// What is said where a hook blocks and gives no reason.
    pub(super) fn default_reason(self) -> String {
        match self {
            Self::Stop => "continue: blocked by Stop hook".to_owned(),
            _ => format!("blocked by {} hook", self.name()),
        }
    }
}

impl Shared {
    /// Runs the hooks of an event that match, one after another. All of them run, whatever the first says.
    ///
    /// # Errors
    /// A hook's record could not be kept, or the payload can't be written. Gates close then.
    pub(super) async fn ask(
        &self,
        point: Point,
        subject: &str,
        agent: &Agent,
        payload: Payload,
        signal: &Signal,
    ) -> Result<Folded, Failure> {
        let stdin = payload
            .bytes(self.dialect)
            .map_err(|error| self.failed(format!("the payload can't be written: {error}")))?;
        let mut outputs = Vec::new();
        let groups = self
            .file
            .as_ref()
            .map_or(&[][..], |file| file.groups(point));
        for group in groups {
            match group.matcher.matches(subject) {
                Matching::Yes => {}
                Matching::No => continue,
                Matching::Unknown => {
                    self.warn(
                        point,
                        "a matcher took too long to test, so its hooks do not run",
                    );
                    continue;
                }
            }
            for hook in &group.hooks {
                let matcher = group.written.as_deref();
                let output = self
                    .one(point, matcher, hook, agent, stdin.clone(), signal)
                    .await?;
                self.warn_about(point, &output);
                outputs.push(output);
            }
        }
        Ok(fold(&outputs))
    }

    async fn one(
        &self,
        point: Point,
        matcher: Option<&str>,
        hook: &ShellHook,
        agent: &Agent,
        stdin: Arc<[u8]>,
        signal: &Signal,
    ) -> Result<HookOutput, Failure> {
        let turn = self.surroundings.open_turn(agent);
        let record = match (self.surroundings.audit(), turn) {
            (Some(sink), Some(turn)) if point.is_recorded() && !agent.session_id.is_empty() => {
                let at = HookPoint {
                    session: &agent.session_id,
                    agent: agent.agent_id.as_deref(),
                    turn,
                    point: point.name(),
                    matcher,
                };
                let started = self.runs.start(sink, at);
                Some(started.map_err(|error| self.failed(error.to_string()))?)
            }
            _ => None,
        };
        let run = match &hook.timeout {
            Ok(timeout) => {
                self.run(self.command(hook, *timeout, agent, stdin), signal)
                    .await
            }
            Err(problem) => not_run(problem),
        };
        let output = decode(&run, &self.decoding(point));
        if let Some(record) = record {
            let end = RecordedEnd {
                decision: output.decision.map(|decision| decision.as_str()),
                stop: output.continues == Some(false),
                exit_code: output.exit_code,
                stderr: &output.stderr,
                duration: run.duration,
            };
            let kept = record.ended(end);
            kept.map_err(|error| self.failed(error.to_string()))?;
        }
        Ok(output)
    }

    fn command(
        &self,
        hook: &ShellHook,
        timeout: Duration,
        agent: &Agent,
        stdin: Arc<[u8]>,
    ) -> HookCommand {
        let mut command = HookCommand::bash(&hook.command);
        command.environment = Environment::scrubbed(std::env::vars_os());
        if self.dialect == Dialect::Claude {
            let project = self.config.project().or(agent.cwd.as_deref());
            if let Some(project) = project {
                command
                    .environment
                    .set("CLAUDE_PROJECT_DIR", OsString::from(project));
            }
        }
        command.folders = agent.cwd.iter().map(PathBuf::from).collect();
        command.stdin = stdin;
        command.timeout = timeout;
        command
    }

    /// Runs a hook whose process is ended and reaped also when nobody waits for this any more.
    async fn run(&self, command: HookCommand, signal: &Signal) -> HookRun {
        let cancel = Cancel::new();
        let _ends_with_us = CancelOnDrop(cancel.clone());
        let disposed = self.running.cancel().clone();
        let (sender, receiver) = oneshot::channel();
        let signal = signal.clone();
        self.running.track(async move {
            let ended = async {
                tokio::select! {
                    () = cancel.cancelled() => {}
                    () = disposed.cancelled() => {}
                    () = signal.fired() => {}
                }
            };
            // Nobody listens where the agent's turn was cancelled.
            let _ = sender.send(run(command, ended, &Clock::monotonic()).await);
        });
        let ran = receiver.await;
        ran.unwrap_or_else(|_| not_run("the run was lost with its executor"))
    }

    fn decoding(&self, point: Point) -> Decoding {
        let mut decoding = Decoding::of(point.name());
        if self.dialect == Dialect::Codex {
            decoding.text_is_context =
                matches!(point, Point::SessionStart | Point::UserPromptSubmit);
            decoding.bracket_is_text = false;
        }
        decoding
    }

    /// What a hook said that has no effect here.
    fn warn_about(&self, point: Point, output: &HookOutput) {
        if output.updated_input.is_some() {
            self.warn(point, "updatedInput is not honoured");
        }
        if let Some(message) = &output.system_message {
            self.warn(point, &format!("systemMessage is not shown: {message}"));
        }
        if let Some(problem) = &output.problem
            && !matches!(
                output.problem,
                Some(crate::protocol::HookProblem::Cancelled)
            )
        {
            self.warn(point, &format!("a hook did not decide: {problem}"));
        }
    }

    fn warn(&self, point: Point, warning: &str) {
        let (name, point) = (&self.name, point.name());
        self.surroundings
            .warn(&format!("{name}: {point}: {warning}"));
    }

    pub(super) fn failed(&self, message: String) -> Failure {
        Failure {
            hook: self.name.clone(),
            code: FailureCode::Reported,
            message,
        }
    }
}

/// Gives the signal when whoever waits goes away.
struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

fn not_run(problem: &str) -> HookRun {
    HookRun {
        end: HookEnd::Failed(problem.to_owned()),
        stdout: Captured::default(),
        stderr: Captured::default(),
        duration: Duration::ZERO,
        finished: Instant::now(),
    }
}
