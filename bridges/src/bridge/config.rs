//! How a bridge is set up.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use seamgate::audit::STDERR_SUMMARY;
use serde::Deserialize;

/// How long a hook may take where neither the file nor the configuration says so, in milliseconds. Also the longest that one
/// may be given.
pub const DEFAULT_TIMEOUT_MS: u64 = 600_000;

/// The set-up of a bridge, as an embedding program's configuration has it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BridgeConfig {
    /// The hook file. A relative path is relative to the folder in which the process was started.
    config_path: PathBuf,
    /// What `${CLAUDE_PLUGIN_ROOT}` stands for.
    #[serde(default)]
    plugin_root: Option<String>,
    /// The project, where it is not the folder that the session works in.
    #[serde(default)]
    project_dir: Option<String>,
    /// The model that payloads of Codex name.
    #[serde(default)]
    model: String,
    /// How long a hook may take that does not say, in milliseconds.
    #[serde(default = "default_timeout")]
    default_timeout_ms: u64,
    /// How many characters of standard error a record keeps.
    #[serde(default = "default_summary")]
    stderr_summary_max_chars: NonZeroUsize,
}

fn default_timeout() -> u64 {
    DEFAULT_TIMEOUT_MS
}

fn default_summary() -> NonZeroUsize {
    NonZeroUsize::new(STDERR_SUMMARY).unwrap_or(NonZeroUsize::MIN)
}

impl BridgeConfig {
    /// A hook file, and the rest as usual.
    pub fn new(config_path: impl Into<PathBuf>) -> Self {
        Self {
            config_path: config_path.into(),
            plugin_root: None,
            project_dir: None,
            model: String::new(),
            default_timeout_ms: default_timeout(),
            stderr_summary_max_chars: default_summary(),
        }
    }

    /// With what `${CLAUDE_PLUGIN_ROOT}` stands for.
    #[must_use]
    pub fn plugin_root(mut self, root: impl Into<String>) -> Self {
        self.plugin_root = Some(root.into());
        self
    }

    /// With a project that is not the folder that the session works in.
    #[must_use]
    pub fn project_dir(mut self, folder: impl Into<String>) -> Self {
        self.project_dir = Some(folder.into());
        self
    }

    /// With the model that payloads of Codex name.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = model.into();
        self
    }

    pub(super) fn file(&self) -> &Path {
        &self.config_path
    }

    pub(super) fn project(&self) -> Option<&str> {
        self.project_dir.as_deref()
    }

    pub(super) fn model_name(&self) -> &str {
        &self.model
    }

    pub(super) fn default_timeout(&self) -> Duration {
        Duration::from_millis(self.default_timeout_ms.clamp(1, DEFAULT_TIMEOUT_MS))
    }

    pub(super) fn stderr_summary_max_chars(&self) -> usize {
        self.stderr_summary_max_chars.get()
    }

    /// A command with every placeholder that has a value replaced, as plain text. The others stay as they are.
    pub(super) fn replace_placeholders(&self, command: &str) -> String {
        let mut command = command.to_owned();
        for (placeholder, value) in [
            ("${CLAUDE_PLUGIN_ROOT}", &self.plugin_root),
            ("${CLAUDE_PROJECT_DIR}", &self.project_dir),
        ] {
            if let Some(value) = value {
                command = command.replace(placeholder, value);
            }
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b221_a_summary_has_a_positive_whole_number_of_characters() {
        for bad in ["0", "-5", "1.5", "nan"] {
            let text = format!("configPath = 'gone.json'\nstderrSummaryMaxChars = {bad}\n");
            let error = toml::from_str::<BridgeConfig>(&text).unwrap_err();
            assert!(
                error.to_string().contains("stderrSummaryMaxChars"),
                "{error}"
            );
        }
        let text = "configPath = 'gone.json'\nstderrSummaryMaxChars = 7\n";
        let config: BridgeConfig = toml::from_str(text).unwrap();
        assert_eq!(config.stderr_summary_max_chars(), 7);
    }

    #[test]
    fn a_timeout_has_a_cap() {
        let text = "configPath = 'hooks.json'\ndefaultTimeoutMs = 3600000\n";
        let config: BridgeConfig = toml::from_str(text).unwrap();
        assert_eq!(config.default_timeout(), Duration::from_secs(600));
    }
}
