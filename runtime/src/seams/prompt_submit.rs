//! A prompt is about to reach the model.

use super::{Agent, Attributed, Described, Seam, SeamName};
use crate::failure::HookName;
use crate::json::Json;
use crate::sandbox::{CallContext, Lifted, PolicySeam, lossless, wire};

/// The seam `prompt-submit`.
#[derive(Debug)]
pub struct PromptSubmit;

/// A prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Who gets it.
    pub agent: Agent,
    /// Its text: every text block, one after another.
    pub text: String,
    /// All content blocks as a JSON list, where there is anything beside one block of text.
    pub blocks: Option<Json>,
}

/// What one hook says about a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptSubmitDecision {
    /// It may go on.
    Allow {
        /// What replaces its content blocks, as a JSON list.
        content: Option<Json>,
        /// Contexts beside it.
        contexts: Vec<String>,
    },
    /// It does not reach the model.
    Block(String),
}

/// What all hooks say about a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PromptSubmitFold {
    /// The reasons of those that block it, in order. Empty where none does.
    pub blocks: Vec<Attributed>,
    /// What became of its content blocks, and who rewrote them, in order.
    pub rewrites: Vec<(HookName, Json)>,
    /// All contexts, in order. A block makes them moot.
    pub contexts: Vec<Attributed>,
}

impl PromptSubmitFold {
    /// The content blocks that replace the prompt's, where somebody rewrote them.
    pub fn content(&self) -> Option<&Json> {
        self.rewrites.last().map(|(_, content)| content)
    }
}

impl Seam for PromptSubmit {
    const NAME: SeamName = SeamName::PromptSubmit;
    type Event = Prompt;
    type Decision = PromptSubmitDecision;
    type Folded = PromptSubmitFold;

    fn lift(hook: &HookName, decision: PromptSubmitDecision) -> PromptSubmitFold {
        match decision {
            PromptSubmitDecision::Allow { content, contexts } => PromptSubmitFold {
                rewrites: content
                    .map(|content| (hook.clone(), content))
                    .into_iter()
                    .collect(),
                contexts: Attributed::all(hook, contexts),
                ..PromptSubmitFold::default()
            },
            PromptSubmitDecision::Block(reason) => PromptSubmitFold {
                blocks: vec![Attributed::new(hook, reason)],
                ..PromptSubmitFold::default()
            },
        }
    }

    fn combine(mut earlier: PromptSubmitFold, later: PromptSubmitFold) -> PromptSubmitFold {
        earlier.blocks.extend(later.blocks);
        earlier.rewrites.extend(later.rewrites);
        earlier.contexts.extend(later.contexts);
        earlier
    }

    fn closes(folded: &PromptSubmitFold) -> bool {
        !folded.blocks.is_empty()
    }

    fn advance(prompt: &Prompt, folded: &PromptSubmitFold) -> Option<Prompt> {
        folded.content().map(|content| Prompt {
            text: crate::content::text_of(content),
            blocks: Some(content.clone()),
            ..prompt.clone()
        })
    }

    fn agent(prompt: &Prompt) -> &Agent {
        &prompt.agent
    }

    fn describe(folded: &PromptSubmitFold) -> Described {
        if !folded.blocks.is_empty() {
            return Described::because("block", &folded.blocks);
        }
        Described::word(if folded.rewrites.is_empty() {
            "allow"
        } else {
            "rewrite"
        })
        .with_contexts(&folded.contexts)
    }
}

impl PolicySeam for PromptSubmit {
    type Wire = wire::prompt_submit::Prompt;

    fn to_wire(prompt: &Prompt) -> Self::Wire {
        wire::prompt_submit::Prompt {
            agent: prompt.agent.to_wire(),
            text: prompt.text.clone(),
            blocks: prompt
                .blocks
                .as_ref()
                .map(|blocks| blocks.text().to_owned()),
        }
    }

    async fn call(
        mut context: CallContext<'_>,
        prompt: &Self::Wire,
    ) -> Lifted<PromptSubmitDecision> {
        if let Some(seam) = &context.exports.trusted_prompt_submit {
            use wire::trusted_prompt_submit::TrustedPromptSubmitDecision as Said;
            let guest = seam.load(&mut context.store, context.instance)?;
            return match guest.call_decide(&mut context.store, prompt).await? {
                Ok(Said::Allow(admission)) => Ok(Ok(PromptSubmitDecision::Allow {
                    content: admission.content.map(lossless).transpose()?,
                    contexts: admission.contexts,
                })),
                Ok(Said::Block(reason)) => Ok(Ok(PromptSubmitDecision::Block(reason))),
                Err(problem) => Ok(Err(problem)),
            };
        }
        let guest = context
            .seam(|exports| &exports.prompt_submit)?
            .load(&mut context.store, context.instance)?;
        let said = guest.call_decide(&mut context.store, prompt).await?;
        Ok(said.map(|said| match said {
            wire::prompt_submit::PromptSubmitDecision::Proceed(contexts) => {
                PromptSubmitDecision::Allow {
                    content: None,
                    contexts,
                }
            }
            wire::prompt_submit::PromptSubmitDecision::Block(reason) => {
                PromptSubmitDecision::Block(reason)
            }
        }))
    }
}
