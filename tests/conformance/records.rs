//! The records of shell hooks.

use std::time::Duration;

use seamgate::audit::{HookEnd, HookPoint, HookRuns};
use serde_json::json;

use super::support::*;

fn at(matcher: Option<&str>) -> HookPoint<'_> {
    HookPoint {
        session: "session",
        agent: None,
        turn: 3,
        point: "PreToolUse",
        matcher,
    }
}

#[test]
fn b204_a_hook_that_starts_and_ends_is_a_pair_of_neighbours() {
    let (log, runs) = (Memory::default(), HookRuns::new("claude"));
    for _ in 0..2 {
        let run = runs.start(&log, at(Some("Bash"))).unwrap();
        run.ended(HookEnd {
            duration: Duration::from_micros(1_500),
            ..HookEnd::default()
        })
        .unwrap();
    }
    assert_eq!(
        log.types(),
        ["hook/invoked", "hook/result", "hook/invoked", "hook/result"]
    );
    let (invoked, result) = (log.of_type("hook/invoked"), log.of_type("hook/result"));
    assert_eq!(invoked[0]["turn"], 3);
    assert_eq!(
        invoked[0]["data"],
        json!({"point": "PreToolUse", "dialect": "claude", "handlerId": "claude:PreToolUse:0", "matcher": "Bash"})
    );
    assert_eq!(
        result[0]["data"],
        json!({"point": "PreToolUse", "handlerId": "claude:PreToolUse:0", "decision": "pass", "durationMs": 1.5})
    );
    assert_eq!(invoked[1]["data"]["handlerId"], "claude:PreToolUse:1");
}

#[test]
fn b205_what_matches_everything_is_no_matcher() {
    let (log, runs) = (Memory::default(), HookRuns::new("codex"));
    for matcher in [None, Some(""), Some("*")] {
        drop(runs.start(&log, at(matcher)).unwrap());
    }
    for invoked in log.of_type("hook/invoked") {
        assert!(invoked["data"].get("matcher").is_none(), "{invoked}");
    }
}

#[test]
fn b206_the_hooks_own_decision_is_recorded() {
    let (log, runs) = (Memory::default(), HookRuns::new("claude"));
    for (decision, stop) in [
        (Some("block"), false),
        (None, true),
        (Some("block"), true),
        (None, false),
    ] {
        let end = HookEnd {
            decision,
            stop,
            ..HookEnd::default()
        };
        runs.start(&log, at(None)).unwrap().ended(end).unwrap();
    }
    let said: Vec<_> = log
        .of_type("hook/result")
        .iter()
        .map(|result| result["data"]["decision"].clone())
        .collect();
    assert_eq!(said, ["block", "stop", "block", "pass"]);
}

#[test]
fn b207_a_long_error_stream_is_cut() {
    let (log, runs) = (Memory::default(), HookRuns::new("claude"));
    for stderr in ["ä".repeat(600), "ä".repeat(500), " \n\t ".to_owned()] {
        let end = HookEnd {
            stderr: &stderr,
            ..HookEnd::default()
        };
        runs.start(&log, at(None)).unwrap().ended(end).unwrap();
    }
    let results = log.of_type("hook/result");
    assert_eq!(results[0]["data"]["stderrSummary"], "ä".repeat(500) + "…");
    assert_eq!(results[1]["data"]["stderrSummary"], "ä".repeat(500));
    assert!(results[2]["data"].get("stderrSummary").is_none());
}

#[test]
fn b208_a_hook_that_could_not_run_has_no_exit_code() {
    let (log, runs) = (Memory::default(), HookRuns::new("claude"));
    for exit_code in [None, Some(2)] {
        let end = HookEnd {
            exit_code,
            ..HookEnd::default()
        };
        runs.start(&log, at(None)).unwrap().ended(end).unwrap();
    }
    let results = log.of_type("hook/result");
    assert!(results[0]["data"].get("exitCode").is_none());
    assert_eq!(results[1]["data"]["exitCode"], 2);
}

/// Turn, dialect and pairing are arguments and types that can't be left out, and a duration is never negative. What is left
/// to refuse is a nameless event, a sink that says no, and a run that nobody ends.
#[test]
fn b209_a_record_that_would_be_wrong_is_refused() {
    let (log, runs) = (Memory::default(), HookRuns::new("claude"));
    let nameless = HookPoint {
        point: "",
        ..at(None)
    };
    assert!(runs.start(&log, nameless).is_err());
    assert!(log.types().is_empty());
    *log.refuses.lock().unwrap() = Some("hook/invoked");
    assert!(runs.start(&log, at(None)).is_err());
    assert!(log.types().is_empty(), "no result without its beginning");
    *log.refuses.lock().unwrap() = None;
    drop(runs.start(&log, at(None)).unwrap());
    assert_eq!(log.types(), ["hook/invoked", "hook/result"]);
    assert_eq!(log.of_type("hook/result")[0]["data"]["decision"], "pass");
}
