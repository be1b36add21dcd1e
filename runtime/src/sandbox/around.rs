//! A policy around a tool: its decision is under way while the rest of the call runs.
//!
//! The rest of the way stays on our side. What the guest holds is a line to it: `next` sends a request and waits, the driver
//! runs the rest and answers. So the rest may borrow whatever it likes, and time that passes in it is not the policy's.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::time::Instant;
use wasmtime::component::Resource;

use super::policy::{Policy, State};
use super::{CallContext, lossless, wire};
use crate::contained::Boxed;
use crate::failure::{Failure, FailureCode};
use crate::json::Json;
use crate::seams::{Outcome, ToolCall, ToolError};

/// How often one decision may run the rest of the way.
const MAX_NEXT_CALLS: u32 = 100;

/// The rest of a tool call's way, lent to a policy at `around-tool`.
pub struct Next {
    requests: mpsc::Sender<Request>,
}

/// A policy calls `next`.
struct Request {
    deadline: Option<Duration>,
    reply: oneshot::Sender<wire::types::Outcome>,
}

impl wire::next::Host for State {}

impl wire::next::HostNext for State {
    async fn call(
        &mut self,
        next: Resource<Next>,
        deadline_ms: Option<u32>,
    ) -> wasmtime::Result<wire::types::Outcome> {
        let requests = &self.table.get(&next)?.requests;
        let (reply, answer) = oneshot::channel();
        let request = Request {
            deadline: deadline_ms.map(|ms| Duration::from_millis(ms.into())),
            reply,
        };
        let gone = || wasmtime::format_err!("the call is over");
        requests.send(request).await.map_err(|_| gone())?;
        let outcome = answer.await.map_err(|_| gone())?;
        self.waited = true;
        Ok(outcome)
    }

    async fn drop(&mut self, next: Resource<Next>) -> wasmtime::Result<()> {
        self.table.delete(next)?;
        Ok(())
    }
}

/// What a policy makes of a call.
pub(crate) enum PolicyAround {
    /// What the last `next` gave.
    Pass,
    /// This in its place.
    Substitute {
        result: Result<Json, ToolError>,
        contexts: Vec<String>,
    },
}

/// Why it made nothing of it.
pub(crate) enum AroundFailure<E> {
    /// The policy could not decide.
    Policy(Failure),
    /// The rest of the way could not be gone. The policy is not told: it could make an allow of somebody else's failure.
    Rest(E),
}

/// Runs the rest of the way, within a deadline.
pub(crate) type Rest<'r, 'f, E> =
    dyn FnMut(Option<Duration>) -> Boxed<'f, Result<Outcome, E>> + Send + 'r;

impl Policy {
    /// Places for all policies around one call at once, so that no two calls each hold what the other one waits for.
    ///
    /// A call within a call does not wait for long: the outer one holds places for as long as it runs.
    pub(crate) async fn places_around<'p>(
        policies: impl Iterator<Item = &'p Self>,
        nested: bool,
    ) -> Result<Vec<OwnedSemaphorePermit>, Failure> {
        // By address, so that calls over several engines ask for them in one order.
        let mut wanted: BTreeMap<usize, (&Self, u32)> = BTreeMap::new();
        for policy in policies {
            let engine = std::sync::Arc::as_ptr(&policy.sandbox.0).addr();
            wanted.entry(engine).or_insert((policy, 0)).1 += 1;
        }
        let mut places = Vec::new();
        for (policy, count) in wanted.into_values() {
            let waiting = policy
                .sandbox
                .0
                .places_around
                .clone()
                .acquire_many_owned(count);
            let unavailable =
                |message: &str| policy.failed(FailureCode::Unavailable, message.to_owned());
            let permit = if nested {
                tokio::time::timeout(policy.limits.wall(), waiting)
                    .await
                    .map_err(|_| unavailable("too many tool calls are under way inside others"))?
            } else {
                waiting.await
            };
            places.push(permit.map_err(|_| unavailable("the engine is closed"))?);
        }
        Ok(places)
    }

    /// Asks it around a call, in a fresh instance that lives until the call is through.
    pub(crate) async fn around<'f, E>(
        &self,
        call: &ToolCall,
        rest: &mut Rest<'_, 'f, E>,
    ) -> Result<PolicyAround, AroundFailure<E>> {
        // Waiting for others is no fault of this policy, and does not count against its time.
        let Ok(_place) = self.sandbox.0.places.acquire().await else {
            let closed = "the engine is closed".to_owned();
            return Err(AroundFailure::Policy(
                self.failed(FailureCode::Unavailable, closed),
            ));
        };
        let (requests, mut asked) = mpsc::channel(1);
        let mut guest = pin!(self.decide_around(call.to_wire(), Next { requests }));
        let mut left = self.limits.wall();
        let mut calls = 0;
        loop {
            let until = Instant::now() + left;
            tokio::select! {
                biased;
                said = &mut guest => return said.map_err(AroundFailure::Policy),
                Some(request) = asked.recv() => {
                    left = until.saturating_duration_since(Instant::now());
                    calls += 1;
                    if calls > MAX_NEXT_CALLS {
                        return Err(AroundFailure::Policy(self.failed(
                            FailureCode::BadDecision,
                            format!("it called `next` more than {MAX_NEXT_CALLS} times"),
                        )));
                    }
                    let outcome = rest(request.deadline).await.map_err(AroundFailure::Rest)?;
                    // The guest is in our hands and waits for this, so there is somebody to get it.
                    drop(request.reply.send(outcome.to_wire()));
                }
                () = tokio::time::sleep_until(until) => {
                    return Err(AroundFailure::Policy(self.too_late()));
                }
            }
        }
    }

    async fn decide_around(
        &self,
        call: wire::types::ToolCall,
        next: Next,
    ) -> Result<PolicyAround, Failure> {
        use wire::around_tool::AroundToolDecision as Said;
        let mut store = self.store();
        let decided = async {
            let instance = self.instance.instantiate_async(&mut store).await?;
            let context = CallContext {
                exports: &self.exports,
                store: &mut store,
                instance: &instance,
            };
            let guest = context
                .seam(|exports| &exports.around_tool)?
                .load(&mut *context.store, context.instance)?;
            let next = context.store.data_mut().table.push(next)?;
            // Lent: the guest can't keep it, and the table goes with the store.
            let lent = Resource::new_borrow(next.rep());
            guest.call_decide(&mut *context.store, &call, lent).await
        };
        let said = decided.await;
        match said {
            Ok(Ok(Said::Pass)) => Ok(PolicyAround::Pass),
            Ok(Ok(Said::Substitute(made))) => {
                let result = match made.result {
                    Ok(value) => match lossless(value) {
                        Ok(value) => Ok(value),
                        Err(error) => return Err(self.failure(&error, FailureCode::BadDecision)),
                    },
                    Err(error) => Err(ToolError {
                        message: error.message,
                        code: error.code,
                    }),
                };
                Ok(PolicyAround::Substitute {
                    result,
                    contexts: made.contexts,
                })
            }
            Ok(Err(problem)) => Err(self.failed(FailureCode::Reported, problem)),
            Err(error) => Err(self.failure(&error, FailureCode::BadDecision)),
        }
    }
}
