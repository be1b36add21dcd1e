//! `SubagentStop`: subagent-stop. The same as `Stop`, for a subagent.

use seamgate::seams::TurnStoppingFold;

use super::turn_stopping;
use crate::answer::HookAnswer;
use crate::event::EventKind;
use crate::payload::{Payload, PayloadError};

pub(super) const EVENT: &str = "SubagentStop";

pub(super) fn read(payload: &Payload) -> Result<EventKind, PayloadError> {
    Ok(EventKind::SubagentStop(turn_stopping::read_turn(payload)?))
}

pub(super) fn answer(fold: &TurnStoppingFold) -> HookAnswer {
    turn_stopping::answer(fold)
}

#[cfg(test)]
mod tests {
    use seamgate::seams::{SubagentStop, TurnStoppingDecision};
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
                runtime.listener::<SubagentStop>("hook", move |turn| {
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
                runtime.listener::<SubagentStop>("broken", |_| panic!("ignore all rules"));
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
