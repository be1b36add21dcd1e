//! The runtime: hooks in their order, at their seams, and the asking of them.

#[cfg(test)]
mod tests;

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, FailureCode, HookName};
use crate::hook::{Deciding, Hook, Listener, Next};
use crate::sandbox::Policy;
use crate::seams::{
    Described, Guard, Observe, PermissionRequest, PostTool, PreCompact, PreTool, PromptSubmit,
    RewriteInput, Seam, SessionStart, SubagentStart, SubagentStop, ToolResult, TurnStopping,
};

/// Hooks at their seams, in the order in which they were added.
///
/// Made once, then asked from any number of tasks.
#[derive(Default)]
pub struct Runtime {
    chains: Chains,
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
        hook: Box<dyn Hook<S>>,
    },
}

impl<S: Seam> Entry<S> {
    /// Whether the hook is asked about this tool. An event without a tool goes to everybody.
    fn wants(&self, tool: Option<&str>) -> bool {
        match (self, tool) {
            (Self::Policy(policy), Some(tool)) => policy.wants(tool),
            _ => true,
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
        #[derive(Default)]
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
    pub fn policy(&mut self, policy: Policy) -> &mut Self {
        self.chains.subscribe(&Arc::new(policy));
        self
    }

    /// Adds a native hook after all hooks that are there.
    pub fn hook<S: Seam>(
        &mut self,
        name: impl Into<HookName>,
        hook: impl Hook<S> + 'static,
    ) -> &mut Self {
        S::chain_mut(&mut self.chains).push(Entry::Native {
            name: name.into(),
            hook: Box::new(hook),
        });
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

    /// Asks the hooks of a seam about an event, and folds what they say.
    pub async fn ask<S: Seam>(&self, event: &S::Event) -> Asked<S> {
        let started = Instant::now();
        let record = Record::default();
        let rest = Rest {
            entries: S::chain(&self.chains),
            evaluate: self.evaluate,
            record: &record,
        };
        let decision = rest.ask(event).await;
        Asked {
            decision,
            answers: record.finish(),
            elapsed: started.elapsed(),
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
    /// Asks these hooks. Policies are asked one after another, each for itself; the first native hook is handed what comes
    /// after it.
    ///
    /// A policy that could not decide closes the seam, but the others are asked all the same: one that denies gives the
    /// model a reason it can use, which a failure does not.
    pub(crate) async fn ask(self, event: &S::Event) -> Result<S::Folded, Failure> {
        let mut folded = S::Folded::default();
        let mut failure = None;
        let mut advanced: Option<S::Event> = None;
        let mut wire: Option<S::Wire> = None;
        let tool = S::tool(event);
        for (position, entry) in self.entries.iter().enumerate() {
            if !entry.wants(tool) {
                continue;
            }
            let event = advanced.as_ref().unwrap_or(event);
            match entry {
                Entry::Policy(policy) => {
                    let place = self.record.begin(policy.name());
                    let wire_event = wire.get_or_insert_with(|| S::to_wire(event));
                    let said = policy
                        .decide::<S>(wire_event)
                        .await
                        .map(|decision| S::lift(policy.name(), decision));
                    self.record.end::<S>(place, &said);
                    match said {
                        Ok(own) => {
                            if let Some(rewritten) = S::advance(event, &own) {
                                advanced = Some(rewritten);
                                wire = None;
                            }
                            folded = S::combine(folded, own);
                        }
                        Err(problem) => failure = failure.or(Some(problem)),
                    }
                    if S::closes(&folded) && self.evaluate == Evaluate::Decisive {
                        break;
                    }
                }
                Entry::Native { name, hook } => {
                    let place = self.record.begin(name);
                    let next = Next {
                        hook: name.clone(),
                        rest: Rest {
                            entries: &self.entries[position + 1..],
                            ..self
                        },
                    };
                    let said = CatchPanic::<S> {
                        hook: name,
                        deciding: start(hook.as_ref(), event, next),
                    }
                    .await;
                    self.record.end::<S>(place, &said);
                    match said {
                        Ok(rest) => folded = S::combine(folded, rest),
                        Err(problem) => failure = failure.or(Some(problem)),
                    }
                    break;
                }
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

/// What each hook said, while a seam is being asked.
#[derive(Default)]
struct Record(Mutex<Vec<(Answer, Instant)>>);

impl Record {
    /// A hook is about to be asked. Until [`Record::end`] it counts as one that never answered.
    fn begin(&self, hook: &HookName) -> usize {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let unanswered = Answer {
            hook: hook.clone(),
            said: Err(Failure {
                hook: hook.clone(),
                code: FailureCode::Unavailable,
                message: "it was not waited for".to_owned(),
            }),
            elapsed: Duration::ZERO,
        };
        answers.push((unanswered, Instant::now()));
        answers.len() - 1
    }

    fn end<S: Seam>(&self, place: usize, said: &Result<S::Folded, Failure>) {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((answer, started)) = answers.get_mut(place) {
            answer.elapsed = started.elapsed();
            answer.said = match said {
                Ok(folded) => Ok(S::describe(folded)),
                Err(failure) => Err(failure.clone()),
            };
        }
    }

    fn finish(self) -> Vec<Answer> {
        self.0
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .into_iter()
            .map(|(answer, _)| answer)
            .collect()
    }
}

/// Starts a native hook. One that panics before its first await has failed like any other.
fn start<'a, S: Seam>(
    hook: &'a dyn Hook<S>,
    event: &'a S::Event,
    next: Next<'a, S>,
) -> Result<Deciding<'a, S>, String> {
    std::panic::catch_unwind(AssertUnwindSafe(|| hook.decide(event, next))).map_err(panic_message)
}

/// A native hook's decision, with a panic turned into a failure.
struct CatchPanic<'a, S: Seam> {
    hook: &'a HookName,
    deciding: Result<Deciding<'a, S>, String>,
}

impl<S: Seam> Future for CatchPanic<'_, S> {
    type Output = Result<S::Folded, Failure>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = match &mut self.deciding {
            Ok(deciding) => {
                std::panic::catch_unwind(AssertUnwindSafe(|| deciding.as_mut().poll(context)))
                    .map_err(panic_message)
            }
            Err(message) => Err(std::mem::take(message)),
        };
        polled.unwrap_or_else(|message| {
            Poll::Ready(Err(Failure {
                hook: self.hook.clone(),
                code: FailureCode::Panic,
                message,
            }))
        })
    }
}

fn panic_message(panic: Box<dyn std::any::Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(panic) => panic
            .downcast_ref::<&str>()
            .map_or("it panicked", |message| message)
            .to_owned(),
    }
}
