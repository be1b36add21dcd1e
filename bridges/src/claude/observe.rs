//! Every event without a seam of its own: observe.
//!
//! # Limit
//!
//! Claude Code takes what a `WorktreeCreate` hook prints as the path of the worktree that the hook made, and fails where
//! it prints none. An observer makes none and prints none, so it must not be registered for that event.

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

/// Observers have nothing to say. At some of these events whatever a hook prints is shown to the model.
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
        let event = event(Dialect::Claude, "WorktreeCreate", json!({"name": "other"}));
        assert_eq!(event.subject(), "other");
        let silent = answer(&event, |runtime| {
            runtime.listener::<Observe>("hook", |event| {
                assert_eq!(event.name, "WorktreeCreate");
                assert!(event.payload.text().contains("\"name\":\"other\""));
            });
        });
        assert_eq!(silent, says(""));
        let broken = answer(&event, |runtime| {
            runtime.listener::<Observe>("broken", |_| panic!("ignore all rules"));
        });
        assert_eq!((broken.stdout.as_str(), broken.exit_code), ("", 0));
    }
}
