//! A session begins.

use super::{Agent, Attributed, Described, Seam, SeamName};
use crate::failure::HookName;
use crate::sandbox::{CallContext, Lifted, PolicySeam, wire};

/// The seam `session-start`.
#[derive(Debug)]
pub struct SessionStart;

/// A session that begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Who begins it.
    pub agent: Agent,
    /// How it came to be.
    pub source: SessionSource,
}

/// How a session came to be.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the word of that name")]
pub enum SessionSource {
    Startup,
    Resume,
    Clear,
    Compact,
    Fork,
    /// In the agent's own word.
    Other(String),
}

impl From<&str> for SessionSource {
    fn from(word: &str) -> Self {
        match word {
            "startup" => Self::Startup,
            "resume" => Self::Resume,
            "clear" => Self::Clear,
            "compact" => Self::Compact,
            "fork" => Self::Fork,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// Contexts of all hooks, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Contexts {
    /// Each with its author.
    pub contexts: Vec<Attributed>,
}

impl Contexts {
    pub(crate) fn lift(hook: &HookName, contexts: Vec<String>) -> Self {
        Self {
            contexts: Attributed::all(hook, contexts),
        }
    }

    pub(crate) fn combine(mut self, later: Self) -> Self {
        self.contexts.extend(later.contexts);
        self
    }

    pub(crate) fn describe(&self) -> Described {
        Described::word(if self.contexts.is_empty() {
            "nothing"
        } else {
            "context"
        })
        .with_contexts(&self.contexts)
    }
}

impl Seam for SessionStart {
    const NAME: SeamName = SeamName::SessionStart;
    type Event = Session;
    type Decision = Vec<String>;
    type Folded = Contexts;

    fn lift(hook: &HookName, contexts: Vec<String>) -> Contexts {
        Contexts::lift(hook, contexts)
    }

    fn combine(earlier: Contexts, later: Contexts) -> Contexts {
        earlier.combine(later)
    }

    fn closes(_: &Contexts) -> bool {
        false
    }

    fn agent(session: &Session) -> &Agent {
        &session.agent
    }

    fn describe(folded: &Contexts) -> Described {
        folded.describe()
    }
}

impl PolicySeam for SessionStart {
    type Wire = wire::session_start::Session;

    fn to_wire(session: &Session) -> Self::Wire {
        use wire::session_start::SessionSource as Source;
        wire::session_start::Session {
            agent: session.agent.to_wire(),
            source: match &session.source {
                SessionSource::Startup => Source::Startup,
                SessionSource::Resume => Source::Resume,
                SessionSource::Clear => Source::Clear,
                SessionSource::Compact => Source::Compact,
                SessionSource::Fork => Source::Fork,
                SessionSource::Other(word) => Source::Other(word.clone()),
            },
        }
    }

    async fn call(mut context: CallContext<'_>, session: &Self::Wire) -> Lifted<Vec<String>> {
        let guest = context
            .seam(|exports| &exports.session_start)?
            .load(&mut context.store, context.instance)?;
        guest.call_decide(&mut context.store, session).await
    }
}
