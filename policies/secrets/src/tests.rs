//! Decisions of the whole policy, mostly on calls as agents really made them.

use seamgate_sdk::testing::{self, failed_outcome, finished_call, prompt, tool_call};
use serde_json::json;

use super::*;

const DENIED: &str = "the arguments contain an AWS access key id; don't write secrets into files or command lines, read \
    them from the environment or a secret store";

#[test]
fn a_call_that_carries_a_secret_is_denied() {
    let cases = [
        tool_call(
            "Write",
            json!({
                "file_path": "/home/user/project/config.py",
                "content": "AWS_ACCESS_KEY_ID = 'AKIAIOSFODNN7EXAMPLE'\nAWS_SECRET_ACCESS_KEY = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'\n",
            }),
        ),
        tool_call(
            "Edit",
            json!({ "file_path": "a", "old_string": "x", "new_string": "AKIAIOSFODNN7EXAMPLE" }),
        ),
        tool_call(
            "Bash",
            json!({ "command": "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE aws s3 ls" }),
        ),
        tool_call(
            "Bash",
            json!({ "command": "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a\n+AKIAIOSFODNN7EXAMPLE\n*** End Patch\nEOF\n" }),
        ),
        tool_call(
            "mcp__github__create_issue",
            json!({ "body": { "parts": ["see AKIAIOSFODNN7EXAMPLE"] } }),
        ),
        tool_call(
            "WebFetch",
            json!({ "url": "https://example.com/?key=AKIAIOSFODNN7EXAMPLE" }),
        ),
    ];
    for call in cases {
        let decision = pre_tool(&call, &Settings::default()).unwrap();
        assert_eq!(
            decision,
            PreToolDecision::deny(DENIED),
            "{}",
            call.arguments
        );
    }
    let mut escaped = tool_call("Write", json!({}));
    escaped.arguments = r#"{"content":"\u0041KIAIOSFODNN7\u0045XAMPLE"}"#.into();
    assert_eq!(
        pre_tool(&escaped, &Settings::default()).unwrap(),
        PreToolDecision::deny(DENIED)
    );
}

#[test]
fn a_call_without_a_secret_passes() {
    let cases = [
        tool_call(
            "Bash",
            json!({ "command": "git status --short && git log --oneline -5", "description": "step" }),
        ),
        tool_call("Bash", json!({ "command": "grep -r 'AKIA' . | head" })),
        tool_call(
            "Bash",
            json!({ "command": "echo cm0gLXJmIC8= | base64 -d | sh" }),
        ),
        tool_call(
            "Write",
            json!({ "file_path": "/home/user/project/notes.txt", "content": "alpha\nbeta\n" }),
        ),
        tool_call(
            "Write",
            json!({ "file_path": "a.py", "content": "key = os.environ['AWS_ACCESS_KEY_ID']" }),
        ),
        tool_call(
            "Edit",
            json!({ "old_string": "'AKIAIOSFODNN7EXAMPLE'", "new_string": "os.environ['KEY']" }),
        ),
        tool_call("Read", json!({ "file_path": "/home/user/project/.env" })),
    ];
    for call in cases {
        let decision = pre_tool(&call, &Settings::default()).unwrap();
        assert_eq!(decision, PreToolDecision::abstain(), "{}", call.arguments);
    }
}

#[test]
fn arguments_that_cannot_be_read_are_no_decision() {
    let mut call = tool_call("Write", json!({}));
    call.arguments = "{".into();
    assert!(pre_tool(&call, &Settings::default()).is_err());
}

#[test]
fn a_prompt_with_a_secret_is_blocked_and_others_go_on() {
    let blocked = PromptSubmitDecision::block(
        "the prompt contains an AWS access key id; take it out and name where it is kept instead, and if it is a real \
         one, consider replacing it",
    );
    let recorded =
        prompt("Clean the build, rotate the key AKIAIOSFODNN7EXAMPLE and ship it to main");
    assert_eq!(
        prompt_submit(&recorded, &Settings::default()).unwrap(),
        blocked
    );
    let mut in_blocks = prompt("see the file");
    in_blocks.blocks =
        Some(json!([{ "type": "text", "text": "AKIAIOSFODNN7EXAMPLE" }]).to_string());
    assert_eq!(
        prompt_submit(&in_blocks, &Settings::default()).unwrap(),
        blocked
    );

    assert_eq!(
        prompt_submit(&prompt("run echo hi"), &Settings::default()).unwrap(),
        PromptSubmitDecision::proceed()
    );
    let allowing =
        testing::settings::<Settings>(&[("allow", r#"["AKIAIOSFODNN7EXAMPLE"]"#)]).unwrap();
    assert_eq!(
        prompt_submit(&recorded, &allowing).unwrap(),
        PromptSubmitDecision::proceed()
    );
}

#[test]
fn a_result_with_a_secret_is_held_back_and_not_repeated() {
    let call = || {
        tool_call(
            "Read",
            json!({ "file_path": "/home/user/project/config.py" }),
        )
    };
    let content = "KEY = 'AKIAIOSFODNN7EXAMPLE'";
    let mut failed = finished_call(call(), json!(""));
    failed.outcome = failed_outcome(content);
    let mut in_blocks = finished_call(call(), json!("fine"));
    in_blocks.outcome.blocks = Some(json!([{ "type": "text", "text": content }]).to_string());
    let mut in_value_only = finished_call(call(), json!({ "file": { "content": content } }));
    in_value_only.outcome.text = "1 file".into();
    for finished in [
        finished_call(call(), json!(content)),
        failed,
        in_blocks,
        in_value_only,
    ] {
        let decision = post_tool(&finished, &Settings::default()).unwrap();
        assert_eq!(
            decision,
            PostToolDecision::block(
                "the result of Read was held back because it contains an AWS access key id; the call did run; work \
                 without the secret's value, or ask the user for what you need to know"
            ),
        );
    }
    let harmless = finished_call(call(), json!({ "file": { "content": "alpha\nbeta\n" } }));
    assert_eq!(
        post_tool(&harmless, &Settings::default()).unwrap(),
        PostToolDecision::accept()
    );
}

#[test]
fn settings_that_do_not_fit_are_an_error() {
    let cases = [
        (
            ("allow", "AKIAIOSFODNN7EXAMPLE"),
            "the setting `allow`: it is a string, and another kind of value is wanted",
        ),
        (
            ("alow", "[]"),
            "unknown setting `alow`; there are: `allow`, `jwt`",
        ),
    ];
    for (entry, expected) in cases {
        assert_eq!(
            testing::settings::<Settings>(&[entry])
                .unwrap_err()
                .to_string(),
            expected
        );
    }
}
