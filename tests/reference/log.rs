//! The session's log: what happened, in order, for ever.
//!
//! Everything that must be known again tomorrow is an event here, and what the model reads is derived from nothing else. So
//! there is no second truth: what is not in the log was not said, and what is in it can't be unsaid.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use seamgate::Json;
use seamgate::audit::{AuditError, AuditEvent, AuditRecord, AuditSink};
use serde::Serialize;

use super::inbox::CancelCause;
use super::message::{Message, UserMessage};
use super::model::ModelCall;

/// Something that happened. Turns of a session and steps of a turn are counted from 1.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", content = "data", rename_all_fields = "camelCase")]
pub enum Event {
    /// A turn begins.
    #[serde(rename = "turn/start")]
    TurnStart { turn: u32 },
    /// It ends.
    #[serde(rename = "turn/end")]
    TurnEnd { turn: u32, reason: TurnEnd },
    /// One request to the model, and what comes of it, begins.
    #[serde(rename = "step/start")]
    StepStart { turn: u32, step: u32 },
    /// It ends.
    #[serde(rename = "step/end")]
    StepEnd { turn: u32, step: u32 },
    /// The model reads this.
    #[serde(rename = "user/message")]
    UserMessage(UserMessage),
    /// The model said this.
    #[serde(rename = "assistant/message")]
    AssistantMessage {
        turn: u32,
        step: u32,
        text: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ModelCall>,
    },
    /// The model's call, with the arguments as it wrote them. No seam has heard of it yet.
    #[serde(rename = "tool/call")]
    ToolCall {
        turn: u32,
        step: u32,
        call_id: String,
        name: String,
        arguments: String,
    },
    /// What came of it, and how the model reads that. Never the tool's value, which is for programs and may be anything.
    #[serde(rename = "tool/result")]
    ToolResult {
        turn: u32,
        step: u32,
        call_id: String,
        /// The number of the call's own event.
        call: u64,
        is_error: bool,
        content: Json,
        /// The stable name of the failure, where it has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        meta: Option<Json>,
        /// The arguments that ran, where hooks rewrote those of the call.
        #[serde(skip_serializing_if = "Option::is_none")]
        effective_arguments: Option<Json>,
    },
    /// A child begins to work on a part of this session.
    #[serde(rename = "subagent/start")]
    SubagentStart {
        agent_id: String,
        agent_type: Option<String>,
    },
    /// It ended.
    #[serde(rename = "subagent/end")]
    SubagentEnd {
        agent_id: String,
        agent_type: Option<String>,
        reason: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        last_message: Option<String>,
    },
    /// Hooks were asked, somebody approved, arguments were rewritten: the runtime says it in its own words.
    #[serde(untagged)]
    Audit(Box<AuditEvent>),
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TurnEnd {
    /// Nothing was left to do.
    Completed,
    /// Nothing was left to do, and some answer in it was cut off for its length.
    MaxTokens,
    /// The prompt gate rejected what was to be said.
    Blocked,
    /// Somebody cancelled it, or a hook stopped the agent.
    Aborted { reason: CancelCause },
    /// Something failed.
    Error { message: String, code: String },
}

/// An event with its place in the log.
#[derive(Debug, Clone, Serialize)]
pub struct Logged {
    /// Its number. The first has 0, and none is left out.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub time: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// Where lines are kept: a file, a database.
pub trait Store: Send {
    /// Keeps a line, all of it.
    ///
    /// # Errors
    /// Nothing of it is kept.
    fn append(&mut self, line: &[u8]) -> io::Result<()>;
}

/// A file, with one line of JSON for each event.
pub struct JsonLines {
    file: File,
    length: u64,
}

impl JsonLines {
    /// Makes the file, which only the user can read: prompts and results are in it.
    ///
    /// # Errors
    /// The file can't be made, or is there already: then it is another session's, which has its own numbers.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        Ok(Self { file, length: 0 })
    }
}

impl Store for JsonLines {
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(line) {
            // A full disk takes a part of a line. What was not kept must not be half there.
            self.file.set_len(self.length)?;
            return Err(error);
        }
        self.length += line.len() as u64;
        Ok(())
    }
}

type Observer = Arc<dyn Fn(&Logged) + Send + Sync>;

/// The log of one session.
pub struct SessionLog {
    kept: Mutex<Kept>,
    observers: Mutex<Vec<Observer>>,
    audit: Option<Arc<dyn AuditSink>>,
}

struct Kept {
    store: Box<dyn Store>,
    events: Vec<Logged>,
}

impl SessionLog {
    /// An empty one, whose lines are kept there.
    pub fn new(store: impl Store + 'static) -> Self {
        Self {
            kept: Mutex::new(Kept {
                store: Box::new(store),
                events: Vec::new(),
            }),
            observers: Mutex::default(),
            audit: None,
        }
    }

    /// Gives all that the runtime records to an audit log too.
    #[must_use]
    pub fn audit(mut self, sink: Arc<dyn AuditSink>) -> Self {
        self.audit = Some(sink);
        self
    }

    /// Tells somebody about every event from now on, once it is kept. One that panics changes nothing.
    pub fn observe(&self, observer: impl Fn(&Logged) + Send + Sync + 'static) {
        let mut observers = self
            .observers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        observers.push(Arc::new(observer));
    }

    /// Keeps an event, and says which number it has.
    ///
    /// # Errors
    /// It is not kept, and the log is as it was.
    pub fn append(&self, event: Event) -> io::Result<u64> {
        let logged = {
            let mut kept = self.kept();
            let logged = Logged {
                seq: kept.events.len() as u64,
                time: now(),
                event,
            };
            let mut line = serde_json::to_vec(&logged)?;
            line.push(b'\n');
            kept.store.append(&line)?;
            kept.events.push(logged.clone());
            logged
        };
        // Not under the lock: whoever is told may want to read the log.
        let observers = self.observers.lock();
        let observers = observers.unwrap_or_else(PoisonError::into_inner).clone();
        for observer in observers {
            drop(catch_unwind(AssertUnwindSafe(|| observer(&logged))));
        }
        Ok(logged.seq)
    }

    /// All events.
    pub fn events(&self) -> Vec<Logged> {
        self.kept().events.clone()
    }

    /// What the model has said and read so far.
    pub fn history(&self) -> Vec<Message> {
        let kept = self.kept();
        let visible = kept.events.iter().filter_map(|logged| match &logged.event {
            Event::UserMessage(message) => Some(Message::User(message.clone())),
            Event::AssistantMessage { text, calls, .. } => Some(Message::Assistant {
                text: text.clone(),
                calls: calls.clone(),
            }),
            Event::ToolResult {
                call_id,
                content,
                is_error,
                ..
            } => Some(Message::Result {
                call_id: call_id.clone(),
                content: content.clone(),
                is_error: *is_error,
            }),
            _ => None,
        });
        visible.collect()
    }

    /// What the model said last.
    pub fn last_answer(&self) -> Option<String> {
        let kept = self.kept();
        kept.events
            .iter()
            .rev()
            .find_map(|logged| match &logged.event {
                Event::AssistantMessage { text, .. } if !text.is_empty() => Some(text.clone()),
                _ => None,
            })
    }

    /// The number of the last turn, 0 before the first.
    pub fn last_turn(&self) -> u32 {
        let kept = self.kept();
        let turn = kept
            .events
            .iter()
            .rev()
            .find_map(|logged| match logged.event {
                Event::TurnStart { turn } => Some(turn),
                _ => None,
            });
        turn.unwrap_or_default()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the runtime records goes into the session's log in its place: the approval of a call stands between the call and its
/// result, and what hooks said inside a turn stands in that turn.
///
/// What hooks said while no turn is open does not: a prompt that is rejected before its turn leaves no trace in the session,
/// and that goes for the reason too, which may quote it. For these there is the audit log.
impl AuditSink for SessionLog {
    fn append(&self, record: &AuditRecord) -> Result<(), AuditError> {
        if let Some(audit) = &self.audit {
            audit.append(record)?;
        }
        if record.turn.is_none() && matches!(record.event, AuditEvent::SeamDecided { .. }) {
            return Ok(());
        }
        self.append(Event::Audit(Box::new(record.event.clone())))?;
        Ok(())
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
