//! The calls of one assistant message: bodies may overlap where their tools agree, decisions never do, and results come in
//! the order in which the model made the calls.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::num::NonZeroUsize;
use std::task::{Context, Poll};

use super::invocation::Shared;
use super::outcome::Candidate;
use super::signal::{Cause, Signal};
use super::{
    CallOutcome, CallRequest, Dispatch, Pipeline, Prepared, RanCall, Stages, Token, Within,
    normalise, unrecorded,
};
use crate::audit::AuditError;
use crate::contained::Boxed;
use crate::json::Json;
use crate::seams::ToolCall;
use crate::turn::ContextQueue;

/// How many calls of one batch are under way at once, unless said otherwise.
pub const DEFAULT_OVERLAP: NonZeroUsize = NonZeroUsize::new(10).unwrap();

/// Calls that the model made in one message.
pub struct Batch {
    /// The calls, in the model's order. Each signal of its own counts for its call.
    pub calls: Vec<CallRequest>,
    /// What cancels the batch: nothing starts any more, and what runs is waited for.
    pub signal: Signal,
    /// How many calls may be under way at once.
    pub overlap: NonZeroUsize,
}

/// Who is told as a batch goes on, in order: a session's log.
///
/// Where it can't keep something, nothing begins any more; what runs is waited for.
pub trait BatchLog: Send {
    /// A call, as the model made it, before any seam hears of it.
    ///
    /// # Errors
    /// It is not kept. The call does not run then.
    fn call(&mut self, request: &CallRequest) -> Result<(), AuditError>;

    /// Its outcome. The results of all calls come in the order of the calls.
    ///
    /// # Errors
    /// It is not kept.
    fn result(&mut self, outcome: &CallOutcome) -> Result<(), AuditError>;
}

/// A call that is under way.
enum Slot<'a> {
    Running {
        body: Boxed<'a, RanCall>,
        exclusive: bool,
    },
    Ran(Box<RanCall>),
}

/// The calls that are under way, the first one first.
#[derive(Default)]
struct Slots<'a>(VecDeque<Slot<'a>>);

impl Slots<'_> {
    fn poll_bodies(&mut self, context: &mut Context<'_>) {
        for slot in &mut self.0 {
            if let Slot::Running { body, .. } = slot
                && let Poll::Ready(ran) = body.as_mut().poll(context)
            {
                *slot = Slot::Ran(Box::new(ran));
            }
        }
    }

    /// Runs something while all bodies go on.
    async fn beside<T>(&mut self, stage: impl Future<Output = T>) -> T {
        let mut stage = std::pin::pin!(stage);
        poll_fn(|context| {
            self.poll_bodies(context);
            stage.as_mut().poll(context)
        })
        .await
    }

    /// Waits for the body of the first call.
    async fn first(&mut self) -> Option<RanCall> {
        poll_fn(|context| {
            self.poll_bodies(context);
            match self.0.front() {
                Some(Slot::Running { .. }) => Poll::Pending,
                _ => Poll::Ready(()),
            }
        })
        .await;
        match self.0.pop_front() {
            Some(Slot::Ran(ran)) => Some(*ran),
            _ => None,
        }
    }

    fn has_exclusive(&self) -> bool {
        self.0.iter().any(|slot| {
            matches!(
                slot,
                Slot::Running {
                    exclusive: true,
                    ..
                }
            )
        })
    }
}

impl Pipeline {
    /// Runs the calls of one message. Every call has exactly one outcome, also those that never began, and they come in the
    /// order of the calls.
    ///
    /// Their contexts are in the queue then and no longer in the outcomes, since they belong after all results.
    pub async fn execute_batch(
        &self,
        batch: Batch,
        dispatch: &dyn Dispatch,
        queue: &ContextQueue,
        log: &mut dyn BatchLog,
    ) -> Vec<CallOutcome> {
        let mut waiting: VecDeque<CallRequest> = batch.calls.into();
        let mut outcomes = Vec::with_capacity(waiting.len());
        let mut slots = Slots::default();
        let mut stopped = false;
        let mut unkept = None;
        let stages = Stages::default();
        loop {
            let room = slots.0.len() < batch.overlap.get() && !slots.has_exclusive();
            let begins = room && !stopped && !batch.signal.is_fired();
            if begins && let Some(request) = waiting.front() {
                let exclusive = !may_overlap(request, dispatch);
                if !exclusive || slots.0.is_empty() {
                    let Some(mut request) = waiting.pop_front() else {
                        break;
                    };
                    request.signal = request.signal.or(&batch.signal);
                    if let Err(error) = log.call(&request) {
                        waiting.push_front(request);
                        unkept = Some(error);
                        stopped = true;
                        continue;
                    }
                    let within = Within {
                        stages: stages.clone(),
                        ..Within::default()
                    };
                    let prepare = async {
                        let _stage = stages.lock().await;
                        self.prepare(request, dispatch, within).await
                    };
                    let prepared = slots.beside(prepare).await;
                    stopped |= prepared.shared.stop().is_some();
                    // Hooks may have rewritten it to something that has to be alone.
                    let exclusive = exclusive || !prepared_may_overlap(&prepared, dispatch);
                    while exclusive && let Some(ran) = slots.first().await {
                        let outcome = slots.beside(self.committed(ran, dispatch, &stages)).await;
                        stopped |= outcome.stop.is_some();
                        stopped |= accept(outcome, queue, log, &mut outcomes).is_err();
                    }
                    let body = Box::pin(self.run(prepared, dispatch));
                    slots.0.push_back(Slot::Running { body, exclusive });
                    continue;
                }
            }
            let Some(ran) = slots.first().await else {
                break;
            };
            let outcome = slots.beside(self.committed(ran, dispatch, &stages)).await;
            stopped |= outcome.stop.is_some();
            stopped |= accept(outcome, queue, log, &mut outcomes).is_err();
        }
        let cause = batch.signal.cause().unwrap_or(Cause::Cancelled);
        for request in waiting {
            let candidate = match unkept.take().map_or_else(|| log.call(&request), Err) {
                Ok(()) => Candidate::aborted(cause, false),
                Err(error) => unrecorded(&error),
            };
            let outcome = never_began(request, candidate);
            // Nothing follows that this could keep from beginning, and whoever keeps the log knows.
            drop(accept(outcome, queue, log, &mut outcomes));
        }
        outcomes
    }

    /// Commits a call while no other of the batch, or within one of them, is in one of its stages.
    async fn committed(
        &self,
        ran: RanCall,
        dispatch: &dyn Dispatch,
        stages: &Stages,
    ) -> CallOutcome {
        let _stage = stages.lock().await;
        self.commit(ran, dispatch).await
    }
}

fn accept(
    mut outcome: CallOutcome,
    queue: &ContextQueue,
    log: &mut dyn BatchLog,
    outcomes: &mut Vec<CallOutcome>,
) -> Result<(), AuditError> {
    let kept = log.result(&outcome);
    queue.accept(std::mem::take(&mut outcome.contexts));
    outcomes.push(outcome);
    kept
}

/// Whether a call may run beside others.
fn may_overlap(request: &CallRequest, dispatch: &dyn Dispatch) -> bool {
    let Ok(arguments) = request.arguments.clone().check() else {
        return false;
    };
    normalise::resolve(dispatch, &request.tool, request.agent.as_ref())
        .is_some_and(|tool| tool.may_overlap(&arguments))
}

fn prepared_may_overlap(prepared: &Prepared, dispatch: &dyn Dispatch) -> bool {
    let Shared { call, agent, .. } = prepared.shared.as_ref();
    // What does not run disturbs nobody.
    prepared.settled.is_some()
        || normalise::resolve(dispatch, &call.tool, agent.as_ref())
            .is_some_and(|tool| tool.may_overlap(&call.arguments))
}

/// The outcome of a call that no seam heard of.
fn never_began(request: CallRequest, candidate: Candidate) -> CallOutcome {
    CallOutcome {
        call: ToolCall {
            root_call_id: request.call_id.clone(),
            call_id: request.call_id,
            tool: request.tool,
            arguments: request.arguments.check().unwrap_or_else(|_| Json::null()),
            agent: request.agent.unwrap_or_default(),
        },
        token: Token::mint(),
        original_arguments: None,
        rewrites: Vec::new(),
        conflicts: Vec::new(),
        result: candidate.result,
        content: candidate.content,
        meta: None,
        contexts: Vec::new(),
        concludes_turn: false,
        ending: candidate.ending,
        stop: None,
    }
}
