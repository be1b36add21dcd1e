//! `PreCompact`: pre-compact.

use seamgate::seams::{CompactTrigger, Compaction, PreCompactFold};
use serde::{Deserialize, Serialize};

use crate::answer::HookAnswer;
use crate::event::EventKind;
use crate::payload::{Payload, PayloadError};
use crate::text;

pub(super) const EVENT: &str = "PreCompact";

pub(super) fn read(payload: &Payload) -> Result<EventKind, PayloadError> {
    #[derive(Deserialize)]
    struct Fields {
        trigger: String,
    }
    let fields: Fields = payload.fields()?;
    Ok(EventKind::PreCompact(Compaction {
        agent: payload.agent()?,
        trigger: CompactTrigger::from(fields.trigger.as_str()),
        instructions: None,
    }))
}

pub(super) fn answer(fold: &PreCompactFold) -> HookAnswer {
    if fold.blocks.is_empty() {
        return HookAnswer::nothing();
    }
    stop(text::reasons(&fold.blocks))
}

/// The only way to keep Codex from compacting is to stop the turn; it has no block here.
pub(super) fn stop(reason: String) -> HookAnswer {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Stop {
        r#continue: bool,
        stop_reason: String,
    }
    HookAnswer::json(&Stop {
        r#continue: false,
        stop_reason: reason,
    })
}

#[cfg(test)]
mod tests {
    use seamgate::seams::{PreCompact, PreCompactDecision};
    use serde_json::json;

    use super::*;
    use crate::dialect::Dialect;
    use crate::testing::{BROKEN, answer, event, says};

    #[test]
    fn decisions() {
        let compaction = event(
            Dialect::Codex,
            EVENT,
            json!({"trigger": "auto", "custom_instructions": null}),
        );
        assert_eq!(compaction.subject(), "auto");
        for (decision, expected) in [
            (PreCompactDecision::Proceed, ""),
            (
                PreCompactDecision::Block("keep it".to_owned()),
                r#"{"continue":false,"stopReason":"keep it"}"#,
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
        let message = BROKEN.trim_start_matches("seamgate: ").trim_end();
        let stopped = says(&format!(r#"{{"continue":false,"stopReason":"{message}"}}"#));
        assert_eq!(broken, stopped.and_note(message));
    }
}
