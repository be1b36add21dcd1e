//! What a hook reads: the dialect's payload, with its keys in the documented order.

use std::env;
use std::sync::Arc;

use seamgate::Json;
use seamgate::seams::Agent;
use serde::Serialize;
use serde::ser::SerializeMap;
use serde_json::{Value, json};

use super::Shared;
use super::point::Point;
use crate::dialect::Dialect;
use crate::protocol;

/// A payload on its way. Its values stay text, so that what a model wrote reaches the hook as it was.
pub(super) struct Payload(Vec<(&'static str, Member)>);

enum Member {
    Value(Value),
    Json(Json),
}

impl Payload {
    /// What every payload of the dialect begins with.
    pub(super) fn of(bridge: &Shared, point: Point, agent: &Agent) -> Self {
        let transcript = bridge.surroundings.transcript(agent);
        let transcript = transcript.map(|path| path.to_string_lossy().into_owned());
        let cwd = agent.cwd.clone().or_else(|| {
            let cwd = env::current_dir().ok()?;
            Some(cwd.to_string_lossy().into_owned())
        });
        let mut payload = Self(Vec::new());
        payload.push("session_id", json!(agent.session_id));
        match bridge.dialect {
            Dialect::Claude => {
                payload.push("transcript_path", json!(transcript.unwrap_or_default()));
            }
            Dialect::Codex => payload.push("transcript_path", json!(transcript)),
        }
        payload.push("cwd", json!(cwd.unwrap_or_default()));
        payload.push("hook_event_name", json!(point.name()));
        if bridge.dialect == Dialect::Codex {
            payload.push("model", json!(bridge.config.model_name()));
            payload.push("permission_mode", json!("default"));
            if point != Point::SessionStart {
                payload.push("turn_id", json!(turn_id(bridge, agent)));
            }
        }
        payload
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.push(name, value.into());
        self
    }

    pub(super) fn with_json(mut self, name: &'static str, value: Json) -> Self {
        self.0.push((name, Member::Json(value)));
        self
    }

    fn push(&mut self, name: &'static str, value: Value) {
        self.0.push((name, Member::Value(value)));
    }

    /// As the hook reads it.
    pub(super) fn bytes(&self, dialect: Dialect) -> Result<Arc<[u8]>, serde_json::Error> {
        protocol::payload(self, dialect == Dialect::Claude)
    }
}

impl Serialize for Payload {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, member) in &self.0 {
            match member {
                Member::Value(value) => map.serialize_entry(name, value)?,
                Member::Json(value) => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}

/// The open turn, or the one that would be next. A call of nobody is in none.
fn turn_id(bridge: &Shared, agent: &Agent) -> String {
    if agent.session_id.is_empty() {
        return "0".to_owned();
    }
    let turn = bridge.surroundings.open_turn(agent);
    turn.unwrap_or_else(|| bridge.surroundings.next_turn(agent))
        .to_string()
}
