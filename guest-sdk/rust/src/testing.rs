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
