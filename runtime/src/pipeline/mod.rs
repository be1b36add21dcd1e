//! The whole life of a tool call, as one call that never errors: [`Pipeline::execute`].
//!
//! The order is rewrite-input, *identity sealed*, pre-tool, approval where somebody asked for it, guards,
//! around-tool( the tool, normalised ), post-tool, finalise, tool-result. Whatever goes wrong on the way, there is exactly one
//! outcome, and everybody is told the same one.
//!
//! What goes wrong where:
//!
//! | Where | post-tool | contexts |
//! |---|---|---|
//! | arguments are lossy, or cancelled at the beginning | no | none |
//! | a hook at rewrite-input, pre-tool, permission-request or guard could not decide | no | none |
//! | denied, not approved, denied by a guard | yes | those of pre-tool and post-tool |
//! | cancelled before the tool ran | yes | the same |
//! | unknown tool, the tool failed or gave a bad value | yes | all |
//! | a hook around the tool could not decide, or answered with a bad value | no | none |
//! | a hook at post-tool could not decide, or replaced by a bad value | stops | none |
//! | the tool's last word fails | was before | none |
//! | a hook at tool-result fails | was before | all |
//!
//! The tool's last word and tool-result happen for every call.

mod around;
mod batch;
mod decide;
mod identity;
mod invocation;
mod normalise;
mod outcome;
mod schema;
mod settle;
mod signal;
mod tool;

use std::borrow::Cow;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

pub(crate) use around::AroundEntry;
pub use around::AroundNext;
pub use batch::{Batch, BatchLog, DEFAULT_OVERLAP};
pub use identity::{Arguments, CallRequest, Token};
pub use invocation::{Inner, Invocation};
pub use outcome::{CallOutcome, Context, ContextSource, Ending};
pub use schema::{Schema, SchemaError, Unchecked};
pub use signal::{Canceller, Cause, Signal};
pub use tool::{Body, Dispatch, Tool, Tools};

use crate::approval::Approval;
use crate::audit::{self, AuditAnswer, AuditEvent, AuditSink};
use crate::failure::{Failure, FailureCode};
use crate::json::Json;
use crate::runtime::{Answer, Asked, Runtime};
pub use crate::seams::around_tool::{Around, AroundError, AroundTool, Ran};
use crate::seams::{Attributed, Conflict, Rewrite, Seam, SeamKind, SeamName};
use invocation::Shared;
pub(crate) use outcome::Candidate;

/// How deep calls and the policies around them may nest.
pub const MAX_NESTING: usize = 16;

/// How long all hooks of one seam may take together, unless said otherwise: as long as agents give a shell hook.
pub const DEFAULT_SEAM_LIMIT: Duration = Duration::from_secs(600);

/// Runs tool calls through every seam. It needs a tokio runtime whose time is enabled, since hooks have limits.
///
/// Cheap to clone. Made once, then asked from any number of tasks.
#[derive(Clone)]
pub struct Pipeline(Arc<Settings>);

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Pipeline").finish_non_exhaustive()
    }
}

/// What a call comes to at pre-tool where no hook has anything to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unclaimed {
    /// It runs.
    #[default]
    Run,
    /// Somebody is asked. A hook that says `allow` spares them.
    Ask,
}

#[derive(Clone)]
struct Settings {
    runtime: Arc<RwLock<Arc<Runtime>>>,
    approval: Option<Arc<Approval>>,
    audit: Option<Arc<dyn AuditSink>>,
    unclaimed: Unclaimed,
    seam_limit: Duration,
    body_grace: Option<Duration>,
}

/// How a [`Pipeline`] is put together.
#[must_use]
pub struct PipelineBuilder(Settings);

impl PipelineBuilder {
    /// Whom to ask where a hook asks. Without this, an ask is a denial with the hook's own reason.
    pub fn approval(mut self, approval: Approval) -> Self {
        self.0.approval = Some(Arc::new(approval));
        self
    }

    /// Where everything is recorded. A gate whose decision can't be recorded stays closed.
    pub fn audit(mut self, sink: Arc<dyn AuditSink>) -> Self {
        self.0.audit = Some(sink);
        self
    }

    /// What a call comes to where no hook has anything to say.
    pub fn unclaimed(mut self, unclaimed: Unclaimed) -> Self {
        self.0.unclaimed = unclaimed;
        self
    }

    /// How long all hooks of one seam may take together. A hook that has not answered by then could not decide. Policies have
    /// limits of their own; this one is for native hooks.
    pub fn seam_limit(mut self, limit: Duration) -> Self {
        self.0.seam_limit = limit;
        self
    }

    /// How long a tool, and the native hooks around it, may go on after the call was cancelled, before their futures are
    /// dropped. Without this they are waited for, however long it takes, since only the tool knows how to leave things
    /// whole.
    pub fn body_grace(mut self, grace: Duration) -> Self {
        self.0.body_grace = Some(grace);
        self
    }

    /// The pipeline.
    pub fn build(self) -> Pipeline {
        Pipeline(Arc::new(self.0))
    }
}

/// What a call happens within.
#[derive(Default)]
pub(crate) struct Within {
    /// The outermost call, where this one is made by another.
    root_call_id: Option<String>,
    /// How many calls this one is nested in.
    depth: usize,
    /// Held while a call is being decided about or committed: of all calls within one thing, only the bodies overlap.
    stages: Stages,
}

/// See [`Within::stages`].
pub(crate) type Stages = Arc<tokio::sync::Mutex<()>>;

/// A call that is decided about.
pub(crate) struct Prepared {
    shared: Arc<Shared>,
    /// The tool when the call began. Its last word is heard also where the tool is gone by then.
    finaliser: Option<Arc<Tool>>,
    original: Option<Json>,
    rewrites: Vec<Rewrite>,
    conflicts: Vec<Conflict>,
    /// Contexts of pre-tool.
    contexts: Vec<crate::seams::Attributed>,
    /// What it came to already, where it does not run.
    settled: Option<Settled>,
}

/// A call that is over but for its last seams.
pub(crate) struct RanCall {
    prepared: Prepared,
    settled: Settled,
}

/// What a call came to, and whether post-tool hears of it.
pub(crate) struct Settled {
    candidate: Box<Candidate>,
    post_tool: bool,
}

impl Settled {
    /// Nobody can soften it.
    fn last(candidate: Candidate) -> Self {
        Self {
            candidate: Box::new(candidate),
            post_tool: false,
        }
    }

    fn open(candidate: Candidate) -> Self {
        Self {
            candidate: Box::new(candidate),
            post_tool: true,
        }
    }
}

impl Pipeline {
    /// One that asks these hooks, and has nobody to approve anything and no audit log.
    pub fn new(runtime: Arc<Runtime>) -> Self {
        Self::builder(runtime).build()
    }

    /// One that is put together step by step.
    pub fn builder(runtime: Arc<Runtime>) -> PipelineBuilder {
        PipelineBuilder(Settings {
            runtime: Arc::new(RwLock::new(runtime)),
            approval: None,
            audit: None,
            unclaimed: Unclaimed::default(),
            seam_limit: DEFAULT_SEAM_LIMIT,
            body_grace: None,
        })
    }

    /// The hooks, as they are now.
    pub fn runtime(&self) -> Arc<Runtime> {
        let runtime = self.0.runtime.read();
        runtime.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the hooks. A seam that is being asked goes on with those it began with; every later one, also of a call that
    /// is under way, asks the new ones.
    pub fn change(&self, change: impl FnOnce(&mut Runtime)) {
        let mut held = self
            .0
            .runtime
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let mut changed = Runtime::clone(&held);
        change(&mut changed);
        *held = Arc::new(changed);
    }

    /// The same hooks and the same people to ask, with another place to record: what a subagent with a log of its own needs.
    /// A [change](Pipeline::change) of the hooks of one is a change of the hooks of both.
    #[must_use]
    pub fn recording_to(&self, sink: Arc<dyn AuditSink>) -> Self {
        Self(Arc::new(Settings {
            audit: Some(sink),
            ..Settings::clone(&self.0)
        }))
    }

    /// Whom it asks, where there is somebody.
    pub fn approval(&self) -> Option<&Approval> {
        self.0.approval.as_deref()
    }

    /// Runs a call through every seam. There is one outcome, whatever goes wrong.
    pub async fn execute(&self, request: CallRequest, dispatch: &dyn Dispatch) -> CallOutcome {
        let prepared = self.prepare(request, dispatch, Within::default()).await;
        let ran = self.run(prepared, dispatch).await;
        self.commit(ran, dispatch).await
    }

    /// The middle of a call: around-tool and the tool.
    pub(crate) async fn run(&self, mut prepared: Prepared, dispatch: &dyn Dispatch) -> RanCall {
        let settled = match prepared.settled.take() {
            Some(settled) => settled,
            None => {
                let runtime = self.runtime();
                let way = around::Way::new(self, &runtime, &prepared.shared, dispatch);
                let candidate = way.run().await;
                let recorded = self.record_answers(
                    &prepared.shared,
                    SeamName::AroundTool,
                    &way.answers(),
                    Vec::new(),
                );
                let candidate = match recorded {
                    Ok(()) => candidate,
                    Err(error) => unrecorded(&error),
                };
                match &candidate.ending {
                    Ending::CouldNotDecide(_) | Ending::Unrecorded(_) => Settled::last(candidate),
                    _ => Settled::open(abort_success(&prepared.shared, candidate)),
                }
            }
        };
        RanCall { prepared, settled }
    }

    pub(crate) fn audit_sink(&self) -> Option<&dyn AuditSink> {
        self.0.audit.as_deref()
    }

    fn record(&self, shared: &Shared, event: AuditEvent) -> Result<(), audit::AuditError> {
        let Some(sink) = self.audit_sink() else {
            return Ok(());
        };
        let who = shared
            .agent
            .as_ref()
            .map_or_else(Default::default, Into::into);
        audit::append(sink, who, shared.turn, event)
    }

    /// Records what the hooks of a seam said about a call, where there are any.
    fn record_answers(
        &self,
        shared: &Shared,
        seam: SeamName,
        answers: &[Answer],
        stops: Vec<Attributed>,
    ) -> Result<(), audit::AuditError> {
        if answers.is_empty() {
            return Ok(());
        }
        self.record(
            shared,
            AuditEvent::SeamDecided {
                seam,
                call_id: Some(shared.call.call_id.clone()),
                tool_name: Some(shared.call.tool.clone()),
                hooks: answers.iter().map(AuditAnswer::from).collect(),
                stops,
            },
        )
    }

    /// Asks a seam of a call, and records what its hooks said. Where that can't be recorded, nobody said it.
    async fn ask<'e, S: Seam>(
        &self,
        shared: &Shared,
        event: impl FnOnce() -> Cow<'e, S::Event>,
    ) -> Result<S::Folded, Candidate> {
        let runtime = self.runtime();
        if !runtime.has::<S>() {
            return Ok(S::Folded::default());
        }
        let event = event();
        let asked: Asked<S> = runtime
            .ask_until(event.as_ref(), self.0.seam_limit, &shared.signal)
            .await;
        let stops = asked
            .stop
            .as_ref()
            .map_or_else(Vec::new, |stop| stop.by().to_vec());
        let recorded = self.record_answers(shared, S::NAME, &asked.answers, stops);
        shared.add_stop(asked.stop);
        match recorded {
            Err(error) if S::NAME.kind() != SeamKind::Notice => Err(unrecorded(&error)),
            _ => asked.decision.map_err(Candidate::undecided),
        }
    }
}

/// The call was cancelled while something succeeded. Only a success gives way: what failed has a better reason.
fn abort_success(shared: &Shared, candidate: Candidate) -> Candidate {
    match shared.signal.cause() {
        Some(cause) if candidate.result.is_ok() => {
            Candidate::aborted(cause, shared.body_was_invoked()).with_contexts(candidate.contexts)
        }
        _ => candidate,
    }
}

/// What a model reads where a call can't be recorded.
const UNRECORDED: &str = "what happens with this call could not be recorded, so it is refused";

fn unrecorded(error: &audit::AuditError) -> Candidate {
    Candidate::failure(
        crate::seams::ToolError::coded(UNRECORDED, "UNRECORDED"),
        Ending::Unrecorded(error.to_string()),
    )
}

/// A hook's decision that does not fit the call.
fn misfit(hook: &crate::failure::HookName, message: String) -> Candidate {
    Candidate::undecided(Failure {
        hook: hook.clone(),
        code: FailureCode::BadDecision,
        message,
    })
}

/// All reasons, one under the other. Where they are blank, at least whose they are.
fn reasons(said: &[Attributed]) -> String {
    let text = crate::seams::join(said).unwrap_or_default();
    match said.first() {
        Some(first) if text.trim().is_empty() => {
            format!("hook `{}` denied this and gave no reason", first.hook)
        }
        _ => text,
    }
}
