//! What the tests share: a call, a tool, hooks made of closures, and an audit log in memory.

use std::sync::{Arc, Mutex};

use seamgate::audit::{AuditError, AuditRecord, AuditSink};
use seamgate::pipeline::{
    Arguments, Around, AroundError, AroundNext, AroundTool, CallOutcome, CallRequest, Invocation,
    Pipeline, Schema, Signal, Tool, Tools, Unchecked,
};
use seamgate::seams::{
    Agent, GuardDecision, PostToolDecision, PreToolDecision, Seam, ToolCall, ToolError, Verdict,
};
use seamgate::{Boxed, Deciding, Hook, Next, Runtime};
use serde_json::{Value, json};

pub fn agent() -> Agent {
    Agent {
        dialect: "embedded".to_owned(),
        session_id: "session".to_owned(),
        ..Agent::default()
    }
}

pub fn request(tool: &str) -> CallRequest {
    CallRequest {
        call_id: "call".to_owned(),
        tool: tool.to_owned(),
        arguments: Arguments::from(json!({"n": 1})),
        agent: Some(agent()),
        turn: Some(1),
        signal: Signal::never(),
    }
}

/// What happened, in order.
#[derive(Clone, Default)]
pub struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    pub fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub fn count(&self, what: &str) -> usize {
        self.all().iter().filter(|seen| *seen == what).count()
    }
}

pub type Returned = Result<Unchecked, ToolError>;

pub fn tool<F, R>(name: &str, output: Value, body: F) -> Tool
where
    F: Fn(Invocation) -> R + Send + Sync + 'static,
    R: Future<Output = Returned> + Send + 'static,
{
    Tool::new(
        name,
        Schema::new(&output).expect("the schema is right"),
        body,
    )
}

/// A tool that gives "done" and is seen doing it.
pub fn work(seen: &Seen) -> Tool {
    let seen = seen.clone();
    tool("work", json!({"type": "string"}), move |_| {
        seen.note("body");
        async { Ok(json!("done").into()) }
    })
}

pub fn tools(all: impl IntoIterator<Item = Tool>) -> Arc<Tools> {
    let tools = Tools::new();
    for tool in all {
        tools.register(tool);
    }
    Arc::new(tools)
}

/// Runs a call of `work` through some hooks.
pub async fn run(runtime: Runtime, seen: &Seen) -> CallOutcome {
    let pipeline = Pipeline::new(Arc::new(runtime));
    pipeline
        .execute(request("work"), tools([work(seen)]).as_ref())
        .await
}

pub struct Around2<F>(F);

impl<F> AroundTool for Around2<F>
where
    F: for<'a> Fn(&'a ToolCall, AroundNext<'a>) -> Boxed<'a, Result<Around, AroundError>>
        + Send
        + Sync,
{
    fn around<'a>(
        &'a self,
        call: &'a ToolCall,
        next: AroundNext<'a>,
    ) -> Boxed<'a, Result<Around, AroundError>> {
        (self.0)(call, next)
    }
}

pub fn wrap<F>(around: F) -> Around2<F>
where
    F: for<'a> Fn(&'a ToolCall, AroundNext<'a>) -> Boxed<'a, Result<Around, AroundError>>
        + Send
        + Sync,
{
    Around2(around)
}

pub struct Hook2<F>(F);

impl<S: Seam, F> Hook<S> for Hook2<F>
where
    F: for<'a> Fn(&'a S::Event, Next<'a, S>) -> Deciding<'a, S> + Send + Sync,
{
    fn decide<'a>(&'a self, event: &'a S::Event, next: Next<'a, S>) -> Deciding<'a, S> {
        (self.0)(event, next)
    }
}

pub fn hook<S: Seam, F>(decide: F) -> Hook2<F>
where
    F: for<'a> Fn(&'a S::Event, Next<'a, S>) -> Deciding<'a, S> + Send + Sync,
{
    Hook2(decide)
}

pub fn deny(reason: &str) -> PreToolDecision {
    Verdict::Deny(reason.to_owned()).into()
}

pub fn ask(reason: &str) -> PreToolDecision {
    Verdict::Ask(reason.to_owned()).into()
}

pub fn guard_denies(reason: &str) -> GuardDecision {
    GuardDecision::Deny(reason.to_owned())
}

pub fn accept() -> PostToolDecision {
    PostToolDecision::Accept {
        replacement: None,
        contexts: Vec::new(),
    }
}

pub fn context(text: &str) -> PostToolDecision {
    PostToolDecision::Accept {
        replacement: None,
        contexts: vec![text.to_owned()],
    }
}

pub fn block(feedback: &str) -> PostToolDecision {
    PostToolDecision::Block {
        feedback: feedback.to_owned(),
        contexts: Vec::new(),
    }
}

pub fn texts(outcome: &CallOutcome) -> Vec<&str> {
    outcome
        .contexts
        .iter()
        .map(|context| context.text.as_str())
        .collect()
}

pub fn message(outcome: &CallOutcome) -> &str {
    &outcome.result.as_ref().expect_err("it failed").message
}

/// An audit log in memory, which can refuse records of one type.
#[derive(Default)]
pub struct Memory {
    records: Mutex<Vec<Value>>,
    pub refuses: Mutex<Option<&'static str>>,
}

impl Memory {
    pub fn of_type(&self, kind: &str) -> Vec<Value> {
        let records = self.records.lock().unwrap();
        records
            .iter()
            .filter(|record| record["type"] == kind)
            .cloned()
            .collect()
    }

    pub fn types(&self) -> Vec<String> {
        let records = self.records.lock().unwrap();
        records
            .iter()
            .map(|record| record["type"].as_str().unwrap().to_owned())
            .collect()
    }
}

impl AuditSink for Memory {
    fn append(&self, record: &AuditRecord) -> Result<(), AuditError> {
        let record = serde_json::to_value(record)?;
        if self
            .refuses
            .lock()
            .unwrap()
            .is_some_and(|kind| record["type"] == kind)
        {
            return Err(AuditError::Other("the disk is full".to_owned()));
        }
        self.records.lock().unwrap().push(record);
        Ok(())
    }
}
