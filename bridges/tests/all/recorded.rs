//! Sessions of real agents: every line is an event, goes to the seams it should, and is denied by hooks that deny.

use std::path::Path;

use seamgate_bridges::Dialect;

use crate::{block_on, fixtures, hooks, read};

fn session(dialect: Dialect, file: &str) -> String {
    let denying = hooks::denying();
    let mut table = String::new();
    for (position, line) in read(&fixtures().join("recorded").join(Path::new(file)))
        .lines()
        .enumerate()
    {
        let event = dialect
            .read(line)
            .unwrap_or_else(|error| panic!("{file}:{}: {error}", position + 1));
        let handled = block_on(event.handle(&denying));
        assert_eq!(handled.answer.exit_code, 0);
        assert_eq!(handled.answer.stderr, "");
        let asked: Vec<String> = handled
            .seams
            .iter()
            .map(|report| match &report.decision {
                Ok(described) => format!("{} {}", report.seam, described.decision),
                Err(failure) => panic!("{failure}"),
            })
            .collect();
        table.push_str(&format!("{} | {}\n", event.name(), event.subject()));
        table.push_str(&format!("    {}\n", asked.join(", ")));
        if !handled.answer.stdout.is_empty() {
            table.push_str(&format!("    {}", handled.answer.stdout));
        }
    }
    table
}

#[test]
fn claude_code_at_work() {
    insta::assert_snapshot!(session(
        Dialect::Claude,
        "claude-code-2.1.332-session.jsonl"
    ));
}

#[test]
fn claude_code_at_risk() {
    insta::assert_snapshot!(session(Dialect::Claude, "claude-code-2.1.332-risky.jsonl"));
}

#[test]
fn codex_at_work() {
    insta::assert_snapshot!(session(Dialect::Codex, "codex-0.171.0-session.jsonl"));
}

#[test]
fn a_report_is_json() {
    let line = r#"{"session_id":"s","cwd":"/p","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{},"tool_use_id":"t"}"#;
    let event = Dialect::Claude.read(line).unwrap();
    let report = |runtime: &seamgate::Runtime| {
        let mut seams = block_on(event.handle(runtime)).seams;
        for seam in &mut seams {
            seam.elapsed = std::time::Duration::from_micros(7);
            for answer in &mut seam.answers {
                answer.elapsed = std::time::Duration::from_micros(3);
            }
        }
        serde_json::to_string(&seams).unwrap()
    };
    assert_eq!(
        report(&hooks::denying()),
        concat!(
            r#"[{"seam":"rewrite-input","decision":{"decision":"keep"},"hooks":[{"hook":"hook","decision":"keep","micros":3}],"micros":7},"#,
            r#"{"seam":"pre-tool","decision":{"decision":"deny","reason":"no"},"hooks":[{"hook":"hook","decision":"deny","reason":"no","micros":3}],"micros":7}]"#
        )
    );
    assert_eq!(
        report(&hooks::broken()),
        concat!(
            r#"[{"seam":"rewrite-input","failure":{"hook":"broken","code":"PANIC","message":"hook's own words"},"#,
            r#""hooks":[{"hook":"broken","failure":{"hook":"broken","code":"PANIC","message":"hook's own words"},"micros":3}],"micros":7}]"#
        )
    );
}
