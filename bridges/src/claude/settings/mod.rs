//! What Claude Code's settings files say about hooks.

mod handler;
mod plan;

pub use handler::{
    CommandHandler, Handler, HandlerKind, HttpHandler, Place, Shell, Source, Waiting,
};
pub use plan::{Considered, Fate, Skip, Surroundings};
