//! What the tests of this crate share: an event with some fields, through some hooks, to its answer.

use seamgate::Runtime;
use serde_json::{Value, json};

use crate::answer::HookAnswer;
use crate::dialect::Dialect;
use crate::event::Event;

/// A payload with the fields that every event has, and these.
pub(crate) fn payload(event: &str, fields: Value) -> String {
    let mut payload = json!({
        "session_id": "session",
        "transcript_path": "/transcript",
        "cwd": "/project",
        "hook_event_name": event,
    });
    if let (Value::Object(payload), Value::Object(fields)) = (&mut payload, fields) {
        payload.extend(fields);
    }
    payload.to_string()
}

pub(crate) fn event(dialect: Dialect, name: &str, fields: Value) -> Event {
    dialect.read(&payload(name, fields)).unwrap()
}

/// The fields of a shell command that is about to run.
pub(crate) fn shell_call() -> Value {
    json!({
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "tool_use_id": "call",
        "turn_id": "turn",
    })
}

/// The answer to an event where these hooks are asked.
pub(crate) fn answer(event: &Event, add_hooks: impl FnOnce(&mut Runtime)) -> HookAnswer {
    let mut runtime = Runtime::new();
    add_hooks(&mut runtime);
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(event.handle(&runtime))
        .answer
}

/// An answer that says this, or nothing.
pub(crate) fn says(stdout: &str) -> HookAnswer {
    HookAnswer {
        stdout: if stdout.is_empty() {
            String::new()
        } else {
            format!("{stdout}\n")
        },
        stderr: String::new(),
        exit_code: 0,
    }
}

/// What a failing hook closes a gate with. The hook is called `broken`, and panics.
pub(crate) const BROKEN: &str = "seamgate: hook `broken` could not decide (PANIC). So this is refused, which says \
     nothing about the request itself. Tell the user, who can see all that the hook said with `seamgate replay`\n";

/// An answer that closes by exit code.
pub(crate) fn closes(stderr: &str) -> HookAnswer {
    HookAnswer {
        stdout: String::new(),
        stderr: stderr.to_owned(),
        exit_code: 2,
    }
}
