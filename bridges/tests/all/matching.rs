//! Matchers, against what the client itself did with them.

use std::collections::BTreeMap;

use seamgate_bridges::protocol::{Engine, Matcher, MatcherRules, Matching, Names};
use serde::Deserialize;

use crate::{fixtures, read};

#[derive(Deserialize)]
struct Measured {
    client: String,
    tool: String,
    matchers: BTreeMap<String, bool>,
}

#[test]
fn a_matcher_fits_what_it_fits_in_the_client() {
    let text = read(&fixtures().join("matching/matchers.json"));
    let measured: Measured = serde_json::from_str(&text).unwrap();
    let rules = MatcherRules {
        dialect: "claude",
        names: Names::BarAndComma,
        engine: Engine::EcmaScript,
    };
    let fits = |matcher: &str| {
        let (matcher, _) = Matcher::load_or_nothing(Some(matcher), &rules);
        matcher.matches(&measured.tool) == Matching::Yes
    };
    for (matcher, expected) in &measured.matchers {
        assert_eq!(fits(matcher), *expected, "{matcher:?}, {}", measured.client);
    }
}
