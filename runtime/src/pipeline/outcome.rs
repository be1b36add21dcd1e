//! What a tool call ends with.

use serde::Serialize;

use super::identity::Token;
use super::signal::Cause;
use crate::approval::ApprovalOutcome;
use crate::content;
use crate::failure::{Failure, HookName};
use crate::json::Json;
use crate::seams::{Attributed, Conflict, FinishedCall, Outcome, Rewrite, ToolCall, ToolError};
use crate::stop::Stop;

/// What a tool call ended with, after every seam. There is exactly one for each call, and nobody changes it any more.
#[derive(Debug, Clone)]
#[must_use]
pub struct CallOutcome {
    /// The call, as it ran: its arguments are the effective ones.
    pub call: ToolCall,
    /// What all seams knew this call by.
    pub token: Token,
    /// The arguments as the model wrote them, where hooks rewrote them.
    pub original_arguments: Option<Json>,
    /// Who made what of the arguments, in order.
    pub rewrites: Vec<Rewrite>,
    /// Where one of them changed what an earlier one had changed. The later one holds.
    pub conflicts: Vec<Conflict>,
    /// The tool's value, for programs; or the failure.
    pub result: Result<Json, ToolError>,
    /// What the model reads: a list of content blocks.
    pub content: Json,
    /// What a program that shows the call may know beside it.
    pub meta: Option<Json>,
    /// What the model reads after all results of the batch, in order.
    pub contexts: Vec<Context>,
    /// Whether the tool wants the turn to end with this call.
    pub concludes_turn: bool,
    /// How it came to this. No hook and no tool can forge it.
    pub ending: Ending,
    /// Whoever wants the agent to stop altogether.
    pub stop: Option<Stop>,
}

impl CallOutcome {
    /// The text that the model reads.
    pub fn text(&self) -> String {
        content::text_of(&self.content)
    }

    /// The stable name of its failure, where it failed and the failure has one.
    pub fn code(&self) -> Option<&str> {
        self.result.as_ref().err()?.code.as_deref()
    }
}

/// How a call came to its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// The tool ran, or something answered in its place, and it succeeded.
    Succeeded,
    /// The tool ran, or something answered in its place, and it failed.
    Failed,
    /// A hook denied it before it ran.
    Denied,
    /// It did not run, since a hook stopped the agent altogether.
    Stopped,
    /// A person should have agreed, and nobody did.
    NotApproved(ApprovalOutcome),
    /// A guard denied it.
    Guarded,
    /// It ran, and a hook kept its result from the model.
    Blocked,
    /// It was cancelled, or its time ran out.
    Aborted(Cause),
    /// Its arguments were no lossless JSON.
    BadArguments,
    /// A hook could not decide. Nobody said no.
    CouldNotDecide(Failure),
    /// What was decided could not be written to the audit log.
    Unrecorded(String),
}

/// Text for the model beside a result, with its source. No source is the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Context {
    /// Whose it is. The runtime writes it.
    pub source: ContextSource,
    /// The text.
    pub text: String,
}

/// Whose a context is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum ContextSource {
    /// A hook's.
    Hook {
        /// Its name.
        hook: HookName,
    },
    /// A tool's, for one of its calls.
    #[serde(rename_all = "camelCase")]
    Tool {
        /// The tool.
        tool: String,
        /// The call.
        call_id: String,
    },
    /// The embedding program's.
    Host,
}

impl From<Attributed> for Context {
    fn from(said: Attributed) -> Self {
        Self {
            source: ContextSource::Hook { hook: said.hook },
            text: said.text,
        }
    }
}

impl ToolError {
    /// A failure in words.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: None,
        }
    }

    /// A failure in words, with a stable name for programs.
    pub fn coded(message: impl Into<String>, code: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: Some(code.into()),
        }
    }
}

/// An outcome while it is being made.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) result: Result<Json, ToolError>,
    pub(crate) content: Json,
    pub(crate) meta: Option<Json>,
    pub(crate) concludes_turn: bool,
    pub(crate) ending: Ending,
    pub(crate) contexts: Vec<Context>,
}

impl Candidate {
    /// A failure that reads as its message.
    pub(crate) fn failure(error: ToolError, ending: Ending) -> Self {
        let content = content::of_texts([format!("Error: {}", error.message).as_str()]);
        Self {
            result: Err(error),
            content,
            meta: None,
            concludes_turn: false,
            ending,
            contexts: Vec::new(),
        }
    }

    /// What a hook's failure comes to: the model reads which hook it was and nothing that the hook wrote.
    pub(crate) fn undecided(failure: Failure) -> Self {
        let error = ToolError::coded(failure.for_model(), failure.code.to_string());
        Self::failure(error, Ending::CouldNotDecide(failure))
    }

    /// What an abort comes to before the tool has run, or after.
    pub(crate) fn aborted(cause: Cause, body_invoked: bool) -> Self {
        Self::failure(aborted(cause, body_invoked), Ending::Aborted(cause))
    }

    pub(crate) fn with_contexts(mut self, contexts: Vec<Context>) -> Self {
        self.contexts = contexts;
        self
    }

    /// As hooks see it.
    pub(crate) fn shown(&self, call: &ToolCall) -> FinishedCall {
        let text = content::text_of(&self.content);
        FinishedCall {
            call: call.clone(),
            outcome: Outcome {
                result: self.result.clone(),
                blocks: content::beside_text(&self.content, &text),
                text,
            },
        }
    }
}

pub(crate) fn aborted(cause: Cause, body_invoked: bool) -> ToolError {
    match cause {
        Cause::Deadline(limit) => ToolError::coded(
            format!("tool call timed out after {}ms", limit.as_millis()),
            "TOOL_TIMEOUT",
        ),
        Cause::Cancelled if body_invoked => ToolError::coded("tool call aborted", "ABORTED"),
        Cause::Cancelled => ToolError::coded(
            "tool call aborted before dispatch",
            "ABORTED_BEFORE_DISPATCH",
        ),
    }
}

pub(crate) fn unknown_tool(name: &str) -> ToolError {
    ToolError::coded(format!("unknown tool \"{name}\""), "UNKNOWN_TOOL")
}

pub(crate) fn invalid_output(name: &str, violations: &[String]) -> ToolError {
    ToolError::coded(
        format!(
            "tool \"{name}\" returned invalid output: {}",
            violations.join("; ")
        ),
        "INVALID_TOOL_OUTPUT",
    )
}
