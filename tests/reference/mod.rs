//! The reference agent loop: a whole agent, small, that wires every seam. Copy from it.
//!
//! Seamgate is no agent. It is what an agent asks, and this is an agent that asks it: a few hundred lines in which every
//! question stands where it has to stand, with the reason beside it. The conformance suite runs through it.
//!
//! | File | What is in it |
//! |---|---|
//! | `agent.rs` | the agent as its front end sees it: how it begins, the verbs, the driver |
//! | `turn.rs` | one turn: prompt gate, steps, the end of the turn |
//! | `calls.rs` | the tool calls of one step |
//! | `inbox.rs` | what waits to be said to the model |
//! | `log.rs` | the session's log, from which everything the model reads is derived |
//! | `message.rs` | messages, and where they come from |
//! | `model.rs` | what a model is, and one that follows a script |
//! | `tools.rs` | tools that read, write and run |
//! | `delegate.rs` | the tool that gives work to a child: another agent with this same loop |
//! | `traces.rs` | what sessions look like in the log, from the first event to the last |
//! | `testing.rs` | no part of an agent: one that is set up in a line, and its log as a few words, for tests |
//!
//! # The loop
//!
//! ```text
//! AgentLoop::start         session-start, awaited and not for long; its contexts wait for the first prompt
//! followup · steer         put a message into the inbox, and wake the driver
//! drive                    as long as somebody woke it:
//! │  (BeforeTurn)          prompt gate: a prompt that is rejected here leaves no trace in the log
//! │  turn/start
//! │  │  (InTurn)           prompt gate: one question for each message of a user; one rejection rejects all
//! │  │  step/start
//! │  │  │  user/message    contexts of the start, the prompt and what steers, with the gate's contexts
//! │  │  │  the model       reads what the log says it reads
//! │  │  │  assistant/message
//! │  │  │  for each call   tool/call · Pipeline::execute_batch asks every seam of the call · tool/result
//! │  │  │  user/message    contexts of the batch, after all its results
//! │  │  step/end
//! │  │  again, while results or steering are unread
//! │  │  turn-stopping      what hooks want said makes another step
//! │  turn/end
//! ```
//!
//! Three things can happen at every await: somebody cancels, a hook stops the agent, the log can't be written. Each closes
//! what is open, so that the log always reads as pairs, and does nothing more.

mod agent;
mod calls;
mod delegate;
mod inbox;
mod log;
mod message;
mod model;
pub mod testing;
mod tools;
mod traces;
mod turn;

pub use agent::{AfterReject, AgentLoop, Notice, Options, Placement, Settlement, Setup};
pub use delegate::delegate;
pub use inbox::{CancelCause, Fate};
pub use log::{Event, JsonLines, SessionLog, Store, TurnEnd};
pub use message::{Message, Source, UserMessage, blocks};
pub use model::{Model, ModelError, Reply, ScriptedModel};
pub use tools::{read_file, run, write_file};
