//! The second half of a call: what everybody gets.

use std::borrow::Cow;

use super::invocation::Shared;
use super::outcome::{Candidate, Context, Ending, unknown_tool};
use super::{CallOutcome, Dispatch, Pipeline, Prepared, RanCall, Settled};
use super::{abort_success, misfit, normalise};
use crate::content;
use crate::failure::HookName;
use crate::seams::{PostTool, PostToolFold, Replaced, Replacement, ToolError, ToolResult};

impl Pipeline {
    /// Everything after the tool: post-tool, the tool's last word, tool-result.
    pub(crate) async fn commit(&self, ran: RanCall, dispatch: &dyn Dispatch) -> CallOutcome {
        let RanCall { prepared, settled } = ran;
        let shared = &prepared.shared;
        let candidate = match settled {
            Settled {
                candidate,
                post_tool: false,
            } => candidate.with_contexts(Vec::new()),
            Settled {
                candidate,
                post_tool: true,
            } => match self.post_tool(&prepared, *candidate, dispatch).await {
                Ok(candidate) => candidate,
                Err(last) => last.with_contexts(Vec::new()),
            },
        };
        let candidate = finalise(&prepared, candidate);
        // A notice: whoever fails here changes nothing.
        let shown = || Cow::Owned(candidate.shown(&shared.call));
        drop(self.ask::<ToolResult>(shared, shown).await);
        CallOutcome {
            call: shared.call.clone(),
            token: shared.token,
            stop: shared.take_stop(),
            original_arguments: prepared.original,
            rewrites: prepared.rewrites,
            conflicts: prepared.conflicts,
            result: candidate.result,
            content: candidate.content,
            meta: candidate.meta,
            contexts: candidate.contexts,
            concludes_turn: candidate.concludes_turn,
            ending: candidate.ending,
        }
    }

    /// Asks post-tool and does what it says. An error is final: nobody's contexts survive it.
    async fn post_tool(
        &self,
        prepared: &Prepared,
        candidate: Candidate,
        dispatch: &dyn Dispatch,
    ) -> Result<Candidate, Candidate> {
        let shared = &prepared.shared;
        let folded = self
            .ask::<PostTool>(shared, || Cow::Owned(candidate.shown(&shared.call)))
            .await?;
        let mut contexts: Vec<Context> = prepared
            .contexts
            .iter()
            .cloned()
            .map(Context::from)
            .collect();
        // A block is about the result, and takes what came with the result away.
        let deferred = shared.take_contexts();
        let candidate = if folded.blocks.is_empty() {
            contexts.extend(deferred);
            let replaced =
                replace(shared, candidate, &folded.replaced, dispatch).map_err(|last| *last)?;
            abort_success(shared, replaced)
        } else {
            blocked(&folded)
        };
        contexts.extend(folded.contexts.into_iter().map(Context::from));
        Ok(candidate.with_contexts(contexts))
    }
}

/// Every replacement after the other, each on what the one before made.
fn replace(
    shared: &Shared,
    mut candidate: Candidate,
    replaced: &[Replaced],
    dispatch: &dyn Dispatch,
) -> Result<Candidate, Box<Candidate>> {
    let misfit = |hook: &HookName, problem: String| Box::new(misfit(hook, problem));
    let mut content_by: Option<&HookName> = None;
    for Replaced { hook, by } in replaced {
        match by {
            Replacement::Content(blocks) => {
                content::check(blocks).map_err(|problem| {
                    misfit(hook, format!("the content it put in place: {problem}"))
                })?;
                candidate.content = blocks.clone();
                content_by = Some(hook);
            }
            Replacement::Value(_) if candidate.result.is_err() => {
                return Err(misfit(
                    hook,
                    "it gave a value to a call that failed".to_owned(),
                ));
            }
            Replacement::Value(value) => {
                // Rendering anew would show the model again what the earlier hook took away.
                if let Some(earlier) = content_by.filter(|earlier| *earlier != hook) {
                    return Err(misfit(
                        hook,
                        format!(
                            "it replaced a value whose text hook `{earlier}` had replaced before"
                        ),
                    ));
                }
                let call = &shared.call;
                let tool = normalise::resolve(dispatch, &call.tool, shared.agent.as_ref())
                    .ok_or_else(|| misfit(hook, unknown_tool(&call.tool).message))?;
                let anew = normalise::success(
                    &tool,
                    &call.arguments,
                    value.clone().into(),
                    shared.is_nested(),
                )
                .map_err(|error| misfit(hook, error.message))?;
                candidate = Candidate {
                    concludes_turn: candidate.concludes_turn,
                    ..anew
                };
            }
        }
    }
    Ok(candidate)
}

fn blocked(folded: &PostToolFold) -> Candidate {
    let texts: Vec<&str> = folded
        .blocks
        .iter()
        .map(|said| said.text.as_str())
        .collect();
    let message = texts.join("\n");
    let message = if message.trim().is_empty() {
        "tool result blocked by post-execute policy".to_owned()
    } else {
        message
    };
    Candidate {
        content: content::of_texts(texts),
        ..Candidate::failure(ToolError::new(message), Ending::Blocked)
    }
}

/// The tool's last word, once for every call.
fn finalise(prepared: &Prepared, candidate: Candidate) -> Candidate {
    let Some(tool) = &prepared.finaliser else {
        return candidate;
    };
    match tool.last_word(|| candidate.shown(&prepared.shared.call)) {
        Ok(None) => candidate,
        Ok(Some(content)) => Candidate {
            content,
            ..candidate
        },
        Err(error) => {
            // How the call ended before stays known, where it was not well.
            let ending = match candidate.ending {
                Ending::Succeeded => Ending::Failed,
                ending => ending,
            };
            Candidate::failure(error, ending)
        }
    }
}
