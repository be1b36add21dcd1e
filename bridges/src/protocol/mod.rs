//! Running the command hooks that an agent's users have, in any dialect.
//!
//! Nothing in here knows an agent. A dialect says what to run ([`HookCommand`]), how its output is read ([`Decoding`]) and
//! which patterns its configuration may have ([`MatcherRules`]); it keeps its configuration, its payloads and what a
//! decision means to itself.
//!
//! ```text
//! Matcher ─► which hooks ─► Group::run ─► run, for each ─► HookRun ─► decode ─► HookOutput ─► fold ─► Folded
//! ```
//!
//! ```
//! use seamgate_bridges::protocol::{
//!     Cancel, Clock, Decoding, Environment, FoldedDecision, Group, HookCommand,
//! };
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let mut hook = HookCommand::bash("echo 'not on a Friday' >&2; exit 2");
//! hook.environment = Environment::scrubbed(std::env::vars_os());
//! hook.stdin = b"{\"hook_event_name\":\"PreToolUse\"}\n".as_slice().into();
//!
//! let group = Group::new(vec![hook], Decoding::of("PreToolUse"));
//! let answer = group.run(&Cancel::new(), &Clock::monotonic()).await;
//! assert_eq!(answer.folded.decision, FoldedDecision::Deny);
//! assert_eq!(answer.folded.reason.as_deref(), Some("not on a Friday"));
//! # });
//! ```
//!
//! # Fail open, and say so
//!
//! In every dialect so far a hook that breaks decides nothing. So nothing in here is an error: a hook that can't be
//! started, is killed or prints nonsense has a [`HookOutput`] without a decision, and its [`HookOutput::problem`] says what
//! happened. A dialect whose hooks can be told to fail closed finds there what it needs.

mod cancel;
mod command;
mod decode;
mod detached;
mod group;
mod matcher;
mod merge;
mod output;
mod run;
mod supervise;
mod tail;
#[cfg(test)]
mod tests;

pub use cancel::Cancel;
pub use command::{
    BadTimeout, Environment, HookCommand, Leftovers, OUTPUT_BYTES, QUIET, TIMEOUT, payload,
    timeout_of,
};
pub use decode::{Decoding, decode};
pub use detached::Detached;
pub use group::{Group, GroupAnswer, HookAsked, Order};
pub use matcher::{Engine, InvalidMatcher, Matcher, MatcherRules, Matching, Names};
pub use merge::{Folded, FoldedDecision, fold};
pub use output::{Fields, HookDecision, HookOutput, HookProblem, StdoutKind};
pub use run::{Captured, Clock, HookEnd, HookRun, run};
