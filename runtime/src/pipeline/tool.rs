//! Tools, as the pipeline runs them.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use super::invocation::Invocation;
use super::schema::{Schema, Unchecked};
use crate::contained::{Boxed, contain};
use crate::json::Json;
use crate::seams::{Agent, FinishedCall, ToolError};

/// Where a call's tool comes from.
///
/// It is asked when the call begins, and again when the tool is about to run: a tool that is gone by then is unknown.
pub trait Dispatch: Send + Sync {
    /// The tool of this name as this agent sees it, or none where it sees none. An agent-less call sees what everybody sees.
    fn tool(&self, name: &str, agent: Option<&Agent>) -> Option<Arc<Tool>>;
}

/// One tool, whoever asks.
impl Dispatch for Arc<Tool> {
    fn tool(&self, name: &str, _: Option<&Agent>) -> Option<Arc<Tool>> {
        (self.name == name).then(|| self.clone())
    }
}

/// Tools by name, which may come and go while calls run.
#[derive(Debug, Default)]
pub struct Tools(RwLock<HashMap<String, Arc<Tool>>>);

impl Tools {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool, in place of one of the same name.
    pub fn register(&self, tool: Tool) {
        let tool = Arc::new(tool);
        self.0
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(tool.name.clone(), tool);
    }

    /// Takes a tool away. Calls of it that already run are not disturbed.
    pub fn unregister(&self, name: &str) {
        self.0
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(name);
    }
}

impl Dispatch for Tools {
    fn tool(&self, name: &str, _: Option<&Agent>) -> Option<Arc<Tool>> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
            .cloned()
    }
}

/// What a tool does when it runs.
pub trait Body: Send + Sync {
    /// Runs it. A cancelled call is told so by [`Invocation::signal`], and waited for.
    ///
    /// # Errors
    /// The tool failed, and the model reads why.
    fn run<'a>(&'a self, invocation: Invocation) -> Boxed<'a, Result<Unchecked, ToolError>>;
}

impl<F, R> Body for F
where
    F: Fn(Invocation) -> R + Send + Sync,
    R: Future<Output = Result<Unchecked, ToolError>> + Send + 'static,
{
    fn run<'a>(&'a self, invocation: Invocation) -> Boxed<'a, Result<Unchecked, ToolError>> {
        Box::pin(self(invocation))
    }
}

/// Makes of arguments and value what the model reads, or what a program may know beside it.
type Projection = Box<dyn Fn(&Json, &Json) -> Result<Unchecked, String> + Send + Sync>;
/// Has the last word on what the model reads.
type Finalise = Box<dyn Fn(&FinishedCall) -> Result<Option<Unchecked>, ToolError> + Send + Sync>;
/// Whether a call with these arguments may run beside others.
type Overlaps = Box<dyn Fn(&Json) -> bool + Send + Sync>;
/// Checks arguments beyond what a [`Schema`] can say.
type Check = Box<dyn Fn(&Json) -> Result<(), String> + Send + Sync>;

/// A tool: what it takes, what it does, what its value looks like, and how that reads.
pub struct Tool {
    name: String,
    parameters: Schema,
    check: Option<Check>,
    output: Schema,
    body: Box<dyn Body>,
    render: Option<Projection>,
    meta: Option<Projection>,
    finalise: Option<Finalise>,
    overlaps: Option<Overlaps>,
}

impl fmt::Debug for Tool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Tool")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Tool {
    /// A tool whose value fits `output`. The model reads the value: a string as it is, anything else as JSON.
    pub fn new(name: impl Into<String>, output: Schema, body: impl Body + 'static) -> Self {
        Self {
            name: name.into(),
            parameters: Schema::any(),
            check: None,
            output,
            body: Box::new(body),
            render: None,
            meta: None,
            finalise: None,
            overlaps: None,
        }
    }

    /// What its arguments must fit. Hooks may rewrite them within it.
    #[must_use]
    pub fn parameters(mut self, parameters: Schema) -> Self {
        self.parameters = parameters;
        self
    }

    /// What else its arguments must fit, for tools whose schema says more than [`Schema`] can enforce.
    #[must_use]
    pub fn check_arguments(
        mut self,
        check: impl Fn(&Json) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.check = Some(Box::new(check));
        self
    }

    /// How arguments and value read to the model: a list of content blocks.
    #[must_use]
    pub fn render(
        mut self,
        render: impl Fn(&Json, &Json) -> Result<Unchecked, String> + Send + Sync + 'static,
    ) -> Self {
        self.render = Some(Box::new(render));
        self
    }

    /// What a program that shows the call may know beside it. Nested calls have none.
    #[must_use]
    pub fn meta(
        mut self,
        meta: impl Fn(&Json, &Json) -> Result<Unchecked, String> + Send + Sync + 'static,
    ) -> Self {
        self.meta = Some(Box::new(meta));
        self
    }

    /// Has the last word on what the model reads, once for every call, whatever became of it: other content blocks, or
    /// none where they stay. Nothing else of the outcome can be changed here.
    #[must_use]
    pub fn finalise(
        mut self,
        finalise: impl Fn(&FinishedCall) -> Result<Option<Unchecked>, ToolError> + Send + Sync + 'static,
    ) -> Self {
        self.finalise = Some(Box::new(finalise));
        self
    }

    /// Whether a call with these arguments may run beside others of one batch. Without this, none may.
    #[must_use]
    pub fn overlaps(mut self, overlaps: impl Fn(&Json) -> bool + Send + Sync + 'static) -> Self {
        self.overlaps = Some(Box::new(overlaps));
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn output(&self) -> &Schema {
        &self.output
    }

    pub(crate) fn body(&self) -> &dyn Body {
        self.body.as_ref()
    }

    /// What keeps arguments from being this tool's.
    pub(crate) fn argument_problems(&self, arguments: &Json) -> Vec<String> {
        let mut problems = self.parameters.violations(arguments);
        if let Some(check) = &self.check {
            let checked = contain(|| check(arguments));
            problems.extend(checked.unwrap_or_else(Err).err());
        }
        problems
    }

    /// What the model reads: a list of content blocks.
    pub(crate) fn content(&self, arguments: &Json, value: &Json) -> Result<Json, String> {
        let Some(render) = &self.render else {
            let text = value.text();
            let string = if text.starts_with('"') {
                value.read::<String>().ok()
            } else {
                None
            };
            return Ok(crate::content::of_texts([string
                .as_deref()
                .unwrap_or(text)]));
        };
        let rendered = contain(|| render(arguments, value)).unwrap_or_else(Err)?;
        let content = rendered
            .check()
            .map_err(|error| format!("its content is not lossless JSON: {error}"))?;
        crate::content::check(&content)?;
        Ok(content)
    }

    pub(crate) fn project_meta(
        &self,
        arguments: &Json,
        value: &Json,
    ) -> Result<Option<Json>, String> {
        let Some(meta) = &self.meta else {
            return Ok(None);
        };
        let meta = contain(|| meta(arguments, value)).unwrap_or_else(Err)?;
        meta.check()
            .map(Some)
            .map_err(|error| format!("its meta is not lossless JSON: {error}"))
    }

    pub(crate) fn last_word(
        &self,
        finished: impl FnOnce() -> FinishedCall,
    ) -> Result<Option<Json>, ToolError> {
        let Some(finalise) = &self.finalise else {
            return Ok(None);
        };
        let said = contain(|| finalise(&finished()))
            .unwrap_or_else(|message| Err(ToolError::new(message)))?;
        let Some(content) = said else {
            return Ok(None);
        };
        let content = content.check().map_err(|error| {
            ToolError::new(format!("its content is not lossless JSON: {error}"))
        })?;
        crate::content::check(&content).map_err(ToolError::new)?;
        Ok(Some(content))
    }

    /// Anything but a clean yes is a no.
    pub(crate) fn may_overlap(&self, arguments: &Json) -> bool {
        self.overlaps
            .as_ref()
            .is_some_and(|overlaps| contain(|| overlaps(arguments)).unwrap_or(false))
    }
}
