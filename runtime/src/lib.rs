//! Seamgate decides what a coding agent may do, at the moments where it matters: before a tool runs, after it ran, when a
//! prompt arrives, when the agent wants to stop.
//!
//! Those moments are [seams]. At each sit *hooks*: [policies](Policy), which are WebAssembly components in a sandbox
//! that starts with no rights; and [native hooks](Hook), which are Rust values of the program that embeds this crate.
//! The [`Runtime`] asks them and folds what they say into one typed decision. This crate knows no agent's protocol.
//!
//! ```
//! use seamgate::seams::{Agent, PreTool, ToolCall, Verdict, VerdictRank};
//! use seamgate::{Json, Runtime};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let mut runtime = Runtime::new();
//! runtime.listener::<PreTool>("no-deploys", |call: &ToolCall| match call.tool.as_str() {
//!     "Deploy" => Verdict::Deny("deployments go through the pipeline".to_owned()).into(),
//!     _ => Verdict::Abstain.into(),
//! });
//!
//! let asked = runtime
//!     .ask::<PreTool>(&ToolCall {
//!         call_id: "1".to_owned(),
//!         root_call_id: "1".to_owned(),
//!         tool: "Deploy".to_owned(),
//!         arguments: Json::empty_object(),
//!         agent: Agent::default(),
//!     })
//!     .await;
//! assert_eq!(asked.decision.unwrap().verdict, VerdictRank::Deny);
//! # });
//! ```

#![warn(missing_docs)]

pub mod approval;
pub mod audit;
pub mod config;
mod contained;
mod content;
mod failure;
mod hook;
mod json;
pub mod pipeline;
mod runtime;
mod sandbox;
pub mod seams;
mod stop;
pub mod turn;

pub use contained::Boxed;
pub use failure::{Failure, FailureCode, HookName};
pub use hook::{Deciding, ForAgent, Hook, Listener, Next};
pub use json::{Json, JsonError, JsonProblem, MAX_DEPTH};
pub use pipeline::Pipeline;
pub use runtime::{Answer, Asked, Evaluate, Runtime};
pub use sandbox::{
    CacheError, Compiler, ComponentSource, Digest, EngineProfile, Export, Grants, Inspection,
    Limits, LoadError, Policy, PolicySpec, Sandbox, StateGrant, Tier, WASMTIME_VERSION,
    compile_component,
};
pub use stop::Stop;
