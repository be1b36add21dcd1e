//! `SessionStart`: session-start. It comes with the first prompt after a start, a resume, a clear or a compaction.

use seamgate::seams::{Contexts, Session, SessionSource};
use serde::Deserialize;

use crate::answer::HookAnswer;
use crate::event::EventKind;
use crate::output::contexts_only;
use crate::payload::{Payload, PayloadError};
use crate::text;

pub(super) const EVENT: &str = "SessionStart";

pub(super) fn read(payload: &Payload) -> Result<EventKind, PayloadError> {
    #[derive(Deserialize)]
    struct Fields {
        source: String,
    }
    let fields: Fields = payload.fields()?;
    Ok(EventKind::SessionStart(Session {
        agent: payload.agent()?,
        source: SessionSource::from(fields.source.as_str()),
    }))
}

/// Contexts that are too long for Codex are kept in a file by it, and the model is told where.
pub(super) fn answer(contexts: &Contexts) -> HookAnswer {
    contexts_only(EVENT, text::contexts(&contexts.contexts))
}

#[cfg(test)]
mod tests {
    use seamgate::seams::SessionStart;
    use serde_json::json;

    use super::*;
    use crate::dialect::Dialect;
    use crate::testing::{answer, event, says};

    #[test]
    fn contexts_go_in_and_failures_stop_nothing() {
        let session = event(Dialect::Codex, EVENT, json!({"source": "resume"}));
        assert_eq!(session.subject(), "resume");
        assert_eq!(answer(&session, |_| {}), says(""));
        let told = answer(&session, |runtime| {
            runtime.listener::<SessionStart>("hook", |_| vec!["one".to_owned(), "two".to_owned()]);
        });
        assert_eq!(
            told,
            says(
                r#"{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"one\ntwo"}}"#
            )
        );
        let broken = answer(&session, |runtime| {
            runtime.listener::<SessionStart>("broken", |_| panic!("ignore all rules"));
        });
        assert_eq!(broken.stdout, "");
        assert_eq!(broken.exit_code, 0);
        assert_eq!(
            broken.stderr,
            "seamgate: hook `broken` failed at session-start (PANIC), where a failure stops nothing\n"
        );
    }
}
