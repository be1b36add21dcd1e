//! Ends tool calls that take too long: each tool runs under a deadline.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use seamgate_sdk::{AroundToolDecision, Next, ToolCall};
use serde::Deserialize;

/// The policy's settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// How long a call may take.
    pub milliseconds: NonZeroU32,
    /// How long a call of these tools may take instead, in milliseconds.
    #[serde(default)]
    pub per_tool: BTreeMap<String, NonZeroU32>,
}

/// Runs the rest of the way under the tool's deadline. What it came to stands.
pub fn around_tool(call: &ToolCall, next: &Next, settings: &Settings) -> AroundToolDecision {
    let milliseconds = settings
        .per_tool
        .get(&call.tool)
        .unwrap_or(&settings.milliseconds);
    next.run_within(milliseconds.get());
    AroundToolDecision::pass()
}

seamgate_sdk::policy! {
    settings: Settings,
    around_tool: around_tool,
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use seamgate_sdk::testing;

    use super::*;

    /// The deadlines of the calls of `next` for a call of this tool.
    fn deadlines(tool: &str, settings: &Settings) -> Vec<Option<u32>> {
        let deadlines = RefCell::new(Vec::new());
        let next = testing::next(|deadline| {
            deadlines.borrow_mut().push(deadline);
            testing::coded_outcome("TOOL_TIMEOUT")
        });
        let call = testing::tool_call(tool, Default::default());
        assert_eq!(
            around_tool(&call, &next, settings),
            AroundToolDecision::pass()
        );
        drop(next);
        deadlines.into_inner()
    }

    #[test]
    fn every_tool_has_its_deadline_and_runs_once() {
        let settings = testing::settings::<Settings>(&[
            ("milliseconds", "2000"),
            ("per-tool", r#"{"Bash":600000}"#),
        ])
        .unwrap();
        assert_eq!(deadlines("Read", &settings), [Some(2_000)]);
        assert_eq!(deadlines("Bash", &settings), [Some(600_000)]);
    }

    #[test]
    fn settings_that_do_not_fit_are_an_error() {
        let cases: [(&[(&str, &str)], &str); 5] = [
            (&[], "the setting `milliseconds` is missing"),
            (
                &[("milliseconds", "0")],
                "the setting `milliseconds`: invalid value: integer `0`, expected a nonzero u32",
            ),
            (
                &[("milliseconds", "-5")],
                "the setting `milliseconds`: invalid value: integer `-5`, expected a nonzero u32",
            ),
            (
                &[("milliseconds", "5"), ("per-tool", r#"{"Bash":0}"#)],
                "the setting `per-tool`: invalid value: integer `0`, expected a nonzero u32",
            ),
            (
                &[("milliseconds", "5"), ("seconds", "5")],
                "unknown setting `seconds`; there are: `milliseconds`, `per-tool`",
            ),
        ];
        for (entries, expected) in cases {
            let error = testing::settings::<Settings>(entries).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
