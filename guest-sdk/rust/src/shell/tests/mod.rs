//! What a line's commands are.

mod limits;
mod listing;
mod relations;
mod unknown;

use super::parse;

/// Every command of a line as text.
fn listed(line: &str) -> Vec<String> {
    let script = parse(line);
    assert_eq!(script.incomplete, None, "{line}");
    script.commands.iter().map(ToString::to_string).collect()
}

/// Each line with its commands.
fn check(cases: &[(&str, &[&str])]) {
    for (line, expected) in cases {
        assert_eq!(listed(line), *expected, "{line}");
    }
}
