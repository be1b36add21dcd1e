//! Contexts wait for the end of their batch.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::pipeline::{Context, ContextSource};

/// The contexts of one batch of tool calls, first in, first out.
///
/// They never come between the results of a batch: whoever runs the loop takes them all when the batch is settled, also
/// where the turn was interrupted. Calls and the embedding program share one queue, in the order of acceptance.
///
/// Cheap to clone; a clone is the same queue.
#[derive(Debug, Clone, Default)]
pub struct ContextQueue(Arc<Mutex<VecDeque<Context>>>);

impl ContextQueue {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in the contexts of a call whose result is recorded.
    pub fn accept(&self, contexts: impl IntoIterator<Item = Context>) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(contexts);
    }

    /// Takes in text of the embedding program.
    pub fn inject(&self, text: impl Into<String>) {
        self.accept([Context {
            source: ContextSource::Host,
            text: text.into(),
        }]);
    }

    /// Gives all that wait, in order. The queue is empty then.
    #[must_use]
    pub fn settle(&self) -> Vec<Context> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).into()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty()
    }
}
