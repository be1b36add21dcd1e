//! An event, in words that every dialect shares.

use seamgate::Json;
use seamgate::seams::{
    Agent, AgentEvent, CompactTrigger, Compaction, FinishedCall, Prompt, SeamName, Session,
    SessionSource, ToolCall, Turn,
};
use serde_json::Value;

use crate::dialect::Dialect;
use crate::text;

/// How many characters [`Event::subject`] has at most.
pub const SUBJECT_CHARS: usize = 120;

/// One event of an agent, read from its payload by [`Dialect::read`].
#[derive(Debug, Clone)]
pub struct Event {
    pub(crate) dialect: Dialect,
    pub(crate) name: &'static str,
    pub(crate) kind: EventKind,
}

/// What happens, and what the seams are asked about it.
#[derive(Debug, Clone)]
pub(crate) enum EventKind {
    /// A session begins.
    SessionStart(Session),
    /// A prompt is about to reach the model.
    PromptSubmit(Prompt),
    /// A tool is about to run.
    ToolCall(ToolCall),
    /// A tool has run, well or badly.
    ToolFinished(FinishedCall),
    /// The main agent wants to end its turn.
    TurnStopping(Turn),
    /// A subagent begins.
    SubagentStart(Agent),
    /// A subagent wants to end.
    SubagentStop(Turn),
    /// The agent is about to ask its user.
    PermissionRequest(ToolCall),
    /// The conversation is about to be compacted.
    PreCompact(Compaction),
    /// Anything else that the agent has a name for.
    Observed(AgentEvent),
}

/// The arguments that say what a call is about, the most telling first.
const TELLING_ARGUMENTS: [&str; 10] = [
    "command",
    "file_path",
    "notebook_path",
    "path",
    "url",
    "pattern",
    "query",
    "description",
    "message",
    "prompt",
];

/// The fields that say what any other event is about, the most telling first.
const TELLING_FIELDS: [&str; 13] = [
    "message",
    "file_path",
    "new_cwd",
    "directory",
    "worktree_path",
    "command_name",
    "tool_name",
    "task_subject",
    "to_model",
    "name",
    "reason",
    "trigger",
    "delta",
];

impl Event {
    /// The name that the agent has for it.
    pub fn name(&self) -> &str {
        self.name
    }

    /// Whose event it is.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The session it belongs to.
    pub fn session_id(&self) -> &str {
        &self.agent().session_id
    }

    /// The seams that will be asked, in order. A seam that an earlier one makes moot is left out when it comes to it.
    pub fn seams(&self) -> &'static [SeamName] {
        match &self.kind {
            EventKind::SessionStart(_) => &[SeamName::SessionStart],
            EventKind::PromptSubmit(_) => &[SeamName::PromptSubmit],
            EventKind::ToolCall(_) => &[SeamName::RewriteInput, SeamName::PreTool, SeamName::Guard],
            EventKind::ToolFinished(_) => &[SeamName::PostTool, SeamName::ToolResult],
            EventKind::TurnStopping(_) => &[SeamName::TurnStopping],
            EventKind::SubagentStart(_) => &[SeamName::SubagentStart],
            EventKind::SubagentStop(_) => &[SeamName::SubagentStop],
            EventKind::PermissionRequest(_) => &[SeamName::PermissionRequest],
            EventKind::PreCompact(_) => &[SeamName::PreCompact],
            EventKind::Observed(_) => &[SeamName::Observe],
        }
    }

    /// What it is about, in one line of at most [`SUBJECT_CHARS`] characters: a tool and its command, the beginning of a
    /// prompt, the source of a session. Control characters are gone from it. It is for people to recognise the event by,
    /// and nothing may be decided by it.
    pub fn subject(&self) -> String {
        let subject = match &self.kind {
            EventKind::SessionStart(session) => source(&session.source).to_owned(),
            EventKind::PromptSubmit(prompt) => prompt.text.clone(),
            EventKind::ToolCall(call) | EventKind::PermissionRequest(call) => call_subject(call),
            EventKind::ToolFinished(finished) => call_subject(&finished.call),
            EventKind::TurnStopping(turn) | EventKind::SubagentStop(turn) => {
                turn.last_message.clone().unwrap_or_default()
            }
            EventKind::SubagentStart(agent) => agent.agent_type.clone().unwrap_or_default(),
            EventKind::PreCompact(compaction) => match &compaction.trigger {
                CompactTrigger::Manual => "manual".to_owned(),
                CompactTrigger::Auto => "auto".to_owned(),
                CompactTrigger::Other(word) => word.clone(),
            },
            EventKind::Observed(event) => {
                telling(&event.payload, &TELLING_FIELDS).unwrap_or_default()
            }
        };
        text::line(&subject, SUBJECT_CHARS)
    }

    fn agent(&self) -> &Agent {
        match &self.kind {
            EventKind::SessionStart(session) => &session.agent,
            EventKind::PromptSubmit(prompt) => &prompt.agent,
            EventKind::ToolCall(call) | EventKind::PermissionRequest(call) => &call.agent,
            EventKind::ToolFinished(finished) => &finished.call.agent,
            EventKind::TurnStopping(turn) | EventKind::SubagentStop(turn) => &turn.agent,
            EventKind::SubagentStart(agent) => agent,
            EventKind::PreCompact(compaction) => &compaction.agent,
            EventKind::Observed(event) => &event.agent,
        }
    }
}

fn source(source: &SessionSource) -> &str {
    match source {
        SessionSource::Startup => "startup",
        SessionSource::Resume => "resume",
        SessionSource::Clear => "clear",
        SessionSource::Compact => "compact",
        SessionSource::Fork => "fork",
        SessionSource::Other(word) => word,
    }
}

fn call_subject(call: &ToolCall) -> String {
    let about = telling(&call.arguments, &TELLING_ARGUMENTS)
        .unwrap_or_else(|| call.arguments.text().to_owned());
    format!("{}: {about}", call.tool)
}

/// The first of these fields that is text.
fn telling(json: &Json, fields: &[&str]) -> Option<String> {
    let value: Value = json.read().ok()?;
    fields
        .iter()
        .find_map(|field| value[*field].as_str())
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tool: &str, arguments: &str) -> Event {
        Event {
            dialect: Dialect::Claude,
            name: "PreToolUse",
            kind: EventKind::ToolCall(ToolCall {
                call_id: "1".to_owned(),
                root_call_id: "1".to_owned(),
                tool: tool.to_owned(),
                arguments: Json::parse(arguments).unwrap(),
                agent: Agent::default(),
            }),
        }
    }

    #[test]
    fn a_call_is_known_by_its_most_telling_argument() {
        for (tool, arguments, expected) in [
            (
                "Bash",
                r#"{"description":"step","command":"git push\n"}"#,
                "Bash: git push",
            ),
            ("Grep", r#"{"pattern":"a","path":"src"}"#, "Grep: src"),
            ("mcp__x__y", r#"{"id":7}"#, r#"mcp__x__y: {"id":7}"#),
            ("odd", r#""not an object""#, r#"odd: "not an object""#),
            (
                "Bash",
                r#"{"command":"ls \u001b[2J\u202e x"}"#,
                "Bash: ls [2J x",
            ),
        ] {
            assert_eq!(call(tool, arguments).subject(), expected);
        }
    }

    #[test]
    fn a_subject_is_short() {
        let event = call(
            "Bash",
            &format!(r#"{{"command":"{}"}}"#, "x".repeat(1_000_000)),
        );
        assert_eq!(event.subject().chars().count(), SUBJECT_CHARS);
    }
}
