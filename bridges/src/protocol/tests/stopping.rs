//! Hooks that don't end by themselves, or leave something behind.

use std::time::{Duration, Instant};

use super::super::*;
use super::*;

/// Its time is up soon, and so is its grace.
fn impatient(line: &str) -> HookCommand {
    let mut hook = bash(line);
    hook.timeout = Duration::from_millis(400);
    hook.grace = Duration::from_millis(200);
    hook.drain = Some(Duration::from_millis(200));
    hook
}

/// What a hook printed as the number of its process, which is the number of its group.
fn group(run: &HookRun) -> &str {
    run.stdout
        .text
        .lines()
        .next()
        .expect("it prints its number first")
}

#[test]
fn b171_at_the_timeout_the_whole_group_is_ended() {
    for line in [
        "echo $$; sleep 60",
        "echo $$; trap '' TERM; sleep 60",
        // Only what was left behind does not obey.
        "echo $$; (trap '' TERM; sleep 60) & sleep 60",
        "echo $$; (trap '' TERM; sleep 60) >/dev/null 2>&1 </dev/null & sleep 60",
        "echo $$; sleep 60 | sleep 60 | sleep 60",
        // Nothing in a group that is stopped sees a signal but this one.
        "echo $$; kill -STOP $$",
        "echo $$; while :; do :; done",
        "echo $$; yes",
    ] {
        let start = Instant::now();
        let mut hook = impatient(line);
        hook.output_bytes = 1 << 30;
        if line.ends_with("yes") {
            hook.output_bytes = OUTPUT_BYTES;
        }
        let run = run_now(hook);
        assert_eq!(run.end, HookEnd::TimedOut, "{line}");
        assert!(start.elapsed() < FOREVER / 2, "{line}");
        if !run.stdout.truncated {
            assert_eq!(living(group(&run)), [""; 0], "{line}");
        }
    }
}

#[test]
fn without_a_grace_it_is_killed_at_once() {
    let mut hook = impatient("trap 'echo asked' TERM; sleep 60 & wait; wait");
    hook.grace = Duration::ZERO;
    let run = run_now(hook);
    assert_eq!(run.end, HookEnd::TimedOut);
    assert_eq!(run.stdout.text, "");
}

#[test]
fn b174_a_process_left_behind_does_not_hold_the_decision_up() {
    let run = run_now(impatient("echo $$; echo done >&2; sleep 60 & exit 2"));
    assert_eq!(run.end, HookEnd::Exited(2));
    assert!(run.duration < FOREVER / 2);
    assert_eq!(run.stderr.text, "done\n");
    assert_eq!(living(group(&run)), [""; 0]);
}

#[test]
fn what_closed_the_pipes_and_was_left_behind_costs_no_time() {
    let mut hook = impatient("echo $$; sleep 60 >/dev/null 2>&1 & exit 0");
    hook.drain = Some(FOREVER);
    let run = run_now(hook);
    assert_eq!(run.end, HookEnd::Exited(0));
    assert!(run.duration < FOREVER / 2);
    assert_eq!(living(group(&run)), [""; 0]);
}

#[test]
fn a_dialect_can_let_live_what_was_left_behind() {
    let mut hook = impatient("echo $$; sleep 60 & exit 0");
    hook.leftovers = Leftovers::Leave;
    let run = run_now(hook);
    assert_eq!(run.end, HookEnd::Exited(0));
    assert_eq!(living(group(&run)).len(), 1);

    let group = rustix::process::Pid::from_raw(group(&run).parse().unwrap()).unwrap();
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn a_dialect_can_wait_for_the_pipes_until_the_timeout() {
    let mut hook = impatient("echo $$; sleep 60 & exit 2");
    hook.drain = None;
    let run = run_now(hook);
    assert_eq!(run.end, HookEnd::TimedOut);
    assert_eq!(living(group(&run)), [""; 0]);

    let mut hook = bash("(sleep 0.3; echo late) & exit 0");
    hook.drain = None;
    assert_eq!(run_now(hook).stdout.text, "late\n");
}

/// What a hook's child still has to say is heard, if it is not late.
#[test]
fn pipes_are_read_to_their_end() {
    let run = run_now(bash("(sleep 0.2; echo second) & echo first"));
    assert_eq!(run.stdout.text, "first\nsecond\n");
}

#[test]
fn b175_a_cancelled_hook_is_dead_and_reaped_when_its_run_is_over() {
    for line in ["sleep 60", "trap '' TERM; sleep 60"] {
        let mut hook = bash(line);
        hook.grace = Duration::from_millis(200);
        let folder = tempfile::tempdir().unwrap();
        let marker = folder.path().join("started");
        hook.program = "bash".into();
        hook.arguments = vec![
            "-c".into(),
            format!("echo $$ >&2; : >'{0}'; {line}", marker.display()).into(),
        ];
        // A signal that is given when the hook has begun.
        let run = block_on(run(hook, started(marker.clone()), &Clock::monotonic()));
        assert_eq!(run.end, HookEnd::Cancelled { started: true });
        let pid = run.stderr.text.trim();
        assert_ne!(pid, "");
        assert!(!std::path::Path::new("/proc").join(pid).exists());
        assert_eq!(living(pid), [""; 0]);

        let output = decode(&run, &Decoding::of("PreToolUse"));
        assert_eq!(output.problem, Some(HookProblem::Cancelled));
        assert_neutral(&output);
    }
}

/// Resolves when a file is there.
async fn started(marker: std::path::PathBuf) {
    while !marker.exists() {
        tokio::task::yield_now().await;
    }
}

#[test]
fn what_nobody_waits_for_any_more_is_ended_and_reaped() {
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("started");
    let mut hook = bash(&format!(
        "echo $$ >'{0}.new'; mv '{0}.new' '{0}'; sleep 60",
        marker.display()
    ));
    hook.grace = Duration::from_millis(200);
    block_on(async {
        let clock = Clock::monotonic();
        let running = run(hook, std::future::pending(), &clock);
        tokio::select! {
            _ = running => panic!("it sleeps"),
            () = started(marker.clone()) => {}
        }
    });
    let pid = std::fs::read_to_string(&marker).unwrap();
    let since = Instant::now();
    while std::path::Path::new("/proc").join(pid.trim()).exists() {
        assert!(since.elapsed() < FOREVER / 2);
        std::thread::yield_now();
    }
}

#[test]
fn what_is_cancelled_before_is_not_started() {
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("started");
    let cancel = Cancel::new();
    cancel.cancel();
    let hook = bash(&format!("touch '{}'", marker.display()));
    let run = block_on(run(hook, cancel.cancelled(), &Clock::monotonic()));
    assert_eq!(run.end, HookEnd::Cancelled { started: false });
    assert!(!marker.exists());
}

#[test]
fn b177_an_exit_code_after_the_timeout_does_not_count() {
    for code in [0, 2] {
        let line = format!(
            "trap 'exit {code}' TERM; echo '{{\"decision\":\"block\"}}'; echo no >&2; sleep 60 & wait"
        );
        let run = run_now(impatient(&line));
        assert_eq!(run.end, HookEnd::TimedOut);
        let output = decode(&run, &Decoding::of("PreToolUse"));
        assert_eq!(output.exit_code, None);
        assert_eq!(output.problem, Some(HookProblem::TimedOut));
        assert_neutral(&output);
    }
}
