//! `seamgate.toml`: which policies there are, how far each is trusted, and what each may use up.
//!
//! Every mistake is an error that points at its line. A key that is not known is a mistake too: a misspelt limit must
//! not silently be no limit.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use crate::runtime::Evaluate;
use crate::sandbox::{ComponentSource, Grants, Limits, PolicySpec, Tier};

/// A configuration that was read.
#[derive(Debug, Clone)]
pub struct Config {
    /// The policies, in order.
    pub policies: Vec<PolicySpec>,
    /// How far a seam is asked once its decision is certain.
    pub evaluate: Evaluate,
}

/// What is wrong with a configuration, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1; 0 where the file could not be read at all.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub hint: Option<String>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.file.display())?;
        if self.line > 0 {
            write!(formatter, ":{}:{}", self.line, self.column)?;
        }
        write!(formatter, ": {}", self.message)
    }
}

impl std::error::Error for ConfigError {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    #[serde(default)]
    evaluate: Evaluate,
    #[serde(default)]
    policy: Vec<PolicyEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PolicyEntry {
    name: Spanned<String>,
    component: Option<Spanned<String>>,
    #[serde(default)]
    tier: Tier,
    tools: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    settings: toml::Table,
    #[serde(default)]
    grants: Grants,
    #[serde(default)]
    limits: Limits,
}

impl Config {
    /// Reads a configuration from its file. Paths in it are relative to the file's folder.
    ///
    /// An entry without `component` names a standard policy, which `standard` looks up.
    ///
    /// # Errors
    /// The file can't be read, or something in it is wrong.
    pub fn read(
        file: &Path,
        standard: impl Fn(&str) -> Option<ComponentSource>,
    ) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(file).map_err(|error| ConfigError {
            file: file.to_owned(),
            line: 0,
            column: 0,
            message: format!("cannot read the configuration: {error}"),
            hint: None,
        })?;
        Self::parse(file, &text, standard)
    }

    /// Reads a configuration from text. The file's name is for messages, and its folder for relative paths.
    ///
    /// # Errors
    /// Something in it is wrong.
    pub fn parse(
        file: &Path,
        text: &str,
        standard: impl Fn(&str) -> Option<ComponentSource>,
    ) -> Result<Self, ConfigError> {
        let at = |span: Range<usize>, message: String, hint: Option<&str>| {
            let (line, column) = position(text, span.start);
            ConfigError {
                file: file.to_owned(),
                line,
                column,
                message,
                hint: hint.map(str::to_owned),
            }
        };
        let parsed: File = toml::from_str(text).map_err(|error| {
            at(
                error.span().unwrap_or(0..0),
                error.message().to_owned(),
                None,
            )
        })?;
        let folder = file.parent().unwrap_or(Path::new("."));
        let mut policies: Vec<PolicySpec> = Vec::new();
        for entry in parsed.policy {
            let span = entry.name.span();
            let name = entry.name.into_inner();
            if name.is_empty() || name.chars().any(char::is_control) {
                return Err(at(
                    span,
                    "a policy's name is one or more printable characters".to_owned(),
                    None,
                ));
            }
            if policies.iter().any(|other| other.name == name) {
                return Err(at(
                    span,
                    format!("there is a policy `{name}` already"),
                    Some("give each entry a name of its own: decisions are told apart by it"),
                ));
            }
            let component = match entry.component {
                Some(path) => ComponentSource::File(folder.join(path.into_inner())),
                None => standard(&name).ok_or_else(|| {
                    at(
                        span,
                        format!("`{name}` is not a standard policy"),
                        Some("for a policy of your own add `component = \"path/to/policy.wasm\"`"),
                    )
                })?,
            };
            if let Some(tools) = &entry.tools
                && tools.get_ref().is_empty()
            {
                return Err(at(
                    tools.span(),
                    format!("policy `{name}` would never be asked: its list of tools is empty"),
                    Some("leave `tools` out to ask it about every tool"),
                ));
            }
            policies.push(PolicySpec {
                name,
                component,
                tier: entry.tier,
                tools: entry.tools.map(Spanned::into_inner),
                settings: settings(&entry.settings),
                grants: entry.grants,
                limits: entry.limits,
            });
        }
        Ok(Self {
            policies,
            evaluate: parsed.evaluate,
        })
    }
}

/// Settings as a policy reads them: strings as they are, anything else as JSON text.
fn settings(table: &toml::Table) -> Vec<(String, String)> {
    table
        .iter()
        .map(|(key, value)| {
            let text = match value {
                toml::Value::String(text) => text.clone(),
                other => json(other).to_string(),
            };
            (key.clone(), text)
        })
        .collect()
}

fn json(value: &toml::Value) -> serde_json::Value {
    match value {
        toml::Value::String(text) => text.as_str().into(),
        toml::Value::Integer(number) => (*number).into(),
        toml::Value::Float(number) => serde_json::Number::from_f64(*number).into(),
        toml::Value::Boolean(flag) => (*flag).into(),
        toml::Value::Datetime(moment) => moment.to_string().into(),
        toml::Value::Array(items) => items.iter().map(json).collect(),
        toml::Value::Table(table) => table
            .iter()
            .map(|(key, value)| (key.clone(), json(value)))
            .collect(),
    }
}

/// The line and column of a byte, both from 1. Columns count characters.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset)];
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (line, before[start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(Path::new("/etc/seamgate.toml"), text, |name| {
            (name == "secrets").then(|| ComponentSource::bytes(b"".as_slice()))
        })
        .map_err(|error| error.to_string())
    }

    #[test]
    fn an_entry_has_the_strictest_defaults() {
        let config = parse("[[policy]]\nname = \"secrets\"\n").unwrap();
        let policy = &config.policies[0];
        assert_eq!(policy.tier, Tier::Untrusted);
        assert_eq!(policy.tools, None);
        assert_eq!(policy.grants, Grants::none());
        assert_eq!(policy.limits, Limits::default());
        assert_eq!(config.evaluate, Evaluate::Decisive);
    }

    #[test]
    fn settings_keep_strings_and_write_the_rest_as_json() {
        let config = parse(
            "[[policy]]\nname = \"secrets\"\n[policy.settings]\nword = \"true\"\nflag = true\nlist = [\"a\", 1]\n",
        )
        .unwrap();
        let mut settings = config.policies[0].settings.clone();
        settings.sort();
        assert_eq!(
            settings,
            [
                ("flag".to_owned(), "true".to_owned()),
                ("list".to_owned(), "[\"a\",1]".to_owned()),
                ("word".to_owned(), "true".to_owned()),
            ]
        );
    }

    #[test]
    fn mistakes_point_at_their_place() {
        for (text, expected) in [
            (
                "[[policy]]\nname = \"secrets\"\n[[policy]]\nname = \"secrets\"\n",
                "/etc/seamgate.toml:4:8: there is a policy `secrets` already",
            ),
            (
                "[[policy]]\nname = \"unknown\"\n",
                "/etc/seamgate.toml:2:8: `unknown` is not a standard policy",
            ),
            (
                "[[policy]]\nname = \"secrets\"\ntier = \"root\"\n",
                "/etc/seamgate.toml:3:8: unknown variant `root`, expected `untrusted` or `trusted`",
            ),
            (
                "[[policy]]\nname = \"secrets\"\n[policy.limits]\nwall-sm = 5\n",
                "/etc/seamgate.toml:4:1: unknown field `wall-sm`, expected one of `wall-ms`, `cpu-ms`, `memory-bytes`, \
                 `table-elements`, `instances`, `decision-bytes`, `state-bytes`, `state-keys`",
            ),
            (
                "[[policy]]\nname = \"secrets\"\ngrants = { state = \"disk\" }\n",
                "/etc/seamgate.toml:3:20: unknown variant `disk`, expected `memory`",
            ),
            (
                "[[policy]]\nname = \"secrets\"\ngrants = { network = true }\n",
                "/etc/seamgate.toml:3:12: unknown field `network`, expected `state`",
            ),
            (
                "[[policy]]\nname = \"secrets\"\ntools = []\n",
                "/etc/seamgate.toml:3:9: policy `secrets` would never be asked: its list of tools is empty",
            ),
            (
                "[[policy]\n",
                "/etc/seamgate.toml:1:10: unclosed array table, expected `]`",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err(), expected, "{text}");
        }
    }
}
