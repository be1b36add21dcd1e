//! The way of one call from the outermost hook around it to the tool. What a hook may say there is `seams/around_tool.rs`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::invocation::{Invocation, Shared};
use super::normalise;
use super::outcome::{Candidate, Context, ContextSource, Ending, unknown_tool};
use super::schema::Unchecked;
use super::signal::{Cause, Signal};
use super::tool::Dispatch;
use super::{MAX_NESTING, Pipeline};
use crate::contained::{Boxed, contain, contain_async};
use crate::content;
use crate::failure::{Failure, FailureCode, HookName};
use crate::runtime::{Answer, Runtime};
use crate::sandbox::{AroundFailure, Policy, PolicyAround};
use crate::seams::around_tool::{Around, AroundError, AroundTool, By, Ran};
use crate::seams::{Described, Outcome, ToolCall, ToolError};

/// A hook around tools.
#[derive(Clone)]
pub enum AroundEntry {
    /// A policy.
    Policy(Arc<Policy>),
    /// A native hook.
    Native {
        /// The name its contexts are stamped with.
        name: HookName,
        /// The hook.
        hook: Arc<dyn AroundTool>,
    },
}

impl AroundEntry {
    pub(crate) fn name(&self) -> &HookName {
        match self {
            Self::Policy(policy) => policy.name(),
            Self::Native { name, .. } => name,
        }
    }

    fn wants(&self, call: &ToolCall) -> bool {
        match self {
            Self::Policy(policy) => policy.wants(&call.tool),
            Self::Native { hook, .. } => hook.concerns(call),
        }
    }
}

/// The rest of a call's way, in the hands of a native hook.
pub struct AroundNext<'a> {
    way: &'a Way<'a>,
    position: usize,
    signal: Signal,
}

impl AroundNext<'_> {
    /// Runs the rest. Called again, it runs the rest again.
    ///
    /// # Errors
    /// A hook further in could not decide. A tool that fails is no error.
    pub async fn run(&mut self) -> Result<Ran, AroundError> {
        self.way.from(self.position, self.signal.clone()).await
    }

    /// The same, cancelled also by another signal, or by a [deadline](Signal::within). What held already still holds.
    ///
    /// # Errors
    /// As [`AroundNext::run`].
    pub async fn run_under(&mut self, narrower: &Signal) -> Result<Ran, AroundError> {
        self.way.from(self.position, self.signal.or(narrower)).await
    }

    /// What cancels the call so far.
    pub fn signal(&self) -> &Signal {
        &self.signal
    }
}

/// The way of one call from the outermost hook to the tool.
pub(crate) struct Way<'a> {
    entries: Vec<&'a AroundEntry>,
    pipeline: &'a Pipeline,
    shared: &'a Arc<Shared>,
    dispatch: &'a dyn Dispatch,
    /// What each hook said, each time that it was asked.
    answers: Mutex<Vec<Answer>>,
}

impl<'a> Way<'a> {
    pub(crate) fn new(
        pipeline: &'a Pipeline,
        runtime: &'a Runtime,
        shared: &'a Arc<Shared>,
        dispatch: &'a dyn Dispatch,
    ) -> Self {
        Self {
            entries: runtime
                .around_tools()
                .iter()
                .filter(|entry| entry.wants(&shared.call))
                .collect(),
            pipeline,
            shared,
            dispatch,
            answers: Mutex::default(),
        }
    }

    /// What each hook said, in the order in which they had done so.
    pub(crate) fn answers(self) -> Vec<Answer> {
        self.answers
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the call from the outermost hook on.
    pub(crate) async fn run(&self) -> Candidate {
        if self.entries.is_empty() {
            return self.core(&self.shared.signal).await;
        }
        if let Some(entry) = self.entries.get(MAX_NESTING) {
            return Candidate::undecided(too_deep(entry.name()));
        }
        let policies = self.entries.iter().filter_map(|entry| match entry {
            AroundEntry::Policy(policy) => Some(policy.as_ref()),
            AroundEntry::Native { .. } => None,
        });
        let waiting = Policy::places_around(policies, self.shared.is_nested());
        let places = match self.shared.signal.race(waiting).await {
            Some(Ok(places)) => places,
            Some(Err(failure)) => return Candidate::undecided(failure),
            None => return self.aborted_before(&self.shared.signal),
        };
        let running = self.from(0, self.shared.signal.clone());
        let ran = self.give_up_after(&self.shared.signal, running).await;
        drop(places);
        let Some(ran) = ran else {
            let cause = self.shared.signal.cause().unwrap_or(Cause::Cancelled);
            return Candidate::aborted(cause, self.shared.body_was_invoked());
        };
        match ran {
            Ok(ran) => ran.candidate,
            Err(error) => {
                let failure = error.failure();
                match error {
                    AroundError::Hook(_) => Candidate::undecided(failure),
                    // The model reads what is wrong; an audit reads whose answer it was.
                    AroundError::Answer { error, .. } => {
                        Candidate::failure(error, Ending::CouldNotDecide(failure))
                    }
                }
            }
        }
    }

    fn aborted_before(&self, signal: &Signal) -> Candidate {
        Candidate::aborted(signal.cause().unwrap_or(Cause::Cancelled), false)
    }

    fn ran(&self, candidate: Candidate) -> Ran {
        Ran {
            token: self.shared.token,
            candidate,
        }
    }

    fn from(&'a self, position: usize, signal: Signal) -> Boxed<'a, Result<Ran, AroundError>> {
        Box::pin(async move {
            let Some(entry) = self.entries.get(position) else {
                return Ok(self.ran(self.core(&signal).await));
            };
            let (hook, started) = (entry.name(), Instant::now());
            let said = self.ask(entry, position, signal).await;
            let elapsed = started.elapsed();
            let taken = said.and_then(|around| {
                let word = around.word();
                let ran = self.take(hook, around.by)?;
                Ok((word, ran, around.contexts))
            });
            self.note(hook, taken.as_ref().map(|(word, ..)| *word), elapsed);
            let (_, ran, contexts) = taken?;
            self.shared
                .add_contexts(contexts.into_iter().map(|text| Context {
                    source: ContextSource::Hook { hook: hook.clone() },
                    text,
                }));
            Ok(ran)
        })
    }

    async fn ask(
        &'a self,
        entry: &'a AroundEntry,
        position: usize,
        signal: Signal,
    ) -> Result<Around, AroundError> {
        match entry {
            AroundEntry::Policy(policy) => self.through(policy, position, &signal).await,
            AroundEntry::Native { name, hook } => {
                let next = AroundNext {
                    way: self,
                    position: position + 1,
                    signal,
                };
                let said = contain_async(|| hook.around(&self.shared.call, next)).await;
                said.unwrap_or_else(|message| {
                    Err(Failure {
                        hook: name.clone(),
                        code: FailureCode::Panic,
                        message,
                    }
                    .into())
                })
            }
        }
    }

    /// Keeps what a hook said for the audit log.
    fn note(&self, hook: &HookName, said: Result<&'static str, &AroundError>, elapsed: Duration) {
        let answer = Answer {
            hook: hook.clone(),
            said: said.map(Described::word).map_err(AroundError::failure),
            elapsed,
        };
        self.answers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(answer);
    }

    /// Through a policy. What it gets from its `next` is a copy; what it passes is what we kept.
    async fn through(
        &'a self,
        policy: &'a Policy,
        position: usize,
        signal: &Signal,
    ) -> Result<Around, AroundError> {
        let depth = self.shared.depth + position + 1;
        if depth > MAX_NESTING {
            return Err(AroundError::Hook(too_deep(policy.name())));
        }
        let mut last: Option<Ran> = None;
        let said = {
            let last = std::sync::Mutex::new(&mut last);
            let last = &last;
            let mut rest = |deadline: Option<Duration>| -> Boxed<'_, Result<Outcome, AroundError>> {
                let narrowed =
                    deadline.map_or_else(|| signal.clone(), |limit| signal.within(limit));
                Box::pin(async move {
                    let ran = self.from(position + 1, narrowed).await?;
                    let shown = ran.candidate.shown(&self.shared.call).outcome;
                    **last
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner) = Some(ran);
                    Ok(shown)
                })
            };
            policy.around(&self.shared.call, &mut rest).await
        };
        match said {
            Ok(PolicyAround::Pass) => match last {
                Some(ran) => Ok(Around::pass(ran)),
                None => Err(AroundError::Hook(Failure {
                    hook: policy.name().clone(),
                    code: FailureCode::BadDecision,
                    message: "it passed on what `next` gave, and never called `next`".to_owned(),
                })),
            },
            Ok(PolicyAround::Substitute { result, contexts }) => Ok(match result {
                Ok(value) => Around::value(value),
                Err(error) => Around::failure(error),
            }
            .with_contexts(contexts)),
            Err(AroundFailure::Policy(failure)) => Err(AroundError::Hook(failure)),
            Err(AroundFailure::Rest(error)) => Err(error),
        }
    }

    /// Takes what a hook made of the call. Only what this very call gave is taken as it is.
    fn take(&self, hook: &HookName, by: By) -> Result<Ran, AroundError> {
        let bad = |error: ToolError| AroundError::Answer {
            hook: hook.clone(),
            error,
        };
        let value = match by {
            By::Pass(ran) if ran.token == self.shared.token => return Ok(*ran),
            By::Pass(ran) => match ran.candidate.result {
                Ok(value) => Unchecked::Checked(value),
                Err(_) => {
                    let foreign = Candidate {
                        concludes_turn: false,
                        ..ran.candidate
                    };
                    return Ok(self.ran(Candidate {
                        ending: Ending::Failed,
                        ..foreign
                    }));
                }
            },
            By::Value(value) => value,
            By::Failure {
                error,
                content,
                meta,
            } => {
                let wrong =
                    |what: &str, why: String| bad(ToolError::new(format!("its {what}: {why}")));
                let mut candidate = Candidate::failure(error, Ending::Failed);
                if let Some(given) = content {
                    let given = given
                        .check()
                        .map_err(|error| wrong("content", error.to_string()))?;
                    content::check(&given).map_err(|error| wrong("content", error))?;
                    candidate.content = given;
                }
                candidate.meta = meta
                    .map(Unchecked::check)
                    .transpose()
                    .map_err(|error| wrong("meta", error.to_string()))?;
                return Ok(self.ran(candidate));
            }
        };
        let Some(tool) = self.resolve() else {
            return Err(bad(unknown_tool(&self.shared.call.tool)));
        };
        normalise::success(
            &tool,
            &self.shared.call.arguments,
            value,
            self.shared.is_nested(),
        )
        .map(|candidate| self.ran(candidate))
        .map_err(bad)
    }

    fn resolve(&self) -> Option<Arc<super::Tool>> {
        normalise::resolve(
            self.dispatch,
            &self.shared.call.tool,
            self.shared.agent.as_ref(),
        )
    }

    /// The tool itself. Whatever happens in it, this is a candidate.
    async fn core(&self, signal: &Signal) -> Candidate {
        if let Some(cause) = signal.cause() {
            return Candidate::aborted(cause, false);
        }
        let call = &self.shared.call;
        let Some(tool) = self.resolve() else {
            return Candidate::failure(unknown_tool(&call.tool), Ending::Failed);
        };
        let problems = tool.argument_problems(&call.arguments);
        if !problems.is_empty() {
            let message = format!(
                "tool \"{}\" got invalid arguments: {}",
                call.tool,
                problems.join("; ")
            );
            return Candidate::failure(ToolError::coded(message, "INVALID_ARGS"), Ending::Failed);
        }
        self.shared.body_invoked.store(true, Ordering::Release);
        let concludes = Arc::new(AtomicBool::new(false));
        let invocation = Invocation {
            shared: self.shared.clone(),
            signal: signal.clone(),
            pipeline: self.pipeline.clone(),
            concludes: concludes.clone(),
        };
        let body = tool.body();
        let running = contain_async(|| body.run(invocation));
        let Some(ended) = self.give_up_after(signal, running).await else {
            return Candidate::aborted(signal.cause().unwrap_or(Cause::Cancelled), true);
        };
        if let Some(cause @ Cause::Deadline(_)) = signal.cause() {
            // The time was up first, whatever the tool made of that.
            return Candidate::aborted(cause, true);
        }
        let value = match ended.unwrap_or_else(|panic| Err(ToolError::new(panic))) {
            Ok(value) => value,
            Err(error) => return Candidate::failure(error, Ending::Failed),
        };
        if let Some(cause) = signal.cause() {
            return Candidate::aborted(cause, true);
        }
        match contain(|| normalise::success(&tool, &call.arguments, value, self.shared.is_nested()))
        {
            Ok(Ok(candidate)) => Candidate {
                concludes_turn: concludes.load(Ordering::Acquire),
                ..candidate
            },
            Ok(Err(error)) => Candidate::failure(error, Ending::Failed),
            Err(panic) => Candidate::failure(ToolError::new(panic), Ending::Failed),
        }
    }

    /// Waits for what runs, and for so long after it was cancelled as the pipeline allows.
    async fn give_up_after<T>(
        &self,
        signal: &Signal,
        running: impl Future<Output = T>,
    ) -> Option<T> {
        let Some(grace) = self.pipeline.0.body_grace else {
            return Some(running.await);
        };
        tokio::select! {
            biased;
            ended = running => Some(ended),
            () = async {
                signal.fired().await;
                tokio::time::sleep(grace).await;
            } => None,
        }
    }
}

/// Each hook around a tool holds its place for as long as the tool runs, and a policy a stack as well.
fn too_deep(hook: &HookName) -> Failure {
    Failure {
        hook: hook.clone(),
        code: FailureCode::Unavailable,
        message: format!("it is around a tool deeper than {MAX_NESTING} levels"),
    }
}
