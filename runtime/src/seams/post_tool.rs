//! A tool has run, and the model is about to read its result.

use super::{Agent, Attributed, Described, Outcome, Seam, SeamName, ToolCall};
use crate::failure::HookName;
use crate::json::Json;
use crate::sandbox::{CallContext, Lifted, PolicySeam, lossless, wire};

/// The seam `post-tool`.
#[derive(Debug)]
pub struct PostTool;

/// A call and what it came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedCall {
    /// The call.
    pub call: ToolCall,
    /// Its outcome.
    pub outcome: Outcome,
}

impl FinishedCall {
    pub(crate) fn to_wire(&self) -> wire::post_tool::FinishedCall {
        wire::post_tool::FinishedCall {
            call: self.call.to_wire(),
            outcome: self.outcome.to_wire(),
        }
    }
}

/// What one hook says about a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostToolDecision {
    /// The model gets it.
    Accept {
        /// What takes its place.
        replacement: Option<Replacement>,
        /// Contexts beside it.
        contexts: Vec<String>,
    },
    /// The model gets this feedback in its place, as a failure.
    Block {
        /// What it reads.
        feedback: String,
        /// Contexts beside it.
        contexts: Vec<String>,
    },
}

/// What takes the place of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replacement {
    /// What the model reads, as a JSON list of content blocks. Programs still get the value.
    Content(Json),
    /// The tool's value, which is then validated and rendered anew.
    Value(Json),
}

/// One step of a chain of replacements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// Who replaced it.
    pub hook: HookName,
    /// By what.
    pub by: Replacement,
}

/// What all hooks say about a result.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PostToolFold {
    /// The feedback of those that block it, in order. Empty where none does.
    pub blocks: Vec<Attributed>,
    /// Every replacement, in order. The last one holds.
    pub replaced: Vec<Replaced>,
    /// All contexts, in order.
    pub contexts: Vec<Attributed>,
}

impl Seam for PostTool {
    const NAME: SeamName = SeamName::PostTool;
    type Event = FinishedCall;
    type Decision = PostToolDecision;
    type Folded = PostToolFold;

    fn lift(hook: &HookName, decision: PostToolDecision) -> PostToolFold {
        match decision {
            PostToolDecision::Accept {
                replacement,
                contexts,
            } => PostToolFold {
                replaced: replacement
                    .map(|by| Replaced {
                        hook: hook.clone(),
                        by,
                    })
                    .into_iter()
                    .collect(),
                contexts: Attributed::all(hook, contexts),
                ..PostToolFold::default()
            },
            PostToolDecision::Block { feedback, contexts } => PostToolFold {
                blocks: vec![Attributed::new(hook, feedback)],
                contexts: Attributed::all(hook, contexts),
                ..PostToolFold::default()
            },
        }
    }

    fn combine(mut earlier: PostToolFold, later: PostToolFold) -> PostToolFold {
        earlier.blocks.extend(later.blocks);
        earlier.replaced.extend(later.replaced);
        earlier.contexts.extend(later.contexts);
        earlier
    }

    fn closes(folded: &PostToolFold) -> bool {
        !folded.blocks.is_empty()
    }

    fn advance(finished: &FinishedCall, folded: &PostToolFold) -> Option<FinishedCall> {
        let mut outcome = finished.outcome.clone();
        match &folded.replaced.last()?.by {
            Replacement::Content(blocks) => {
                outcome.text = crate::content::text_of(blocks);
                outcome.blocks = Some(blocks.clone());
            }
            Replacement::Value(value) => {
                // How a value reads is the tool's affair; until it is rendered, its JSON stands for it.
                outcome.text = value.text().to_owned();
                outcome.blocks = None;
                outcome.result = Ok(value.clone());
            }
        }
        Some(FinishedCall {
            outcome,
            ..finished.clone()
        })
    }

    fn tool(finished: &FinishedCall) -> Option<&str> {
        Some(&finished.call.tool)
    }

    fn agent(finished: &FinishedCall) -> &Agent {
        &finished.call.agent
    }

    fn describe(folded: &PostToolFold) -> Described {
        if folded.blocks.is_empty() {
            Described::word(if folded.replaced.is_empty() {
                "accept"
            } else {
                "replace"
            })
        } else {
            Described::because("block", &folded.blocks)
        }
        .with_contexts(&folded.contexts)
    }
}

impl PolicySeam for PostTool {
    type Wire = wire::post_tool::FinishedCall;

    fn to_wire(finished: &FinishedCall) -> Self::Wire {
        finished.to_wire()
    }

    async fn call(mut context: CallContext<'_>, finished: &Self::Wire) -> Lifted<PostToolDecision> {
        if let Some(seam) = &context.exports.trusted_post_tool {
            use wire::trusted_post_tool::{Replacement as By, TrustedPostToolDecision as Said};
            let guest = seam.load(&mut context.store, context.instance)?;
            return match guest.call_decide(&mut context.store, finished).await? {
                Ok(Said::Accept(acceptance)) => Ok(Ok(PostToolDecision::Accept {
                    replacement: match acceptance.replacement {
                        None => None,
                        Some(By::Content(blocks)) => Some(Replacement::Content(lossless(blocks)?)),
                        Some(By::Value(value)) => Some(Replacement::Value(lossless(value)?)),
                    },
                    contexts: acceptance.contexts,
                })),
                Ok(Said::Block(block)) => Ok(Ok(PostToolDecision::Block {
                    feedback: block.feedback,
                    contexts: block.contexts,
                })),
                Err(problem) => Ok(Err(problem)),
            };
        }
        let guest = context
            .seam(|exports| &exports.post_tool)?
            .load(&mut context.store, context.instance)?;
        let said = guest.call_decide(&mut context.store, finished).await?;
        Ok(said.map(|said| match said {
            wire::post_tool::PostToolDecision::Accept(contexts) => PostToolDecision::Accept {
                replacement: None,
                contexts,
            },
            wire::post_tool::PostToolDecision::Block(block) => PostToolDecision::Block {
                feedback: block.feedback,
                contexts: block.contexts,
            },
        }))
    }
}
