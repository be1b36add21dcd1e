//! The seams: one file each, with what is asked there, what a hook may answer, and how answers fold.
//!
//! A seam's file has four things: the *event* hooks are asked about, the *decision* one hook gives, the *folded* decision of
//! all of them, and how event and decision cross into the sandbox. The same seam's interface is the file of that name in
//! `wit/`.
//!
//! # The fold, as a law
//!
//! What hooks say is an algebra with one operation. [`Seam::lift`] makes a folded decision of what one hook said, with the
//! hook's name on it; [`Seam::combine`] puts an earlier and a later one together. Beside the decision stand two more things,
//! which no decision can hide: [stops](crate::Stop), and the [failures](crate::Failure) of hooks that could not decide.
//!
//! > stop > deny > *could not decide* > ask > allow > abstain
//!
//! 1. **Neutral.** The default changes nothing, on either side: a hook with nothing to say is as good as absent.
//! 2. **In pieces as at once.** `combine` is associative, so a waterfall, which folds from the inside, and a list, which folds
//!    from the front, come to the same.
//! 3. **Deny absorbs.** Where one hook denies, all together deny, whatever the others say and in whichever order they are asked.
//!    The asking may therefore end there ([`Seam::closes`]), and [asking everybody](crate::Evaluate::All) all the same comes to
//!    the same verdict.
//! 4. **Order can't weaken.** The verdict is the strictest one; the order decides about the order of reasons and contexts, and
//!    about who rewrites last.
//! 5. **Nothing is lost silently.** Reasons, contexts, blocks and rewrites of everybody who was asked are kept, in order, each
//!    with its author. What a deny makes moot is still there, and it is up to the reader to leave it out.
//! 6. **Rewrites chain.** Each hook sees what the one before made, and the last one holds.
//! 7. **A failure is weaker than a deny and stronger than everything else.** At gates and transforms it closes the seam; a hook
//!    that denies beside it gives a better reason, and neither can be taken for the other.
//! 8. **A stop is beside all of them.** It is kept whatever the decision, and no hook can take it back.
//!
//! Each law is a property test: 1 to 5 for every seam in `law.rs`, and 6 where something is rewritten; 3, 7 and 8 for hooks as they
//! are asked in `runtime/tests.rs`.

pub(crate) mod around_tool;
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
pub(crate) use rewrite_input::conflicts;
pub use rewrite_input::{Conflict, Rewrite, RewriteInput, RewriteInputDecision, RewriteInputFold};
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

    /// Who acts. Where nobody does, its session is empty.
    fn agent(event: &Self::Event) -> &Agent;

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

    /// Whether a native hook is handed the hooks after it here, and may leave them out.
    ///
    /// At guards, at the end of a turn and at notices every hook answers for itself: nothing that one of them does, and
    /// nothing that happens to it, keeps another from being asked.
    pub fn is_waterfall(self) -> bool {
        match self {
            Self::PromptSubmit
            | Self::RewriteInput
            | Self::PreTool
            | Self::AroundTool
            | Self::PostTool
            | Self::PermissionRequest
            | Self::PreCompact => true,
            Self::SessionStart
            | Self::Guard
            | Self::ToolResult
            | Self::TurnStopping
            | Self::SubagentStart
            | Self::SubagentStop
            | Self::Observe => false,
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
