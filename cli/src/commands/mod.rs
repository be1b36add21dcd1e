//! One file for each verb.

pub(crate) mod compile;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod hook;
pub(crate) mod inspect;
pub(crate) mod replay;
