//! Keeps keys and tokens out of what is written, run, asked and read.
//!
//! `kinds.rs` has the table of kinds, `scan.rs` finds them in a text, `strings.rs` finds the texts in JSON.

mod kinds;
mod scan;
mod strings;

use seamgate_sdk::{
    FinishedCall, PostToolDecision, PreToolDecision, Prompt, PromptSubmitDecision, ToolCall,
};
use serde::Deserialize;

use scan::Scan;
use strings::find_in_strings;

/// The policy's settings.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Values that are no secrets, literally.
    pub allow: Vec<String>,
    /// Whether JSON Web Tokens are secrets.
    pub jwt: bool,
}

impl Settings {
    fn scan(&self) -> Scan<'_> {
        Scan {
            jwt: self.jwt,
            allow: &self.allow,
        }
    }
}

/// Arguments that name what is there already. To take a secret out of a file, a call has to quote it.
const EXISTING_TEXT: &[&str] = &["old_string"];

/// Denies a call whose arguments contain a secret.
///
/// # Errors
///
/// The arguments can't be read.
pub fn pre_tool(
    call: &ToolCall,
    settings: &Settings,
) -> Result<PreToolDecision, serde_json::Error> {
    let scan = settings.scan();
    Ok(
        match find_in_strings(&call.arguments, EXISTING_TEXT, &|text| scan.find(text))? {
            Some(kind) => PreToolDecision::deny(format!(
                "the arguments contain {kind}; don't write secrets into files or command lines, read them from the \
             environment or a secret store"
            )),
            None => PreToolDecision::abstain(),
        },
    )
}

/// Blocks a prompt that contains a secret.
///
/// # Errors
///
/// The prompt's blocks can't be read.
pub fn prompt_submit(
    prompt: &Prompt,
    settings: &Settings,
) -> Result<PromptSubmitDecision, serde_json::Error> {
    let scan = settings.scan();
    let mut found = scan.find(&prompt.text);
    if let (None, Some(blocks)) = (found, &prompt.blocks) {
        found = find_in_strings(blocks, &[], &|text| scan.find(text))?;
    }
    Ok(match found {
        Some(kind) => PromptSubmitDecision::block(format!(
            "the prompt contains {kind}; take it out and name where it is kept instead, and if it is a real one, \
             consider replacing it"
        )),
        None => PromptSubmitDecision::proceed(),
    })
}

/// Holds back a result that contains a secret. The feedback never repeats it.
///
/// # Errors
///
/// The outcome can't be read.
pub fn post_tool(
    finished: &FinishedCall,
    settings: &Settings,
) -> Result<PostToolDecision, serde_json::Error> {
    let scan = settings.scan();
    let outcome = &finished.outcome;
    let look = |text: &str| scan.find(text);
    let mut found = scan.find(&outcome.text);
    if found.is_none() {
        found = match &outcome.result {
            Ok(value) => find_in_strings(value, &[], &look)?,
            Err(failure) => scan.find(&failure.message),
        };
    }
    if let (None, Some(blocks)) = (found, &outcome.blocks) {
        found = find_in_strings(blocks, &[], &look)?;
    }
    Ok(match found {
        Some(kind) => PostToolDecision::block(format!(
            "the result of {} was held back because it contains {kind}; the call did run; work without the secret's \
             value, or ask the user for what you need to know",
            finished.call.tool
        )),
        None => PostToolDecision::accept(),
    })
}

seamgate_sdk::policy! {
    settings: Settings,
    pre_tool: pre_tool,
    prompt_submit: prompt_submit,
    post_tool: post_tool,
}

#[cfg(test)]
mod tests;
