//! From what a tool returned to what everybody gets: checked, rendered, and then never touched again.

use std::sync::Arc;

use super::outcome::{Candidate, Ending, invalid_output};
use super::schema::Unchecked;
use super::tool::{Dispatch, Tool};
use crate::contained::contain;
use crate::json::Json;
use crate::seams::{Agent, ToolError};

/// A successful candidate from a value.
///
/// # Errors
/// The value is lossy, does not fit the tool's output, or can't be rendered.
pub(crate) fn success(
    tool: &Tool,
    arguments: &Json,
    value: Unchecked,
    nested: bool,
) -> Result<Candidate, ToolError> {
    let invalid = |violations: &[String]| invalid_output(tool.name(), violations);
    let value = value
        .check()
        .map_err(|error| invalid(&[format!("the value is not lossless JSON: {error}")]))?;
    let violations = tool.output().violations(&value);
    if !violations.is_empty() {
        return Err(invalid(&violations));
    }
    let content = tool
        .content(arguments, &value)
        .map_err(|problem| invalid(&[problem]))?;
    let meta = if nested {
        None
    } else {
        tool.project_meta(arguments, &value)
            .map_err(|problem| invalid(&[problem]))?
    };
    Ok(Candidate {
        result: Ok(value),
        content,
        meta,
        concludes_turn: false,
        ending: Ending::Succeeded,
        contexts: Vec::new(),
    })
}

/// The tool as it is now. Where looking for it panics there is none.
pub(crate) fn resolve(
    dispatch: &dyn Dispatch,
    name: &str,
    agent: Option<&Agent>,
) -> Option<Arc<Tool>> {
    contain(|| dispatch.tool(name, agent)).unwrap_or(None)
}
