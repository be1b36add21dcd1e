//! The tool calls of one step.

use std::collections::VecDeque;

use seamgate::audit::AuditError;
use seamgate::pipeline::{
    Arguments, Batch, BatchLog, CallOutcome, CallRequest, Context, ContextSource,
};
use seamgate::turn::ContextQueue;

use super::agent::Settlement;
use super::inbox::{CancelCause, Item, Target};
use super::log::{Event, TurnEnd};
use super::message::UserMessage;
use super::model::ModelCall;
use super::turn::{Part, Turn};

impl Turn<'_> {
    /// Runs the calls of one message. Says whether the model is to read their results in this turn.
    pub(super) async fn run_calls(&self, calls: Vec<ModelCall>) -> Part<bool> {
        let setup = &self.agent.setup;
        let queue = ContextQueue::new();
        let requests = calls.iter().map(|call| CallRequest {
            call_id: call.id.clone(),
            tool: call.name.clone(),
            arguments: Arguments::Model(call.arguments.clone()),
            agent: Some(setup.who.clone()),
            turn: Some(self.number),
            signal: self.signal.clone(),
        });
        let batch = Batch {
            calls: requests.collect(),
            signal: self.signal.clone(),
            overlap: setup.options.overlap,
        };
        let mut log = CallLog {
            turn: self,
            queue: queue.clone(),
            seqs: VecDeque::new(),
            failed: None,
        };
        self.agent.state().inbox.open_batch(queue.clone());
        let pipeline = &setup.pipeline;
        let outcomes = pipeline
            .execute_batch(batch, setup.tools.as_ref(), &queue, &mut log)
            .await;
        // Every call has its result by now, also where the turn was cancelled, and contexts come after all of them.
        let contexts = self.agent.state().inbox.close_batch();
        // Noted before anything else can go wrong; the turn ends for it once the step is whole.
        let stopped = self.honour_stops(&outcomes);
        log.failed.map_or(Ok(()), Err)?;
        match setup.options.settlement {
            Settlement::InStep => self.say(contexts.into_iter().map(UserMessage::from))?,
            Settlement::NextBoundary => {
                let mut state = self.agent.state();
                for context in contexts {
                    state
                        .inbox
                        .push(Target::NextStep, Item::context(context, true));
                }
            }
        }
        stopped?;
        if self.signal.is_fired() {
            return Err(self.aborted());
        }
        Ok(!outcomes.iter().any(|outcome| outcome.concludes_turn))
    }

    /// A hook stopped the agent at a seam of some call. The calls have all been answered, and nothing more happens.
    fn honour_stops(&self, outcomes: &[CallOutcome]) -> Part<()> {
        let stops = outcomes.iter().filter_map(|outcome| outcome.stop.as_ref());
        let reasons: Vec<String> = stops.map(|stop| stop.reason()).collect();
        if reasons.is_empty() {
            return Ok(());
        }
        let reason = reasons.join("\n");
        self.agent.halted_by(&reason);
        Err(TurnEnd::Aborted {
            reason: CancelCause::Hook { reason },
        })
    }
}

/// Puts a batch into the session's log as it goes on. Calls and results both come in the model's order.
struct CallLog<'a> {
    turn: &'a Turn<'a>,
    queue: ContextQueue,
    /// The places in the log of those that have, and have no result yet.
    seqs: VecDeque<u64>,
    /// How the turn ends where the log can't be written.
    failed: Option<TurnEnd>,
}

impl CallLog<'_> {
    /// Where this fails the batch begins nothing any more, and the turn ends for it.
    fn append(&mut self, event: Event) -> Result<u64, AuditError> {
        self.turn.agent.setup.log.append(event).map_err(|error| {
            let problem = error.to_string();
            self.failed.get_or_insert(error.into());
            AuditError::Other(problem)
        })
    }
}

impl BatchLog for CallLog<'_> {
    /// Before any seam, so that whatever hooks and people say about the call comes after it. These are the model's arguments
    /// to the letter; where hooks rewrite them, that is the next record of the log.
    fn call(&mut self, request: &CallRequest) -> Result<(), AuditError> {
        let arguments = match &request.arguments {
            Arguments::Model(text) => text.clone(),
            // Nobody but the model makes calls here.
            Arguments::Given(_) => String::new(),
        };
        let seq = self.append(Event::ToolCall {
            turn: self.turn.number,
            step: self.turn.step,
            call_id: request.call_id.clone(),
            name: request.tool.clone(),
            arguments,
        })?;
        self.seqs.push_back(seq);
        Ok(())
    }

    fn result(&mut self, outcome: &CallOutcome) -> Result<(), AuditError> {
        let effective = outcome
            .original_arguments
            .is_some()
            .then(|| outcome.call.arguments.clone());
        if let Some(effective) = &effective {
            // The model's own message stays as it wrote it, since providers sign some of what they wrote. So it has to be
            // told, or it would take the result for that of other arguments. First in the queue, as it is about the result.
            self.queue.accept([Context {
                source: ContextSource::Host,
                text: format!(
                    "The arguments of call {} were changed before it ran. It ran with {effective}",
                    outcome.call.call_id
                ),
            }]);
        }
        let Some(call) = self.seqs.pop_front() else {
            // Its call is not in the log, so its result can't be either.
            return Ok(());
        };
        self.append(Event::ToolResult {
            turn: self.turn.number,
            step: self.turn.step,
            call_id: outcome.call.call_id.clone(),
            call,
            is_error: outcome.result.is_err(),
            content: outcome.content.clone(),
            error: outcome.code().map(str::to_owned),
            meta: outcome.meta.clone(),
            effective_arguments: effective,
        })?;
        Ok(())
    }
}
