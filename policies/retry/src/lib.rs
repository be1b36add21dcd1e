//! Runs a tool again when it failed in a way that may pass.

use seamgate_sdk::{AroundToolDecision, Next, Outcome, ToolCall};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Unexpected};

/// The most attempts that can be set.
const MAX_ATTEMPTS: u8 = 10;

/// The policy's settings.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// How often a tool runs at the most, the first time included.
    #[serde(deserialize_with = "attempts")]
    pub attempts: u8,
    /// The codes of failures after which it runs again.
    pub codes: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            attempts: 3,
            codes: vec!["TOOL_TIMEOUT".to_owned()],
        }
    }
}

fn attempts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    let attempts = u8::deserialize(deserializer)?;
    if (1..=MAX_ATTEMPTS).contains(&attempts) {
        Ok(attempts)
    } else {
        Err(D::Error::invalid_value(
            Unexpected::Unsigned(attempts.into()),
            &"a number from 1 to 10",
        ))
    }
}

impl Settings {
    /// Whether a tool that came to this runs again. One that succeeded never does.
    fn again(&self, outcome: &Outcome) -> bool {
        match &outcome.result {
            Ok(_) => false,
            Err(failure) => failure
                .code
                .as_ref()
                .is_some_and(|code| self.codes.contains(code)),
        }
    }
}

/// Runs the rest of the way until it comes to something else, or the attempts are used up. The last outcome stands.
pub fn around_tool(_call: &ToolCall, next: &Next, settings: &Settings) -> AroundToolDecision {
    for _ in 0..settings.attempts {
        if !settings.again(&next.run()) {
            break;
        }
    }
    AroundToolDecision::pass()
}

seamgate_sdk::policy! {
    settings: Settings,
    around_tool: around_tool,
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use seamgate_sdk::testing;

    use super::*;

    /// How often the rest of the way runs where it comes to these, one after another.
    fn runs(outcomes: &[Outcome], settings: &Settings) -> usize {
        let runs = Cell::new(0);
        let next = testing::next(|deadline| {
            assert_eq!(deadline, None, "a retry tightens nothing");
            let outcome = outcomes[runs.get()].clone();
            runs.set(runs.get() + 1);
            outcome
        });
        let call = testing::tool_call("Fetch", Default::default());
        assert_eq!(
            around_tool(&call, &next, settings),
            AroundToolDecision::pass()
        );
        drop(next);
        runs.get()
    }

    fn timeout() -> Outcome {
        testing::coded_outcome("TOOL_TIMEOUT")
    }

    fn success() -> Outcome {
        testing::outcome("done".into())
    }

    #[test]
    fn a_failure_with_such_a_code_runs_again_until_it_is_none_or_attempts_are_used_up() {
        let settings = testing::settings::<Settings>(&[]).unwrap();
        for (outcomes, expected) in [
            (vec![success()], 1),
            (vec![timeout(), success()], 2),
            (vec![timeout(), timeout(), success()], 3),
            (vec![timeout(), timeout(), timeout()], 3),
            (vec![timeout(), testing::coded_outcome("UNKNOWN_TOOL")], 2),
            (vec![testing::failed_outcome("no code at all")], 1),
        ] {
            assert_eq!(runs(&outcomes, &settings), expected, "{outcomes:?}");
        }
    }

    #[test]
    fn a_success_never_runs_again() {
        // Whatever its value looks like.
        let value = testing::outcome(r#"{"code":"TOOL_TIMEOUT"}"#.into());
        assert_eq!(runs(&[value], &Settings::default()), 1);
    }

    #[test]
    fn codes_and_attempts_are_those_of_the_settings() {
        let settings =
            testing::settings::<Settings>(&[("attempts", "2"), ("codes", r#"["BUSY","OFFLINE"]"#)])
                .unwrap();
        let busy = testing::coded_outcome("BUSY");
        let offline = testing::coded_outcome("OFFLINE");
        assert_eq!(runs(&[busy, offline], &settings), 2);
        assert_eq!(runs(&[timeout()], &settings), 1);
        let once = testing::settings::<Settings>(&[("attempts", "1")]).unwrap();
        assert_eq!(runs(&[timeout()], &once), 1);
    }

    #[test]
    fn settings_that_do_not_fit_are_an_error() {
        for (entry, expected) in [
            (
                ("attempts", "0"),
                "the setting `attempts`: invalid value: integer `0`, expected a number from 1 to 10",
            ),
            (
                ("attempts", "11"),
                "the setting `attempts`: invalid value: integer `11`, expected a number from 1 to 10",
            ),
            (
                ("codes", "BUSY"),
                "the setting `codes`: it is a string, and another kind of value is wanted",
            ),
            (
                ("tools", "[]"),
                "unknown setting `tools`; there are: `attempts`, `codes`",
            ),
        ] {
            let error = testing::settings::<Settings>(&[entry]).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
