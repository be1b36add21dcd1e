//! Native hooks: Rust values of the embedding program, at the same seams as policies.

use std::future::Future;
use std::pin::Pin;

use crate::failure::{Failure, HookName};
use crate::runtime::Rest;
use crate::seams::Seam;

/// What a native hook's decision comes as.
pub type Deciding<'a, S> =
    Pin<Box<dyn Future<Output = Result<<S as Seam>::Folded, Failure>> + Send + 'a>>;

/// A native hook at one seam.
///
/// Native hooks get the full waterfall: `next` asks the hooks after this one, and what this one returns is what the seam
/// comes to from here on. A hook that does not call `next` keeps the later ones from being asked; one that only adds to
/// what they say calls it and [combines](Seam::combine). Hooks before it, policies among them, have answered for themselves,
/// and nothing here can take that back.
pub trait Hook<S: Seam>: Send + Sync {
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
    /// Asks them. It can be called once, since hooks never run twice for one event.
    ///
    /// # Errors
    /// One of them could not decide.
    pub async fn run(self, event: &S::Event) -> Result<S::Folded, Failure> {
        self.rest.ask(event).await
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
            if S::closes(&own) {
                return Ok(own);
            }
            let advanced = S::advance(event, &own);
            let later = next.run(advanced.as_ref().unwrap_or(event)).await?;
            Ok(S::combine(own, later))
        })
    }
}
