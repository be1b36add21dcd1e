//! Native hooks: Rust values of the embedding program, at the same seams as policies.

use crate::contained::Boxed;
use crate::failure::{Failure, HookName};
use crate::pipeline::{Around, AroundError, AroundNext, AroundTool, Signal};
use crate::runtime::Rest;
use crate::seams::{Agent, Seam, ToolCall};

/// What a native hook's decision comes as.
pub type Deciding<'a, S> = Boxed<'a, Result<<S as Seam>::Folded, Failure>>;

/// A native hook at one seam.
///
/// Native hooks get the full waterfall where the seam [is one](crate::seams::SeamName::is_waterfall): `next` asks the hooks
/// after this one, and what this one returns is what the seam comes to from here on. A hook that does not call `next` keeps the later ones from being asked; one that only adds to
/// what they say calls it and [combines](Seam::combine). Hooks before it, policies among them, have answered for themselves,
/// and nothing here can take that back.
///
/// At guards, notices and the end of a turn there is nothing after it: `next` comes to nothing, and the other hooks are asked
/// whatever this one does.
pub trait Hook<S: Seam>: Send + Sync {
    /// Whether it is asked about this event at all.
    fn concerns(&self, _event: &S::Event) -> bool {
        true
    }

    /// Decides about an event.
    ///
    /// # Errors
    /// The hook could not decide, or passes on that a later one could not. A gate closes then.
    fn decide<'a>(&'a self, event: &'a S::Event, next: Next<'a, S>) -> Deciding<'a, S>;
}

/// The hooks after a native one.
pub struct Next<'a, S: Seam> {
    pub(crate) hook: HookName,
    pub(crate) rest: Rest<'a, S>,
}

impl<'a, S: Seam> Next<'a, S> {
    /// Asks them. It can be called once, since hooks never run twice for one event:
    ///
    /// ```compile_fail,E0382
    /// # use seamgate::{Failure, Next, seams::{PreTool, PreToolFold, ToolCall}};
    /// async fn twice(call: &ToolCall, next: Next<'_, PreTool>) -> Result<PreToolFold, Failure> {
    ///     next.run(call).await?;
    ///     next.run(call).await
    /// }
    /// ```
    ///
    /// # Errors
    /// One of them could not decide.
    pub async fn run(self, event: &S::Event) -> Result<S::Folded, Failure> {
        self.rest.ask(event).await
    }

    /// Stops the agent altogether, beyond this one event: what the seam decides still happens, and then nothing more does.
    /// No other hook can take it back.
    pub fn stop(&self, reason: impl Into<String>) {
        self.rest.record().stop(&self.hook, reason.into());
    }

    /// Fires when no answer is wanted any more: the call was cancelled. A hook that runs something ends it then. What it
    /// answers counts all the same.
    pub fn signal(&self) -> &Signal {
        self.rest.record().signal()
    }

    /// The name that the hook holding this is registered under, for [`Seam::lift`].
    pub fn hook(&self) -> &HookName {
        &self.hook
    }
}

/// A hook that says its own and lets all others say theirs, as a policy does: a function from the event to a decision.
pub struct Listener<F>(pub F);

impl<S, F> Hook<S> for Listener<F>
where
    S: Seam,
    F: Fn(&S::Event) -> S::Decision + Send + Sync,
{
    fn decide<'a>(&'a self, event: &'a S::Event, next: Next<'a, S>) -> Deciding<'a, S> {
        Box::pin(async move {
            let own = S::lift(next.hook(), (self.0)(event));
            if S::closes(&own) && !next.rest.asks_all() {
                return Ok(own);
            }
            let advanced = S::advance(event, &own);
            let later = next.run(advanced.as_ref().unwrap_or(event)).await?;
            Ok(S::combine(own, later))
        })
    }
}

/// A hook that is asked about one session only, its subagents included, or about one subagent of it.
///
/// A call without an agent is nobody's, so such a hook never hears of it.
pub struct ForAgent<H> {
    session_id: String,
    agent_id: Option<String>,
    hook: H,
}

impl<H> ForAgent<H> {
    /// For a session and everybody in it.
    pub fn session(session_id: impl Into<String>, hook: H) -> Self {
        Self {
            session_id: session_id.into(),
            agent_id: None,
            hook,
        }
    }

    /// For one subagent of a session.
    pub fn subagent(session_id: impl Into<String>, agent_id: impl Into<String>, hook: H) -> Self {
        Self {
            agent_id: Some(agent_id.into()),
            ..Self::session(session_id, hook)
        }
    }

    fn is(&self, agent: &Agent) -> bool {
        !agent.session_id.is_empty()
            && agent.session_id == self.session_id
            && (self.agent_id.is_none() || agent.agent_id == self.agent_id)
    }
}

impl<S: Seam, H: Hook<S>> Hook<S> for ForAgent<H> {
    fn concerns(&self, event: &S::Event) -> bool {
        self.is(S::agent(event)) && self.hook.concerns(event)
    }

    fn decide<'a>(&'a self, event: &'a S::Event, next: Next<'a, S>) -> Deciding<'a, S> {
        self.hook.decide(event, next)
    }
}

impl<H: AroundTool> AroundTool for ForAgent<H> {
    fn concerns(&self, call: &ToolCall) -> bool {
        self.is(&call.agent) && self.hook.concerns(call)
    }

    fn around<'a>(
        &'a self,
        call: &'a ToolCall,
        next: AroundNext<'a>,
    ) -> Boxed<'a, Result<Around, AroundError>> {
        self.hook.around(call, next)
    }
}
