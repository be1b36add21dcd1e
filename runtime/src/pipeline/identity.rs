//! What makes a call this call and no other.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use super::schema::Unchecked;
use super::signal::Signal;
use crate::json::{Json, JsonError, JsonProblem};
use crate::seams::Agent;

/// What one call is known by at every seam. No two calls of a process share one, nobody outside can make one, and it is
/// never written down.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token(u64);

impl Token {
    pub(crate) fn mint() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token")
    }
}

/// A tool call as the embedding program asks for it.
#[derive(Debug, Clone)]
pub struct CallRequest {
    /// Its id, unique in the session.
    pub call_id: String,
    /// The tool, by the name the model calls it.
    pub tool: String,
    /// Its arguments.
    pub arguments: Arguments,
    /// Who makes it. A call without an agent can be gated, but nobody can be asked to approve it.
    pub agent: Option<Agent>,
    /// The turn it belongs to, for the audit log.
    pub turn: Option<u32>,
    /// What cancels it.
    pub signal: Signal,
}

/// Arguments, as they come.
#[derive(Debug, Clone)]
pub enum Arguments {
    /// As the model wrote them. Nothing counts as no arguments; what is not JSON is a string with that text.
    Model(String),
    /// As a program made them.
    Given(Unchecked),
}

impl<T: Into<Unchecked>> From<T> for Arguments {
    fn from(given: T) -> Self {
        Self::Given(given.into())
    }
}

impl Arguments {
    pub(crate) fn check(self) -> Result<Json, JsonError> {
        match self {
            Self::Given(given) => given.check(),
            Self::Model(text) if text.trim().is_empty() => Ok(Json::empty_object()),
            Self::Model(text) => Json::parse(text.as_str()).or_else(|error| match error.problem {
                // No JSON at all: two readers can't understand it differently.
                JsonProblem::End | JsonProblem::Unexpected | JsonProblem::Trailing => {
                    Ok(Json::string(&text))
                }
                _ => Err(error),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_tell_calls_apart() {
        let token = Token::mint();
        assert_eq!(token, token);
        assert_ne!(token, Token::mint());
        assert_eq!(format!("{token:?}"), "Token");
    }

    #[test]
    fn lossy_is_refused_and_text_is_text() {
        let check = |text: &str| Arguments::Model(text.to_owned()).check();
        assert_eq!(check(" ").unwrap().text(), "{}");
        assert_eq!(check("rm -rf").unwrap().text(), r#""rm -rf""#);
        assert_eq!(check(r#"{"a":"#).unwrap().text(), r#""{\"a\":""#);
        assert!(check(r#"{"a":-0}"#).is_err());
        assert!(check(r#"{"a":1,"a":2}"#).is_err());
    }
}
