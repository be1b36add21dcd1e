//! What an agent wrote, before anything in it is believed.
//!
//! A payload is text that a model had a hand in. It is read as lossless JSON or not at all, and every field that is used
//! has a type; fields that are not used are not looked at, since agents add some with every release.

use seamgate::seams::Agent;
use seamgate::{Json, JsonError};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::dialect::Dialect;

/// How many containers of a payload may be open at once: as many as serde_json reads.
///
/// Agents produce a few dozen at most. Policies in any language have a limit of this kind, most of them this one, and an
/// argument that some hook can't read is one that it can't judge.
pub const MAX_DEPTH: usize = 127;

/// Why a payload is no event.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// The text is not lossless JSON.
    #[error("the event is not lossless JSON: {0}")]
    Json(#[from] JsonError),
    /// The text is JSON, but no object.
    #[error("the event is not a JSON object")]
    NoObject,
    /// It is nested too deeply.
    #[error("the event is nested deeper than {MAX_DEPTH} levels")]
    Depth,
    /// It does not say which event it is.
    #[error("the event does not tell its name: {0}")]
    NoName(#[source] serde_json::Error),
    /// The agent has no such event.
    #[error("{} has no event `{name}`", .dialect.product())]
    UnknownEvent {
        /// The agent.
        dialect: Dialect,
        /// The name in the payload.
        name: String,
    },
    /// A field is missing, or has another type than it should.
    #[error("the event `{name}` can't be understood: {problem}")]
    Field {
        /// The event.
        name: String,
        /// Which field, and what is wrong with it.
        #[source]
        problem: serde_json::Error,
    },
}

impl PayloadError {
    /// The event that the payload says it is, where it says so much.
    pub fn event_name(&self) -> Option<&str> {
        match self {
            Self::UnknownEvent { name, .. } | Self::Field { name, .. } => Some(name),
            Self::Json(_) | Self::NoObject | Self::Depth | Self::NoName(_) => None,
        }
    }
}

/// A payload that is known to be lossless JSON with an event's name.
pub(crate) struct Payload {
    dialect: Dialect,
    json: Json,
    name: String,
}

impl Payload {
    pub(crate) fn parse(dialect: Dialect, text: &str) -> Result<Self, PayloadError> {
        #[derive(Deserialize)]
        struct Named {
            hook_event_name: String,
        }
        let json = Json::parse(text)?;
        // serde would take an array for a struct, field by field.
        if !is_object(json.text()) {
            return Err(PayloadError::NoObject);
        }
        if depth(json.text()) > MAX_DEPTH {
            return Err(PayloadError::Depth);
        }
        let named: Named = json.read().map_err(PayloadError::NoName)?;
        Ok(Self {
            dialect,
            json,
            name: named.hook_event_name,
        })
    }

    /// The event that it says it is.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The whole of it.
    pub(crate) fn json(&self) -> &Json {
        &self.json
    }

    /// The fields that an event has.
    pub(crate) fn fields<T: DeserializeOwned>(&self) -> Result<T, PayloadError> {
        self.json.read().map_err(|problem| PayloadError::Field {
            name: self.name.clone(),
            problem,
        })
    }

    /// Who acts. Both dialects have these fields under the same names.
    pub(crate) fn agent(&self) -> Result<Agent, PayloadError> {
        #[derive(Deserialize)]
        struct Fields {
            session_id: String,
            cwd: String,
            agent_id: Option<String>,
            agent_type: Option<String>,
            permission_mode: Option<String>,
        }
        let fields: Fields = self.fields()?;
        Ok(Agent {
            dialect: self.dialect.as_str().to_owned(),
            session_id: fields.session_id,
            agent_id: fields.agent_id,
            agent_type: fields.agent_type,
            cwd: Some(fields.cwd),
            permission_mode: fields.permission_mode,
        })
    }

    /// The error for an event that the agent does not have.
    pub(crate) fn unknown_event(&self) -> PayloadError {
        PayloadError::UnknownEvent {
            dialect: self.dialect,
            name: self.name.clone(),
        }
    }
}

/// Any value in a payload, by the exact text it had there.
pub(crate) struct Part(pub(crate) Json);

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Json::parse(raw.get()).map(Self).map_err(D::Error::custom)
    }
}

/// The same, where only an object will do.
pub(crate) struct ObjectPart(pub(crate) Json);

impl<'de> Deserialize<'de> for ObjectPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Part(json) = Part::deserialize(deserializer)?;
        if is_object(json.text()) {
            Ok(Self(json))
        } else {
            Err(D::Error::custom("the tool's input is not an object"))
        }
    }
}

/// Whether this JSON text is an object.
pub(crate) fn is_object(json: &str) -> bool {
    json.trim_start().starts_with('{')
}

/// How many containers are open at once, at most, in a text that is known to be JSON.
fn depth(json: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0_usize);
    let (mut in_string, mut escaped) = (false, false);
    for byte in json.bytes() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                open += 1;
                deepest = deepest.max(open);
            }
            b'}' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        match Payload::parse(Dialect::Claude, text) {
            Ok(_) => panic!("{text} was read"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_is_no_payload_says_why() {
        for (text, expected) in [
            (
                "",
                "the event is not lossless JSON: the text ends too early at byte 0",
            ),
            (
                "\u{feff}{}",
                "the event is not lossless JSON: unexpected character at byte 0",
            ),
            (
                r#"{"a":1,"a":2}"#,
                "the event is not lossless JSON: duplicate key \"a\" at byte 7",
            ),
            ("[]", "the event is not a JSON object"),
            (r#"["PreToolUse"]"#, "the event is not a JSON object"),
            (
                "{}",
                "the event does not tell its name: missing field `hook_event_name` at line 1 column 2",
            ),
            (
                r#"{"hook_event_name":7}"#,
                "the event does not tell its name: invalid type: integer `7`, expected a string at line 1 column 20",
            ),
        ] {
            assert_eq!(error(text), expected, "{text}");
        }
    }

    #[test]
    fn depth_counts_containers_and_not_text() {
        for (text, expected) in [
            ("1", 0),
            ("{}", 1),
            (r#"{"a":[1,[2]],"b":{}}"#, 3),
            (r#"{"[[[[":"{{{\"[[[\\"}"#, 1),
        ] {
            assert_eq!(depth(text), expected, "{text}");
        }
    }

    #[test]
    fn the_limit_is_what_serde_json_reads() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(serde_json::from_str::<serde_json::Value>(&nested(MAX_DEPTH)).is_ok());
        assert!(serde_json::from_str::<serde_json::Value>(&nested(MAX_DEPTH + 1)).is_err());
        let payload =
            |levels: usize| format!(r#"{{"hook_event_name":"X","a":{}}}"#, nested(levels - 1));
        assert!(Payload::parse(Dialect::Claude, &payload(MAX_DEPTH)).is_ok());
        assert!(matches!(
            Payload::parse(Dialect::Claude, &payload(MAX_DEPTH + 1)),
            Err(PayloadError::Depth)
        ));
    }
}
