//! `seamgate demo` and `seamgate replay`.

use std::fmt::Write as _;

use serde_json::Value;

use crate::Home;

/// What was decided about each event of a session, without what differs from run to run.
fn decisions(lines: &str) -> String {
    let mut table = String::new();
    for line in lines.lines() {
        let event: Value = serde_json::from_str(line).expect("each line is JSON");
        let seams: Vec<String> = event["seams"]
            .as_array()
            .expect("an event has seams")
            .iter()
            .map(|seam| {
                let word = seam["decision"]["decision"].as_str().unwrap_or("UNDECIDED");
                let by: Vec<&str> = seam["hooks"]
                    .as_array()
                    .expect("a seam has hooks")
                    .iter()
                    .filter(|hook| hook["decision"].as_str() == Some(word))
                    .filter_map(|hook| hook["hook"].as_str())
                    .collect();
                match word {
                    "ask" | "deny" | "block" | "context" | "UNDECIDED" => {
                        format!(
                            "{} {word} ({})",
                            seam["seam"].as_str().expect("a name"),
                            by.join(", ")
                        )
                    }
                    _ => format!("{} {word}", seam["seam"].as_str().expect("a name")),
                }
            })
            .collect();
        writeln!(
            table,
            "{} | {} | {}",
            event["event"].as_str().expect("a name"),
            event["subject"].as_str().expect("a subject"),
            seams.join(", ")
        )
        .expect("writing to a string does not fail");
    }
    table
}

#[test]
fn the_demo_decides_real_sessions() {
    let home = Home::new();
    let ran = home.run(&["demo", "--json"], "");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!("demo", decisions(&ran.stdout));
}

#[test]
fn the_demos_table_is_for_people() {
    let home = Home::new();
    let ran = home.run(&["demo"], "");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(
        !ran.stdout.contains('\u{1b}'),
        "no colours outside a terminal"
    );
    insta::with_settings!({ filters => vec![(r" +\d+ µs", " [TIME]")] }, {
        insta::assert_snapshot!("demo_table", ran.stdout);
    });
}

/// The recorded sessions, and the agent of each.
const SESSIONS: [(&str, &str); 3] = [
    (
        "claude",
        include_str!("../../../tests/fixtures/recorded/claude-code-2.1.332-session.jsonl"),
    ),
    (
        "claude",
        include_str!("../../../tests/fixtures/recorded/claude-code-2.1.332-risky.jsonl"),
    ),
    (
        "codex",
        include_str!("../../../tests/fixtures/recorded/codex-0.171.0-session.jsonl"),
    ),
];

#[test]
fn a_replay_tells_the_agent_from_its_events() {
    let home = Home::new();
    for (dialect, session) in SESSIONS {
        home.write("session.jsonl", session);
        let ran = home.run(&["replay", "session.jsonl", "--json"], "");
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        assert_eq!(ran.stdout.lines().count(), session.lines().count());
        let told = format!("\"dialect\":\"{dialect}\"");
        assert!(ran.stdout.lines().all(|line| line.contains(&told)));
    }
}

#[test]
fn a_replay_reports_lines_that_are_no_events() {
    let home = Home::new();
    let (_, session) = SESSIONS[2];
    home.write("session.jsonl", format!("{session}\nnot an event\n"));
    let ran = home.run(&["replay", "session.jsonl", "--json"], "");
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.stdout.lines().count(), session.lines().count());
    insta::assert_snapshot!(ran.stderr, @"error: session.jsonl:11: the event is not lossless JSON: unexpected character at byte 1");
}

#[test]
fn a_replay_of_a_missing_file_is_an_error() {
    let home = Home::new();
    let ran = home.run(&["replay", "nowhere.jsonl"], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    insta::assert_snapshot!(ran.stderr, @"
    error: cannot read the session nowhere.jsonl
      cause: No such file or directory (os error 2)
    ");
}

/// Policies that another compiler built from the same source have other bytes, and have to decide alike.
#[test]
fn policies_rebuilt_from_their_source_decide_as_those_that_ship() {
    let Ok(rebuilt) = std::env::var("SEAMGATE_REBUILT_POLICIES") else {
        // Plain `cargo test` does not rebuild them; `cargo xtask test` does.
        return;
    };
    let home = Home::new();
    let mut config = String::new();
    for name in [
        "destructive-shell",
        "git-branch-guard",
        "protected-paths",
        "secrets",
        "session-context",
    ] {
        writeln!(
            config,
            "[[policy]]\nname = {name:?}\ncomponent = \"{rebuilt}/{name}.wasm\""
        )
        .expect("writing to a string does not fail");
    }
    home.write("rebuilt.toml", config);
    for (_, session) in SESSIONS {
        home.write("session.jsonl", session);
        let shipped = home.run(&["replay", "session.jsonl", "--json"], "");
        let rebuilt = home.run(
            &[
                "replay",
                "session.jsonl",
                "--json",
                "--config",
                "rebuilt.toml",
            ],
            "",
        );
        assert_eq!(shipped.code, Some(0));
        assert_eq!(decisions(&shipped.stdout), decisions(&rebuilt.stdout));
    }
}
