//! The prompt gate. Whether it stands before a turn or inside one is up to the embedding program, which passes a turn or not.

use std::time::Duration;

use serde::de::IgnoredAny;

use super::record;
use crate::audit::AuditSink;
use crate::content;
use crate::failure::{Failure, FailureCode};
use crate::json::Json;
use crate::pipeline::{Context, DEFAULT_SEAM_LIMIT};
use crate::runtime::Runtime;
use crate::seams::{Agent, Attributed, Prompt, PromptSubmit, SeamName};
use crate::stop::Stop;

impl Prompt {
    /// A prompt of these content blocks, a JSON list.
    pub fn new(agent: Agent, content: &Json) -> Self {
        let text = content::text_of(content);
        // What the text alone would not bring back goes along: a prompt that nobody changes enters as it was.
        Self {
            agent,
            blocks: content::beside_text(content, &text),
            text,
        }
    }
}

/// Decides whether prompts reach the model.
#[derive(Clone, Copy)]
pub struct PromptGate<'a> {
    runtime: &'a Runtime,
    audit: Option<&'a dyn AuditSink>,
    limit: Duration,
}

/// What becomes of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Gate {
    /// It goes to the model.
    Enter(Entered),
    /// It does not. Nothing of it, and no context, is to be recorded.
    Reject {
        /// Why, and who says so, in order. For the user, not for the model.
        reasons: Vec<Attributed>,
    },
    /// A hook wants the agent to stop altogether. The prompt does not go to the model.
    Stop(Stop),
    /// A hook could not decide. The prompt does not go to the model.
    Failed(Failure),
    /// What was decided could not be written to the audit log. The prompt does not go to the model.
    Unrecorded(String),
}

/// A prompt as the model gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entered {
    /// Its content blocks, a JSON list: what hooks made of them, or what they were.
    pub content: Json,
    /// Whether hooks rewrote them.
    pub rewritten: bool,
    /// What the model reads after it, in order.
    pub contexts: Vec<Context>,
}

impl Entered {
    /// Whether the prompt has no content blocks at all, so that there is nothing to say to the model.
    pub fn is_empty(&self) -> bool {
        self.content
            .read::<Vec<IgnoredAny>>()
            .is_ok_and(|blocks| blocks.is_empty())
    }
}

impl<'a> PromptGate<'a> {
    /// A gate of these hooks.
    pub fn new(runtime: &'a Runtime) -> Self {
        Self {
            runtime,
            audit: None,
            limit: DEFAULT_SEAM_LIMIT,
        }
    }

    /// Records what was decided. The audit log is not the session's log: a prompt that was rejected before its turn leaves
    /// no trace in the latter.
    #[must_use]
    pub fn audit(mut self, sink: &'a dyn AuditSink) -> Self {
        self.audit = Some(sink);
        self
    }

    /// How long all hooks may take together. One that has not answered by then could not decide.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Asks about a prompt: inside the turn that is given, or before there is one.
    pub async fn submit(&self, prompt: &Prompt, turn: Option<u32>) -> Gate {
        let asked = self
            .runtime
            .ask_within::<PromptSubmit>(prompt, self.limit)
            .await;
        let seam = SeamName::PromptSubmit;
        let stop = asked.stop.as_ref();
        let recorded = record(self.audit, &prompt.agent, turn, seam, &asked.answers, stop);
        // A stop keeps out more than this prompt, so it holds also where it can't be recorded.
        if let Some(stop) = asked.stop {
            return Gate::Stop(stop);
        }
        if let Err(error) = recorded {
            return Gate::Unrecorded(error.to_string());
        }
        match asked.decision {
            Err(failure) => Gate::Failed(failure),
            Ok(folded) if !folded.blocks.is_empty() => Gate::Reject {
                reasons: folded.blocks,
            },
            Ok(folded) => match misfit(folded.rewrites.last()) {
                Some(failure) => Gate::Failed(failure),
                None => Gate::Enter(Entered {
                    rewritten: folded.content().is_some(),
                    content: folded
                        .content()
                        .cloned()
                        .or_else(|| prompt.blocks.clone())
                        .unwrap_or_else(|| content::of_texts([prompt.text.as_str()])),
                    contexts: folded.contexts.into_iter().map(Context::from).collect(),
                }),
            },
        }
    }
}

/// A prompt that a hook made into something no model can read.
fn misfit(rewrite: Option<&(crate::HookName, Json)>) -> Option<Failure> {
    let (hook, content) = rewrite?;
    let problem = content::check(content).err()?;
    Some(Failure {
        hook: hook.clone(),
        code: FailureCode::BadDecision,
        message: format!("the content it put in place: {problem}"),
    })
}
