//! What a model is to the loop, and one that follows a script.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use seamgate::Boxed;
use serde::Serialize;

use super::message::Message;

/// A model.
pub trait Model: Send + Sync {
    /// Answers what it is given to read. The future is dropped where the turn is cancelled.
    ///
    /// # Errors
    /// There is no answer: the provider failed, or refused.
    fn reply(&self, messages: Vec<Message>) -> Boxed<'_, Result<Reply, ModelError>>;
}

/// What a model answers.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    /// What it says.
    pub text: String,
    /// What it calls, in order.
    pub calls: Vec<ModelCall>,
    /// Whether the answer was cut off because it became too long.
    pub is_cut_off: bool,
}

/// A tool call, as the model writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelCall {
    /// The call's id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments: whatever the model wrote, JSON or not.
    pub arguments: String,
}

/// Why a model did not answer.
#[derive(Debug, Clone)]
pub struct ModelError {
    /// In words.
    pub message: String,
    /// The provider's own code.
    pub code: String,
}

impl Reply {
    /// An answer in words.
    pub fn text(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }

    /// The same, calling one more tool.
    #[must_use]
    pub fn call(mut self, id: &str, name: &str, arguments: impl ToString) -> Self {
        self.calls.push(ModelCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_string(),
        });
        self
    }

    /// The same, cut off.
    #[must_use]
    pub fn cut_off(mut self) -> Self {
        self.is_cut_off = true;
        self
    }
}

/// A model that says what its script says, one reply for each request, and remembers what it was given to read.
pub struct ScriptedModel {
    script: Mutex<VecDeque<Result<Reply, ModelError>>>,
    requests: Mutex<Vec<Vec<Message>>>,
}

impl ScriptedModel {
    /// One with this script.
    pub fn new(script: impl IntoIterator<Item = Result<Reply, ModelError>>) -> Self {
        Self {
            script: Mutex::new(script.into_iter().collect()),
            requests: Mutex::default(),
        }
    }

    /// What it was given to read each time.
    pub fn requests(&self) -> Vec<Vec<Message>> {
        let requests = self.requests.lock();
        requests.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Model for ScriptedModel {
    fn reply(&self, messages: Vec<Message>) -> Boxed<'_, Result<Reply, ModelError>> {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.push(messages);
        let mut script = self.script.lock().unwrap_or_else(PoisonError::into_inner);
        let reply = script.pop_front().unwrap_or_else(|| {
            Err(ModelError {
                message: "the script is over".to_owned(),
                code: "SCRIPT_OVER".to_owned(),
            })
        });
        Box::pin(async { reply })
    }
}
