//! Gates one function call: the smallest program that embeds the seams.
//!
//! ```sh
//! cargo run --example gate_one_call -- staging
//! cargo run --example gate_one_call -- production
//! ```

use std::io::{self, Write};
use std::sync::Arc;

use seamgate::pipeline::{CallRequest, Invocation, Schema, Signal, Tool, Unchecked};
use seamgate::seams::{PreTool, ToolCall, ToolError, Verdict};
use seamgate::{Pipeline, Runtime};
use serde::Deserialize;
use serde_json::json;

/// The function that is gated. What it takes and gives is JSON, since hooks in any language have to read it.
async fn deploy(call: Invocation) -> Result<Unchecked, ToolError> {
    let Deploy { environment } = call
        .arguments()
        .read()
        .map_err(|error| ToolError::new(error.to_string()))?;
    Ok(json!(format!("deployed to {environment}")).into())
}

#[derive(Deserialize)]
struct Deploy {
    environment: String,
}

/// A hook: a function from the call to a decision. A policy would be `runtime.policy(Policy::load(…).await?)`.
fn never_to_production(call: &ToolCall) -> Verdict {
    match call.arguments.read() {
        Ok(Deploy { environment }) if environment == "production" => {
            Verdict::Deny("production is deployed by the pipeline, after review".to_owned())
        }
        Ok(_) => Verdict::Abstain,
        // A gate that can't read what it is asked about has to stay closed.
        Err(error) => Verdict::Deny(format!("the arguments can't be read: {error}")),
    }
}

/// Runs one deployment through the gate.
pub async fn run(environment: &str, out: &mut impl Write) -> io::Result<()> {
    let mut runtime = Runtime::new();
    runtime.listener::<PreTool>("never-to-production", |call| {
        never_to_production(call).into()
    });
    let pipeline = Pipeline::new(Arc::new(runtime));

    let output = Schema::new(&json!({ "type": "string" })).map_err(io::Error::other)?;
    let tool = Arc::new(Tool::new("deploy", output, deploy));

    let outcome = pipeline
        .execute(
            CallRequest {
                call_id: "1".to_owned(),
                tool: "deploy".to_owned(),
                arguments: json!({ "environment": environment }).into(),
                agent: None,
                turn: None,
                signal: Signal::never(),
            },
            &tool,
        )
        .await;

    // One outcome, whatever happened: `result` for programs, `text` for a model, `ending` for whoever has to know why.
    writeln!(out, "{}\n({:?})", outcome.text(), outcome.ending)?;
    match outcome.stop {
        // A hook may want the whole program to do nothing more, and only the program can do that.
        Some(stop) => writeln!(out, "stopped: {}", stop.reason()),
        None => Ok(()),
    }
}

#[tokio::main(flavor = "current_thread")]
#[allow(dead_code, reason = "the tests run `run`")]
async fn main() -> io::Result<()> {
    let environment = std::env::args().nth(1).unwrap_or("staging".to_owned());
    run(&environment, &mut io::stdout()).await
}
