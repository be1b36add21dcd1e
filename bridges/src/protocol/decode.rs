//! Reads what a hook's exit code and output say. Total: whatever a hook prints, there is an answer.

use std::borrow::Cow;
use std::fmt;

use seamgate::Json;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::output::{Fields, HookDecision, HookOutput, HookProblem, StdoutKind};
use super::run::{HookEnd, HookRun};

/// What differs between dialects and events in reading an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoding {
    /// The event that `hookSpecificOutput` has to be about. Without one it may be about any.
    pub event: Option<String>,
    /// Whether plain text on standard output is context for the model.
    pub text_is_context: bool,
    /// Whether exit code 2 decides even with nothing on standard error.
    pub silent_block: bool,
    /// Whether output that begins with `{` and does not end with `}` is text.
    pub open_brace_is_text: bool,
    /// Whether output that begins with `[` is text, and not broken JSON.
    pub bracket_is_text: bool,
}

impl Decoding {
    /// For one event, in which text is no context. Exit code 2 always blocks, what begins with `{` is meant as JSON, and
    /// what begins with `[` is not.
    pub fn of(event: impl Into<String>) -> Self {
        Self {
            event: Some(event.into()),
            text_is_context: false,
            silent_block: true,
            open_brace_is_text: false,
            bracket_is_text: true,
        }
    }
}

/// Reads what a run came to.
pub fn decode(run: &HookRun, decoding: &Decoding) -> HookOutput {
    let mut output = HookOutput {
        exit_code: run.exit_code(),
        stdout: trim(&run.stdout.text).to_owned(),
        stderr: trim(&run.stderr.text).to_owned(),
        problem: HookProblem::of(&run.end),
        ..HookOutput::default()
    };
    match &run.end {
        HookEnd::Exited(0) if run.stdout.truncated => {
            output.stdout_kind = StdoutKind::Truncated;
            output.problem = Some(HookProblem::Truncated);
        }
        HookEnd::Exited(0) => read_stdout(&mut output, decoding),
        HookEnd::Exited(2) if !output.stderr.is_empty() => {
            output.decision = Some(HookDecision::Block);
            output.reason = Some(output.stderr.clone());
        }
        HookEnd::Exited(2) if decoding.silent_block => {
            output.decision = Some(HookDecision::Block);
        }
        HookEnd::Exited(2) => output.problem = Some(HookProblem::BlockWithoutReason),
        // Where an error is shown, standard error is looked at.
        HookEnd::Failed(message) if output.stderr.is_empty() => output.stderr.clone_from(message),
        HookEnd::Exited(_)
        | HookEnd::Killed(_)
        | HookEnd::TimedOut
        | HookEnd::Cancelled { .. }
        | HookEnd::Failed(_) => {}
    }
    output
}

fn read_stdout(output: &mut HookOutput, decoding: &Decoding) {
    let text = output.stdout.as_str();
    let meant_as_json = match text.chars().next() {
        None => return,
        Some('{') => text.ends_with('}') || !decoding.open_brace_is_text,
        Some('[') => !decoding.bracket_is_text,
        Some(_) => false,
    };
    if !meant_as_json {
        output.stdout_kind = StdoutKind::Text;
        if decoding.text_is_context {
            output.additional_context = Some(output.stdout.clone());
        }
        return;
    }
    match object(text) {
        Ok(fields) => {
            output.stdout_kind = StdoutKind::Object;
            read_fields(output, fields, decoding);
        }
        Err(error) => {
            output.stdout_kind = StdoutKind::BrokenJson;
            output.problem = Some(HookProblem::BrokenJson(error.to_string()));
        }
    }
}

fn read_fields(output: &mut HookOutput, fields: Fields, decoding: &Decoding) {
    let mut reader = Reader {
        fields: &fields,
        ignored: &mut output.ignored,
    };
    output.continues = reader.bool("continue");
    output.stop_reason = reader.string("stopReason");
    output.system_message = reader.string("systemMessage");
    output.suppress_output = reader.bool("suppressOutput");
    output.reason = reader.string("reason");
    output.decision = reader.word(
        "decision",
        &[
            ("approve", HookDecision::Approve),
            ("block", HookDecision::Block),
        ],
    );
    if let Some(specific) = reader.object("hookSpecificOutput") {
        read_specific(output, specific, decoding);
    }
    output.fields = fields;
}

fn read_specific(output: &mut HookOutput, specific: Fields, decoding: &Decoding) {
    let mut reader = Reader {
        fields: &specific,
        ignored: &mut output.ignored,
    };
    output.event_name = reader.string("hookEventName");
    if decoding.event.is_some() && decoding.event != output.event_name {
        return;
    }
    let decision = reader.word(
        "permissionDecision",
        &[
            ("allow", HookDecision::Allow),
            ("deny", HookDecision::Deny),
            ("ask", HookDecision::Ask),
        ],
    );
    let reason = reader.string("permissionDecisionReason");
    output.additional_context = reader.string("additionalContext");
    output.updated_input = reader.object_text("updatedInput").map(Json::parse);
    output.decision = decision.or(output.decision);
    output.reason = reason.or(output.reason.take());
    output.specific = specific;
}

/// Takes fields that have the type they should have.
struct Reader<'a> {
    fields: &'a Fields,
    ignored: &'a mut Vec<&'static str>,
}

impl<'a> Reader<'a> {
    fn take<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&'a str) -> Option<T>,
    ) -> Option<T> {
        let text = self.fields.get(name)?.get();
        let value = read(text);
        // What is null was left out on purpose.
        if value.is_none() && text != "null" {
            self.ignored.push(name);
        }
        value
    }

    fn bool(&mut self, name: &'static str) -> Option<bool> {
        self.take(name, |text| text.parse().ok())
    }

    fn string(&mut self, name: &'static str) -> Option<String> {
        self.take(name, |text| string(text).map(Cow::into_owned))
    }

    fn word(&mut self, name: &'static str, words: &[(&str, HookDecision)]) -> Option<HookDecision> {
        self.take(name, |text| {
            let said = string(text)?;
            let known = words.iter().find(|(word, _)| said == *word);
            known.map(|(_, decision)| *decision)
        })
    }

    fn object(&mut self, name: &'static str) -> Option<Fields> {
        self.take(name, |text| object(text).ok())
    }

    fn object_text(&mut self, name: &'static str) -> Option<&'a str> {
        self.take(name, |text| text.starts_with('{').then_some(text))
    }
}

/// The members of an object. Their values stay text, which is walked without recursion; so depth costs no stack.
fn object(text: &str) -> Result<Fields, serde_json::Error> {
    serde_json::from_str(text).map(|Members(fields)| fields)
}

/// The text of a JSON string, with U+FFFD for half of a surrogate pair; nothing, where it is no string.
fn string(text: &str) -> Option<Cow<'_, str>> {
    if !text.starts_with('"') {
        return None;
    }
    serde_json::from_str(text)
        .map(|Text(text)| Cow::Owned(text))
        .ok()
}

struct Members(Fields);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Walk;
        impl<'de> Visitor<'de> for Walk {
            type Value = Members;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut fields = Fields::new();
                while let Some((Text(name), value)) = map.next_entry::<Text, Box<RawValue>>()? {
                    fields.insert(name, value);
                }
                Ok(Members(fields))
            }
        }
        deserializer.deserialize_map(Walk)
    }
}

/// A string that may have half of a surrogate pair in it, as JavaScript's may. serde_json gives such a one away as bytes.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Text;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_str<E>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_owned()))
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Text, E> {
                Ok(Text(String::from_utf8_lossy(bytes).into_owned()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

/// Without the blanks around it that JavaScript's `trim` takes away.
fn trim(text: &str) -> &str {
    text.trim_matches(|character: char| {
        character == '\u{feff}' || (character.is_whitespace() && character != '\u{85}')
    })
}
