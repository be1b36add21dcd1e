//! Asks the seams that an event has, in their order, and puts together what they come to.

use seamgate::seams::{
    Attributed, Contexts, FinishedCall, Guard, Observe, Outcome, PermissionRequest,
    PermissionRequestFold, PostTool, PostToolFold, PreCompact, PreCompactFold, PreTool,
    PromptSubmit, PromptSubmitFold, RewriteInput, Seam, SeamKind, SessionStart, SubagentStart,
    SubagentStop, ToolCall, ToolError, ToolResult, TurnStopping, TurnStoppingFold, VerdictRank,
};
use seamgate::{Failure, HookName, Json, Runtime};

use crate::event::{Event, EventKind};
use crate::report::{Handled, SeamReport};
use crate::text;

/// What all seams of an event come to, before it is put into an agent's words.
#[derive(Debug)]
pub(crate) enum Decided<'a> {
    SessionStart(Contexts),
    PromptSubmit(PromptSubmitFold),
    ToolCall(CallDecision),
    ToolFinished(&'a FinishedCall, PostToolFold),
    TurnStopping(TurnStoppingFold),
    SubagentStart(Contexts),
    SubagentStop(TurnStoppingFold),
    PermissionRequest(PermissionRequestFold),
    PreCompact(PreCompactFold),
    Observed,
}

/// What rewrite-input, pre-tool and guard come to together.
#[derive(Debug, Default)]
pub(crate) struct CallDecision {
    /// The strictest verdict. A guard's denial is one.
    pub(crate) verdict: VerdictRank,
    /// The reasons for that verdict.
    pub(crate) reasons: Vec<Attributed>,
    /// Contexts for the model, whatever the verdict.
    pub(crate) contexts: Vec<Attributed>,
    /// The arguments that replace the agent's, with the hook that made them last. The verdict is about these.
    pub(crate) rewritten: Option<(HookName, Json)>,
}

impl Event {
    /// Asks the seams of this event, and puts what they come to into the agent's words.
    ///
    /// It never fails: what can't be decided closes the gate. The answer holds no text of a hook that failed, since agents
    /// show it to the model; the report does.
    pub async fn handle(&self, runtime: &Runtime) -> Handled {
        let mut asking = Asking {
            runtime,
            seams: Vec::new(),
        };
        let mut answer = match asking.decide(&self.kind).await {
            Ok(decided) => self.dialect.answer(decided),
            Err(failure) => self
                .dialect
                .could_not_decide(Some(self), &failure.for_model()),
        };
        for note in asking.notes() {
            answer = answer.and_note(&note);
        }
        Handled {
            seams: asking.seams,
            answer,
        }
    }
}

/// Seams being asked.
struct Asking<'a> {
    runtime: &'a Runtime,
    seams: Vec<SeamReport>,
}

impl Asking<'_> {
    async fn ask<S: Seam>(&mut self, event: &S::Event) -> Result<S::Folded, Failure> {
        let asked = self.runtime.ask::<S>(event).await;
        self.seams.push(SeamReport::of(&asked));
        asked.decision
    }

    async fn decide<'a>(&mut self, kind: &'a EventKind) -> Result<Decided<'a>, Failure> {
        Ok(match kind {
            EventKind::SessionStart(session) => {
                Decided::SessionStart(self.ask::<SessionStart>(session).await?)
            }
            EventKind::PromptSubmit(prompt) => {
                Decided::PromptSubmit(self.ask::<PromptSubmit>(prompt).await?)
            }
            EventKind::ToolCall(call) => Decided::ToolCall(self.call(call).await?),
            EventKind::ToolFinished(finished) => {
                Decided::ToolFinished(finished, self.finished(finished).await?)
            }
            EventKind::TurnStopping(turn) => {
                Decided::TurnStopping(self.ask::<TurnStopping>(turn).await?)
            }
            EventKind::SubagentStart(agent) => {
                Decided::SubagentStart(self.ask::<SubagentStart>(agent).await?)
            }
            EventKind::SubagentStop(turn) => {
                Decided::SubagentStop(self.ask::<SubagentStop>(turn).await?)
            }
            EventKind::PermissionRequest(call) => {
                Decided::PermissionRequest(self.ask::<PermissionRequest>(call).await?)
            }
            EventKind::PreCompact(compaction) => {
                Decided::PreCompact(self.ask::<PreCompact>(compaction).await?)
            }
            EventKind::Observed(event) => {
                self.ask::<Observe>(event).await?;
                Decided::Observed
            }
        })
    }

    /// Rewrite-input, then pre-tool and guard about the call as it will run.
    ///
    /// Guards are the last gate, behind every approval. An agent asks for its approval after its hooks, so here they are
    /// asked before it; they hold all the same, since nothing that the agent or its user does afterwards undoes a denial.
    async fn call(&mut self, call: &ToolCall) -> Result<CallDecision, Failure> {
        let rewrites = self.ask::<RewriteInput>(call).await?;
        let rewritten = rewrites
            .rewrites
            .last()
            .map(|rewrite| (rewrite.hook.clone(), rewrite.arguments.clone()));
        let call = RewriteInput::advance(call, &rewrites).unwrap_or_else(|| call.clone());

        let pre_tool = self.ask::<PreTool>(&call).await.map(|fold| CallDecision {
            verdict: fold.verdict,
            reasons: fold
                .reasons
                .into_iter()
                .filter(|reason| reason.verdict == fold.verdict)
                .map(|reason| reason.said)
                .collect(),
            contexts: fold.contexts,
            rewritten,
        });
        if let Ok(decision) = &pre_tool
            && decision.verdict == VerdictRank::Deny
        {
            return pre_tool;
        }
        // Where pre-tool could not decide, the call is lost either way. Guards are asked all the same, since a denial
        // tells the model more than a failure does.
        let guards = self.ask::<Guard>(&call).await;
        match (pre_tool, guards) {
            (pre_tool, Ok(guards)) if !guards.denials.is_empty() => Ok(CallDecision {
                verdict: VerdictRank::Deny,
                reasons: guards.denials,
                contexts: pre_tool.map_or_else(|_| Vec::new(), |decision| decision.contexts),
                rewritten: None,
            }),
            (Ok(decision), Ok(_)) => Ok(decision),
            (Err(failure), _) | (Ok(_), Err(failure)) => Err(failure),
        }
    }

    /// Post-tool, then tool-result about what the model gets.
    async fn finished(&mut self, finished: &FinishedCall) -> Result<PostToolFold, Failure> {
        let decision = self.ask::<PostTool>(finished).await;
        let withheld = |message: String, code| FinishedCall {
            call: finished.call.clone(),
            outcome: Outcome {
                text: message.clone(),
                result: Err(ToolError { message, code }),
                blocks: None,
            },
        };
        let given = match &decision {
            Ok(fold) if !fold.blocks.is_empty() => withheld(text::reasons(&fold.blocks), None),
            Ok(fold) => PostTool::advance(finished, fold).unwrap_or_else(|| finished.clone()),
            Err(failure) => withheld(failure.for_model(), Some(failure.code.to_string())),
        };
        self.ask::<ToolResult>(&given).await?;
        decision
    }

    /// A line for each hook that failed at a notice, where it closes nothing. It names the hook and not what the hook wrote.
    fn notes(&self) -> Vec<String> {
        self.seams
            .iter()
            .filter(|report| report.seam.kind() == SeamKind::Notice)
            .flat_map(|report| {
                report.answers.iter().filter_map(|answer| {
                    let failure = answer.said.as_ref().err()?;
                    Some(format!(
                        "hook `{}` failed at {} ({}), where a failure stops nothing",
                        answer.hook, report.seam, failure.code
                    ))
                })
            })
            .collect()
    }
}
