//! The hook file, as this profile reads it: what is malformed is left out, and a broken matcher rejects the file.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use serde_json::{Map, Value};

use super::config::{BridgeConfig, DEFAULT_TIMEOUT_MS};
use super::point::Point;
use crate::dialect::Dialect;
use crate::protocol::{Engine, Matcher, MatcherRules, Names, timeout_of};

/// The hooks of a file, for each event in the order of the file.
#[derive(Debug, Default)]
pub(super) struct HookFile {
    points: BTreeMap<Point, Vec<Group>>,
}

/// Hooks with one matcher.
#[derive(Debug)]
pub(super) struct Group {
    /// The matcher as it is written, for the records.
    pub(super) written: Option<String>,
    pub(super) matcher: Matcher,
    pub(super) hooks: Vec<ShellHook>,
}

/// A command hook.
#[derive(Debug)]
pub(super) struct ShellHook {
    pub(super) command: String,
    /// How long it may take; or why it can't be run, where its `timeout` is none.
    pub(super) timeout: Result<Duration, String>,
}

impl HookFile {
    /// Reads the file that a configuration names, with a warning for each hook that is left out.
    ///
    /// # Errors
    /// The one warning for a file that can't be used at all.
    pub(super) fn read(
        dialect: Dialect,
        config: &BridgeConfig,
    ) -> Result<(Self, Vec<String>), String> {
        let place = config.file().display();
        let unusable = |problem: String| {
            format!("{place}: {problem}\nhint: none of its hooks run until this is put right")
        };
        let text = fs::read_to_string(config.file())
            .map_err(|error| unusable(format!("it can't be read: {error}")))?;
        let root: Value = serde_json::from_str(&text)
            .map_err(|error| unusable(format!("it is not JSON: {error}")))?;
        let mut reader = Reader {
            dialect,
            config,
            warnings: Vec::new(),
        };
        let file = reader.file(&root).map_err(unusable)?;
        Ok((file, reader.warnings))
    }

    /// The hooks of an event.
    pub(super) fn groups(&self, point: Point) -> &[Group] {
        self.points.get(&point).map_or(&[], Vec::as_slice)
    }

    /// Whether it has hooks for an event.
    pub(super) fn has(&self, point: Point) -> bool {
        !self.groups(point).is_empty()
    }
}

struct Reader<'a> {
    dialect: Dialect,
    config: &'a BridgeConfig,
    warnings: Vec<String>,
}

impl Reader<'_> {
    fn file(&mut self, root: &Value) -> Result<HookFile, String> {
        // A whole settings object, or only what stands under `hooks` in one.
        let events = root.get("hooks").and_then(Value::as_object);
        let Some(events) = events.or_else(|| root.as_object()) else {
            return Ok(HookFile::default());
        };
        let mut file = HookFile::default();
        for point in Point::ALL {
            let groups = match events.get(point.name()) {
                Some(Value::Array(groups)) if point.exists_in(self.dialect) => groups,
                _ => continue,
            };
            let mut usable = Vec::new();
            for group in groups.iter().filter_map(Value::as_object) {
                usable.extend(self.group(point, group)?);
            }
            if !usable.is_empty() {
                file.points.insert(point, usable);
            }
        }
        Ok(file)
    }

    /// A group; nothing, where no hook of it can run. Its matcher does not matter then.
    fn group(&mut self, point: Point, group: &Map<String, Value>) -> Result<Option<Group>, String> {
        let Some(Value::Array(hooks)) = group.get("hooks") else {
            return Ok(None);
        };
        let hooks: Vec<ShellHook> = hooks
            .iter()
            .filter_map(Value::as_object)
            .filter_map(|hook| self.hook(point, hook))
            .collect();
        if hooks.is_empty() {
            return Ok(None);
        }
        let written = if point.has_subject() {
            group.get("matcher").and_then(Value::as_str)
        } else {
            None
        };
        let matcher = Matcher::load(written, &rules(self.dialect))
            .map_err(|invalid| invalid.on_event(point.name()).to_string())?;
        Ok(Some(Group {
            written: written.map(str::to_owned),
            matcher,
            hooks,
        }))
    }

    fn hook(&mut self, point: Point, hook: &Map<String, Value>) -> Option<ShellHook> {
        match hook.get("type") {
            Some(Value::String(kind)) if kind != "command" => {
                self.warn(point, &format!("unsupported \"{kind}\" hook"));
                return None;
            }
            _ => {}
        }
        let command = hook.get("command")?.as_str()?;
        let seconds = match self.dialect {
            Dialect::Claude => hook.get("timeout"),
            Dialect::Codex => {
                if hook.get("async") == Some(&Value::Bool(true)) {
                    self.warn(point, "async hook");
                    return None;
                }
                hook.get("timeout")
                    .filter(|value| value.is_number())
                    .or_else(|| hook.get("timeoutSec"))
            }
        };
        let seconds = seconds.and_then(Value::as_f64);
        Some(ShellHook {
            command: match self.dialect {
                Dialect::Claude => self.config.replace_placeholders(command),
                Dialect::Codex => command.to_owned(),
            },
            timeout: self.timeout(point, seconds),
        })
    }

    fn timeout(&mut self, point: Point, seconds: Option<f64>) -> Result<Duration, String> {
        let most = Duration::from_millis(DEFAULT_TIMEOUT_MS);
        match timeout_of(seconds, self.config.default_timeout()) {
            Ok(timeout) if timeout > most => {
                self.warn(
                    point,
                    &format!(
                        "timeout above {} seconds, which it is cut to,",
                        most.as_secs()
                    ),
                );
                Ok(most)
            }
            Ok(timeout) => Ok(timeout),
            Err(bad) => {
                self.warn(point, &format!("unusable timeout of {} seconds", bad.0));
                Err(bad.to_string())
            }
        }
    }

    fn warn(&mut self, point: Point, what: &str) {
        let file = self.config.file().display();
        let point = point.name();
        self.warnings
            .push(format!("{file}: {what} on event \"{point}\""));
    }
}

/// How matchers of a dialect are read in this profile.
fn rules(dialect: Dialect) -> MatcherRules {
    match dialect {
        Dialect::Claude => MatcherRules {
            dialect: "claude",
            names: Names::Bar,
            engine: Engine::EcmaScript,
        },
        Dialect::Codex => MatcherRules {
            dialect: "codex",
            names: Names::None,
            engine: Engine::Rust,
        },
    }
}
