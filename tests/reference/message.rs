//! Messages: what the model reads and writes.

use std::hash::{BuildHasher, Hasher, RandomState};

use seamgate::Json;
use seamgate::pipeline::{Context, ContextSource};
use seamgate::seams::{Agent, Prompt};
use serde::Serialize;
use serde_json::json;

use super::model::ModelCall;

/// One message, as the model reads it.
#[derive(Debug, Clone)]
pub enum Message {
    /// Not the model's: a user's, or text from a hook, a tool or the program.
    User(UserMessage),
    /// The model's own.
    Assistant {
        /// What it said.
        text: String,
        /// What it called.
        calls: Vec<ModelCall>,
    },
    /// What came of one of its calls.
    Result {
        /// Which call.
        call_id: String,
        /// Content blocks.
        content: Json,
        /// Whether the call failed.
        is_error: bool,
    },
}

/// A message that is not the model's. It never changes.
#[derive(Debug, Clone, Serialize)]
pub struct UserMessage {
    /// Its id, like no other.
    pub id: String,
    /// Content blocks.
    pub content: Json,
    /// Whose it is.
    pub source: Source,
}

/// Whose a message is. There is no default, so nothing that a machine wrote can count as typed by a person by mistake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Source {
    /// A person's.
    User,
    /// A hook's, a tool's or the program's. The runtime says which.
    #[serde(untagged)]
    Context(ContextSource),
}

impl UserMessage {
    /// A message of a person.
    pub fn of_user(content: Json) -> Self {
        Self {
            id: fresh_id("message"),
            content,
            source: Source::User,
        }
    }

    /// Whether a person wrote it.
    pub fn is_users(&self) -> bool {
        self.source == Source::User
    }

    /// Its text.
    pub fn text(&self) -> String {
        Prompt::new(Agent::default(), &self.content).text
    }
}

impl From<Context> for UserMessage {
    fn from(context: Context) -> Self {
        Self {
            id: fresh_id("message"),
            content: blocks(&context.text),
            source: Source::Context(context.source),
        }
    }
}

/// One block of text.
pub fn blocks(text: &str) -> Json {
    // A string has neither a negative zero nor depth, which is all that could be wrong.
    Json::of(&json!([{"type": "text", "text": text}])).unwrap_or_else(|_| Json::null())
}

/// An id that nothing else has, in this process or another.
pub fn fresh_id(kind: &str) -> String {
    format!("{kind}-{:016x}", RandomState::new().build_hasher().finish())
}
