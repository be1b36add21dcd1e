//! The built program, as a process, in a home folder of its own.

mod bad_input;
mod demo;
mod hook;
mod verbs;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A home folder, and the program in it.
struct Home {
    folder: TempDir,
}

/// What a process left behind.
#[derive(Debug, PartialEq)]
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Home {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a temporary folder can be made"),
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file into the home folder.
    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let file = self.path().join(name);
        std::fs::create_dir_all(file.parent().expect("it has a folder")).expect("it can be made");
        std::fs::write(&file, content).expect("it can be written");
        file
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_seamgate"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.path())
            .env("PATH", "/usr/bin:/bin")
            .current_dir(self.path());
        command
    }

    fn run(&self, arguments: &[&str], stdin: &str) -> Ran {
        self.finish(&mut self.command(arguments), stdin)
    }

    fn finish(&self, command: &mut Command, stdin: &str) -> Ran {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut input = child.stdin.take().expect("it has an input");
        // A program that has seen enough may be gone before it has read everything.
        match input.write_all(stdin.as_bytes()) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => panic!("{error}"),
            _ => drop(input),
        }
        let Output {
            status,
            stdout,
            stderr,
        } = child.wait_with_output().expect("it ends");
        let text = |bytes| String::from_utf8(bytes).expect("it writes UTF-8");
        Ran {
            code: status.code(),
            stdout: text(stdout),
            stderr: self.neutral(&text(stderr)),
        }
    }

    /// A text without this home folder's own path.
    fn neutral(&self, text: &str) -> String {
        text.replace(&self.path().display().to_string(), "[HOME]")
    }

    /// A configuration with one policy of this component.
    fn policy(&self, component: impl AsRef<[u8]>) -> PathBuf {
        self.write("policy.wasm", component);
        self.write(
            "seamgate.toml",
            "[[policy]]\nname = \"guest\"\ncomponent = \"policy.wasm\"\n",
        )
    }
}

/// A tool call as Claude Code asks about it.
fn pre_tool_use(command: &str) -> String {
    serde_json::json!({
        "session_id": "3649cab0-62de-4992-a88b-d36d31bee311",
        "transcript_path": "/home/user/.claude/projects/p/s.jsonl",
        "cwd": "/home/user/project",
        "hook_event_name": "PreToolUse",
        "permission_mode": "default",
        "tool_name": "Bash",
        "tool_input": { "command": command },
        "tool_use_id": "toolu_1",
    })
    .to_string()
}
