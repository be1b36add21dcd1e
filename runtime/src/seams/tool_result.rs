//! A tool call is over, and this is what everybody gets.

use super::{Agent, Described, FinishedCall, Seam, SeamName};
use crate::failure::HookName;
use crate::sandbox::{CallContext, Lifted, PolicySeam, wire};

/// The seam `tool-result`.
#[derive(Debug)]
pub struct ToolResult;

impl Seam for ToolResult {
    const NAME: SeamName = SeamName::ToolResult;
    type Event = FinishedCall;
    type Decision = ();
    type Folded = ();

    fn lift(_: &HookName, (): ()) {}

    fn combine((): (), (): ()) {}

    fn closes((): &()) -> bool {
        false
    }

    fn tool(finished: &FinishedCall) -> Option<&str> {
        Some(&finished.call.tool)
    }

    fn agent(finished: &FinishedCall) -> &Agent {
        &finished.call.agent
    }

    fn describe((): &()) -> Described {
        Described::word("told")
    }
}

impl PolicySeam for ToolResult {
    type Wire = wire::post_tool::FinishedCall;

    fn to_wire(finished: &FinishedCall) -> Self::Wire {
        finished.to_wire()
    }

    async fn call(mut context: CallContext<'_>, finished: &Self::Wire) -> Lifted<()> {
        let guest = context
            .seam(|exports| &exports.tool_result)?
            .load(&mut context.store, context.instance)?;
        guest.call_observe(&mut context.store, finished).await?;
        Ok(Ok(()))
    }
}
