//! The bridge at each seam: which payload its hooks read, and what their decision comes to.

use std::sync::Arc;

use seamgate::seams::{
    Agent, FinishedCall, PostTool, PostToolDecision, PreTool, PreToolDecision, Prompt,
    PromptSubmit, PromptSubmitDecision, Seam, Session, SessionSource, SessionStart, SubagentStart,
    SubagentStop, ToolCall, Turn, TurnStopping, TurnStoppingDecision, Verdict,
};
use seamgate::{Deciding, Hook, Json, Next, Runtime};

use super::Shared;
use super::payload::Payload;
use super::point::Point;
use crate::dialect::Dialect;
use crate::protocol::{Folded, FoldedDecision};

/// What subagents are called in payloads where nobody says of which kind they are.
const SUBAGENT: &str = "general-purpose";

pub(super) fn register(bridge: &Arc<Shared>, runtime: &mut Runtime) {
    let Some(file) = &bridge.file else {
        return;
    };
    let name = || bridge.name.clone();
    let hook = || AtSeam(bridge.clone());
    for point in Point::ALL.into_iter().filter(|point| file.has(*point)) {
        match point {
            Point::SessionStart => runtime.hook::<SessionStart>(name(), hook()),
            Point::UserPromptSubmit => runtime.hook::<PromptSubmit>(name(), hook()),
            Point::PreToolUse => runtime.hook::<PreTool>(name(), hook()),
            Point::PostToolUse => runtime.hook::<PostTool>(name(), hook()),
            Point::Stop => runtime.hook::<TurnStopping>(name(), hook()),
            Point::SubagentStart => runtime.hook::<SubagentStart>(name(), hook()),
            Point::SubagentStop => runtime.hook::<SubagentStop>(name(), hook()),
        };
    }
}

struct AtSeam(Arc<Shared>);

fn reason(folded: &mut Folded, point: Point) -> String {
    folded
        .reason
        .take()
        .unwrap_or_else(|| point.default_reason())
}

impl Hook<SessionStart> for AtSeam {
    fn decide<'a>(
        &'a self,
        session: &'a Session,
        next: Next<'a, SessionStart>,
    ) -> Deciding<'a, SessionStart> {
        Box::pin(async move {
            let point = Point::SessionStart;
            let source = source(&session.source);
            let payload = Payload::of(&self.0, point, &session.agent).with("source", source);
            let folded = self
                .0
                .ask(point, source, &session.agent, payload, next.signal())
                .await?;
            Ok(SessionStart::lift(next.hook(), folded.additional_contexts))
        })
    }
}

impl Hook<PromptSubmit> for AtSeam {
    fn decide<'a>(
        &'a self,
        prompt: &'a Prompt,
        next: Next<'a, PromptSubmit>,
    ) -> Deciding<'a, PromptSubmit> {
        Box::pin(async move {
            let point = Point::UserPromptSubmit;
            let payload =
                Payload::of(&self.0, point, &prompt.agent).with("prompt", prompt.text.as_str());
            let mut folded = self
                .0
                .ask(point, "", &prompt.agent, payload, next.signal())
                .await?;
            let name = next.hook().clone();
            if folded.decision == FoldedDecision::Deny {
                let block = PromptSubmitDecision::Block(reason(&mut folded, point));
                return Ok(PromptSubmit::lift(&name, block));
            }
            let own = PromptSubmit::lift(
                &name,
                PromptSubmitDecision::Allow {
                    content: None,
                    contexts: folded.additional_contexts,
                },
            );
            let later = next.run(prompt).await?;
            // Inside a turn what was said about the prompt comes after what others said; before one, ahead of it.
            Ok(if self.0.surroundings.open_turn(&prompt.agent).is_some() {
                PromptSubmit::combine(later, own)
            } else {
                PromptSubmit::combine(own, later)
            })
        })
    }
}

impl Hook<PreTool> for AtSeam {
    fn decide<'a>(&'a self, call: &'a ToolCall, next: Next<'a, PreTool>) -> Deciding<'a, PreTool> {
        Box::pin(async move {
            let point = Point::PreToolUse;
            let payload = Payload::of(&self.0, point, &call.agent).of_call(self.0.dialect, call);
            let mut folded = self
                .0
                .ask(point, &call.tool, &call.agent, payload, next.signal())
                .await?;
            let name = next.hook().clone();
            let verdict = match (folded.decision, self.0.dialect) {
                (FoldedDecision::Deny, _) => Verdict::Deny(reason(&mut folded, point)),
                (FoldedDecision::Ask, Dialect::Claude) => Verdict::Ask(
                    folded
                        .reason
                        .take()
                        .unwrap_or_else(|| "a PreToolUse hook wants somebody to agree".to_owned()),
                ),
                // In this profile an `allow` is no more than silence.
                (FoldedDecision::Ask | FoldedDecision::Allow | FoldedDecision::None, _) => {
                    Verdict::Abstain
                }
            };
            let own = PreTool::lift(&name, PreToolDecision::from(verdict));
            if folded.decision == FoldedDecision::Deny {
                return Ok(own);
            }
            let later = next.run(call).await?;
            Ok(PreTool::combine(own, later))
        })
    }
}

impl Hook<PostTool> for AtSeam {
    fn decide<'a>(
        &'a self,
        finished: &'a FinishedCall,
        next: Next<'a, PostTool>,
    ) -> Deciding<'a, PostTool> {
        Box::pin(async move {
            let (point, call) = (Point::PostToolUse, &finished.call);
            let payload = Payload::of(&self.0, point, &call.agent)
                .of_call(self.0.dialect, call)
                .with("tool_response", finished.outcome.text.as_str());
            let mut folded = self
                .0
                .ask(point, &call.tool, &call.agent, payload, next.signal())
                .await?;
            let name = next.hook().clone();
            if folded.decision == FoldedDecision::Deny {
                let block = PostToolDecision::Block {
                    feedback: reason(&mut folded, point),
                    contexts: folded.additional_contexts,
                };
                return Ok(PostTool::lift(&name, block));
            }
            let own = PostTool::lift(
                &name,
                PostToolDecision::Accept {
                    replacement: None,
                    contexts: folded.additional_contexts,
                },
            );
            let later = next.run(finished).await?;
            Ok(PostTool::combine(own, later))
        })
    }
}

impl Hook<TurnStopping> for AtSeam {
    fn decide<'a>(
        &'a self,
        turn: &'a Turn,
        next: Next<'a, TurnStopping>,
    ) -> Deciding<'a, TurnStopping> {
        Box::pin(async move {
            let point = Point::Stop;
            let mut payload = Payload::of(&self.0, point, &turn.agent)
                .with("stop_hook_active", turn.forced_continuations > 0);
            if self.0.dialect == Dialect::Codex {
                payload = payload.with("last_assistant_message", turn.last_message.clone());
            }
            let mut folded = self
                .0
                .ask(point, "", &turn.agent, payload, next.signal())
                .await?;
            let decision = match folded.decision {
                FoldedDecision::Deny => TurnStoppingDecision::Continue(reason(&mut folded, point)),
                FoldedDecision::Ask | FoldedDecision::Allow | FoldedDecision::None => {
                    TurnStoppingDecision::Settle
                }
            };
            Ok(TurnStopping::lift(next.hook(), decision))
        })
    }
}

impl Hook<SubagentStart> for AtSeam {
    fn decide<'a>(
        &'a self,
        agent: &'a Agent,
        next: Next<'a, SubagentStart>,
    ) -> Deciding<'a, SubagentStart> {
        Box::pin(async move {
            let point = Point::SubagentStart;
            let payload = Payload::of(&self.0, point, agent).of_subagent(agent);
            let folded = self
                .0
                .ask(point, kind(agent), agent, payload, next.signal())
                .await?;
            Ok(SubagentStart::lift(next.hook(), folded.additional_contexts))
        })
    }
}

impl Hook<SubagentStop> for AtSeam {
    fn decide<'a>(
        &'a self,
        turn: &'a Turn,
        next: Next<'a, SubagentStop>,
    ) -> Deciding<'a, SubagentStop> {
        Box::pin(async move {
            let (point, agent) = (Point::SubagentStop, &turn.agent);
            let payload = Payload::of(&self.0, point, agent)
                .of_subagent(agent)
                .with("stop_hook_active", turn.forced_continuations > 0);
            // In this profile nothing that they say makes a subagent go on.
            self.0
                .ask(point, kind(agent), agent, payload, next.signal())
                .await?;
            Ok(SubagentStop::lift(
                next.hook(),
                TurnStoppingDecision::Settle,
            ))
        })
    }
}

impl Payload {
    fn of_call(self, dialect: Dialect, call: &ToolCall) -> Self {
        let payload = self.with("tool_name", call.tool.as_str());
        match dialect {
            Dialect::Claude => payload.with_json("tool_input", call.arguments.clone()),
            Dialect::Codex => payload.with_json("tool_input", command_of(&call.arguments)),
        }
        .with("tool_use_id", call.call_id.as_str())
    }

    fn of_subagent(self, agent: &Agent) -> Self {
        self.with("agent_id", agent.agent_id.clone().unwrap_or_default())
            .with("agent_type", kind(agent))
    }
}

/// The arguments as Codex's payloads have them: the command and nothing else.
fn command_of(arguments: &Json) -> Json {
    let command: Option<String> = arguments
        .read::<serde_json::Value>()
        .ok()
        .and_then(|arguments| Some(arguments.get("command")?.as_str()?.to_owned()));
    let value = serde_json::json!({ "command": command.unwrap_or_default() });
    Json::of(&value).unwrap_or_else(|_| Json::empty_object())
}

fn kind(agent: &Agent) -> &str {
    agent.agent_type.as_deref().unwrap_or(SUBAGENT)
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
