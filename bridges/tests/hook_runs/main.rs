//! Hundreds of hooks, a tenth of them hostile. A process of its own, since it is about all of this process: its memory, its
//! children.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use seamgate_bridges::protocol::{
    Cancel, Clock, Decoding, Environment, Group, HookCommand, HookEnd, OUTPUT_BYTES,
};

/// How many hooks there are where `SEAMGATE_TEST_HOOKS` does not say, and how many of them run at once. The soak has 10,000.
const HOOKS: usize = 300;
const AT_ONCE: usize = 50;

/// By this the hooks' processes are known, whatever becomes of them.
const MARK: &str = "SEAMGATE_TEST_MARK";

/// What a hostile hook does, and how it has to end.
const HOSTILE: [(&str, HookEnd); 6] = [
    ("sleep 60", HookEnd::TimedOut),
    ("head -c 52428800 /dev/zero", HookEnd::Exited(0)),
    ("trap '' TERM; sleep 60; sleep 60", HookEnd::TimedOut),
    ("sleep 60 & echo left >&2; exit 2", HookEnd::Exited(2)),
    ("kill -SEGV $$", HookEnd::Killed(11)),
    (
        "head -c 100000 /dev/urandom | tee /dev/stderr",
        HookEnd::Exited(0),
    ),
];

fn hook(number: usize) -> (HookCommand, HookEnd) {
    let (line, end) = if number.is_multiple_of(10) {
        HOSTILE[number / 10 % HOSTILE.len()].clone()
    } else {
        let end = HookEnd::Exited(0);
        ("read -r event; echo '{\"decision\":\"approve\"}'", end)
    };
    let mut hook = HookCommand::bash(line);
    hook.environment = Environment::scrubbed(std::env::vars_os());
    hook.environment.set(MARK, std::process::id().to_string());
    // More than a pipe holds, and nobody reads it to the end.
    hook.stdin = format!("{}\n{}", number, "x".repeat(100_000))
        .into_bytes()
        .into();
    hook.timeout = match end {
        HookEnd::TimedOut => Duration::from_millis(500),
        _ => Duration::from_secs(120),
    };
    hook.grace = Duration::from_millis(200);
    hook.drain = Some(Duration::from_millis(500));
    (hook, end)
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

#[test]
fn hostile_hooks_neither_hang_nor_stay_nor_fill_the_memory() {
    let hooks = std::env::var("SEAMGATE_TEST_HOOKS").map_or(HOOKS, |hooks| hooks.parse().unwrap());
    let before = peak_memory();
    for batch in 0..hooks / AT_ONCE {
        let numbers = batch * AT_ONCE..(batch + 1) * AT_ONCE;
        let (hooks, ends): (Vec<HookCommand>, Vec<HookEnd>) = numbers.map(hook).unzip();
        let group = Group::new(hooks, Decoding::of("PreToolUse"));
        let answer = block_on(group.run(&Cancel::new(), &Clock::monotonic()));
        for (hook, end) in answer.asked.iter().zip(&ends) {
            assert_eq!(&hook.run.end, end);
            // What they are given and what they may take in addition, and a lot for a slow machine.
            assert!(hook.run.duration < Duration::from_secs(60), "{end:?}");
            for stream in [&hook.run.stdout, &hook.run.stderr] {
                // What is no text takes three bytes in place of one.
                assert!(stream.text.len() <= 3 * OUTPUT_BYTES);
            }
        }
    }
    // About what one of the floods would take if it was kept, and there were several at once.
    let grown = peak_memory() - before;
    println!("{hooks} hooks, {grown} bytes more at the peak");
    assert!(grown < 64 << 20, "{grown} bytes more");

    let since = Instant::now();
    loop {
        let left = left_behind();
        if left.is_empty() {
            break;
        }
        assert!(since.elapsed() < Duration::from_secs(10), "{left:?}");
        std::thread::yield_now();
    }
}

/// The processes of our hooks that live, and our children that nobody reaped.
fn left_behind() -> Vec<String> {
    let us = std::process::id().to_string();
    let mark = format!("{MARK}={us}");
    let mut left = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let read = |file: &str| fs::read(Path::new(&entry.path()).join(file)).unwrap_or_default();
        let stat = String::from_utf8_lossy(&read("stat")).into_owned();
        let Some((_, rest)) = stat.rsplit_once(')') else {
            continue;
        };
        let is_ours = read("environ")
            .split(|byte| *byte == 0)
            .any(|variable| variable == mark.as_bytes());
        let mut fields = rest.split_whitespace();
        let is_zombie = fields.next() == Some("Z") && fields.next() == Some(&us);
        if is_ours || is_zombie {
            left.push(stat);
        }
    }
    left
}

/// The most memory that this process ever had.
fn peak_memory() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.unwrap().split_whitespace().nth(1).unwrap();
    kilobytes.parse::<usize>().unwrap() * 1024
}
