//! `SubagentStart`: subagent-start.

use seamgate::seams::Contexts;

use crate::answer::HookAnswer;
use crate::event::EventKind;
use crate::output::contexts_only;
use crate::payload::{Payload, PayloadError};
use crate::text;

pub(super) const EVENT: &str = "SubagentStart";

pub(super) fn read(payload: &Payload) -> Result<EventKind, PayloadError> {
    Ok(EventKind::SubagentStart(payload.agent()?))
}

pub(super) fn answer(contexts: &Contexts) -> HookAnswer {
    contexts_only(EVENT, text::contexts(&contexts.contexts))
}

#[cfg(test)]
mod tests {
    use seamgate::seams::SubagentStart;
    use serde_json::json;

    use super::*;
    use crate::dialect::Dialect;
    use crate::testing::{answer, event, says};

    #[test]
    fn contexts_go_to_the_subagent() {
        let subagent = event(
            Dialect::Codex,
            EVENT,
            json!({"agent_id": "a1", "agent_type": "Explore"}),
        );
        assert_eq!(subagent.subject(), "Explore");
        let told = answer(&subagent, |runtime| {
            runtime.listener::<SubagentStart>("hook", |agent| {
                assert_eq!(agent.agent_id.as_deref(), Some("a1"));
                vec!["look only".to_owned()]
            });
        });
        assert_eq!(
            told,
            says(
                r#"{"hookSpecificOutput":{"hookEventName":"SubagentStart","additionalContext":"look only"}}"#
            )
        );
    }
}
