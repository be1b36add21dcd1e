//! Contexts for the model at the start of every session and every subagent: those of the settings, or else what a model
//! should know where policies decide.

use seamgate_sdk::{Session, Subagent};
use serde::Deserialize;

/// What the model reads where the settings say nothing.
const ABOUT_POLICIES: &str = "Policies decide about tool calls in this session, before any of them runs. A denial is \
    final: the same call in another form is denied as well. Its reason says what would be right; do that, or tell the \
    user what you can't do and why. Where a policy asks, a person decides.";

/// The policy's settings.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The contexts, in this order. An empty list says nothing at all.
    pub contexts: Option<Vec<String>>,
}

impl Settings {
    fn contexts(&self) -> Vec<String> {
        match &self.contexts {
            Some(contexts) => contexts.clone(),
            None => vec![ABOUT_POLICIES.to_owned()],
        }
    }
}

/// The contexts of a session that begins.
pub fn session_start(_session: &Session, settings: &Settings) -> Vec<String> {
    settings.contexts()
}

/// The contexts of a subagent that begins. It starts with a conversation of its own, so it needs to be told as well.
pub fn subagent_start(_subagent: &Subagent, settings: &Settings) -> Vec<String> {
    settings.contexts()
}

seamgate_sdk::policy! {
    settings: Settings,
    session_start: session_start,
    subagent_start: subagent_start,
}

#[cfg(test)]
mod tests {
    use seamgate_sdk::testing;

    use super::*;

    #[test]
    fn without_settings_the_model_is_told_about_policies() {
        let settings = testing::settings::<Settings>(&[]).unwrap();
        assert_eq!(
            session_start(&testing::session(), &settings),
            vec![ABOUT_POLICIES.to_owned()]
        );
        assert_eq!(
            subagent_start(&testing::subagent(), &settings),
            vec![ABOUT_POLICIES.to_owned()]
        );
    }

    #[test]
    fn contexts_of_the_settings_take_its_place_in_their_order() {
        let cases: [(&str, &[&str]); 3] = [
            (
                r#"["Run `make check` before you finish.","Write British English."]"#,
                &[
                    "Run `make check` before you finish.",
                    "Write British English.",
                ],
            ),
            (r#"[""]"#, &[""]),
            ("[]", &[]),
        ];
        for (text, expected) in cases {
            let settings = testing::settings::<Settings>(&[("contexts", text)]).unwrap();
            assert_eq!(
                session_start(&testing::session(), &settings),
                expected,
                "{text}"
            );
            assert_eq!(
                subagent_start(&testing::subagent(), &settings),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn settings_that_do_not_fit_are_an_error() {
        let cases = [
            (
                ("contexts", "just text"),
                "the setting `contexts`: it is a string, and another kind of value is wanted",
            ),
            (
                ("context", "[]"),
                "unknown setting `context`; there are: `contexts`",
            ),
        ];
        for (entry, expected) in cases {
            assert_eq!(
                testing::settings::<Settings>(&[entry])
                    .unwrap_err()
                    .to_string(),
                expected
            );
        }
    }
}
