//! The conformance lines that need no sandbox: each test is named after its line.

mod approval;
mod around;
mod batch;
mod bridge;
mod cancel;
mod compaction;
mod core;
mod dispatch;
mod durable;
mod gates;
mod guests;
mod identity;
mod load;
mod nested;
mod post;
mod records;
mod subagents;
mod support;
mod turns;
