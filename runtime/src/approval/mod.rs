//! Approval: a hook said `ask`, and somebody has to agree before the call runs.
//!
//! There are four answers, and only one of them lets the call run. Every question and every answer is in the audit log, in
//! pairs: a call whose future is dropped while somebody thinks about it was cancelled.

mod ready;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

pub use ready::{AlwaysReject, Callback, Terminal};

use crate::audit::{self, AuditError, AuditEvent, AuditSink, Who};
use crate::contained::Boxed;
use crate::contained::contain_async;
use crate::json::Json;
use crate::pipeline::Signal;
use crate::sandbox::Digest;
use crate::seams::{Agent, Attributed, ToolCall, join};

/// What came of asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalOutcome {
    /// This one call may run, with exactly these arguments. It is never kept for a later one.
    AllowedOnce,
    /// Somebody said no.
    Rejected,
    /// The question was withdrawn before somebody answered.
    Cancelled,
    /// Nobody is there to answer.
    Unavailable,
}

/// Whether anybody is asked at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalPolicy {
    /// Somebody is asked.
    #[default]
    Ask,
    /// Nobody is asked, and every question is rejected.
    Never,
}

/// Somebody who answers: a person at a terminal, a program.
pub trait Approver: Send + Sync {
    /// Answers, or leaves it to the next approver, which is what one does for an agent that is not one's own.
    ///
    /// An approver that panics is not there. An answer that comes after the call was cancelled is not looked at.
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> Boxed<'a, Option<ApprovalOutcome>>;
}

/// What somebody is asked to approve.
#[derive(Debug, Clone)]
pub struct ApprovalRequest {
    /// The question's id, fresh for each.
    pub id: String,
    /// Who wants to make the call.
    pub agent: Agent,
    /// The call, with the arguments that would run.
    pub call: ToolCall,
    /// What the model wrote, where hooks rewrote it.
    pub original_arguments: Option<Json>,
    /// Who wants somebody to agree, and why, in order. Empty where it is the program itself.
    pub asked_by: Vec<Attributed>,
    /// What a grant is bound to: tool and arguments.
    pub digest: Digest,
    /// Fires when the answer is no longer needed.
    pub signal: Signal,
}

impl ApprovalRequest {
    /// A question about a call, with a fresh id.
    pub(crate) fn new(
        agent: Agent,
        call: ToolCall,
        original_arguments: Option<Json>,
        asked_by: Vec<Attributed>,
        signal: Signal,
    ) -> Self {
        let content = format!("{}\n{}", Json::string(&call.tool), call.arguments);
        Self {
            id: fresh_id(&call),
            digest: Digest::of(content.as_bytes()),
            agent,
            call,
            original_arguments,
            asked_by,
            signal,
        }
    }
}

impl ApprovalRequest {
    /// All reasons, one under the other, where there are any.
    pub fn reason(&self) -> Option<String> {
        join(&self.asked_by)
    }
}

/// An id that no other question has: not in this process, and not in another that writes to the same log.
fn fresh_id(call: &ToolCall) -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos());
    let unique = format!("{} {number} {since} {}", std::process::id(), call.call_id);
    format!(
        "approval-{}",
        &Digest::of(unique.as_bytes()).to_string()[..20]
    )
}

/// Who is asked, and whether.
#[derive(Default)]
pub struct Approval {
    approvers: Vec<Arc<dyn Approver>>,
    default: ApprovalPolicy,
    sessions: Mutex<HashMap<String, ApprovalPolicy>>,
}

impl Approval {
    /// With nobody there to answer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds somebody who is asked where all before leave it to the next.
    #[must_use]
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.approvers.push(Arc::new(approver));
        self
    }

    /// What holds for sessions that have no policy of their own.
    #[must_use]
    pub fn default_policy(mut self, policy: ApprovalPolicy) -> Self {
        self.default = policy;
        self
    }

    /// Gives a session a policy of its own, or takes it away. The last one holds.
    ///
    /// # Errors
    /// The change can't be recorded. It is then not made.
    pub fn set_policy(
        &self,
        session: &str,
        policy: Option<ApprovalPolicy>,
        audit: Option<&dyn AuditSink>,
    ) -> Result<(), AuditError> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sink) = audit {
            audit::append(
                sink,
                Who {
                    session: Some(session),
                    agent: None,
                },
                None,
                AuditEvent::ApprovalPolicy { policy },
            )?;
        }
        match policy {
            Some(policy) => sessions.insert(session.to_owned(), policy),
            None => sessions.remove(session),
        };
        Ok(())
    }

    /// The policy of a session.
    pub fn policy(&self, session: &str) -> ApprovalPolicy {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.get(session).copied().unwrap_or(self.default)
    }

    /// Asks one after another until somebody answers.
    async fn ask_around(&self, request: &ApprovalRequest) -> ApprovalOutcome {
        for approver in &self.approvers {
            match contain_async(|| approver.approve(request)).await {
                Ok(Some(outcome)) => return outcome,
                Ok(None) => {}
                Err(_) => return ApprovalOutcome::Unavailable,
            }
        }
        ApprovalOutcome::Unavailable
    }

    /// Decides a question, given that hooks may have decided it already.
    pub(crate) async fn decide<T>(
        &self,
        request: &ApprovalRequest,
        hooks: impl Future<Output = Result<Option<ApprovalOutcome>, T>>,
    ) -> Result<ApprovalOutcome, T> {
        if request.signal.is_fired() {
            return Ok(ApprovalOutcome::Cancelled);
        }
        // In here, so that no approver and no hook can be put before it.
        if self.policy(&request.agent.session_id) == ApprovalPolicy::Never {
            return Ok(ApprovalOutcome::Rejected);
        }
        let deciding = async {
            match hooks.await? {
                Some(decided) => Ok(decided),
                None => Ok(self.ask_around(request).await),
            }
        };
        request
            .signal
            .race(deciding)
            .await
            .unwrap_or(Ok(ApprovalOutcome::Cancelled))
    }
}

/// A question that is in the audit log, and whose answer will be too.
pub(crate) struct OpenQuestion<'a> {
    sink: Option<&'a dyn AuditSink>,
    id: &'a str,
    agent: &'a Agent,
    turn: u32,
    answered: bool,
}

impl<'a> OpenQuestion<'a> {
    /// Records the question. Where that fails, nobody is asked.
    pub(crate) fn ask(
        sink: Option<&'a dyn AuditSink>,
        request: &'a ApprovalRequest,
        turn: u32,
    ) -> Result<Self, AuditError> {
        let agent = &request.agent;
        if let Some(sink) = sink {
            let asked = AuditEvent::ApprovalAsked {
                id: request.id.clone(),
                tool_name: request.call.tool.clone(),
                call_id: request.call.call_id.clone(),
                reason: request.reason(),
                arguments: request.call.arguments.clone(),
                original_arguments: request.original_arguments.clone(),
                digest: format!("{:?}", request.digest),
            };
            audit::append(sink, agent.into(), Some(turn), asked)?;
        }
        Ok(Self {
            sink,
            id: &request.id,
            agent,
            turn,
            answered: false,
        })
    }

    /// Records the answer. Where that fails there is none.
    pub(crate) fn decided(mut self, outcome: ApprovalOutcome) -> Result<(), AuditError> {
        self.answered = true;
        self.record(outcome)
    }

    fn record(&self, outcome: ApprovalOutcome) -> Result<(), AuditError> {
        let Some(sink) = self.sink else {
            return Ok(());
        };
        let id = self.id.to_owned();
        audit::append(
            sink,
            self.agent.into(),
            Some(self.turn),
            AuditEvent::ApprovalDecided { id, outcome },
        )
    }
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        if !self.answered {
            // Whoever waited for the call went away. There is nobody left to tell that the record failed, and the call did
            // not run.
            drop(self.record(ApprovalOutcome::Cancelled));
        }
    }
}
