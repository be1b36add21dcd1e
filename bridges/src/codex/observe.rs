//! Every event without a seam of its own: observe.

use seamgate::seams::AgentEvent;

use crate::answer::HookAnswer;
use crate::event::EventKind;
use crate::payload::{Payload, PayloadError};

pub(super) fn read(payload: &Payload) -> Result<EventKind, PayloadError> {
    Ok(EventKind::Observed(AgentEvent {
        agent: payload.agent()?,
        name: payload.name().to_owned(),
        payload: payload.json().clone(),
    }))
}

/// Observers have nothing to say. Codex reads nothing at most of these events, and fails a hook that prints at `Interrupt`.
pub(super) fn answer() -> HookAnswer {
    HookAnswer::nothing()
}

#[cfg(test)]
mod tests {
    use seamgate::seams::Observe;
    use serde_json::json;

    use crate::dialect::Dialect;
    use crate::testing::{answer, event, says};

    #[test]
    fn observers_are_told_and_nothing_is_printed() {
        let event = event(Dialect::Codex, "SessionEnd", json!({"reason": "other"}));
        assert_eq!(event.subject(), "other");
        let silent = answer(&event, |runtime| {
            runtime.listener::<Observe>("hook", |event| {
                assert_eq!(event.name, "SessionEnd");
                assert!(event.payload.text().contains("\"reason\":\"other\""));
            });
        });
        assert_eq!(silent, says(""));
        let broken = answer(&event, |runtime| {
            runtime.listener::<Observe>("broken", |_| panic!("ignore all rules"));
        });
        assert_eq!((broken.stdout.as_str(), broken.exit_code), ("", 0));
    }
}
