//! What holds for each event of Claude Code 2.1.332.

use std::time::Duration;

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub struct EventFacts {
    /// Its name, as payloads and settings write it.
    pub name: &'static str,
    /// What a matcher is tested against.
    pub subject: Subject,
    /// What a hook can do about it.
    pub power: Power,
    /// Whether plain text on standard output is context for the model.
    pub text_is_context: bool,
    /// Whether `hookSpecificOutput.additionalContext` is.
    pub takes_context: bool,
    /// Whether `continue: false` ends the turn, and `systemMessage` is shown.
    pub takes_common: bool,
    /// Whether a handler with an `if` can run at all.
    pub takes_if: bool,
    /// Whether a hook finds `CLAUDE_ENV_FILE`.
    pub has_env_file: bool,
    /// The types of handlers that run.
    pub handlers: Handlers,
    /// How long a handler may take where it does not say.
    pub timeout: Duration,
}

/// What a matcher is tested against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Nothing: a matcher is ignored.
    None,
    /// This field of the payload.
    Field(&'static str),
    /// The last part of the path in this field.
    FileName(&'static str),
}

/// What a hook can do about an event, and with which words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Power {
    /// Nothing.
    None,
    /// `permissionDecision`, the older `decision`, and exit code 2.
    Permission,
    /// The object `decision`, and nothing else.
    PermissionRequest,
    /// `decision: "block"` and exit code 2. What that stops depends on the event.
    Block,
    /// Exit code 2 and `continue: false`.
    ExitCode,
    /// `action` and exit code 2.
    Action,
    /// A path on standard output, which replaces what the agent would do; any failure aborts.
    Path,
    /// A failure may fail what happens.
    Fail,
}

/// The types of handlers that run at an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handlers {
    /// All five.
    All,
    /// All but `agent`.
    NoAgent,
    /// `command`, `http` and `mcp_tool`.
    NoModel,
    /// `command` and `mcp_tool`.
    Local,
}

const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_secs(30);

/// An event with nothing special.
const fn event(
    name: &'static str,
    subject: Subject,
    power: Power,
    handlers: Handlers,
) -> EventFacts {
    EventFacts {
        name,
        subject,
        power,
        text_is_context: false,
        takes_context: false,
        takes_common: false,
        takes_if: false,
        has_env_file: false,
        handlers,
        timeout: LONG,
    }
}

impl EventFacts {
    const fn text(mut self) -> Self {
        self.text_is_context = true;
        self
    }

    const fn context(mut self) -> Self {
        self.takes_context = true;
        self
    }

    const fn common(mut self) -> Self {
        self.takes_common = true;
        self
    }

    const fn condition(mut self) -> Self {
        self.takes_if = true;
        self
    }

    const fn env_file(mut self) -> Self {
        self.has_env_file = true;
        self
    }

    const fn within(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The facts of an event; nothing, where Claude Code has none of this name.
    pub fn of(name: &str) -> Option<&'static Self> {
        EVENTS.iter().find(|event| event.name == name)
    }
}

use Handlers::{All, Local, NoAgent, NoModel};
use Power::{Action, Block, ExitCode, Fail, Path, Permission};
use Subject::{Field, FileName};

/// Every event, in Claude Code's own order.
pub static EVENTS: [EventFacts; 34] = [
    event("PreToolUse", Field("tool_name"), Permission, All)
        .context()
        .common()
        .condition(),
    event("PostToolUse", Field("tool_name"), Block, All)
        .context()
        .common()
        .condition(),
    event("PostToolUseFailure", Field("tool_name"), Block, All)
        .context()
        .common()
        .condition(),
    event("PostToolBatch", Subject::None, Block, All)
        .context()
        .common(),
    event(
        "Notification",
        Field("notification_type"),
        Power::None,
        NoModel,
    ),
    event("UserPromptSubmit", Subject::None, Block, All)
        .text()
        .context()
        .common()
        .within(SHORT),
    event("UserPromptExpansion", Field("command_name"), Block, All)
        .text()
        .context()
        .common(),
    event("SessionStart", Field("source"), Power::None, Local)
        .text()
        .context()
        .common()
        .env_file(),
    // All hooks together: see `SESSION_END`.
    event("SessionEnd", Field("reason"), Power::None, NoModel),
    event("Stop", Subject::None, Block, All).context().common(),
    event("StopFailure", Field("error"), Power::None, NoModel),
    event("SubagentStart", Field("agent_type"), Power::None, NoModel)
        .context()
        .common(),
    event("SubagentStop", Field("agent_type"), Block, All)
        .context()
        .common(),
    event("PreCompact", Field("trigger"), Block, NoModel),
    event("PostCompact", Field("trigger"), Power::None, NoModel),
    event("PreModelSwitch", Field("to_model"), Permission, NoModel)
        .common()
        .within(SHORT),
    event("PostModelSwitch", Field("to_model"), Power::None, NoModel)
        .text()
        .context()
        .common()
        .within(SHORT),
    event(
        "PermissionRequest",
        Field("tool_name"),
        Power::PermissionRequest,
        NoAgent,
    )
    .common()
    .condition(),
    event("PermissionDenied", Field("tool_name"), Power::None, All).condition(),
    event("Setup", Field("trigger"), Power::None, Local).env_file(),
    event("TeammateIdle", Subject::None, ExitCode, All).common(),
    event("TaskCreated", Subject::None, Block, All),
    event("TaskCompleted", Subject::None, ExitCode, All).common(),
    event("Elicitation", Field("mcp_server_name"), Action, NoModel),
    event(
        "ElicitationResult",
        Field("mcp_server_name"),
        Action,
        NoModel,
    ),
    event("ConfigChange", Field("source"), Block, NoModel),
    event("WorktreeCreate", Subject::None, Path, NoModel),
    event("WorktreeRemove", Subject::None, Fail, NoModel),
    event(
        "InstructionsLoaded",
        Field("load_reason"),
        Power::None,
        NoModel,
    ),
    event("CwdChanged", Subject::None, Power::None, NoModel).env_file(),
    event("FileChanged", FileName("file_path"), Power::None, NoModel).env_file(),
    event("DirectoryAdded", Field("source"), Power::None, NoModel),
    event("MessageDisplay", Subject::None, Power::None, NoModel).within(Duration::from_secs(10)),
    event(
        "PreSkillShellCommand",
        Field("tool_name"),
        Permission,
        NoModel,
    ),
];

/// How long the hooks of `SessionEnd` may take altogether where no settings file gives one of them more.
pub const SESSION_END: Duration = Duration::from_millis(1_500);

/// The most that a `timeout` in a settings file can make of [`SESSION_END`].
pub const SESSION_END_MOST: Duration = Duration::from_secs(60);
