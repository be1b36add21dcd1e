//! What one hook costs as a process, beside other processes. Cold start is measured where an agent sees it: from spawning
//! the process to having reaped it.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};

/// Runs a process to its end, with this on its standard input.
fn run(command: &mut Command, stdin: &[u8]) -> Vec<u8> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("it has an input");
    // `true` reads nothing.
    let _ = input.write_all(stdin);
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    output.stdout
}

fn processes(criterion: &mut Criterion) {
    let event = |command: &str| {
        serde_json::json!({
            "session_id": "3649cab0-62de-4992-a88b-d36d31bee311",
            "transcript_path": "/home/user/.claude/projects/p/s.jsonl",
            "cwd": "/home/user/project",
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": { "command": command, "description": "x".repeat(700) },
            "tool_use_id": "toolu_1",
        })
        .to_string()
    };
    let cache = tempfile::tempdir().expect("a temporary folder can be made");
    let hook = || {
        let mut hook = Command::new(env!("CARGO_BIN_EXE_seamgate"));
        hook.args(["hook", "claude"])
            .env_clear()
            .env("HOME", cache.path());
        hook
    };
    // The first run compiles; from the second one on, compiled code is at hand.
    let denied = run(&mut hook(), event("rm -rf ~/").as_bytes());
    assert!(String::from_utf8_lossy(&denied).contains("\"deny\""));

    let mut group = criterion.benchmark_group("one process");
    let event = event("git status --short");
    group.bench_function("/bin/true", |bencher| {
        bencher.iter(|| run(&mut Command::new("/bin/true"), b""));
    });
    group.bench_function("seamgate hook claude", |bencher| {
        bencher.iter(|| run(&mut hook(), event.as_bytes()));
    });
    group.bench_function("python3 -c pass", |bencher| {
        bencher.iter(|| run(Command::new("python3").args(["-c", "pass"]), b""));
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(100)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(8));
    targets = processes
}
criterion_main!(benches);
