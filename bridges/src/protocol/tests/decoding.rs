//! Reading what hooks say.

use proptest::prelude::*;

use super::super::*;
use super::*;

fn exited(code: i32, stdout: &str, stderr: &str) -> HookOutput {
    decode(
        &ended(HookEnd::Exited(code), stdout, stderr),
        &Decoding::of("PreToolUse"),
    )
}

fn said(stdout: &str) -> HookOutput {
    exited(0, stdout, "")
}

#[test]
fn b179_nothing_is_neutral() {
    let output = said("");
    assert_neutral(&output);
    assert_eq!(output.problem, None);
    assert_eq!(output.stdout_kind, StdoutKind::Nothing);
    assert_eq!(output.exit_code, Some(0));
}

#[test]
fn b180_exit_code_2_blocks_with_what_is_on_standard_error() {
    let output = exited(2, "", " no \n\n");
    assert_eq!(output.decision, Some(HookDecision::Block));
    assert_eq!(output.reason.as_deref(), Some("no"));

    let output = exited(2, "", " \n");
    assert_eq!(output.decision, Some(HookDecision::Block));
    assert_eq!(output.reason, None);
    assert_eq!(output.problem, None);
}

#[test]
fn a_dialect_may_take_a_block_without_reason_for_a_failure() {
    let mut decoding = Decoding::of("PreToolUse");
    decoding.silent_block = false;
    let output = decode(&ended(HookEnd::Exited(2), "", "\n"), &decoding);
    assert_neutral(&output);
    assert_eq!(output.problem, Some(HookProblem::BlockWithoutReason));
    let output = decode(&ended(HookEnd::Exited(2), "", "no"), &decoding);
    assert_eq!(output.decision, Some(HookDecision::Block));
}

#[test]
fn b181_with_exit_code_2_standard_output_does_not_count() {
    let output = exited(
        2,
        r#"{"decision":"approve","reason":"fine","systemMessage":"m","continue":false}"#,
        "no",
    );
    assert_eq!(output.decision, Some(HookDecision::Block));
    assert_eq!(output.reason.as_deref(), Some("no"));
    assert_eq!(output.continues, None);
    assert_eq!(output.system_message, None);
}

#[test]
fn b182_with_another_exit_code_nothing_is_decided() {
    for code in [1, 3, 126, 127, 255] {
        let output = exited(code, r#"{"decision":"block"}"#, "text");
        assert_neutral(&output);
        assert_eq!(output.problem, Some(HookProblem::ExitCode(code)));
        assert_eq!(output.stderr, "text");
    }
}

#[test]
fn b183_the_top_level_decision_is_approve_or_block() {
    for (word, decision) in [
        ("approve", Some(HookDecision::Approve)),
        ("block", Some(HookDecision::Block)),
        ("deny", None),
        ("allow", None),
        ("ask", None),
        ("maybe", None),
        ("Block", None),
    ] {
        let output = said(&format!(r#"{{"decision":"{word}"}}"#));
        assert_eq!(output.decision, decision, "{word}");
        assert_eq!(output.ignored.is_empty(), decision.is_some());
    }
}

#[test]
fn b184_a_permission_decision_overrides_the_top_level_one() {
    for (word, decision) in [
        ("allow", HookDecision::Allow),
        ("deny", HookDecision::Deny),
        ("ask", HookDecision::Ask),
    ] {
        let output = said(&format!(
            r#"{{"decision":"block","reason":"top","hookSpecificOutput":{{"hookEventName":"PreToolUse",
                "permissionDecision":"{word}","permissionDecisionReason":"why"}}}}"#
        ));
        assert_eq!(output.decision, Some(decision));
        assert_eq!(output.reason.as_deref(), Some("why"));
    }
    // A reason overrides without a decision, and a decision without a reason.
    let output = said(
        r#"{"decision":"block","reason":"top","hookSpecificOutput":{"hookEventName":"PreToolUse",
            "permissionDecisionReason":"why"}}"#,
    );
    assert_eq!(output.decision, Some(HookDecision::Block));
    assert_eq!(output.reason.as_deref(), Some("why"));
    let output = said(
        r#"{"reason":"top","hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask"}}"#,
    );
    assert_eq!(output.decision, Some(HookDecision::Ask));
    assert_eq!(output.reason.as_deref(), Some("top"));
}

const FOR_ANOTHER: &str = r#""hookSpecificOutput":{"hookEventName":"Stop","permissionDecision":"deny",
    "permissionDecisionReason":"r","additionalContext":"c","updatedInput":{"a":1}}"#;

#[test]
fn b185_what_is_for_another_event_does_not_count() {
    let output = said(&format!("{{{FOR_ANOTHER}}}"));
    assert_eq!(output.event_name.as_deref(), Some("Stop"));
    assert_eq!(output.decision, None);
    assert_eq!(output.reason, None);
    assert_eq!(output.additional_context, None);
    assert!(output.updated_input.is_none() && output.specific.is_empty());
}

#[test]
fn b186_what_names_no_event_counts_only_where_none_is_expected() {
    let text = r#"{"hookSpecificOutput":{"permissionDecision":"deny","additionalContext":"c"}}"#;
    assert_eq!(said(text).decision, None);
    let decoding = Decoding {
        event: None,
        ..Decoding::of("")
    };
    let output = decode(&ended(HookEnd::Exited(0), text, ""), &decoding);
    assert_eq!(output.decision, Some(HookDecision::Deny));
    assert_eq!(output.additional_context.as_deref(), Some("c"));
}

#[test]
fn b187_the_top_level_counts_whatever_event_the_rest_is_for() {
    let output = said(&format!(
        r#"{{"decision":"block","reason":"top","continue":false,{FOR_ANOTHER}}}"#
    ));
    assert_eq!(output.decision, Some(HookDecision::Block));
    assert_eq!(output.reason.as_deref(), Some("top"));
    assert_eq!(output.continues, Some(false));
}

#[test]
fn b188_broken_json_has_no_fields() {
    for text in [
        "{",
        r#"{"decision":"block""#,
        r#"{"decision":"block"} {}"#,
        r#"{"decision":"block",}"#,
        r#"{'decision':'block'}"#,
        "{\"decision\":\"block\",\"reason\":\"\u{1b}[0m\"}",
        "{draft} sprint goal",
    ] {
        let output = said(text);
        assert_neutral(&output);
        assert_eq!(output.stdout, text);
        assert_eq!(output.stdout_kind, StdoutKind::BrokenJson, "{text}");
        assert!(matches!(output.problem, Some(HookProblem::BrokenJson(_))));
    }
}

#[test]
fn b189_what_does_not_begin_with_a_brace_is_text() {
    for text in [
        "[1]",
        "plain",
        "\"{}\"",
        "42",
        "hello\n{\"decision\":\"block\"}",
    ] {
        let output = said(text);
        assert_neutral(&output);
        assert_eq!(output.stdout, text);
        assert_eq!(output.stdout_kind, StdoutKind::Text);
        assert_eq!(output.problem, None);
    }
}

#[test]
fn b190_blanks_around_the_json_are_taken_away() {
    let json = "{\n  \"decision\": \"block\"\n}";
    for blank in ["\n\n", " \t\r\n", "\u{feff}", "\u{a0}\u{2028}\u{3000}"] {
        let output = said(&format!("{blank}{json}{blank}"));
        assert_eq!(output.decision, Some(HookDecision::Block), "{blank:?}");
        assert_eq!(output.stdout, json);
    }
    // Rust takes this for a blank, and JavaScript does not.
    assert_eq!(said(&format!("\u{85}{json}")).stdout_kind, StdoutKind::Text);
}

#[test]
fn b191_a_field_of_a_wrong_type_is_ignored_alone() {
    let output = said(
        r#"{"continue":"no","stopReason":1,"systemMessage":null,"suppressOutput":"true","reason":["r"],
            "decision":"block","hookSpecificOutput":{"hookEventName":"PreToolUse",
            "permissionDecision":true,"additionalContext":"c"}}"#,
    );
    assert_eq!(output.continues, None);
    assert_eq!(output.stop_reason, None);
    assert_eq!(output.reason, None);
    assert_eq!(output.decision, Some(HookDecision::Block));
    assert_eq!(output.additional_context.as_deref(), Some("c"));
    assert_eq!(
        output.ignored,
        [
            "continue",
            "stopReason",
            "suppressOutput",
            "reason",
            "permissionDecision"
        ]
    );
    let output = said(r#"{"hookSpecificOutput":[],"continue":false}"#);
    assert_eq!(output.continues, Some(false));
    assert_eq!(output.ignored, ["hookSpecificOutput"]);
}

fn with_input(input: &str) -> HookOutput {
    said(&format!(
        r#"{{"hookSpecificOutput":{{"hookEventName":"PreToolUse","updatedInput":{input}}}}}"#
    ))
}

#[test]
fn b192_an_updated_input_is_an_object() {
    for no_object in ["[1]", "\"x\"", "null", "1"] {
        assert!(with_input(no_object).updated_input.is_none());
    }
    let input = with_input(r#"{"command":"ls"}"#).updated_input;
    assert_eq!(input.unwrap().unwrap().text(), r#"{"command":"ls"}"#);
    // Two readers could take it for different things.
    let input = with_input(r#"{"command":"ls","command":"rm"}"#).updated_input;
    assert!(input.unwrap().is_err());
}

#[test]
fn text_is_context_where_the_dialect_says_so() {
    let decoding = |change: fn(&mut Decoding)| {
        let mut decoding = Decoding::of("SessionStart");
        decoding.text_is_context = true;
        change(&mut decoding);
        decoding
    };
    let usual = decoding(|_| {});
    let brace = decoding(|decoding| decoding.open_brace_is_text = true);
    let bracket = decoding(|decoding| decoding.bracket_is_text = false);
    for (decoding, code, text, expected) in [
        (&usual, 0, " text\n", Some("text")),
        (&usual, 0, " \n", None),
        (&usual, 0, "{draft} goal", None),
        (&usual, 0, "[draft] goal", Some("[draft] goal")),
        (&usual, 0, "{}", None),
        (&usual, 1, "text", None),
        (&usual, 2, "text", None),
        (&brace, 0, "{draft} goal", Some("{draft} goal")),
        (&brace, 0, "{draft}", None),
        (&bracket, 0, "[draft] goal", None),
    ] {
        let output = decode(&ended(HookEnd::Exited(code), text, ""), decoding);
        assert_eq!(output.additional_context.as_deref(), expected, "{text:?}");
    }
    let output = decode(&ended(HookEnd::Exited(0), "[1]", ""), &bracket);
    assert_eq!(output.stdout_kind, StdoutKind::BrokenJson);
}

/// A hook that prints its own input has not decided, and wants nothing rewritten.
#[test]
fn an_event_that_is_echoed_says_nothing() {
    let event = r#"{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash",
        "tool_input":{"command":"ls"}}"#;
    let output = said(event);
    assert_eq!(output.decision, None);
    assert!(output.updated_input.is_none());
    assert!(output.fields.contains_key("tool_input"));
    assert_eq!(output.problem, None);
}

#[test]
fn depth_costs_no_stack_and_hides_no_decision() {
    let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let output = said(&format!(
        r#"{{"x":{deep},"hookSpecificOutput":{{"hookEventName":"PreToolUse","y":{deep},
            "updatedInput":{{"a":{deep}}},"permissionDecision":"deny"}}}}"#
    ));
    assert_eq!(output.decision, Some(HookDecision::Deny));
    assert!(output.updated_input.unwrap().is_err());
}

#[test]
fn odd_strings_and_twice_the_same_name_are_read_as_javascript_reads_them() {
    let output =
        said(r#"{"\ud800":1,"reason":"a\udfffb","decision":"approve","\u0064ecision":"block"}"#);
    assert_eq!(output.decision, Some(HookDecision::Block));
    let reason = output.reason.unwrap();
    assert!(reason.starts_with("a\u{fffd}") && reason.ends_with("\u{fffd}b"));
}

proptest! {
    #[test]
    fn whatever_a_hook_prints_it_is_read(
        code in proptest::option::of(-1..4),
        stdout in "(\\PC|\\{|\\}|\"|:|,|decision|block|hookSpecificOutput|\\\\|\\[){0,40}",
        stderr in "\\PC{0,10}",
    ) {
        let end = code.map_or(HookEnd::TimedOut, HookEnd::Exited);
        let output = decode(&ended(end, &stdout, &stderr), &Decoding::of("PreToolUse"));
        prop_assert_eq!(output.exit_code, code);
        if code == Some(2) {
            prop_assert_eq!(output.decision, Some(HookDecision::Block));
        } else if code != Some(0) {
            prop_assert_eq!(output.decision, None);
        }
    }
}
