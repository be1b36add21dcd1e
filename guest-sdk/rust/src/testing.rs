//! Events for tests of a policy's functions, which are plain Rust and run natively with `cargo test`.
//!
//! Each event is made by the same main agent ([`agent`]); change a field where a test is about it:
//!
//! ```
//! use seamgate_sdk::testing::tool_call;
//!
//! let mut call = tool_call("Bash", serde_json::json!({ "command": "ls" }));
//! call.agent.cwd = Some("/srv/shop".into());
//! ```

use serde::de::DeserializeOwned;
use serde_json::Value;

#[cfg(not(target_arch = "wasm32"))]
use crate::Next;
use crate::{
    Agent, CompactTrigger, Compaction, Event, FinishedCall, Outcome, Prompt, Session,
    SessionSource, SettingsError, Subagent, ToolCall, ToolError, Turn,
};

/// The main agent of a Claude Code session that works in `/home/user/project`.
pub fn agent() -> Agent {
    Agent {
        dialect: "claude".into(),
        session_id: "session-1".into(),
        agent_id: None,
        agent_type: None,
        cwd: Some("/home/user/project".into()),
        permission_mode: Some("default".into()),
    }
}

/// A call of this tool with these arguments.
pub fn tool_call(tool: &str, arguments: Value) -> ToolCall {
    ToolCall {
        call_id: "call-1".into(),
        root_call_id: "call-1".into(),
        tool: tool.into(),
        arguments: arguments.to_string(),
        agent: agent(),
    }
}

/// A failed outcome with this code.
pub fn coded_outcome(code: &str) -> Outcome {
    Outcome {
        result: Err(ToolError {
            message: format!("it failed with {code}"),
            code: Some(code.into()),
        }),
        text: format!("it failed with {code}"),
        blocks: None,
    }
}

/// A successful outcome with this value. The model reads a string as it is, and anything else as JSON.
pub fn outcome(value: Value) -> Outcome {
    Outcome {
        result: Ok(value.to_string()),
        text: match value {
            Value::String(text) => text,
            other => other.to_string(),
        },
        blocks: None,
    }
}

/// A failed outcome with this message, and no code.
pub fn failed_outcome(message: &str) -> Outcome {
    Outcome {
        result: Err(ToolError {
            message: message.into(),
            code: None,
        }),
        text: message.into(),
        blocks: None,
    }
}

/// A call that succeeded with this value.
pub fn finished_call(call: ToolCall, value: Value) -> FinishedCall {
    FinishedCall {
        call,
        outcome: outcome(value),
    }
}

/// The rest of a call's way, for a policy at `around-tool`: what the closure makes of each deadline, in milliseconds.
#[cfg(not(target_arch = "wasm32"))]
pub fn next<'a>(rest: impl Fn(Option<u32>) -> Outcome + 'a) -> Next<'a> {
    Next::closure(rest)
}

/// Empties the [state](crate::state) of this thread, which takes values again.
#[cfg(not(target_arch = "wasm32"))]
pub fn clear_state() {
    crate::state::store::clear();
}

/// Makes the [state](crate::state) of this thread refuse every value from here on, as one that is full does.
#[cfg(not(target_arch = "wasm32"))]
pub fn refuse_state(reason: &str) {
    crate::state::store::refuse(reason);
}

/// A prompt of one block of text.
pub fn prompt(text: &str) -> Prompt {
    Prompt {
        agent: agent(),
        text: text.into(),
        blocks: None,
    }
}

/// A new session.
pub fn session() -> Session {
    Session {
        agent: agent(),
        source: SessionSource::Startup,
    }
}

/// A turn that wants to end for the first time.
pub fn turn() -> Turn {
    Turn {
        agent: agent(),
        forced_continuations: 0,
        last_message: Some("Done.".into()),
    }
}

/// A general-purpose subagent that begins.
pub fn subagent() -> Subagent {
    Subagent {
        agent: Agent {
            agent_id: Some("agent-1".into()),
            agent_type: Some("general-purpose".into()),
            ..agent()
        },
    }
}

/// A compaction that the user asked for, without instructions.
pub fn compaction() -> Compaction {
    Compaction {
        agent: agent(),
        trigger: CompactTrigger::Manual,
        instructions: None,
    }
}

/// An event without a seam of its own.
pub fn event(name: &str, payload: Value) -> Event {
    Event {
        agent: agent(),
        name: name.into(),
        payload: payload.to_string(),
    }
}

/// The settings that a policy gets for these keys and texts. A string arrives as it is, anything else as JSON text; see
/// [`settings`](crate::settings).
///
/// # Errors
///
/// As in a policy: the texts don't fit the type.
pub fn settings<T: DeserializeOwned>(entries: &[(&str, &str)]) -> Result<T, SettingsError> {
    let owned: Vec<(String, String)> = entries
        .iter()
        .map(|&(key, text)| (key.into(), text.into()))
        .collect();
    crate::settings::from_entries(&owned)
}
