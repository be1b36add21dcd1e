//! Payloads that are broken, or want to be misunderstood. Each is an error, and each error closes.

use seamgate_bridges::{Dialect, HookAnswer, MAX_DEPTH, PayloadError};

fn call(fields: &str) -> String {
    format!(
        r#"{{"session_id":"s","cwd":"/p","hook_event_name":"PreToolUse","turn_id":"t","tool_use_id":"t"{fields}}}"#
    )
}

#[test]
fn what_is_not_an_event_closes() {
    for dialect in Dialect::ALL {
        for payload in [
            String::new(),
            " \n".to_owned(),
            "null".to_owned(),
            "[]".to_owned(),
            "\"PreToolUse\"".to_owned(),
            "{".to_owned(),
            "{}".to_owned(),
            "\u{feff}{}".to_owned(),
            r#"{"hook_event_name":"PreToolUse"}"#.to_owned(),
            r#"{"hook_event_name":"PreToolUse"} {}"#.to_owned(),
            r#"{"hook_event_name":"pretooluse","session_id":"s","cwd":"/p"}"#.to_owned(),
            r#"{"hook_event_name":"BeforeTool","session_id":"s","cwd":"/p"}"#.to_owned(),
            r#"{"hook_event_name":["PreToolUse"]}"#.to_owned(),
            call(""),
            call(r#","tool_name":"Bash""#),
            call(r#","tool_input":{}"#),
            call(r#","tool_name":7,"tool_input":{}"#),
            // The same key twice, plainly and by an escape: one reader takes the first, another the last.
            call(r#","tool_name":"Bash","tool_input":{"command":"ls","command":"rm -rf /"}"#),
            call(r#","tool_name":"Bash","tool_input":{"command":"ls","\u0063ommand":"rm -rf /"}"#),
            call(r#","tool_name":"Bash","tool_name":"Read","tool_input":{}"#),
            // Half a surrogate pair, negative zero, a number that is not finite.
            call(r#","tool_name":"Bash","tool_input":{"command":"\ud800"}"#),
            call(r#","tool_name":"Bash","tool_input":{"timeout":-0}"#),
            call(r#","tool_name":"Bash","tool_input":{"timeout":1e999}"#),
            call(
                r#","tool_name":"Bash","tool_input":{"command":"a
b"}"#,
            ),
        ] {
            let error = match dialect.read(&payload) {
                Ok(event) => panic!("{payload} was read as {event:?}"),
                Err(error) => error,
            };
            let answer = dialect.could_not_read(&error);
            assert_eq!(
                (answer.stdout.as_str(), answer.exit_code),
                ("", 2),
                "{payload}"
            );
            assert!(answer.stderr.starts_with("seamgate: "), "{payload}");
        }
    }
}

#[test]
fn an_error_closes_the_gate_that_the_payload_names() {
    let read = |dialect: Dialect, event: &str| -> HookAnswer {
        let payload = format!(r#"{{"session_id":"s","cwd":7,"hook_event_name":"{event}"}}"#);
        dialect.could_not_read(&dialect.read(&payload).unwrap_err())
    };
    let request = read(Dialect::Claude, "PermissionRequest");
    assert!(request.stdout.contains(r#""behavior":"deny""#));
    assert_eq!(request.exit_code, 0);
    let compaction = read(Dialect::Codex, "PreCompact");
    assert!(compaction.stdout.starts_with(r#"{"continue":false,"#));
    assert_eq!(compaction.exit_code, 0);
    for (dialect, event, exit_code) in [
        (Dialect::Claude, "PreCompact", 2),
        (Dialect::Claude, "Stop", 2),
        (Dialect::Claude, "Notification", 0),
        (Dialect::Claude, "WorktreeCreate", 0),
        (Dialect::Codex, "PermissionRequest", 2),
        (Dialect::Codex, "UserPromptSubmit", 2),
        // Codex has no limit to how often a turn goes on.
        (Dialect::Codex, "Stop", 0),
        (Dialect::Codex, "Interrupt", 0),
    ] {
        let answer = read(dialect, event);
        assert_eq!(
            (answer.stdout.as_str(), answer.exit_code),
            ("", exit_code),
            "{event}"
        );
    }
}

#[test]
fn an_unknown_event_is_named() {
    let error = Dialect::Codex
        .read(r#"{"hook_event_name":"Notification","session_id":"s","cwd":"/p"}"#)
        .unwrap_err();
    assert!(matches!(&error, PayloadError::UnknownEvent { name, .. } if name == "Notification"));
    assert_eq!(error.to_string(), "Codex has no event `Notification`");
    assert_eq!(error.event_name(), Some("Notification"));
}

#[test]
fn depth_has_a_limit_and_size_has_none() {
    for dialect in Dialect::ALL {
        let nested = |levels: usize| {
            let deep = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
            dialect.read(&call(&format!(
                r#","tool_name":"x","tool_input":{{"a":{deep}}}"#
            )))
        };
        // The payload and the tool's input are two levels themselves.
        assert!(nested(MAX_DEPTH - 2).is_ok());
        for levels in [MAX_DEPTH - 1, 200, 1_000_000] {
            let error = nested(levels).unwrap_err();
            assert!(
                matches!(error, PayloadError::Depth | PayloadError::Json(_)),
                "{error}"
            );
            assert_eq!(dialect.could_not_read(&error).exit_code, 2);
        }
        let event = dialect
            .read(&call(&format!(
                r#","tool_name":"Write","tool_input":{{"content":"{}"}}"#,
                "x".repeat(10 << 20)
            )))
            .unwrap();
        assert!(event.subject().chars().count() <= seamgate_bridges::SUBJECT_CHARS);
    }
}

#[test]
fn an_error_can_not_write_to_the_terminal() {
    let payload = r#"{"session_id":"s","cwd":"/p","hook_event_name":"\u001b[2J\u202eX"}"#;
    let answer = Dialect::Claude.could_not_read(&Dialect::Claude.read(payload).unwrap_err());
    assert_eq!(
        answer.stderr,
        "seamgate: Claude Code has no event ` [2J X`\n"
    );
}
