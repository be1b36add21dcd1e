//! Whatever hooks say, the answer is one that the agent accepts: exactly one JSON object with the keys of its event, or
//! nothing; and what fails closes, without a word of the hook's.

use std::collections::BTreeMap;

use seamgate::Runtime;
use seamgate_bridges::{Dialect, Event, HookAnswer};
use serde_json::Value;

use crate::{block_on, files, fixtures, hooks, read, schema};

/// The keys that Claude Code 2.1.332 accepts from us at each event, top level and own part.
const CLAUDE_KEYS: [(&str, &[&str], &[&str]); 10] = [
    (
        "PreToolUse",
        &["hookSpecificOutput"],
        &[
            "permissionDecision",
            "permissionDecisionReason",
            "updatedInput",
            "additionalContext",
        ],
    ),
    (
        "PostToolUse",
        &["decision", "reason", "hookSpecificOutput"],
        &["additionalContext", "updatedToolOutput"],
    ),
    (
        "PostToolUseFailure",
        &["decision", "reason", "hookSpecificOutput"],
        &["additionalContext"],
    ),
    (
        "UserPromptSubmit",
        &["decision", "reason", "hookSpecificOutput"],
        &["additionalContext"],
    ),
    (
        "SessionStart",
        &["hookSpecificOutput"],
        &["additionalContext"],
    ),
    (
        "SubagentStart",
        &["hookSpecificOutput"],
        &["additionalContext"],
    ),
    ("Stop", &["decision", "reason"], &[]),
    ("SubagentStop", &["decision", "reason"], &[]),
    ("PermissionRequest", &["hookSpecificOutput"], &["decision"]),
    ("PreCompact", &["decision", "reason"], &[]),
];

fn events(dialect: Dialect) -> Vec<Event> {
    files(
        &fixtures().join("payloads").join(dialect.as_str()),
        ".input.json",
    )
    .iter()
    .map(|path| dialect.read(&read(path)).unwrap())
    .collect()
}

fn answers(events: &[Event], runtime: &Runtime) -> Vec<(String, HookAnswer)> {
    block_on(async {
        let mut answers = Vec::new();
        for event in events {
            answers.push((event.name().to_owned(), event.handle(runtime).await.answer));
        }
        answers
    })
}

/// The object on standard output, which is one line, or nothing.
fn object(answer: &HookAnswer) -> Option<Value> {
    if answer.stdout.is_empty() {
        return None;
    }
    let line = answer.stdout.strip_suffix('\n').unwrap();
    assert!(!line.contains('\n'));
    let value: Value = serde_json::from_str(line).unwrap();
    assert!(value.is_object());
    Some(value)
}

fn check_claude(event: &str, answer: &HookAnswer) {
    let Some(output) = object(answer) else { return };
    let (_, top, own) = CLAUDE_KEYS
        .iter()
        .find(|(name, ..)| *name == event)
        .unwrap_or_else(|| panic!("{event} is answered with {output}"));
    for (key, value) in output.as_object().unwrap() {
        assert!(top.contains(&key.as_str()), "{event}: {output}");
        if key == "hookSpecificOutput" {
            assert_eq!(value["hookEventName"], event);
            assert!(value.as_object().unwrap().len() > 1, "{event}: {output}");
            for key in value
                .as_object()
                .unwrap()
                .keys()
                .filter(|key| *key != "hookEventName")
            {
                assert!(own.contains(&key.as_str()), "{event}: {output}");
            }
            if let Some(context) = value.get("additionalContext") {
                assert!(context.as_str().unwrap().encode_utf16().count() <= 10_000);
            }
            if let Some(input) = value.get("updatedInput") {
                assert!(input.is_object());
            }
        }
    }
    if output.get("decision").is_some() {
        assert_eq!(output["decision"], "block");
        assert!(!output["reason"].as_str().unwrap().trim().is_empty());
    }
}

/// Beside the schema, what Codex throws an answer away for.
fn check_codex(schemas: &BTreeMap<String, Value>, event: &str, answer: &HookAnswer) {
    let Some(output) = object(answer) else { return };
    let schema = schemas
        .get(event)
        .unwrap_or_else(|| panic!("{event} is answered with {output}"));
    assert_eq!(schema::problem(schema, &output), None, "{event}: {output}");
    let own = &output["hookSpecificOutput"];
    match own["permissionDecision"].as_str() {
        Some("deny") => {
            assert!(
                !own["permissionDecisionReason"]
                    .as_str()
                    .unwrap()
                    .trim()
                    .is_empty()
            );
            assert!(own.get("updatedInput").is_none());
        }
        Some("allow") => assert!(!own["updatedInput"].is_null()),
        Some(other) => panic!("{other} is not supported"),
        None => assert!(own.get("updatedInput").is_none()),
    }
    if let Some(reason) = output.get("reason") {
        assert_eq!(output["decision"], "block");
        assert!(!reason.as_str().unwrap().trim().is_empty());
    }
    if let Some(context) = own.get("additionalContext") {
        assert!(!context.as_str().unwrap().trim().is_empty());
    }
}

/// The schema of each event that has one. `pre-tool-use.command.output` is for `PreToolUse`.
fn schemas() -> BTreeMap<String, Value> {
    files(&fixtures().join("codex-schemas"), ".output.schema.json")
        .iter()
        .map(|path| {
            let file = path.file_name().unwrap().to_str().unwrap();
            let event: String = file
                .split('.')
                .next()
                .unwrap()
                .split('-')
                .map(|word| format!("{}{}", word[..1].to_uppercase(), &word[1..]))
                .collect();
            (event, serde_json::from_str(&read(path)).unwrap())
        })
        .collect()
}

#[test]
fn every_decision_is_one_that_the_agent_accepts() {
    let (claude, codex, schemas) = (events(Dialect::Claude), events(Dialect::Codex), schemas());
    for said in hooks::everything() {
        let runtime = hooks::with(said);
        for (event, answer) in answers(&claude, &runtime) {
            assert_eq!(
                (answer.exit_code, answer.stderr.as_str()),
                (0, ""),
                "{event}"
            );
            check_claude(&event, &answer);
        }
        for (event, answer) in answers(&codex, &runtime) {
            assert_eq!(
                (answer.exit_code, answer.stderr.as_str()),
                (0, ""),
                "{event}"
            );
            check_codex(&schemas, &event, &answer);
        }
    }
}

#[test]
fn without_hooks_nothing_is_said() {
    for dialect in Dialect::ALL {
        for (event, answer) in answers(&events(dialect), &Runtime::new()) {
            assert_eq!(
                (
                    answer.stdout.as_str(),
                    answer.stderr.as_str(),
                    answer.exit_code
                ),
                ("", "", 0),
                "{event}"
            );
        }
    }
}

/// How each event of an agent ends where every hook is broken.
fn broken(dialect: Dialect, check: impl Fn(&str, &HookAnswer)) -> String {
    let events = events(dialect);
    let mut table = String::new();
    for (event, answer) in answers(&events, &hooks::broken()) {
        assert!(!answer.stdout.contains("own words") && !answer.stderr.contains("own words"));
        assert!(answer.stderr.starts_with("seamgate: ") && answer.stderr.ends_with('\n'));
        check(&event, &answer);
        table.push_str(&format!(
            "{event}: exit {} {}\n",
            answer.exit_code,
            answer.stdout.trim_end()
        ));
    }
    // The same for what breaks beside the hooks: a policy that does not load, a deadline.
    for event in &events {
        let answer = dialect.could_not_decide(Some(event), "a policy does not load");
        assert!(
            answer
                .stderr
                .starts_with("seamgate: a policy does not load\n"),
            "{}",
            event.name()
        );
        check(event.name(), &answer);
    }
    table
}

#[test]
fn broken_hooks_close_the_gates_of_claude_code() {
    insta::assert_snapshot!(broken(Dialect::Claude, check_claude));
}

#[test]
fn broken_hooks_close_the_gates_of_codex() {
    let schemas = schemas();
    insta::assert_snapshot!(broken(Dialect::Codex, |event, answer| check_codex(
        &schemas, event, answer
    )));
}
