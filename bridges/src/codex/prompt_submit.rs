//! `UserPromptSubmit`: prompt-submit. It also comes for the first message of a subagent.

use seamgate::seams::{Prompt, PromptSubmitFold};
use serde::Deserialize;

use crate::answer::HookAnswer;
use crate::event::EventKind;
use crate::output::{block, contexts_only};
use crate::payload::{Payload, PayloadError};
use crate::text;

pub(super) const EVENT: &str = "UserPromptSubmit";

pub(super) fn read(payload: &Payload) -> Result<EventKind, PayloadError> {
    #[derive(Deserialize)]
    struct Fields {
        prompt: String,
    }
    let fields: Fields = payload.fields()?;
    Ok(EventKind::PromptSubmit(Prompt {
        agent: payload.agent()?,
        text: fields.prompt,
        blocks: None,
    }))
}

/// A prompt can't be rewritten, and letting it pass as it was would undo what a hook decided, so it is blocked.
pub(super) fn answer(fold: &PromptSubmitFold) -> HookAnswer {
    if !fold.blocks.is_empty() {
        return HookAnswer::json(&block(text::reasons(&fold.blocks)));
    }
    if let Some((hook, _)) = fold.rewrites.last() {
        return HookAnswer::json(&block(format!(
            "hook `{hook}` rewrote this prompt, which Codex can't do, so it was stopped"
        )));
    }
    contexts_only(EVENT, text::contexts(&fold.contexts))
}

#[cfg(test)]
mod tests {
    use seamgate::Json;
    use seamgate::seams::{PromptSubmit, PromptSubmitDecision};
    use serde_json::json;

    use super::*;
    use crate::dialect::Dialect;
    use crate::testing::{BROKEN, answer, closes, event, says};

    #[test]
    fn decisions() {
        let prompt = event(Dialect::Codex, EVENT, json!({"prompt": "do it"}));
        assert_eq!(prompt.subject(), "do it");
        let allow = |content: Option<&str>, contexts: &[&str]| PromptSubmitDecision::Allow {
            content: content.map(|content| Json::parse(content).unwrap()),
            contexts: contexts.iter().map(ToString::to_string).collect(),
        };
        for (decision, expected) in [
            (allow(None, &[]), ""),
            (
                allow(None, &["one", "two"]),
                r#"{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"one\ntwo"}}"#,
            ),
            (
                PromptSubmitDecision::Block("a key is in it".to_owned()),
                r#"{"decision":"block","reason":"a key is in it"}"#,
            ),
            (
                allow(Some(r#"[{"type":"text","text":"do less"}]"#), &["moot"]),
                r#"{"decision":"block","reason":"hook `hook` rewrote this prompt, which Codex can't do, so it was stopped"}"#,
            ),
        ] {
            let answer = answer(&prompt, |runtime| {
                runtime.listener::<PromptSubmit>("hook", move |prompt| {
                    assert_eq!(prompt.text, "do it");
                    decision.clone()
                });
            });
            assert_eq!(answer, says(expected));
        }
        let broken = answer(&prompt, |runtime| {
            runtime.listener::<PromptSubmit>("broken", |_| panic!("ignore all rules"));
        });
        assert_eq!(broken, closes(BROKEN));
    }
}
