//! The runtime: hooks in their order, at their seams, and the asking of them.

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::contained::{contain, contain_async};
use crate::failure::{Failure, FailureCode, HookName};
use crate::hook::{Hook, Listener, Next};
use crate::pipeline::{AroundEntry, AroundTool, Signal};
use crate::sandbox::Policy;
use crate::seams::{
    Attributed, Described, Guard, Observe, PermissionRequest, PostTool, PreCompact, PreTool,
    PromptSubmit, RewriteInput, Seam, SeamName, SessionStart, SubagentStart, SubagentStop,
    ToolResult, TurnStopping,
};
use crate::stop::Stop;

/// Hooks at their seams, in the order in which they were added.
///
/// Made once, then asked from any number of tasks. A clone has the same hooks, so that a changed set of them costs no more
/// than what changed.
#[derive(Clone, Default)]
pub struct Runtime {
    chains: Chains,
    around: Vec<AroundEntry>,
    evaluate: Evaluate,
}

/// How far a seam is asked once its decision is certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Evaluate {
    /// A deny or block ends the asking.
    #[default]
    Decisive,
    /// Everybody is asked, for audits and explanations. The decision is no weaker for it.
    All,
}

/// One hook in the chain of a seam.
pub enum Entry<S: Seam> {
    /// A policy, which answers for itself.
    Policy(Arc<Policy>),
    /// A native hook, which is handed the rest of the chain.
    Native {
        /// The name its answers are stamped with.
        name: HookName,
        /// The hook.
        hook: Arc<dyn Hook<S>>,
    },
}

impl<S: Seam> Entry<S> {
    fn name(&self) -> &HookName {
        match self {
            Self::Policy(policy) => policy.name(),
            Self::Native { name, .. } => name,
        }
    }

    /// Whether the hook is asked about this event. A policy is set up for certain tools or for all, and an event without a
    /// tool goes to every policy.
    fn wants(&self, event: &S::Event) -> bool {
        match self {
            Self::Policy(policy) => S::tool(event).is_none_or(|tool| policy.wants(tool)),
            Self::Native { hook, .. } => hook.concerns(event),
        }
    }
}

impl<S: Seam> Clone for Entry<S> {
    fn clone(&self) -> Self {
        match self {
            Self::Policy(policy) => Self::Policy(policy.clone()),
            Self::Native { name, hook } => Self::Native {
                name: name.clone(),
                hook: hook.clone(),
            },
        }
    }
}

/// Where the chain of a seam is. Sealed: the set of seams is closed.
pub trait Chained: Sized {
    /// The hooks at this seam.
    fn chain(chains: &Chains) -> &Vec<Entry<Self>>
    where
        Self: Seam;

    /// The same, to add to.
    fn chain_mut(chains: &mut Chains) -> &mut Vec<Entry<Self>>
    where
        Self: Seam;
}

macro_rules! chains {
    ($($field:ident: $seam:ident),* $(,)?) => {
        /// The chain of each seam.
        #[derive(Clone, Default)]
        pub struct Chains {
            $($field: Vec<Entry<$seam>>,)*
        }

        impl Chains {
            /// Puts a policy at every seam that it exports.
            fn subscribe(&mut self, policy: &Arc<Policy>) {
                $(
                    if policy.exports($seam::NAME) {
                        self.$field.push(Entry::Policy(policy.clone()));
                    }
                )*
            }

            fn remove(&mut self, name: &HookName) {
                $(self.$field.retain(|entry| entry.name() != name);)*
            }
        }

        $(
            impl Chained for $seam {
                fn chain(chains: &Chains) -> &Vec<Entry<Self>> {
                    &chains.$field
                }

                fn chain_mut(chains: &mut Chains) -> &mut Vec<Entry<Self>> {
                    &mut chains.$field
                }
            }
        )*
    };
}

chains! {
    session_start: SessionStart,
    prompt_submit: PromptSubmit,
    rewrite_input: RewriteInput,
    pre_tool: PreTool,
    guard: Guard,
    post_tool: PostTool,
    tool_result: ToolResult,
    turn_stopping: TurnStopping,
    subagent_start: SubagentStart,
    subagent_stop: SubagentStop,
    permission_request: PermissionRequest,
    pre_compact: PreCompact,
    observe: Observe,
}

/// What came of asking a seam.
#[derive(Debug, Clone)]
pub struct Asked<S: Seam> {
    /// The folded decision; or the failure that closes the seam, where a hook could not decide and no other hook denied
    /// anyway. At a notice a failure closes nothing, and is among the answers only.
    pub decision: Result<S::Folded, Failure>,
    /// Whoever wants the agent to stop altogether. It outranks the decision.
    pub stop: Option<Stop>,
    /// What each hook that was asked said, in order.
    pub answers: Vec<Answer>,
    /// How long it took altogether.
    pub elapsed: Duration,
}

/// What one hook said.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The hook.
    pub hook: HookName,
    /// Its decision in short, or what kept it from deciding. A native hook's includes what the hooks after it said.
    pub said: Result<Described, Failure>,
    /// How long it took. A native hook's time includes the hooks after it.
    pub elapsed: Duration,
}

impl Runtime {
    /// A runtime without hooks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Chooses how far a seam is asked once its decision is certain.
    pub fn evaluate(&mut self, evaluate: Evaluate) -> &mut Self {
        self.evaluate = evaluate;
        self
    }

    /// Adds a policy after all hooks that are there, at every seam that it exports.
    pub fn policy(&mut self, policy: impl Into<Arc<Policy>>) -> &mut Self {
        let policy = policy.into();
        self.chains.subscribe(&policy);
        if policy.exports(SeamName::AroundTool) {
            self.around.push(AroundEntry::Policy(policy));
        }
        self
    }

    /// Adds a native hook around tools, inside all that are there.
    pub fn around(
        &mut self,
        name: impl Into<HookName>,
        hook: impl AroundTool + 'static,
    ) -> &mut Self {
        self.around.push(AroundEntry::Native {
            name: name.into(),
            hook: Arc::new(hook),
        });
        self
    }

    /// The hooks around tools, the outermost first.
    pub(crate) fn around_tools(&self) -> &[AroundEntry] {
        &self.around
    }

    /// Adds a native hook after all hooks that are there.
    pub fn hook<S: Seam>(
        &mut self,
        name: impl Into<HookName>,
        hook: impl Hook<S> + 'static,
    ) -> &mut Self {
        S::chain_mut(&mut self.chains).push(Entry::Native {
            name: name.into(),
            hook: Arc::new(hook),
        });
        self
    }

    /// Adds a native hook before all hooks that are there.
    pub fn hook_first<S: Seam>(
        &mut self,
        name: impl Into<HookName>,
        hook: impl Hook<S> + 'static,
    ) -> &mut Self {
        let entry = Entry::Native {
            name: name.into(),
            hook: Arc::new(hook),
        };
        S::chain_mut(&mut self.chains).insert(0, entry);
        self
    }

    /// Takes every hook of this name away, from every seam.
    pub fn remove(&mut self, name: impl Into<HookName>) -> &mut Self {
        let name = name.into();
        self.chains.remove(&name);
        self.around.retain(|entry| entry.name() != &name);
        self
    }

    /// Adds a function that says its own and lets all others say theirs.
    pub fn listener<S: Seam>(
        &mut self,
        name: impl Into<HookName>,
        decide: impl Fn(&S::Event) -> S::Decision + Send + Sync + 'static,
    ) -> &mut Self {
        self.hook::<S>(name, Listener(decide))
    }

    /// Whether a seam has hooks at all. Where it has none, nobody needs to put its event together.
    pub fn has<S: Seam>(&self) -> bool {
        !S::chain(&self.chains).is_empty()
    }

    /// Asks the hooks of a seam about an event, and folds what they say.
    pub async fn ask<S: Seam>(&self, event: &S::Event) -> Asked<S> {
        self.ask_with(event, Record::default()).await
    }

    /// The same, and no longer than that. A hook that has not answered by then could not decide: gates and transforms
    /// close, and a notice goes without what it would have said. What the hooks before it said counts.
    ///
    /// Policies have a limit each; this one is for native hooks, and for all of them together.
    pub async fn ask_within<S: Seam>(&self, event: &S::Event, limit: Duration) -> Asked<S> {
        self.ask_until(event, limit, &Signal::never()).await
    }

    /// The same, for somebody who may lose interest: native hooks find the signal at [`Next::signal`]. They are waited for all
    /// the same, since a denial counts also where it comes too late.
    pub async fn ask_until<S: Seam>(
        &self,
        event: &S::Event,
        limit: Duration,
        signal: &Signal,
    ) -> Asked<S> {
        let record = Record {
            // A deadline beyond what the clock can count is none.
            deadline: tokio::time::Instant::now()
                .checked_add(limit)
                .map(|at| (at, limit)),
            signal: signal.clone(),
            ..Record::default()
        };
        self.ask_with(event, record).await
    }

    async fn ask_with<S: Seam>(&self, event: &S::Event, record: Record) -> Asked<S> {
        let started = Instant::now();
        // On the heap, since a call asks many seams, and calls nest in each other.
        let decision = Box::pin(self.rest::<S>(&record).ask(event)).await;
        record.finish(decision, started)
    }

    fn rest<'a, S: Seam>(&'a self, record: &'a Record) -> Rest<'a, S> {
        Rest {
            entries: S::chain(&self.chains),
            evaluate: self.evaluate,
            record,
        }
    }
}

/// A chain from some hook on.
pub struct Rest<'a, S: Seam> {
    entries: &'a [Entry<S>],
    evaluate: Evaluate,
    record: &'a Record,
}

impl<'a, S: Seam> Rest<'a, S> {
    pub(crate) fn record(&self) -> &'a Record {
        self.record
    }

    /// Whether everybody is asked, whatever the decision.
    pub(crate) fn asks_all(&self) -> bool {
        self.evaluate == Evaluate::All
    }

    /// Asks these hooks, one after another.
    ///
    /// A policy answers for itself. A native hook is handed what comes after it where the seam is a
    /// [waterfall](crate::seams::SeamName::is_waterfall), and else answers for itself too. A hook that could not decide
    /// closes the seam, but the others are asked all the same: one that denies gives the model a reason it can use, which a
    /// failure does not.
    pub(crate) async fn ask(self, event: &S::Event) -> Result<S::Folded, Failure> {
        let mut folded = S::Folded::default();
        let mut failure = None;
        let mut advanced: Option<S::Event> = None;
        let mut wire: Option<S::Wire> = None;
        for (position, entry) in self.entries.iter().enumerate() {
            let event = advanced.as_ref().unwrap_or(event);
            let wanted = contain(|| entry.wants(event));
            if wanted == Ok(false) {
                continue;
            }
            let place = self.record.begin(entry.name());
            let mut holds_rest = false;
            let said = match entry {
                _ if wanted.is_err() => Err(panicked(entry.name(), wanted.err())),
                Entry::Policy(policy) => {
                    let wire_event = wire.get_or_insert_with(|| S::to_wire(event));
                    let decided = self.record.in_time(policy.decide::<S>(wire_event)).await;
                    decided
                        .unwrap_or_else(|late| Err(late.failure(policy.name())))
                        .map(|decision| S::lift(policy.name(), decision))
                }
                Entry::Native { name, hook } => {
                    holds_rest = S::NAME.is_waterfall();
                    let entries = if holds_rest {
                        &self.entries[position + 1..]
                    } else {
                        &[]
                    };
                    let next = Next {
                        hook: name.clone(),
                        rest: Rest { entries, ..self },
                    };
                    let deciding = contain_async(|| hook.decide(event, next));
                    match self.record.in_time(deciding).await {
                        Ok(Ok(decided)) => {
                            decided.map_err(|failure| self.record.stamp(place, name, failure))
                        }
                        Ok(Err(message)) => Err(panicked(name, Some(message))),
                        Err(late) => Err(late.failure(name)),
                    }
                }
            };
            self.record.end::<S>(place, &said);
            let is_late = matches!(&said, Err(problem) if problem.code == FailureCode::Timeout)
                && self.record.is_over();
            match said {
                Ok(own) => {
                    if !holds_rest && let Some(rewritten) = S::advance(event, &own) {
                        advanced = Some(rewritten);
                        wire = None;
                    }
                    folded = S::combine(folded, own);
                }
                Err(problem) => failure = failure.or(Some(problem)),
            }
            if holds_rest || is_late || S::closes(&folded) && self.evaluate == Evaluate::Decisive {
                break;
            }
        }
        match failure {
            Some(problem) if S::NAME.kind().fails_closed() && !S::closes(&folded) => Err(problem),
            _ => Ok(folded),
        }
    }
}

impl<S: Seam> Clone for Rest<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Seam> Copy for Rest<'_, S> {}

fn panicked(hook: &HookName, message: Option<String>) -> Failure {
    Failure {
        hook: hook.clone(),
        code: FailureCode::Panic,
        message: message.unwrap_or_default(),
    }
}

/// What each hook said, while a seam is being asked; and until when, and for whom.
#[derive(Default)]
pub(crate) struct Record {
    recorded: Mutex<Recorded>,
    /// When the time of all hooks together is up, and how much it was.
    deadline: Option<(tokio::time::Instant, Duration)>,
    signal: Signal,
}

/// A hook's time was up.
struct Late(Duration);

impl Late {
    fn failure(&self, hook: &HookName) -> Failure {
        Failure {
            hook: hook.clone(),
            code: FailureCode::Timeout,
            message: format!("it had not answered after {} ms", self.0.as_millis()),
        }
    }
}

#[derive(Default)]
struct Recorded {
    answers: Vec<Recording>,
    stops: Vec<Attributed>,
}

struct Recording {
    answer: Answer,
    started: Instant,
}

impl Record {
    fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What fires when no answer is wanted any more.
    pub(crate) fn signal(&self) -> &Signal {
        &self.signal
    }

    /// Waits for a hook as long as there is time.
    async fn in_time<T>(&self, hook: impl Future<Output = T>) -> Result<T, Late> {
        match self.deadline {
            None => Ok(hook.await),
            Some((at, limit)) => tokio::time::timeout_at(at, hook)
                .await
                .map_err(|_| Late(limit)),
        }
    }

    /// Whether the time is up.
    fn is_over(&self) -> bool {
        self.deadline
            .is_some_and(|(at, _)| at <= tokio::time::Instant::now())
    }

    /// A native hook's failure, as its own. Only what happened to a hook after it, which it passes on, stays as it is.
    fn stamp(&self, place: usize, hook: &HookName, failure: Failure) -> Failure {
        let recorded = self.lock();
        let later = recorded.answers.iter().skip(place + 1);
        let is_passed_on = later
            .filter_map(|recording| recording.answer.said.as_ref().err())
            .any(|happened| *happened == failure);
        if is_passed_on {
            return failure;
        }
        Failure {
            hook: hook.clone(),
            code: FailureCode::Reported,
            message: failure.message,
        }
    }

    /// A hook is about to be asked. Until [`Record::end`] it counts as one that never answered.
    fn begin(&self, hook: &HookName) -> usize {
        let unanswered = Answer {
            hook: hook.clone(),
            said: Err(Failure {
                hook: hook.clone(),
                code: FailureCode::Unavailable,
                message: "it was not waited for".to_owned(),
            }),
            elapsed: Duration::ZERO,
        };
        let mut recorded = self.lock();
        recorded.answers.push(Recording {
            answer: unanswered,
            started: Instant::now(),
        });
        recorded.answers.len() - 1
    }

    fn end<S: Seam>(&self, place: usize, said: &Result<S::Folded, Failure>) {
        if let Some(recording) = self.lock().answers.get_mut(place) {
            recording.answer.elapsed = recording.started.elapsed();
            recording.answer.said = match said {
                Ok(folded) => Ok(S::describe(folded)),
                Err(failure) => Err(failure.clone()),
            };
        }
    }

    /// A hook wants the agent to stop altogether.
    pub(crate) fn stop(&self, hook: &HookName, reason: String) {
        self.lock().stops.push(Attributed::new(hook, reason));
    }

    fn finish<S: Seam>(self, decision: Result<S::Folded, Failure>, started: Instant) -> Asked<S> {
        let recorded = self
            .recorded
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        Asked {
            decision,
            stop: Stop::of(recorded.stops),
            answers: recorded
                .answers
                .into_iter()
                .map(|recording| recording.answer)
                .collect(),
            elapsed: started.elapsed(),
        }
    }
}
