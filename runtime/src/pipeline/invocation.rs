//! One run of a tool's body: what the body may know, and what it may do.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::identity::{Arguments, CallRequest, Token};
use super::outcome::{Context, ContextSource, aborted};
use super::signal::Signal;
use super::tool::Dispatch;
use super::{MAX_NESTING, Pipeline, Stages, UNRECORDED, Within};
use crate::audit::AuditEvent;
use crate::json::Json;
use crate::seams::{Agent, ToolCall, ToolError};
use crate::stop::Stop;

/// What all stages of one call share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) call: ToolCall,
    pub(crate) token: Token,
    pub(crate) agent: Option<Agent>,
    pub(crate) turn: Option<u32>,
    /// The caller's signal. Nothing detaches it.
    pub(crate) signal: Signal,
    /// How many calls this one is nested in.
    pub(crate) depth: usize,
    pub(crate) body_invoked: AtomicBool,
    /// Contexts of bodies and wrappers, in the order in which they were given.
    contexts: Mutex<Vec<Context>>,
    stop: Mutex<Option<Stop>>,
    nested: AtomicU32,
    pub(crate) stages: Stages,
}

impl Shared {
    pub(crate) fn new(
        call: ToolCall,
        token: Token,
        agent: Option<Agent>,
        turn: Option<u32>,
        signal: Signal,
        depth: usize,
        stages: Stages,
    ) -> Self {
        Self {
            call,
            token,
            agent,
            turn,
            signal,
            depth,
            body_invoked: AtomicBool::new(false),
            contexts: Mutex::default(),
            stop: Mutex::default(),
            nested: AtomicU32::new(0),
            stages,
        }
    }

    pub(crate) fn is_nested(&self) -> bool {
        self.depth > 0
    }

    pub(crate) fn body_was_invoked(&self) -> bool {
        self.body_invoked.load(Ordering::Acquire)
    }

    fn contexts(&self) -> MutexGuard<'_, Vec<Context>> {
        self.contexts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add_contexts(&self, contexts: impl IntoIterator<Item = Context>) {
        self.contexts().extend(contexts);
    }

    pub(crate) fn take_contexts(&self) -> Vec<Context> {
        std::mem::take(&mut *self.contexts())
    }

    pub(crate) fn add_stop(&self, stop: Option<Stop>) {
        let mut held = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        *held = Stop::and(held.take(), stop);
    }

    pub(crate) fn stop(&self) -> Option<Stop> {
        self.stop
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn take_stop(&self) -> Option<Stop> {
        self.stop
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

/// One run of a tool's body.
#[derive(Debug)]
pub struct Invocation {
    pub(crate) shared: Arc<Shared>,
    pub(crate) signal: Signal,
    pub(crate) pipeline: Pipeline,
    pub(crate) concludes: Arc<AtomicBool>,
}

/// What an inner call gives the tool that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inner {
    /// Its value.
    pub value: Json,
    /// Whether it wants the turn to end. The tool that made it passes that on, or not.
    pub concludes_turn: bool,
}

impl Invocation {
    /// The call.
    pub fn call(&self) -> &ToolCall {
        &self.shared.call
    }

    /// Its arguments.
    pub fn arguments(&self) -> &Json {
        &self.shared.call.arguments
    }

    /// What the call is known by at every seam.
    pub fn token(&self) -> Token {
        self.shared.token
    }

    /// Fires when the caller cancels, or when whoever is around the tool does.
    pub fn signal(&self) -> &Signal {
        &self.signal
    }

    /// Lets the model read something after the results of the batch. It stays also where the tool fails later.
    pub fn defer_context(&self, text: impl Into<String>) {
        self.shared.add_contexts([Context {
            source: ContextSource::Tool {
                tool: self.shared.call.tool.clone(),
                call_id: self.shared.call.call_id.clone(),
            },
            text: text.into(),
        }]);
    }

    /// Ends the turn with this call, where it succeeds.
    pub fn conclude_turn(&self) {
        self.concludes.store(true, Ordering::Release);
    }

    /// Calls another tool as a part of this call. It goes through every seam, like any other.
    ///
    /// Several may be under way at once; only their bodies overlap. Its contexts come after the result of this call.
    ///
    /// # Errors
    /// The inner call failed, or was denied. The error says what the model would have read, and this tool may recover.
    pub async fn nested(
        &self,
        dispatch: &dyn Dispatch,
        tool: &str,
        arguments: impl Into<Arguments>,
    ) -> Result<Inner, ToolError> {
        let shared = &self.shared;
        let number = shared.nested.fetch_add(1, Ordering::Relaxed) + 1;
        if shared.depth + 1 > MAX_NESTING {
            return Err(ToolError::coded(
                format!("tool calls are nested deeper than {MAX_NESTING}"),
                "NESTED_TOO_DEEPLY",
            ));
        }
        let request = CallRequest {
            call_id: format!("{}:code:{number}", shared.call.call_id),
            tool: tool.to_owned(),
            arguments: arguments.into(),
            agent: shared.agent.clone(),
            turn: shared.turn,
            signal: self.signal.clone(),
        };
        let within = Within {
            root_call_id: Some(shared.call.root_call_id.clone()),
            depth: shared.depth + 1,
            stages: shared.stages.clone(),
        };
        let stage = shared.stages.lock().await;
        if let Some(cause) = self.signal.cause() {
            // It never began, so no seam hears of it.
            return Err(aborted(cause, false));
        }
        let started = AuditEvent::DispatchStarted {
            root_call_id: shared.call.root_call_id.clone(),
            parent_call_id: shared.call.call_id.clone(),
            sub_call_id: request.call_id.clone(),
            name: tool.to_owned(),
            arguments: request.arguments.clone().check().ok(),
        };
        self.record(started)?;
        let prepared = self.pipeline.prepare(request, dispatch, within).await;
        drop(stage);
        let ran = Box::pin(self.pipeline.run(prepared, dispatch)).await;
        let stage = shared.stages.lock().await;
        let outcome = self.pipeline.commit(ran, dispatch).await;
        shared.add_contexts(outcome.contexts);
        drop(stage);
        shared.add_stop(outcome.stop);
        self.record(AuditEvent::DispatchEnded {
            root_call_id: outcome.call.root_call_id,
            parent_call_id: shared.call.call_id.clone(),
            sub_call_id: outcome.call.call_id,
            name: outcome.call.tool,
            is_error: outcome.result.is_err(),
            content: outcome.content,
        })?;
        outcome.result.map(|value| Inner {
            value,
            concludes_turn: outcome.concludes_turn,
        })
    }

    /// Records something of an inner call. Where it can't be, the tool is told that the inner call failed.
    fn record(&self, event: AuditEvent) -> Result<(), ToolError> {
        self.pipeline
            .record(&self.shared, event)
            .map_err(|error| ToolError::coded(format!("{UNRECORDED}: {error}"), "UNRECORDED"))
    }
}
