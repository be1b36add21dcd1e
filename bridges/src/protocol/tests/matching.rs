//! Matchers.

use std::time::Instant;

use proptest::prelude::*;

use super::super::*;
use super::FOREVER;

const CLAUDE: MatcherRules = MatcherRules {
    dialect: "claude",
    names: Names::Bar,
    engine: Engine::EcmaScript,
};

const CODEX: MatcherRules = MatcherRules {
    dialect: "codex",
    names: Names::None,
    engine: Engine::Rust,
};

const ALL: [Matching; 3] = [Matching::No, Matching::Yes, Matching::Unknown];

fn matches(matcher: Option<&str>, subject: &str, rules: &MatcherRules) -> bool {
    Matcher::load(matcher, rules).unwrap().matches(subject) == Matching::Yes
}

#[test]
fn b199_without_a_matcher_everything_matches() {
    for rules in [CLAUDE, CODEX] {
        for matcher in [None, Some(""), Some("*")] {
            for subject in ["Bash", "", "mcp__a__b"] {
                assert!(matches(matcher, subject, &rules));
            }
        }
    }
}

#[test]
fn b200_a_list_of_names_is_exact() {
    for (matcher, subject, expected) in [
        ("Bash", "Bash", true),
        ("Bash", "BashOutput", false),
        ("Bash", "bash", false),
        ("Edit|Write", "Write", true),
        ("Edit|Write", "MultiEdit", false),
        ("Edit|", "", true),
        ("Edit|", "Bash", false),
        ("mcp__memory", "mcp__memory__create", false),
    ] {
        assert_eq!(matches(Some(matcher), subject, &CLAUDE), expected);
    }
}

#[test]
fn a_dialect_may_have_hyphens_and_commas_in_its_names() {
    let rules = MatcherRules {
        names: Names::BarAndComma,
        ..CLAUDE
    };
    for (matcher, subject, expected) in [
        ("Edit, Write", "Write", true),
        ("Edit , Write|Bash", "Bash", true),
        ("code-reviewer", "code-reviewer", true),
        ("code-reviewer", "senior-code-reviewer", false),
    ] {
        assert_eq!(matches(Some(matcher), subject, &rules), expected);
    }
    // Without them it is an expression.
    assert!(matches(
        Some("code-reviewer"),
        "senior-code-reviewer",
        &CLAUDE
    ));
    assert!(!matches(Some("Edit,Write"), "Write", &CLAUDE));
}

#[test]
fn b201_anything_else_is_an_expression_that_is_searched_for() {
    for (matcher, subject, expected) in [
        ("Bash.*", "BashOutput", true),
        ("Bash.*", "MyBash", true),
        ("^Bash$", "Bash", true),
        ("^Bash$", "BashOutput", false),
        ("^(Edit|Write)$", "Write", true),
        ("mcp__.*__write.*", "mcp__files__write_file", true),
        // What only ECMAScript has.
        ("^(?!Bash$)", "Read", true),
        ("^(?!Bash$)", "Bash", false),
        ("(?<=mcp__)files", "mcp__files", true),
        (r"^(a|b)\1$", "aa", true),
        (r"^(a|b)\1$", "ab", false),
        (r"^\d$", "\u{664}", false),
    ] {
        assert_eq!(
            matches(Some(matcher), subject, &CLAUDE),
            expected,
            "{matcher} {subject}"
        );
    }
}

#[test]
fn b202_where_every_matcher_is_an_expression_names_are_too() {
    assert!(matches(Some("Bash"), "BashOutput", &CODEX));
    let newer = MatcherRules {
        names: Names::Bar,
        ..CODEX
    };
    assert!(!matches(Some("Bash"), "BashOutput", &newer));
    assert!(matches(Some("(?i)bash"), "BashOutput", &newer));
}

#[test]
fn b203_an_invalid_expression_matches_nothing_and_says_whose_it_is() {
    for rules in [CLAUDE, CODEX] {
        for pattern in ["(", "[", "**", "(\"\n"] {
            let error = Matcher::load(Some(pattern), &rules).unwrap_err();
            let quoted = serde_json::Value::from(pattern).to_string();
            let expected = format!("invalid {} regex matcher {quoted}", rules.dialect);
            assert!(error.to_string().starts_with(&expected), "{error}");
            let error = error.on_event("PreToolUse").to_string();
            let expected = format!("{expected} on event \"PreToolUse\": ");
            assert!(error.starts_with(&expected), "{error}");

            let (matcher, error) = Matcher::load_or_nothing(Some(pattern), &rules);
            assert!(error.is_some());
            for subject in ["", "(", "Bash"] {
                assert_eq!(matcher.matches(subject), Matching::No);
            }
        }
    }
    for (pattern, rules) in [("(?i)bash", &CLAUDE), ("(?!x)", &CODEX)] {
        assert!(Matcher::load(Some(pattern), rules).is_err());
    }
    assert!(Matcher::load(Some(&"(x)".repeat(10_000)), &CLAUDE).is_err());
}

#[test]
fn an_expression_that_takes_forever_is_given_up() {
    let subject = format!("{}!", "a".repeat(60));
    for pattern in ["^(a+)+$", "^(a|aa)*$", "(a*)*b", "(.*)*(.*)*(.*)*b$"] {
        let matcher = Matcher::load(Some(pattern), &CLAUDE).unwrap();
        let start = Instant::now();
        for _ in 0..100 {
            let matching = matcher.matches(&subject);
            assert!(matching != Matching::Yes, "{pattern}");
        }
        assert!(start.elapsed() < FOREVER / 2, "{pattern}");
    }
    let matcher = Matcher::load(Some("^(a+)+$"), &CLAUDE).unwrap();
    assert_eq!(matcher.matches("aaa"), Matching::Yes);
    assert_eq!(matcher.matches("aab"), Matching::No);
    assert_eq!(matcher.matches(&"a".repeat(5_000)), Matching::Unknown);

    let matcher = Matcher::load(Some("^(a+)+$"), &CODEX).unwrap();
    assert_eq!(matcher.matches(&subject), Matching::No);
}

#[test]
fn a_thing_of_several_names_is_matched_by_any() {
    let matcher = Matcher::load(Some("Write|Edit"), &CODEX).unwrap();
    assert_eq!(matcher.matches_any(["apply_patch", "Edit"]), Matching::Yes);
    assert_eq!(matcher.matches_any(["apply_patch"]), Matching::No);
    assert_eq!(matcher.matches_any([]), Matching::No);
}

proptest! {
    #[test]
    fn whatever_the_pattern_it_is_read_and_matched(
        pattern in "([()\\[\\]{}|?*+.^$\\\\,:=!<>a-f0-9-]|\\PC){0,12}",
        subject in "[a-f0-9_]{0,12}",
    ) {
        for rules in [CLAUDE, CODEX] {
            if let Ok(matcher) = Matcher::load(Some(&pattern), &rules) {
                prop_assert!(ALL.contains(&matcher.matches(&subject)));
            }
        }
    }
}
