//! Write a Seamgate policy in Rust: one function, and one macro that makes it a component.
//!
//! ```
//! use seamgate_sdk::{PreToolDecision, ToolCall};
//!
//! #[derive(serde::Deserialize)]
//! struct Shell {
//!     command: String,
//! }
//!
//! /// Plain Rust, so `cargo test` can call it.
//! fn pre_tool(call: &ToolCall) -> Result<PreToolDecision, serde_json::Error> {
//!     if call.tool != "Bash" {
//!         return Ok(PreToolDecision::abstain());
//!     }
//!     let shell: Shell = call.arguments()?;
//!     Ok(if shell.command.contains("--no-verify") {
//!         PreToolDecision::deny("commit hooks are not skipped here; fix what they report")
//!     } else {
//!         PreToolDecision::abstain()
//!     })
//! }
//!
//! seamgate_sdk::policy! { pre_tool: pre_tool }
//!
//! # use seamgate_sdk::testing::tool_call;
//! let call = tool_call("Bash", serde_json::json!({ "command": "git status" }));
//! assert_eq!(pre_tool(&call).unwrap(), PreToolDecision::abstain());
//! ```
//!
//! [`policy!`] lists the seams and takes settings; [`testing`] makes events for tests; [`settings`] says how the
//! configuration's values become a Rust type; [`state`] keeps values from one decision to the next. The types of events and decisions are those of the interfaces: plain
//! structs and enums, with short constructors for the common decisions.

#![warn(missing_docs)]

#[cfg(all(target_arch = "wasm32", feature = "allocator"))]
mod allocator;
mod answer;
#[doc(hidden)]
#[allow(missing_docs, reason = "generated")]
pub mod bindings;
mod decisions;
mod events;
mod next;
mod policy;
pub mod settings;
pub mod shell;
pub mod state;
pub mod testing;

#[doc(hidden)]
pub use answer::{Answer, answer};
pub use bindings::around_tool::{AroundToolDecision, Substitute};
pub use bindings::guard::GuardDecision;
pub use bindings::observe::Event;
pub use bindings::permission_request::PermissionRequestDecision;
pub use bindings::post_tool::{Block, FinishedCall, PostToolDecision};
pub use bindings::pre_compact::{CompactTrigger, Compaction, PreCompactDecision};
pub use bindings::pre_tool::{PreToolDecision, Verdict};
pub use bindings::prompt_submit::{Prompt, PromptSubmitDecision};
pub use bindings::rewrite_input::RewriteInputDecision;
pub use bindings::session_start::{Session, SessionSource};
pub use bindings::shared::types::{Agent, Outcome, ToolCall, ToolError};
pub use bindings::subagent_start::Subagent;
pub use bindings::trusted_permission_request::TrustedPermissionRequestDecision;
pub use bindings::trusted_post_tool::{Acceptance, Replacement, TrustedPostToolDecision};
pub use bindings::trusted_pre_tool::{TrustedPreToolDecision, TrustedVerdict};
pub use bindings::trusted_prompt_submit::{Admission, TrustedPromptSubmitDecision};
pub use bindings::turn_stopping::{Turn, TurnStoppingDecision};
pub use events::ValueError;
pub use next::Next;
pub use settings::SettingsError;
pub use state::StateError;
