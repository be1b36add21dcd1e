//! What Claude Code's settings files say about hooks.

mod handler;

pub use handler::{
    CommandHandler, Handler, HandlerKind, HttpHandler, Place, Shell, Source, Waiting,
};
