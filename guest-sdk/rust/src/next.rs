//! The rest of a tool call's way.

use crate::Outcome;
use crate::bindings::around_tool::Next as Lent;

/// What comes after a policy at `around-tool`: the policies further in, and the tool itself. It is lent for one decision.
///
/// The time that it takes does not count against the limits of the policy. It can be run 100 times in one decision.
///
/// ```
/// use seamgate_sdk::{AroundToolDecision, Next, ToolCall, testing};
///
/// fn around_tool(_call: &ToolCall, next: &Next) -> AroundToolDecision {
///     if next.run_within(1_000).result.is_err() {
///         next.run_within(10_000);
///     }
///     AroundToolDecision::pass()
/// }
///
/// seamgate_sdk::policy! { around_tool: around_tool }
///
/// # let next = testing::next(|deadline| testing::coded_outcome(&format!("{deadline:?}")));
/// # let call = testing::tool_call("Bash", serde_json::json!({}));
/// # assert_eq!(around_tool(&call, &next), AroundToolDecision::pass());
/// ```
///
/// In a test, [`testing::next`](crate::testing::next) makes one of a closure.
pub struct Next<'a>(Rest<'a>);

enum Rest<'a> {
    Lent(&'a Lent),
    #[cfg(not(target_arch = "wasm32"))]
    Closure(Box<dyn Fn(Option<u32>) -> Outcome + 'a>),
}

impl<'a> Next<'a> {
    /// What the host lends. What [`policy!`](crate::policy!) calls.
    #[doc(hidden)]
    pub fn lent(next: &'a Lent) -> Self {
        Self(Rest::Lent(next))
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn closure(rest: impl Fn(Option<u32>) -> Outcome + 'a) -> Self {
        Self(Rest::Closure(Box::new(rest)))
    }

    /// Runs the rest of the way and gives its outcome. A tool that fails, or is unknown, is a failed outcome. Called again it
    /// runs the rest again.
    pub fn run(&self) -> Outcome {
        self.call(None)
    }

    /// The same with a deadline, in milliseconds from now. It can only tighten the one that holds already.
    pub fn run_within(&self, milliseconds: u32) -> Outcome {
        self.call(Some(milliseconds))
    }

    fn call(&self, deadline: Option<u32>) -> Outcome {
        match &self.0 {
            Rest::Lent(next) => next.call(deadline),
            #[cfg(not(target_arch = "wasm32"))]
            Rest::Closure(rest) => rest(deadline),
        }
    }
}
