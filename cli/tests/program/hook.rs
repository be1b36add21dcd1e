//! `seamgate hook` with the standard policies.

use std::fs;

use seamgate_tests::{PRELUDE, component};

use crate::{Home, Ran, pre_tool_use};

#[test]
fn the_first_run_compiles_and_says_nothing_but_its_decision() {
    let home = Home::new();
    for event in [pre_tool_use("rm -rf ~/"), pre_tool_use("rm -rf ~/")] {
        let ran = home.run(&["hook", "claude"], &event);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        let answer: serde_json::Value = serde_json::from_str(&ran.stdout).expect("one JSON value");
        assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny");
        assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "PreToolUse");
    }
    let kept = fs::read_dir(home.path().join(".cache/seamgate/compiled"))
        .expect("compiled code is kept")
        .count();
    assert_eq!(
        kept, 10,
        "compiled code for each standard policy, and what each exports"
    );
}

#[test]
fn a_policy_that_may_not_be_loaded_closes_events_that_it_is_not_asked_about_too() {
    let home = Home::new();
    let module = format!(
        r#"(module {PRELUDE}
            (func (export "seamgate:policy/trusted-pre-tool@0.1.0#decide") (param i32) (result i32) (i32.const 64)))"#
    );
    home.policy(component(&module, "only-trusted-pre-tool"));
    let trusted = "[[policy]]\nname = \"guest\"\ncomponent = \"policy.wasm\"\ntier = \"trusted\"\n";
    home.write("trusted.toml", trusted);
    let prompt = r#"{"session_id":"s","transcript_path":"/t","cwd":"/p","hook_event_name":"UserPromptSubmit","prompt":"hi"}"#;
    // Once with nothing at hand, and once with what it exports being known.
    for _ in 0..2 {
        let trusted = home.run(&["hook", "claude", "--config", "trusted.toml"], prompt);
        assert_eq!((trusted.code, trusted.stderr.as_str()), (Some(0), ""));
        let untrusted = home.run(&["hook", "claude", "--config", "seamgate.toml"], prompt);
        assert_eq!(untrusted.code, Some(2));
        assert!(
            untrusted.stderr.contains("which only a trusted policy may"),
            "{}",
            untrusted.stderr
        );
    }
}

#[test]
fn abstaining_prints_nothing() {
    let home = Home::new();
    for dialect in ["claude", "codex"] {
        assert_eq!(
            home.run(&["hook", dialect], &pre_tool_use("git status --short")),
            Ran {
                code: Some(0),
                stdout: String::new(),
                stderr: String::new()
            }
        );
    }
}

#[test]
fn codex_gets_its_own_form_of_a_denial() {
    let home = Home::new();
    let ran = home.run(
        &["hook", "codex"],
        &pre_tool_use("git push --force origin main"),
    );
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).expect("one JSON value");
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny");
}

#[test]
fn an_event_that_is_no_gate_is_let_pass_in_silence() {
    let home = Home::new();
    let event = r#"{"session_id":"s","transcript_path":"/t","cwd":"/home/user/project","hook_event_name":"Notification","message":"hi","notification_type":"idle_prompt"}"#;
    assert_eq!(
        home.run(&["hook", "claude"], event),
        Ran {
            code: Some(0),
            stdout: String::new(),
            stderr: String::new()
        }
    );
}

#[test]
fn a_configuration_chooses_the_policies_and_their_settings() {
    let home = Home::new();
    home.write(
        ".config/seamgate/seamgate.toml",
        "[[policy]]\nname = \"git-branch-guard\"\n[policy.settings]\nprotected-branches = [\"trunk\"]\n",
    );
    let decision = |command: &str| {
        let ran = home.run(&["hook", "claude"], &pre_tool_use(command));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stdout.contains("\"deny\"")
    };
    assert!(decision("git push origin HEAD:trunk"));
    assert!(!decision("git push origin HEAD:main"));
    assert!(!decision("rm -rf ~/"));
}

#[test]
fn settings_that_a_policy_does_not_know_close_the_gate() {
    let home = Home::new();
    home.write(
        ".config/seamgate/seamgate.toml",
        "[[policy]]\nname = \"git-branch-guard\"\n[policy.settings]\nprotected-branchs = [\"trunk\"]\n",
    );
    let ran = home.run(&["hook", "claude"], &pre_tool_use("git push origin trunk"));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
}

#[test]
fn many_hooks_at_once_with_an_empty_cache_all_decide() {
    let home = Home::new();
    let runs: Vec<Ran> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| home.run(&["hook", "claude"], &pre_tool_use("rm -rf ~/"))))
            .collect();
        runs.into_iter()
            .map(|run| run.join().expect("it ends"))
            .collect()
    });
    for ran in runs {
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        assert!(ran.stdout.contains("\"deny\""));
    }
}
