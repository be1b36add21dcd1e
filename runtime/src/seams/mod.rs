//! The seams: one file each, with what is asked there, what a hook may answer, and how answers fold.
//!
//! A seam's file has four things: the *event* hooks are asked about, the *decision* one hook gives, the *folded* decision of
//! all of them, and how event and decision cross into the sandbox. The same seam's interface is the file of that name in
//! `wit/`.
//!
//! # The fold
//!
//! [`Seam::lift`] stamps a hook's decision with the hook's name; [`Seam::combine`] puts an earlier and a later folded
//! decision together. `combine` is associative and has the default as its identity, so folding in pieces equals
//! folding at once. The strictest verdict wins (deny over ask over allow over abstain), rewrites chain, contexts and
//! reasons are kept in order, each with its author. Nothing is dropped by the fold: what a deny makes moot is still
//! in it, and it is up to the reader to leave it out.

mod guard;
#[cfg(test)]
mod law;
mod observe;
mod permission_request;
mod post_tool;
mod pre_compact;
mod pre_tool;
mod prompt_submit;
mod rewrite_input;
mod session_start;
mod subagent_start;
mod subagent_stop;
mod tool_result;
mod turn_stopping;

use std::fmt;

use serde::Serialize;

pub use guard::{Guard, GuardDecision, GuardFold};
pub use observe::{AgentEvent, Observe};
pub use permission_request::{
    PermissionRequest, PermissionRequestDecision, PermissionRequestFold, PermissionVerdict,
};
pub use post_tool::{
    FinishedCall, PostTool, PostToolDecision, PostToolFold, Replaced, Replacement,
};
pub use pre_compact::{CompactTrigger, Compaction, PreCompact, PreCompactDecision, PreCompactFold};
pub use pre_tool::{PreTool, PreToolDecision, PreToolFold, Reason, Verdict, VerdictRank};
pub use prompt_submit::{Prompt, PromptSubmit, PromptSubmitDecision, PromptSubmitFold};
pub use rewrite_input::{Rewrite, RewriteInput, RewriteInputDecision, RewriteInputFold};
pub use session_start::{Contexts, Session, SessionSource, SessionStart};
pub use subagent_start::SubagentStart;
pub use subagent_stop::SubagentStop;
pub use tool_result::ToolResult;
pub use turn_stopping::{Turn, TurnStopping, TurnStoppingDecision, TurnStoppingFold};

use crate::failure::HookName;
use crate::json::Json;
use crate::sandbox::wire;

/// A seam, as a type: [`PreTool`], [`PromptSubmit`], …
///
/// The set of seams is closed.
pub trait Seam:
    crate::sandbox::PolicySeam + crate::runtime::Chained + Sized + Send + Sync + 'static
{
    /// Its name.
    const NAME: SeamName;
    /// What hooks are asked about.
    type Event: Clone + fmt::Debug + Send + Sync;
    /// What one hook answers.
    type Decision: Clone + fmt::Debug + Send;
    /// What all of them answered. The default is what the seam comes to where nobody says anything.
    type Folded: Clone + fmt::Debug + Default + PartialEq + Send;

    /// One hook's decision as a folded one, with the hook's name on everything it says.
    fn lift(hook: &HookName, decision: Self::Decision) -> Self::Folded;

    /// An earlier folded decision and a later one.
    fn combine(earlier: Self::Folded, later: Self::Folded) -> Self::Folded;

    /// Whether no later hook can change what happens: something was denied or blocked.
    fn closes(folded: &Self::Folded) -> bool;

    /// The event as the next hook has to see it, where this decision rewrote it.
    fn advance(_event: &Self::Event, _folded: &Self::Folded) -> Option<Self::Event> {
        None
    }

    /// The tool that the event is about, where it is about one. Hooks that are set up for certain tools are asked about
    /// those only.
    fn tool(_event: &Self::Event) -> Option<&str> {
        None
    }

    /// The decision in a word, for people and logs.
    fn describe(folded: &Self::Folded) -> Described;
}

/// A decision in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Described {
    /// The word of the seam's decision: `deny`, `ask`, `block`, `abstain`, …
    pub decision: &'static str,
    /// Why, where there is a reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How many contexts come with it.
    #[serde(skip_serializing_if = "is_zero")]
    pub contexts: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Described {
    pub(crate) fn word(decision: &'static str) -> Self {
        Self {
            decision,
            reason: None,
            contexts: 0,
        }
    }

    pub(crate) fn because(decision: &'static str, reasons: &[Attributed]) -> Self {
        Self {
            reason: join(reasons),
            ..Self::word(decision)
        }
    }

    pub(crate) fn with_contexts(mut self, contexts: &[Attributed]) -> Self {
        self.contexts = contexts.len();
        self
    }
}

/// The texts one under the other, or none where there are none.
pub(crate) fn join(texts: &[Attributed]) -> Option<String> {
    if texts.is_empty() {
        return None;
    }
    let texts: Vec<&str> = texts.iter().map(|said| said.text.as_str()).collect();
    Some(texts.join("\n"))
}

/// Text with its author: a reason, a context, a feedback.
///
/// The runtime writes the name; a hook returns text only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attributed {
    /// Which hook said it.
    pub hook: HookName,
    /// What it said.
    pub text: String,
}

impl Attributed {
    pub(crate) fn new(hook: &HookName, text: impl Into<String>) -> Self {
        Self {
            hook: hook.clone(),
            text: text.into(),
        }
    }

    pub(crate) fn all(hook: &HookName, texts: Vec<String>) -> Vec<Self> {
        texts
            .into_iter()
            .map(|text| Self::new(hook, text))
            .collect()
    }
}

/// The names of the seams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is the seam of that name")]
pub enum SeamName {
    SessionStart,
    PromptSubmit,
    RewriteInput,
    PreTool,
    Guard,
    AroundTool,
    PostTool,
    ToolResult,
    TurnStopping,
    SubagentStart,
    SubagentStop,
    PermissionRequest,
    PreCompact,
    Observe,
}

impl SeamName {
    /// All of them, in the order in which an agent meets them.
    pub const ALL: [Self; 14] = [
        Self::SessionStart,
        Self::PromptSubmit,
        Self::RewriteInput,
        Self::PreTool,
        Self::Guard,
        Self::AroundTool,
        Self::PostTool,
        Self::ToolResult,
        Self::TurnStopping,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::PermissionRequest,
        Self::PreCompact,
        Self::Observe,
    ];

    /// The name as WIT, the configuration and the documentation write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SessionStart => "session-start",
            Self::PromptSubmit => "prompt-submit",
            Self::RewriteInput => "rewrite-input",
            Self::PreTool => "pre-tool",
            Self::Guard => "guard",
            Self::AroundTool => "around-tool",
            Self::PostTool => "post-tool",
            Self::ToolResult => "tool-result",
            Self::TurnStopping => "turn-stopping",
            Self::SubagentStart => "subagent-start",
            Self::SubagentStop => "subagent-stop",
            Self::PermissionRequest => "permission-request",
            Self::PreCompact => "pre-compact",
            Self::Observe => "observe",
        }
    }

    /// What a failing hook means here.
    pub fn kind(self) -> SeamKind {
        match self {
            Self::PromptSubmit
            | Self::PreTool
            | Self::Guard
            | Self::TurnStopping
            | Self::SubagentStop
            | Self::PermissionRequest
            | Self::PreCompact => SeamKind::Gate,
            Self::RewriteInput | Self::AroundTool | Self::PostTool => SeamKind::Transform,
            Self::SessionStart | Self::SubagentStart | Self::ToolResult | Self::Observe => {
                SeamKind::Notice
            }
        }
    }
}

impl fmt::Display for SeamName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Serialize for SeamName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// What a failing hook means at a seam.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeamKind {
    /// It closes: what was asked for does not happen.
    Gate,
    /// It closes: what would have been passed on is withheld.
    Transform,
    /// It is recorded, and nothing else changes.
    Notice,
}

impl SeamKind {
    /// Whether the failure of one hook closes the seam.
    pub fn fails_closed(self) -> bool {
        match self {
            Self::Gate | Self::Transform => true,
            Self::Notice => false,
        }
    }
}

/// Who is acting. Told by the agent's harness, not by the model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agent {
    /// The protocol the agent speaks: `claude`, `codex`, …, or `embedded`.
    pub dialect: String,
    /// The session.
    pub session_id: String,
    /// The subagent that acts, or none where the main agent does.
    pub agent_id: Option<String>,
    /// The kind of subagent, as the agent names it.
    pub agent_type: Option<String>,
    /// The folder the agent works in, as an absolute path.
    pub cwd: Option<String>,
    /// How the agent asks its user for permission, in the agent's own word.
    pub permission_mode: Option<String>,
}

impl Agent {
    pub(crate) fn to_wire(&self) -> wire::types::Agent {
        wire::types::Agent {
            dialect: self.dialect.clone(),
            session_id: self.session_id.clone(),
            agent_id: self.agent_id.clone(),
            agent_type: self.agent_type.clone(),
            cwd: self.cwd.clone(),
            permission_mode: self.permission_mode.clone(),
        }
    }
}

/// One tool call, by its sealed identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The call's id, unique in its session.
    pub call_id: String,
    /// The id of the outermost call, where a composite tool made this one; equal to `call_id` otherwise.
    pub root_call_id: String,
    /// The tool, by the name the agent calls it.
    pub tool: String,
    /// Its arguments.
    pub arguments: Json,
    /// Who makes the call.
    pub agent: Agent,
}

impl ToolCall {
    pub(crate) fn to_wire(&self) -> wire::types::ToolCall {
        wire::types::ToolCall {
            call_id: self.call_id.clone(),
            root_call_id: self.root_call_id.clone(),
            tool: self.tool.clone(),
            arguments: self.arguments.text().to_owned(),
            agent: self.agent.to_wire(),
        }
    }
}

/// What a tool call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The tool's value, or its failure.
    pub result: Result<Json, ToolError>,
    /// What the model gets to read: the text of every text block, one after another.
    pub text: String,
    /// All content blocks as a JSON list, where there is anything beside one block of text.
    pub blocks: Option<Json>,
}

/// Why a tool call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolError {
    /// For the model and the person.
    pub message: String,
    /// A stable name for programs, where the failure has one.
    pub code: Option<String>,
}

impl Outcome {
    pub(crate) fn to_wire(&self) -> wire::types::Outcome {
        wire::types::Outcome {
            result: match &self.result {
                Ok(value) => Ok(value.text().to_owned()),
                Err(error) => Err(wire::types::ToolError {
                    message: error.message.clone(),
                    code: error.code.clone(),
                }),
            },
            text: self.text.clone(),
            blocks: self.blocks.as_ref().map(|blocks| blocks.text().to_owned()),
        }
    }
}
