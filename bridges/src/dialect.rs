//! The agents whose protocols are known.

use std::fmt;
use std::str::FromStr;

use crate::answer::HookAnswer;
use crate::asking::Decided;
use crate::event::Event;
use crate::payload::{Payload, PayloadError};
use crate::{claude, codex};

/// The hook protocol of one agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Claude, Self::Codex];

    /// The name as the command line and policies write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }

    /// What the agent is called in text for people and models.
    pub(crate) fn product(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
        }
    }

    /// Reads one event's payload, as the agent wrote it to the standard input of a command hook.
    ///
    /// # Errors
    /// The text is not one lossless JSON object or is nested deeper than [`MAX_DEPTH`](crate::MAX_DEPTH), the agent has
    /// no event of that name, or a field that is read is missing or of another type. Each must close the gate: see
    /// [`could_not_read`](Self::could_not_read).
    pub fn read(self, payload: &str) -> Result<Event, PayloadError> {
        let payload = Payload::parse(self, payload)?;
        let (name, kind) = match self {
            Self::Claude => claude::read(&payload)?,
            Self::Codex => codex::read(&payload)?,
        };
        Ok(Event {
            dialect: self,
            name,
            kind,
        })
    }

    /// The answer where nothing could be decided before or beside the hooks: a policy that does not load, a deadline that
    /// passed, a payload of which not even the event is known (`event` is `None`).
    ///
    /// It closes the gate in whichever way this event of this agent can be closed. Where there is nothing to close, the
    /// message is a note on standard error. Agents show `message` to the model, so it must hold nothing that a hook wrote.
    pub fn could_not_decide(self, event: Option<&Event>, message: &str) -> HookAnswer {
        match (self, event) {
            (Self::Claude, Some(event)) => claude::could_not_decide(event, message),
            (Self::Codex, Some(event)) => codex::could_not_decide(event, message),
            (Self::Claude | Self::Codex, None) => HookAnswer::closed(message),
        }
    }

    /// The answer to a payload that [`read`](Self::read) refused. It closes the gate of the event that the payload names,
    /// as far as it names one: an exit code that closes one gate is ignored at another.
    pub fn could_not_read(self, error: &PayloadError) -> HookAnswer {
        let message = error.to_string();
        match error.event_name() {
            Some(name) => match self {
                Self::Claude => claude::could_not_read(name, &message),
                Self::Codex => codex::could_not_read(name, &message),
            },
            None => HookAnswer::closed(&message),
        }
    }

    /// The folded decision in the agent's words.
    pub(crate) fn answer(self, decided: Decided<'_>) -> HookAnswer {
        match self {
            Self::Claude => claude::answer(decided),
            Self::Codex => codex::answer(decided),
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Self, UnknownDialect> {
        Self::ALL
            .into_iter()
            .find(|dialect| dialect.as_str() == name)
            .ok_or_else(|| UnknownDialect {
                name: name.to_owned(),
            })
    }
}

/// A name that no dialect has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no agent protocol is called `{name}`; there are {}", known())]
pub struct UnknownDialect {
    /// The name that was asked for.
    pub name: String,
}

fn known() -> String {
    Dialect::ALL
        .map(|dialect| format!("`{dialect}`"))
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_has_a_name_that_reads_back() {
        for dialect in Dialect::ALL {
            assert_eq!(dialect.to_string().parse(), Ok(dialect));
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = "Claude".parse::<Dialect>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "no agent protocol is called `Claude`; there are `claude`, `codex`"
        );
    }

    #[test]
    fn an_unknown_event_is_closed() {
        for dialect in Dialect::ALL {
            let answer = dialect.could_not_decide(None, "nothing was readable");
            assert_eq!(answer.stdout, "");
            assert_eq!(answer.stderr, "seamgate: nothing was readable\n");
            assert_eq!(answer.exit_code, 2);
        }
    }
}
