//! The protocol with real processes, and what it promises line by line. A number in a name is a line of the specification.

mod decoding;
mod detached;
mod group;
mod matching;
mod merging;
mod running;
mod stopping;

use std::fs;
use std::time::{Duration, Instant};

use super::{Cancel, Captured, Clock, Environment, HookCommand, HookEnd, HookOutput, HookRun, run};

/// A time that no test reaches unless something hangs.
const FOREVER: Duration = Duration::from_secs(60);

/// Nothing of the runtime's is needed to run a hook, neither its I/O nor its timer.
fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

/// A hook with the usual surroundings.
fn bash(line: &str) -> HookCommand {
    let mut hook = HookCommand::bash(line);
    hook.environment = Environment::scrubbed(std::env::vars_os());
    hook.timeout = FOREVER;
    hook
}

fn run_now(hook: HookCommand) -> HookRun {
    block_on(run(hook, Cancel::new().cancelled(), &Clock::monotonic()))
}

/// A run that came to this.
fn ended(end: HookEnd, stdout: &str, stderr: &str) -> HookRun {
    let captured = |text: &str| Captured {
        text: text.to_owned(),
        truncated: false,
    };
    HookRun {
        end,
        stdout: captured(stdout),
        stderr: captured(stderr),
        duration: Duration::ZERO,
        finished: Instant::now(),
    }
}

/// The processes of a group that live. A dead one may wait for whoever adopted it.
fn living(group: &str) -> Vec<String> {
    let mut living = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        // The name may have anything in it, but what follows its last parenthesis has not.
        let rest: Vec<&str> = stat
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .collect();
        if rest[0] != "Z" && rest[0] != "X" && rest[2] == group {
            living.push(stat);
        }
    }
    living
}

#[track_caller]
fn assert_neutral(output: &HookOutput) {
    assert_eq!(output.decision, None);
    assert_eq!(output.reason, None);
    assert_eq!(output.continues, None);
    assert_eq!(output.stop_reason, None);
    assert_eq!(output.additional_context, None);
    assert_eq!(output.system_message, None);
    assert!(output.updated_input.is_none());
    assert!(output.fields.is_empty() && output.specific.is_empty());
}
