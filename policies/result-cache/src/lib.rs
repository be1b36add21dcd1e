//! Answers a call that was made before with the value that it gave then.

use std::string::FromUtf8Error;

use seamgate_sdk::state::{self, StateError};
use seamgate_sdk::{AroundToolDecision, Next, Substitute, ToolCall};
use serde_json::json;

/// How many bytes a call and its value may have together. What is larger is not kept: it has to fit into a decision again.
const MAX_BYTES: usize = 128 << 10;

/// Why it could not decide.
#[derive(Debug)]
pub enum CacheError {
    /// The state could not be read.
    State(StateError),
    /// What was kept is no text.
    Text(FromUtf8Error),
}

impl std::fmt::Display for CacheError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::State(error) => write!(formatter, "the kept values can't be read: {error}"),
            Self::Text(error) => write!(formatter, "a kept value is not text: {error}"),
        }
    }
}

/// What a value is kept under: who calls, which tool, and with which arguments. As a JSON list, so that no two calls have one
/// key, whatever is in their names.
///
/// All of the agent is in it: where it works, and how far it may go, can change what a tool gives.
fn key(call: &ToolCall) -> String {
    let agent = &call.agent;
    json!([
        agent.dialect,
        agent.session_id,
        agent.agent_id,
        agent.agent_type,
        agent.cwd,
        agent.permission_mode,
        call.tool,
        call.arguments,
    ])
    .to_string()
}

/// Gives the kept value of the same call, or runs the rest of the way and keeps what it gave.
///
/// # Errors
///
/// The state can't be read.
pub fn around_tool(call: &ToolCall, next: &Next) -> Result<AroundToolDecision, CacheError> {
    let key = key(call);
    if key.len() > MAX_BYTES {
        next.run();
        return Ok(AroundToolDecision::pass());
    }
    if let Some(kept) = state::get(&key).map_err(CacheError::State)? {
        return Ok(AroundToolDecision::Substitute(Substitute {
            result: Ok(String::from_utf8(kept).map_err(CacheError::Text)?),
            contexts: Vec::new(),
        }));
    }
    let outcome = next.run();
    if let Ok(value) = &outcome.result
        && key.len() + value.len() <= MAX_BYTES
    {
        // A full store keeps what it has. The call is none the worse for it.
        let _ = state::set(&key, value.as_bytes());
    }
    Ok(AroundToolDecision::pass())
}

seamgate_sdk::policy! {
    around_tool: around_tool,
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeSet;

    use seamgate_sdk::{Outcome, testing};

    use super::*;

    /// What it decides, and whether the rest of the way ran.
    fn decided(call: &ToolCall, outcome: &Outcome) -> (AroundToolDecision, bool) {
        let ran = Cell::new(false);
        let next = testing::next(|_| {
            assert!(!ran.replace(true), "it ran twice");
            outcome.clone()
        });
        let decision = around_tool(call, &next).unwrap();
        drop(next);
        (decision, ran.get())
    }

    fn kept(value: serde_json::Value) -> (AroundToolDecision, bool) {
        (AroundToolDecision::succeed(value), false)
    }

    fn ran() -> (AroundToolDecision, bool) {
        (AroundToolDecision::pass(), true)
    }

    #[test]
    fn the_second_of_two_equal_calls_gets_the_value_of_the_first() {
        testing::clear_state();
        let call = testing::tool_call("Read", json!({ "path": "a" }));
        assert_eq!(decided(&call, &testing::outcome(json!("one"))), ran());
        let again = ToolCall {
            call_id: "call-2".into(),
            root_call_id: "call-1".into(),
            ..call
        };
        assert_eq!(
            decided(&again, &testing::outcome(json!("two"))),
            kept(json!("one"))
        );
    }

    #[test]
    fn failures_are_not_kept() {
        testing::clear_state();
        let call = testing::tool_call("Read", json!({}));
        for failure in [
            testing::failed_outcome("no such file"),
            testing::coded_outcome("TOOL_TIMEOUT"),
        ] {
            assert_eq!(decided(&call, &failure), ran());
        }
        assert_eq!(decided(&call, &testing::outcome(json!(1))), ran());
        assert_eq!(decided(&call, &testing::outcome(json!(2))), kept(json!(1)));
    }

    #[test]
    fn calls_that_differ_in_anything_share_nothing() {
        let call = testing::tool_call("Read", json!({ "path": "a" }));
        let mut calls = vec![call.clone()];
        let mut with = |change: fn(&mut ToolCall)| {
            let mut other = call.clone();
            change(&mut other);
            calls.push(other);
        };
        with(|call| call.tool = "Grep".into());
        with(|call| call.arguments = json!({ "path": "b" }).to_string());
        with(|call| call.agent.session_id = "session-2".into());
        with(|call| call.agent.agent_id = Some("agent-1".into()));
        with(|call| call.agent.agent_id = Some("null".into()));
        with(|call| call.agent.cwd = Some("/elsewhere".into()));
        with(|call| call.agent.cwd = None);
        with(|call| call.agent.permission_mode = Some("plan".into()));
        // What two fields have together, one after another, is the same; quotes and commas move between them.
        with(|call| {
            call.tool = "Read\",\"{}".into();
            call.arguments = "\"x\"".into();
        });
        with(|call| {
            call.tool = "Read".into();
            call.arguments = "{}\",\"\"x\"".into();
        });
        let keys: BTreeSet<String> = calls.iter().map(key).collect();
        assert_eq!(keys.len(), calls.len());
    }

    #[test]
    fn a_store_that_is_full_harms_no_call() {
        testing::clear_state();
        testing::refuse_state("the state is full");
        let call = testing::tool_call("Read", json!({}));
        for _ in 0..2 {
            assert_eq!(decided(&call, &testing::outcome(json!("value"))), ran());
        }
    }

    #[test]
    fn what_is_too_large_runs_each_time() {
        testing::clear_state();
        let large = "x".repeat(MAX_BYTES);
        let call = testing::tool_call("Read", json!({}));
        let wordy = testing::tool_call("Read", json!({ "text": large }));
        for _ in 0..2 {
            assert_eq!(decided(&call, &testing::outcome(json!(large))), ran());
            assert_eq!(decided(&wordy, &testing::outcome(json!("value"))), ran());
        }
    }
}
