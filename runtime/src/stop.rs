//! The hard stop: a hook wants the agent to do nothing more.

use crate::seams::{Attributed, join};

/// One or more hooks want the agent to stop altogether. It outranks every decision of every hook.
///
/// The embedding program honours it: what was being decided is finished, as the decision beside it says, and after that
/// no model is asked and no tool is run until a person says so.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a hook wants the agent to stop, and only the embedding program can do that"]
pub struct Stop {
    by: Vec<Attributed>,
}

impl Stop {
    pub(crate) fn of(by: Vec<Attributed>) -> Option<Self> {
        if by.is_empty() {
            None
        } else {
            Some(Self { by })
        }
    }

    /// Who stops it, each with a reason for the user, in order. There is at least one.
    pub fn by(&self) -> &[Attributed] {
        &self.by
    }

    /// All reasons, one under the other. Never blank.
    pub fn reason(&self) -> String {
        match join(&self.by) {
            Some(reason) if !reason.trim().is_empty() => reason,
            _ => "a hook stopped the agent, and gave no reason".to_owned(),
        }
    }

    /// Two stops, where there are two.
    pub(crate) fn and(earlier: Option<Self>, later: Option<Self>) -> Option<Self> {
        match (earlier, later) {
            (Some(mut earlier), Some(later)) => {
                earlier.by.extend(later.by);
                Some(earlier)
            }
            (earlier, later) => earlier.or(later),
        }
    }
}
