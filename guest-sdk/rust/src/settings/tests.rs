//! How settings are read, and how they are refused.

use serde::Deserialize;

use crate::testing::settings;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    Strict,
    AtMost(u32),
}

#[derive(Debug, PartialEq, Deserialize)]
struct Name(String);

#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Names {
    One(String),
    Many(Vec<String>),
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Settings {
    text: String,
    maybe: Option<String>,
    maybe_number: Option<u32>,
    name: Option<Name>,
    number: i64,
    ratio: f64,
    flag: bool,
    list: Vec<String>,
    pair: Option<(u8, String)>,
    mode: Option<Mode>,
    names: Option<Names>,
    any: serde_json::Value,
}

#[test]
fn every_kind_of_value_is_read_as_its_field_wants_it() {
    let cases: Vec<((&str, &str), Settings)> = vec![
        (
            ("text", "plain \"text\""),
            Settings {
                text: "plain \"text\"".into(),
                ..Settings::default()
            },
        ),
        (
            ("text", "42"),
            Settings {
                text: "42".into(),
                ..Settings::default()
            },
        ),
        (
            ("text", "[\"a\"]"),
            Settings {
                text: "[\"a\"]".into(),
                ..Settings::default()
            },
        ),
        (
            ("text", ""),
            Settings {
                text: String::new(),
                ..Settings::default()
            },
        ),
        (
            ("maybe", "null"),
            Settings {
                maybe: Some("null".into()),
                ..Settings::default()
            },
        ),
        (
            ("maybe-number", "7"),
            Settings {
                maybe_number: Some(7),
                ..Settings::default()
            },
        ),
        (
            ("name", "42"),
            Settings {
                name: Some(Name("42".into())),
                ..Settings::default()
            },
        ),
        (
            ("number", "-3"),
            Settings {
                number: -3,
                ..Settings::default()
            },
        ),
        (
            ("ratio", "0.5"),
            Settings {
                ratio: 0.5,
                ..Settings::default()
            },
        ),
        (
            ("flag", "true"),
            Settings {
                flag: true,
                ..Settings::default()
            },
        ),
        (
            ("list", "[\"a\",\"b\"]"),
            Settings {
                list: vec!["a".into(), "b".into()],
                ..Settings::default()
            },
        ),
        (
            ("pair", "[1,\"b\"]"),
            Settings {
                pair: Some((1, "b".into())),
                ..Settings::default()
            },
        ),
        (
            ("mode", "strict"),
            Settings {
                mode: Some(Mode::Strict),
                ..Settings::default()
            },
        ),
        (
            ("mode", "{\"at-most\":3}"),
            Settings {
                mode: Some(Mode::AtMost(3)),
                ..Settings::default()
            },
        ),
        (
            ("names", "a"),
            Settings {
                names: Some(Names::One("a".into())),
                ..Settings::default()
            },
        ),
        (
            ("names", "[\"a\"]"),
            Settings {
                names: Some(Names::Many(vec!["a".into()])),
                ..Settings::default()
            },
        ),
        (
            ("any", "{\"a\":1}"),
            Settings {
                any: serde_json::json!({ "a": 1 }),
                ..Settings::default()
            },
        ),
        (
            ("any", "some text"),
            Settings {
                any: "some text".into(),
                ..Settings::default()
            },
        ),
    ];
    for (entry, expected) in cases {
        assert_eq!(settings::<Settings>(&[entry]), Ok(expected), "{entry:?}");
    }
    assert_eq!(settings::<Settings>(&[]), Ok(Settings::default()));
}

#[test]
fn what_does_not_fit_is_an_error_that_names_the_setting() {
    let cases = [
        (
            ("number", "many"),
            "the setting `number`: it is a string, and another kind of value is wanted",
        ),
        (
            ("number", "1 2"),
            "the setting `number`: it is a string, and another kind of value is wanted",
        ),
        (
            ("number", "[1]"),
            "the setting `number`: invalid type: sequence, expected i64",
        ),
        (
            ("maybe-number", "-1"),
            "the setting `maybe-number`: invalid value: integer `-1`, expected u32",
        ),
        (
            ("list", "a"),
            "the setting `list`: it is a string, and another kind of value is wanted",
        ),
        (
            ("list", "[1]"),
            "the setting `list`: invalid type: integer `1`, expected a string",
        ),
        (
            ("mode", "lax"),
            "the setting `mode`: unknown variant `lax`, expected `strict` or `at-most`",
        ),
    ];
    for (entry, expected) in cases {
        assert_eq!(
            settings::<Settings>(&[entry]).unwrap_err().to_string(),
            expected,
            "{entry:?}"
        );
    }
}

#[test]
fn an_unknown_setting_is_reported_where_the_type_denies_it() {
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Strict {
        limit: u8,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    struct Lenient {
        limit: u8,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}

    let misspelt = [("limit", "1"), ("limt", "2")];
    assert_eq!(settings::<Lenient>(&misspelt), Ok(Lenient { limit: 1 }));
    let message = |error: super::SettingsError| error.to_string();
    assert_eq!(
        settings::<Strict>(&misspelt).map_err(message),
        Err("unknown setting `limt`; there are: `limit`".into()),
    );
    assert_eq!(
        settings::<Nothing>(&misspelt).map_err(message),
        Err("unknown setting `limit`: this policy has none".into()),
    );
    assert_eq!(
        settings::<Strict>(&[]).map_err(message),
        Err("the setting `limit` is missing".into())
    );
}
