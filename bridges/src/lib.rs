//! Coding agents and their hook protocols.
//!
//! Each agent has a *dialect*: the names of its events, the shape of their payloads, and what it understands as an answer.
//! This crate is the only place that knows any of that. It has one folder per dialect, with one file per seam that the
//! dialect knows; `claude/pre_tool.rs` has both what Claude Code says before a tool runs and what it can be answered.
//!
//! So far it goes in one direction, the *host adapter*: the agent calls us as one of its command hooks.
//!
//! ```text
//! payload on stdin ─► Dialect::read ─► Event ─► Event::handle: asks the seams ─► HookAnswer: stdout, stderr, exit code
//!                          │                                                        ▲
//!                          └─ PayloadError ─► Dialect::could_not_read ──────────────┘
//! ```
//!
//! ```
//! use seamgate::Runtime;
//! use seamgate::seams::{PreTool, Verdict};
//! use seamgate_bridges::Dialect;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let mut runtime = Runtime::new();
//! runtime.listener::<PreTool>("no-shell", |_| Verdict::Deny("no shell here".to_owned()).into());
//!
//! let payload = r#"{"session_id":"s","cwd":"/p","hook_event_name":"PreToolUse",
//!     "tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t"}"#;
//! let event = Dialect::Claude.read(payload).unwrap();
//! let answer = event.handle(&runtime).await.answer;
//! assert!(answer.stdout.contains(r#""permissionDecision":"deny""#));
//! assert_eq!(answer.exit_code, 0);
//! # });
//! ```
//!
//! # What an answer must never do
//!
//! Agents take nearly everything that a hook does wrong for "no objection": an odd exit code, a key they don't know, a
//! value of the wrong type. So whatever a decision holds that the dialect has no words for becomes something stricter that
//! it has words for, with a reason that says so; it is never left out.

#![warn(missing_docs)]

mod answer;
mod asking;
mod blocks;
pub mod bridge;
pub mod claude;
mod codex;
mod dialect;
mod event;
mod output;
mod payload;
pub mod protocol;
mod report;
#[cfg(test)]
mod testing;
mod text;

pub use answer::HookAnswer;
pub use dialect::{Dialect, UnknownDialect};
pub use event::{Event, SUBJECT_CHARS};
pub use payload::{MAX_DEPTH, PayloadError};
pub use report::{Handled, SeamReport};
