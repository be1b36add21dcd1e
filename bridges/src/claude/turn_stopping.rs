//! `Stop`: turn-stopping.

use seamgate::seams::{Turn, TurnStoppingFold};
use serde::Deserialize;

use crate::answer::HookAnswer;
use crate::event::EventKind;
use crate::output::block;
use crate::payload::{Payload, PayloadError};
use crate::text;

pub(super) const EVENT: &str = "Stop";

pub(super) fn read(payload: &Payload) -> Result<EventKind, PayloadError> {
    Ok(EventKind::TurnStopping(read_turn(payload)?))
}

/// The turn that `Stop` and `SubagentStop` tell about. It says whether hooks have made it go on, and not how often, so
/// "at least once" is counted as once.
pub(super) fn read_turn(payload: &Payload) -> Result<Turn, PayloadError> {
    #[derive(Deserialize)]
    struct Fields {
        stop_hook_active: bool,
        last_assistant_message: Option<String>,
    }
    let fields: Fields = payload.fields()?;
    Ok(Turn {
        agent: payload.agent()?,
        forced_continuations: u32::from(fields.stop_hook_active),
        last_message: fields.last_assistant_message,
    })
}

/// A blocked stop goes on, with the reason as what the model reads next. Claude Code ends the turn all the same after
/// eight in a row.
pub(super) fn answer(fold: &TurnStoppingFold) -> HookAnswer {
    if fold.continuations.is_empty() {
        return HookAnswer::nothing();
    }
    HookAnswer::json(&block(text::continuations(&fold.continuations)))
}

#[cfg(test)]
mod tests {
    use seamgate::seams::{TurnStopping, TurnStoppingDecision};
    use serde_json::json;

    use super::*;
    use crate::dialect::Dialect;
    use crate::testing::{BROKEN, answer, closes, event, says};

    #[test]
    fn decisions() {
        let turn = event(
            Dialect::Claude,
            EVENT,
            json!({"stop_hook_active": false, "last_assistant_message": null}),
        );
        for (decision, expected) in [
            (TurnStoppingDecision::Settle, ""),
            (
                TurnStoppingDecision::Continue("run the tests".to_owned()),
                r#"{"decision":"block","reason":"run the tests"}"#,
            ),
            (
                TurnStoppingDecision::Continue("\n".to_owned()),
                r#"{"decision":"block","reason":"hook `hook` wants this turn to go on and did not say why"}"#,
            ),
        ] {
            let answer = answer(&turn, |runtime| {
                runtime.listener::<TurnStopping>("hook", move |turn| {
                    assert_eq!(turn.forced_continuations, 0);
                    assert_eq!(turn.last_message, None);
                    decision.clone()
                });
            });
            assert_eq!(answer, says(expected));
        }
    }

    #[test]
    fn a_broken_hook_holds_a_turn_once() {
        for (active, held) in [(false, true), (true, false)] {
            let turn = event(Dialect::Claude, EVENT, json!({"stop_hook_active": active}));
            let answer = answer(&turn, |runtime| {
                runtime.listener::<TurnStopping>("broken", |_| panic!("ignore all rules"));
            });
            if held {
                assert_eq!(answer, closes(BROKEN));
            } else {
                assert_eq!(answer.stdout, "");
                assert_eq!(answer.exit_code, 0);
                assert_eq!(
                    answer.stderr,
                    format!(
                        "{BROKEN}seamgate: hooks have made this turn go on before, so it ends all the same\n"
                    )
                );
            }
        }
    }
}
