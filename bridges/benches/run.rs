//! What a run of a hook costs beside starting the same command and waiting for it, with nothing of what a hook needs.
//!
//! Compare the figures of one run with each other; alone they say more about the machine than about us.

use std::process::{Command, Stdio};

use criterion::{Criterion, criterion_group, criterion_main};
use seamgate_bridges::protocol::{Cancel, Clock, Environment, HookCommand, HookEnd, run};

/// What a hook does that has no objection.
const LINE: &str = "read -r line; exit 0";

const PAYLOAD: &[u8] = b"{\"hook_event_name\":\"PreToolUse\"}\n";

fn bare(criterion: &mut Criterion) {
    criterion.bench_function("bare spawn and wait", |bencher| {
        bencher.iter(|| {
            let status = Command::new("bash")
                .args(["-c", LINE])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .expect("bash is there");
            assert!(status.code().is_some());
        });
    });
}

fn hook(criterion: &mut Criterion) {
    let executor = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("tokio starts");
    let mut command = HookCommand::bash(LINE);
    command.environment = Environment::of(std::env::vars_os());
    command.stdin = PAYLOAD.into();
    let (cancel, clock) = (Cancel::new(), Clock::monotonic());
    criterion.bench_function("run of a hook", |bencher| {
        bencher.iter(|| {
            let run = executor.block_on(run(command.clone(), cancel.cancelled(), &clock));
            assert_eq!(run.end, HookEnd::Exited(0));
        });
    });
}

criterion_group!(benches, bare, hook);
criterion_main!(benches);
