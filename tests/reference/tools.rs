//! Tools on a folder: one that reads, one that writes, one that runs a command.

use std::fs;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Component, Path, PathBuf};
use std::pin::pin;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use seamgate::pipeline::{Invocation, Schema, Tool, Unchecked};
use seamgate::seams::ToolError;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Reads a file of the folder.
pub fn read_file(root: impl Into<PathBuf>) -> Tool {
    let root = root.into();
    let body = move |invocation: Invocation| {
        let root = root.clone();
        async move {
            let path = inside(&root, &read::<OfPath>(&invocation)?.path)?;
            Ok(json!(fs::read_to_string(path).map_err(failed)?).into())
        }
    };
    Tool::new("read_file", schema(&json!({"type": "string"})), body)
        .parameters(object(&["path"]))
        .overlaps(|_| true)
}

/// Writes a file of the folder. Its value is how many bytes it wrote.
pub fn write_file(root: impl Into<PathBuf>) -> Tool {
    #[derive(Deserialize)]
    struct Write {
        path: String,
        text: String,
    }
    let root = root.into();
    let body = move |invocation: Invocation| {
        let root = root.clone();
        async move {
            let Write { path, text } = read(&invocation)?;
            fs::write(inside(&root, &path)?, &text).map_err(failed)?;
            Ok(json!({"written": text.len()}).into())
        }
    };
    let output = json!({"type": "object", "properties": {"written": {"type": "integer"}}});
    Tool::new("write_file", schema(&output), body)
        .parameters(object(&["path", "text"]))
        .render(|arguments, value| {
            let path = arguments.read::<OfPath>().map_err(|e| e.to_string())?.path;
            let written = value.read::<Value>().map_err(|e| e.to_string())?["written"].clone();
            Ok(
                json!([{"type": "text", "text": format!("wrote {written} bytes to {path}")}])
                    .into(),
            )
        })
}

/// Runs a shell command in the folder, until it ends or the call is cancelled.
pub fn run(root: impl Into<PathBuf>) -> Tool {
    #[derive(Deserialize)]
    struct Run {
        command: String,
    }
    let root = root.into();
    let body = move |invocation: Invocation| {
        let root = root.clone();
        async move {
            let Run { command } = read(&invocation)?;
            let (mut child, mut output) = spawn(&root, &command).map_err(failed)?;
            let group = pid(&child)?;
            // Waiting for a process blocks a thread, so it gets one.
            let waiting = tokio::task::spawn_blocking(move || {
                let mut text = Vec::new();
                output.read_to_end(&mut text)?;
                // Its number stays its own until it is reaped, below. So what is killed is never somebody else.
                let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
                waitid(WaitId::Pid(group), ended)?;
                io::Result::Ok(text)
            });
            let mut waiting = pin!(waiting);
            let ended = tokio::select! {
                ended = &mut waiting => ended,
                // The pipeline waits for a body that was cancelled, so whatever it began must end first.
                () = invocation.signal().fired() => {
                    // Where this fails there is nobody left to kill.
                    let _ = kill_process_group(group, Signal::KILL);
                    waiting.await
                }
            };
            let ended = ended.map_err(|error| ToolError::new(error.to_string()))?;
            let text = String::from_utf8_lossy(&ended.map_err(failed)?).into_owned();
            let status = child.wait().map_err(failed)?;
            if status.success() {
                Ok(json!(text).into())
            } else {
                Err(ToolError::coded(
                    format!("{status}\n{text}"),
                    "COMMAND_FAILED",
                ))
            }
        }
    };
    Tool::new("run", schema(&json!({"type": "string"})), body).parameters(object(&["command"]))
}

#[derive(Deserialize)]
struct OfPath {
    path: String,
}

/// A shell in a process group of its own, so that all it starts can be ended with it. Both streams are one pipe.
fn spawn(root: &Path, command: &str) -> io::Result<(Child, io::PipeReader)> {
    let (output, writer) = io::pipe()?;
    let child = Command::new("sh")
        .args(["-c", command])
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .spawn()?;
    Ok((child, output))
}

fn pid(child: &Child) -> Result<Pid, ToolError> {
    let number = i32::try_from(child.id()).ok();
    number
        .and_then(Pid::from_raw)
        .ok_or_else(|| ToolError::new("the command has no process"))
}

/// Where in the folder a path of the model's is. A tool has to hold its own ground: hooks look at calls, and a call can read
/// otherwise than it runs.
fn inside(root: &Path, path: &str) -> Result<PathBuf, ToolError> {
    let relative = Path::new(path);
    let outside = || ToolError::coded(format!("{path} is outside the folder"), "OUTSIDE");
    if !relative
        .components()
        .all(|part| matches!(part, Component::Normal(_)))
    {
        return Err(outside());
    }
    let full = root.join(relative);
    // A link may lead anywhere. What does not exist yet is where its folder is.
    let real = full
        .canonicalize()
        .or_else(|_| full.parent().unwrap_or(root).canonicalize());
    if real
        .map_err(failed)?
        .starts_with(root.canonicalize().map_err(failed)?)
    {
        Ok(full)
    } else {
        Err(outside())
    }
}

pub(super) fn read<T: DeserializeOwned>(invocation: &Invocation) -> Result<T, ToolError> {
    let arguments = invocation.arguments();
    arguments
        .read()
        .map_err(|error| ToolError::coded(format!("bad arguments: {error}"), "INVALID_ARGS"))
}

fn failed(error: io::Error) -> ToolError {
    ToolError::new(error.to_string())
}

/// An object with these strings and nothing else.
fn object(strings: &[&str]) -> Schema {
    let properties: serde_json::Map<String, Value> = strings
        .iter()
        .map(|name| ((*name).to_owned(), json!({"type": "string"})))
        .collect();
    schema(&json!({
        "type": "object",
        "properties": properties,
        "required": strings,
        "additionalProperties": false,
    }))
}

pub(super) fn schema(schema: &Value) -> Schema {
    Schema::new(schema).expect("it is written here, and right")
}

/// What a body gives.
pub(super) type Returned = Result<Unchecked, ToolError>;
