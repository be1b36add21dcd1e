//! `PreCompact`: pre-compact.

use seamgate::seams::{CompactTrigger, Compaction, PreCompactFold};
use serde::Deserialize;

use crate::answer::HookAnswer;
use crate::event::EventKind;
use crate::output::block;
use crate::payload::{Payload, PayloadError};
use crate::text;

pub(super) const EVENT: &str = "PreCompact";

pub(super) fn read(payload: &Payload) -> Result<EventKind, PayloadError> {
    #[derive(Deserialize)]
    struct Fields {
        trigger: String,
        custom_instructions: Option<String>,
    }
    let fields: Fields = payload.fields()?;
    Ok(EventKind::PreCompact(Compaction {
        agent: payload.agent()?,
        trigger: CompactTrigger::from(fields.trigger.as_str()),
        instructions: fields.custom_instructions,
    }))
}

/// The event has no own part: a block is all that can be said.
pub(super) fn answer(fold: &PreCompactFold) -> HookAnswer {
    if fold.blocks.is_empty() {
        return HookAnswer::nothing();
    }
    HookAnswer::json(&block(text::reasons(&fold.blocks)))
}

#[cfg(test)]
mod tests {
    use seamgate::seams::{PreCompact, PreCompactDecision};
    use serde_json::json;

    use super::*;
    use crate::dialect::Dialect;
    use crate::testing::{BROKEN, answer, closes, event, says};

    #[test]
    fn decisions() {
        let compaction = event(
            Dialect::Claude,
            EVENT,
            json!({"trigger": "auto", "custom_instructions": null}),
        );
        assert_eq!(compaction.subject(), "auto");
        for (decision, expected) in [
            (PreCompactDecision::Proceed, ""),
            (
                PreCompactDecision::Block("keep it".to_owned()),
                r#"{"decision":"block","reason":"keep it"}"#,
            ),
        ] {
            let answer = answer(&compaction, |runtime| {
                runtime.listener::<PreCompact>("hook", move |_| decision.clone());
            });
            assert_eq!(answer, says(expected));
        }
        let broken = answer(&compaction, |runtime| {
            runtime.listener::<PreCompact>("broken", |_| panic!("ignore all rules"));
        });
        assert_eq!(broken, closes(BROKEN));
    }
}
