//! What waits to be said to the model: two lists, first in, first out.

use std::collections::VecDeque;

use seamgate::pipeline::Context;
use seamgate::seams::Attributed;
use seamgate::turn::ContextQueue;
use serde::Serialize;
use tokio::sync::oneshot;

use super::log::TurnEnd;
use super::message::UserMessage;

/// What became of a message that somebody submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// The model read it, in this turn, which ended so.
    Ran { turn: u32, end: TurnEnd },
    /// Hooks kept it from the model, or stopped the agent at the sight of it. The reasons are for whoever submitted it.
    Blocked { reasons: Vec<Attributed> },
    /// It was withdrawn before the model read it.
    Cancelled,
    /// Something failed before the model read it.
    Failed { message: String },
}

/// A message that was submitted, for whoever wants to know what becomes of it.
#[derive(Debug)]
pub struct Submitted(oneshot::Receiver<Fate>);

impl Submitted {
    /// What became of it, as soon as that is certain.
    pub async fn fate(self) -> Fate {
        // An agent that is gone has nothing more to say to its model.
        self.0.await.unwrap_or(Fate::Cancelled)
    }
}

/// Why something was cancelled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CancelCause {
    /// The user wanted it.
    User,
    /// The agent whose child this is was cancelled.
    Parent,
    /// A hook stopped the agent.
    Hook { reason: String },
    /// The agent is no longer needed.
    Disposed,
}

/// A message that waits.
#[derive(Debug)]
pub struct Item {
    /// The message.
    pub message: UserMessage,
    /// Whether an open turn goes on for it. What is only injected waits for another reason.
    pub continues: bool,
    fate: Option<oneshot::Sender<Fate>>,
}

impl Item {
    /// A message of a user, who may want to know what becomes of it.
    pub fn of_user(message: UserMessage) -> (Self, Submitted) {
        let (fate, submitted) = oneshot::channel();
        let item = Self {
            message,
            continues: true,
            fate: Some(fate),
        };
        (item, Submitted(submitted))
    }

    /// A context.
    pub fn context(context: Context, continues: bool) -> Self {
        Self {
            message: context.into(),
            continues,
            fate: None,
        }
    }

    /// Tells whoever submitted it, where somebody did and still listens.
    pub fn end(self, fate: Fate) {
        if let Some(sender) = self.fate {
            drop(sender.send(fate));
        }
    }
}

/// Which list to claim from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// For the next turn: everything for the next step, and one prompt.
    NextTurn,
    /// For the next step of an open turn.
    NextStep,
}

/// The two lists, and the queue of the batch that is under way.
#[derive(Debug, Default)]
pub struct Inbox {
    next_turn: VecDeque<Item>,
    next_step: VecDeque<Item>,
    /// While calls run, injected text shares the queue of their contexts: there is one order of acceptance, and nothing
    /// comes between the results.
    batch: Option<ContextQueue>,
}

impl Inbox {
    /// Puts a message behind those that wait there.
    pub fn push(&mut self, target: Target, item: Item) {
        match target {
            Target::NextTurn => self.next_turn.push_back(item),
            Target::NextStep => self.next_step.push_back(item),
        }
    }

    /// Puts a context where it makes nobody go on.
    pub fn inject(&mut self, context: Context) {
        match &self.batch {
            Some(queue) => queue.accept([context]),
            None => self.next_step.push_back(Item::context(context, false)),
        }
    }

    /// Takes what is to be said next. What is claimed never comes back by itself.
    ///
    /// What steers comes first and the prompt last, so that the prompt is what the model answers.
    pub fn claim(&mut self, target: Target) -> Vec<Item> {
        let mut claimed: Vec<Item> = self.next_step.drain(..).collect();
        if target == Target::NextTurn {
            claimed.extend(self.next_turn.pop_front());
        }
        claimed
    }

    /// Takes one prompt and nothing else.
    pub fn claim_prompt(&mut self) -> Option<Item> {
        self.next_turn.pop_front()
    }

    /// Takes everything away.
    pub fn clear(&mut self) -> Vec<Item> {
        self.next_step
            .drain(..)
            .chain(self.next_turn.drain(..))
            .collect()
    }

    /// Whether an open turn has something to go on for.
    pub fn steers(&self) -> bool {
        self.next_step.iter().any(|item| item.continues)
    }

    /// Whether there is something to open a turn for.
    pub fn wants_turn(&self) -> bool {
        !self.next_turn.is_empty() || self.steers()
    }

    /// Whether nothing waits at all.
    pub fn is_empty(&self) -> bool {
        self.next_turn.is_empty() && self.next_step.is_empty()
    }

    /// Calls begin to run.
    pub fn open_batch(&mut self, queue: ContextQueue) {
        self.batch = Some(queue);
    }

    /// All calls have their results. Nothing can be added to their contexts between this and the next batch.
    pub fn close_batch(&mut self) -> Vec<Context> {
        self.batch
            .take()
            .map_or_else(Vec::new, |queue| queue.settle())
    }
}
