//! The audit log: the durable record of who was asked and what was decided.
//!
//! Records go to an [`AuditSink`]. What a sink acknowledges it keeps; what it does not acknowledge did not happen: a gate whose
//! decision can't be recorded stays closed.

mod file;
mod hook_run;

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

pub use file::{DEFAULT_PATIENCE, Durability, FileSink, read_lines};
pub use hook_run::{HookEnd, HookPoint, HookRun, HookRuns, STDERR_SUMMARY};

use crate::approval::{ApprovalOutcome, ApprovalPolicy};
use crate::contained::contain;
use crate::failure::{FailureCode, HookName};
use crate::json::Json;
use crate::runtime::Answer;
use crate::seams::{Agent, Attributed, Conflict, SeamName};

/// Where records go.
///
/// `append` blocks for as long as the record takes to be safe. It is never called while a hook or a tool is being polled.
pub trait AuditSink: Send + Sync {
    /// Keeps a record. Once this returns without an error, the record is kept.
    ///
    /// # Errors
    /// The record is not kept.
    fn append(&self, record: &AuditRecord) -> Result<(), AuditError>;
}

/// Why a record is not kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The system refused.
    #[error("the audit log can't be written: {0}")]
    Io(#[from] std::io::Error),
    /// The record can't be put into JSON.
    #[error("the audit record can't be put into JSON: {0}")]
    Encode(#[from] serde_json::Error),
    /// The sink panicked.
    #[error("the audit sink panicked: {0}")]
    Panic(String),
    /// Anything else, in a sink's own words.
    #[error("{0}")]
    Other(String),
}

/// One line of the audit log.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditRecord {
    /// When, in milliseconds since 1970.
    pub time: u64,
    /// Whose session, where there is an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Which subagent of the session, where it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The turn that was open, where one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// What happened.
    #[serde(flatten)]
    pub event: AuditEvent,
}

/// What a line of the audit log tells.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", content = "data", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum AuditEvent {
    /// Somebody is asked to approve a call.
    #[serde(rename = "approval/asked")]
    ApprovalAsked {
        /// The id that the answer will have too.
        id: String,
        /// The tool.
        tool_name: String,
        /// The call.
        call_id: String,
        /// Why somebody is asked.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The arguments that would run.
        arguments: Json,
        /// What the model wrote, where hooks rewrote it.
        #[serde(skip_serializing_if = "Option::is_none")]
        original_arguments: Option<Json>,
        /// What a grant is bound to: tool and arguments.
        digest: String,
    },
    /// What came of it.
    #[serde(rename = "approval/decided")]
    ApprovalDecided {
        /// The id of the question.
        id: String,
        /// The answer.
        outcome: ApprovalOutcome,
    },
    /// A session's approval policy was changed.
    #[serde(rename = "approval/policy")]
    ApprovalPolicy {
        /// From now on. None is the default of the deployment again.
        policy: Option<ApprovalPolicy>,
    },
    /// Hooks rewrote the arguments of a call before it had its identity.
    #[serde(rename = "input/rewritten")]
    InputRewritten {
        /// The call.
        call_id: String,
        /// The tool.
        tool_name: String,
        /// What the model wrote.
        original: Json,
        /// Who made what of it, in order. The last holds.
        rewrites: Vec<AuditRewrite>,
        /// Which of them changed what an earlier one had changed.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        conflicts: Vec<Conflict>,
    },
    /// A seam was asked.
    #[serde(rename = "seam/decided")]
    SeamDecided {
        /// The seam.
        seam: SeamName,
        /// The call, at the seams of a call.
        #[serde(skip_serializing_if = "Option::is_none")]
        call_id: Option<String>,
        /// The tool, at the seams of a call.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_name: Option<String>,
        /// What each hook said, in order.
        hooks: Vec<AuditAnswer>,
        /// Who stopped the agent, where somebody did.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        stops: Vec<Attributed>,
    },
    /// A tool calls another one as a part of its own call.
    #[serde(rename = "tool/code-dispatch-start")]
    DispatchStarted {
        /// The outermost call.
        root_call_id: String,
        /// The call that makes this one.
        parent_call_id: String,
        /// This one.
        sub_call_id: String,
        /// Its tool.
        name: String,
        /// Its arguments, where they are lossless JSON.
        #[serde(skip_serializing_if = "Option::is_none")]
        arguments: Option<Json>,
    },
    /// That call has its outcome.
    #[serde(rename = "tool/code-dispatch")]
    DispatchEnded {
        /// The outermost call.
        root_call_id: String,
        /// The call that made this one.
        parent_call_id: String,
        /// This one.
        sub_call_id: String,
        /// Its tool.
        name: String,
        /// Whether it failed.
        is_error: bool,
        /// How it reads.
        content: Json,
    },
    /// A turn was not made to go on again, since hooks had done that too often.
    #[serde(rename = "turn/stop-capped")]
    StopCapped {
        /// How often hooks had made it go on.
        forced_continuations: u32,
        /// What they would have said to the model.
        continuations: Vec<Attributed>,
    },
    /// A shell hook starts.
    #[serde(rename = "hook/invoked")]
    HookInvoked {
        /// The event of the dialect.
        point: String,
        /// The dialect.
        dialect: String,
        /// This run of the hook.
        handler_id: String,
        /// The configured matcher, where there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        matcher: Option<String>,
    },
    /// A shell hook ended.
    #[serde(rename = "hook/result")]
    HookResult {
        /// The event of the dialect.
        point: String,
        /// The run that ended.
        handler_id: String,
        /// Its own decision, `stop`, or `pass`.
        decision: String,
        /// What it exited with, where it did.
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// The beginning of what it wrote to standard error.
        #[serde(skip_serializing_if = "Option::is_none")]
        stderr_summary: Option<String>,
        /// How long it took, in milliseconds.
        duration_ms: f64,
    },
}

/// One step of a chain of rewrites.
#[derive(Debug, Clone, Serialize)]
pub struct AuditRewrite {
    /// Who rewrote the arguments.
    pub hook: HookName,
    /// What they became.
    pub arguments: Json,
}

/// What one hook said, or what kept it from saying something.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditAnswer {
    /// The hook.
    pub hook: HookName,
    /// Its decision in a word, where it decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<&'static str>,
    /// Its reason; or what happened to it, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What happened to it, where it could not decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureCode>,
    /// How long it took, in microseconds.
    pub elapsed_us: u64,
}

impl From<&Answer> for AuditAnswer {
    fn from(answer: &Answer) -> Self {
        let (decision, reason, failure) = match &answer.said {
            Ok(said) => (Some(said.decision), said.reason.clone(), None),
            Err(failure) => (None, Some(failure.message.clone()), Some(failure.code)),
        };
        Self {
            hook: answer.hook.clone(),
            decision,
            reason,
            failure,
            elapsed_us: u64::try_from(answer.elapsed.as_micros()).unwrap_or(u64::MAX),
        }
    }
}

/// Who a record is about.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Who<'a> {
    pub(crate) session: Option<&'a str>,
    pub(crate) agent: Option<&'a str>,
}

impl<'a> From<&'a Agent> for Who<'a> {
    fn from(agent: &'a Agent) -> Self {
        Self {
            session: Some(&agent.session_id),
            agent: agent.agent_id.as_deref(),
        }
    }
}

/// Appends to a sink, whatever it does.
pub(crate) fn append(
    sink: &dyn AuditSink,
    who: Who<'_>,
    turn: Option<u32>,
    event: AuditEvent,
) -> Result<(), AuditError> {
    let record = AuditRecord {
        time: now(),
        session: who.session.map(str::to_owned),
        agent: who.agent.map(str::to_owned),
        turn,
        event,
    };
    contain(|| sink.append(&record)).unwrap_or_else(|message| Err(AuditError::Panic(message)))
}

/// Milliseconds since 1970. A clock that stands before it counts as 1970: a record is better than none.
fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
}
