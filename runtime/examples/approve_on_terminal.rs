//! A loop that runs shell commands, and asks on the terminal where a hook wants somebody to agree.
//!
//! ```sh
//! cargo run --example approve_on_terminal -- 'git status' 'touch notes' 'rm -rf /etc/seamgate-example'
//! ```
//!
//! The commands stand in for what a model would call. A sandboxed policy refuses what destroys things, a native hook lets
//! what only reads pass, and a person is asked about the rest. Everything is in the audit log afterwards.

use std::io::{self, BufRead, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use seamgate::approval::{Approval, Terminal};
use seamgate::audit::{Durability, FileSink};
use seamgate::pipeline::{CallRequest, Invocation, Schema, Signal, Tool, Unchecked, Unclaimed};
use seamgate::seams::{Agent, PreTool, ToolCall, ToolError, Verdict};
use seamgate::{
    Compiler, ComponentSource, EngineProfile, Grants, Limits, Pipeline, Policy, PolicySpec,
    Runtime, Sandbox, Tier,
};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Shell {
    command: String,
}

/// The tool. A command blocks, so it gets a thread where it may.
async fn shell(call: Invocation) -> Result<Unchecked, ToolError> {
    let failed = |error: &dyn std::fmt::Display| ToolError::new(error.to_string());
    let Shell { command } = call.arguments().read().map_err(|error| failed(&error))?;
    let ran = tokio::task::spawn_blocking(move || {
        Command::new("/bin/sh")
            .args(["-c", &command])
            .stdin(Stdio::null())
            .output()
    })
    .await
    .map_err(|error| failed(&error))?
    .map_err(|error| failed(&error))?;
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    if ran.status.success() {
        Ok(json!(text).into())
    } else {
        Err(ToolError::new(format!(
            "{}\n{text}{}",
            ran.status,
            String::from_utf8_lossy(&ran.stderr)
        )))
    }
}

/// What only reads needs nobody's permission. An allow spares the question, and no policy's denial.
fn reading_is_fine(call: &ToolCall) -> Verdict {
    match call.arguments.read() {
        Ok(Shell { command }) if matches!(command.as_str(), "ls" | "pwd" | "git status") => {
            Verdict::Allow
        }
        _ => Verdict::Abstain,
    }
}

async fn hooks() -> Result<Runtime, Box<dyn std::error::Error>> {
    let sandbox = Sandbox::new(EngineProfile::OneShot, Compiler::InProcess, None)?;
    let component =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies/prebuilt/destructive-shell.wasm");
    let spec = PolicySpec {
        name: "destructive-shell".to_owned(),
        component: ComponentSource::File(component),
        tier: Tier::Untrusted,
        tools: None,
        // The policy knows shells by the names that agents give them.
        settings: Vec::new(),
        grants: Grants::none(),
        limits: Limits::default(),
    };
    let mut runtime = Runtime::new();
    runtime
        .policy(Policy::load(&sandbox, &spec).await?)
        .listener::<PreTool>("reading-is-fine", |call| reading_is_fine(call).into());
    Ok(runtime)
}

/// Runs the commands, one after another.
pub async fn run(
    commands: &[String],
    audit: &Path,
    terminal: (impl BufRead + Send + 'static, impl Write + Send + 'static),
    out: &mut impl Write,
) -> Result<(), Box<dyn std::error::Error>> {
    let pipeline = Pipeline::builder(Arc::new(hooks().await?))
        // Where no hook has anything to say, somebody is asked.
        .unclaimed(Unclaimed::Ask)
        .approval(Approval::new().approver(Terminal::new(terminal.0, terminal.1)))
        .audit(Arc::new(FileSink::open(audit, Durability::Process)?))
        .build();
    let tool = Arc::new(Tool::new("Bash", Schema::any(), shell));
    for (number, command) in (1..).zip(commands) {
        let outcome = pipeline
            .execute(
                CallRequest {
                    call_id: number.to_string(),
                    tool: "Bash".to_owned(),
                    arguments: json!({ "command": command }).into(),
                    // Questions are asked on behalf of somebody, in a turn: without them there is nobody to ask for.
                    agent: Some(Agent {
                        dialect: "embedded".to_owned(),
                        session_id: "example".to_owned(),
                        ..Agent::default()
                    }),
                    turn: Some(1),
                    signal: Signal::never(),
                },
                &tool,
            )
            .await;
        writeln!(out, "$ {command}\n{}", outcome.text().trim_end())?;
        if let Some(stop) = outcome.stop {
            writeln!(out, "stopped: {}", stop.reason())?;
            break;
        }
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
#[allow(dead_code, reason = "the tests run `run`")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut commands: Vec<String> = std::env::args().skip(1).collect();
    if commands.is_empty() {
        commands = ["git status", "touch notes", "rm -rf /etc/seamgate-example"]
            .map(str::to_owned)
            .into();
    }
    let audit = std::env::temp_dir().join("seamgate-example.jsonl");
    let terminal = (io::BufReader::new(io::stdin()), io::stderr());
    run(&commands, &audit, terminal, &mut io::stdout()).await?;
    writeln!(io::stdout(), "\nThe audit log is {}", audit.display())?;
    Ok(())
}
