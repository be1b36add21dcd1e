//! The first half of a call: what it is, and whether it may run.

use std::borrow::Cow;
use std::sync::Arc;

use super::identity::Token;
use super::invocation::Shared;
use super::outcome::{Candidate, Ending};
use super::{CallRequest, Dispatch, Pipeline, Prepared, Settled, Unclaimed, Within};
use super::{misfit, normalise, reasons, unrecorded};
use crate::approval::{ApprovalOutcome, ApprovalRequest, OpenQuestion};
use crate::audit::{AuditEvent, AuditRewrite};
use crate::json::Json;
use crate::seams::{
    Attributed, Guard, PermissionRequest, PermissionVerdict, PreTool, RewriteInput, ToolCall,
    ToolError, VerdictRank, conflicts, join,
};

impl Pipeline {
    /// Everything before the tool: identity, pre-tool, approval, guards.
    pub(crate) async fn prepare(
        &self,
        request: CallRequest,
        dispatch: &dyn Dispatch,
        within: Within,
    ) -> Prepared {
        let CallRequest {
            call_id,
            tool,
            arguments,
            agent,
            turn,
            signal,
        } = request;
        let finaliser = normalise::resolve(dispatch, &tool, agent.as_ref());
        let (arguments, lossy) = match arguments.check() {
            Ok(arguments) => (arguments, None),
            // They are absent, which is null where there has to be something.
            Err(error) => (Json::null(), Some(error)),
        };
        let call = ToolCall {
            root_call_id: within.root_call_id.unwrap_or_else(|| call_id.clone()),
            call_id,
            tool,
            arguments,
            agent: agent.clone().unwrap_or_default(),
        };
        let shared = Shared::new(
            call,
            Token::mint(),
            agent,
            turn,
            signal,
            within.depth,
            within.stages,
        );
        let mut prepared = Prepared {
            shared: Arc::new(shared),
            finaliser,
            original: None,
            rewrites: Vec::new(),
            conflicts: Vec::new(),
            contexts: Vec::new(),
            settled: None,
        };
        prepared.settled = if let Some(error) = lossy {
            let message = "tool execution arguments must be losslessly JSON-serializable";
            let error = ToolError::new(format!("{message} ({error})"));
            Some(Settled::last(Candidate::failure(
                error,
                Ending::BadArguments,
            )))
        } else if let Some(cause) = prepared.shared.signal.cause() {
            Some(Settled::last(Candidate::aborted(cause, false)))
        } else {
            self.decide(&mut prepared).await.err()
        };
        prepared
    }

    /// Whether it runs. An error is what it comes to without running.
    async fn decide(&self, prepared: &mut Prepared) -> Result<(), Settled> {
        self.rewrite(prepared).await.map_err(Settled::last)?;
        go_on(&prepared.shared)?;
        // From here on nothing changes who the call is.
        let shared = prepared.shared.clone();
        let folded = self
            .ask::<PreTool>(&shared, || Cow::Borrowed(&shared.call))
            .await
            .map_err(Settled::last)?;
        let verdict = match folded.verdict {
            VerdictRank::Abstain if self.0.unclaimed == Unclaimed::Ask => VerdictRank::Ask,
            verdict => verdict,
        };
        let decisive = folded.decisive();
        prepared.contexts = folded.contexts;
        go_on(&shared)?;
        match verdict {
            VerdictRank::Abstain | VerdictRank::Allow => {}
            VerdictRank::Ask => self.approve(prepared, decisive).await?,
            VerdictRank::Deny => return Err(refused(&decisive, Ending::Denied)),
        }
        let folded = self
            .ask::<Guard>(&shared, || Cow::Borrowed(&shared.call))
            .await
            .map_err(Settled::last)?;
        go_on(&shared)?;
        if !folded.denials.is_empty() {
            return Err(refused(&folded.denials, Ending::Guarded));
        }
        match shared.signal.cause() {
            Some(cause) => Err(Settled::open(Candidate::aborted(cause, false))),
            None => Ok(()),
        }
    }

    /// Lets hooks rewrite the arguments, while the call has no identity yet.
    async fn rewrite(&self, prepared: &mut Prepared) -> Result<(), Candidate> {
        let folded = self
            .ask::<RewriteInput>(&prepared.shared, || Cow::Borrowed(&prepared.shared.call))
            .await?;
        let Some(last) = folded.rewrites.last() else {
            return Ok(());
        };
        if let Some(tool) = &prepared.finaliser {
            let problems = tool.argument_problems(&last.arguments);
            if !problems.is_empty() {
                let message = format!(
                    "it rewrote the arguments, and they don't fit the tool: {}",
                    problems.join("; ")
                );
                return Err(misfit(&last.hook, message));
            }
        }
        let shared = &prepared.shared;
        let original = shared.call.arguments.clone();
        let conflicts = conflicts(&original, &folded.rewrites);
        let recorded = self.record(
            shared,
            AuditEvent::InputRewritten {
                call_id: shared.call.call_id.clone(),
                tool_name: shared.call.tool.clone(),
                original: original.clone(),
                rewrites: folded
                    .rewrites
                    .iter()
                    .map(|rewrite| AuditRewrite {
                        hook: rewrite.hook.clone(),
                        arguments: rewrite.arguments.clone(),
                    })
                    .collect(),
                conflicts: conflicts.clone(),
            },
        );
        recorded.map_err(|error| unrecorded(&error))?;
        let call = ToolCall {
            arguments: last.arguments.clone(),
            ..shared.call.clone()
        };
        let sealed = Shared::new(
            call,
            shared.token,
            shared.agent.clone(),
            shared.turn,
            shared.signal.clone(),
            shared.depth,
            shared.stages.clone(),
        );
        sealed.add_stop(shared.take_stop());
        prepared.shared = Arc::new(sealed);
        prepared.original = Some(original);
        prepared.rewrites = folded.rewrites;
        prepared.conflicts = conflicts;
        Ok(())
    }

    /// A hook asked, so somebody has to agree.
    async fn approve(&self, prepared: &Prepared, asked_by: Vec<Attributed>) -> Result<(), Settled> {
        let shared = &prepared.shared;
        let tool = &shared.call.tool;
        let refused = |text: String, outcome| {
            Settled::open(Candidate::failure(
                ToolError::new(text),
                Ending::NotApproved(outcome),
            ))
        };
        let Some(approval) = &self.0.approval else {
            let text = join(&asked_by).unwrap_or_else(|| {
                format!("tool \"{tool}\" requires approval (not yet supported)")
            });
            return Err(refused(text, ApprovalOutcome::Unavailable));
        };
        let Some(agent) = &shared.agent else {
            let text = format!(
                "tool \"{tool}\" requires approval, but the call has no agent to route it through"
            );
            return Err(refused(text, ApprovalOutcome::Unavailable));
        };
        let Some(turn) = shared.turn else {
            let text = format!(
                "tool \"{tool}\" requires approval, and no turn is open that the answer could be recorded in"
            );
            return Err(Settled::last(Candidate::failure(
                ToolError::coded(text.clone(), "NO_OPEN_TURN"),
                Ending::Unrecorded(text),
            )));
        };
        let request = ApprovalRequest::new(
            agent.clone(),
            shared.call.clone(),
            prepared.original.clone(),
            asked_by,
            shared.signal.clone(),
        );
        let question = OpenQuestion::ask(self.audit_sink(), &request, turn)
            .map_err(|error| Settled::last(unrecorded(&error)))?;
        let mut denials = Vec::new();
        let hooks = async {
            let folded = self
                .ask::<PermissionRequest>(shared, || Cow::Borrowed(&shared.call))
                .await?;
            denials = folded.denials;
            Ok(match folded.verdict {
                PermissionVerdict::Abstain => None,
                PermissionVerdict::AllowOnce => Some(ApprovalOutcome::AllowedOnce),
                PermissionVerdict::Deny => Some(ApprovalOutcome::Rejected),
            })
        };
        let decided = approval.decide(&request, hooks).await;
        let outcome = *decided.as_ref().unwrap_or(&ApprovalOutcome::Unavailable);
        question
            .decided(outcome)
            .map_err(|error| Settled::last(unrecorded(&error)))?;
        decided.map_err(Settled::last)?;
        go_on(shared)?;
        let text = match outcome {
            ApprovalOutcome::AllowedOnce => return Ok(()),
            ApprovalOutcome::Rejected if !denials.is_empty() => reasons(&denials),
            ApprovalOutcome::Rejected => format!("the user rejected tool \"{tool}\""),
            ApprovalOutcome::Cancelled => match shared.signal.cause() {
                Some(cause) => return Err(Settled::open(Candidate::aborted(cause, false))),
                None => format!("approval for tool \"{tool}\" was cancelled"),
            },
            ApprovalOutcome::Unavailable => {
                format!("tool \"{tool}\" requires approval, but no approval channel is available")
            }
        };
        Err(refused(text, outcome))
    }
}

/// A hook that stops the agent altogether keeps its call from running, whatever it decided beside.
fn go_on(shared: &Shared) -> Result<(), Settled> {
    match shared.stop() {
        Some(stop) => Err(Settled::open(Candidate::failure(
            ToolError::new(stop.reason()),
            Ending::Stopped,
        ))),
        None => Ok(()),
    }
}

fn refused(by: &[Attributed], ending: Ending) -> Settled {
    Settled::open(Candidate::failure(ToolError::new(reasons(by)), ending))
}
