//! Several hooks of one event.

use std::path::Path;

use super::super::*;
use super::*;

fn group(hooks: Vec<HookCommand>) -> Group {
    Group::new(hooks, Decoding::of("PreToolUse"))
}

fn answer(group: &Group) -> GroupAnswer {
    block_on(group.run(&Cancel::new(), &Clock::monotonic()))
}

/// Waits for a file, then leaves one of its own and refuses.
fn after(folder: &Path, awaited: &str, own: &str) -> HookCommand {
    let mut hook = bash(&format!(
        "until [ -e {awaited} ]; do sleep 0.01; done; touch {own}; echo {own} >&2; exit 2"
    ));
    hook.folders = vec![folder.to_owned()];
    hook
}

#[test]
fn hooks_run_at_once_and_are_folded_in_the_order_of_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    // Each waits for the one after it, so they end in reverse.
    let mut hooks = vec![
        after(path, "b", "a"),
        after(path, "c", "b"),
        after(path, ".", "c"),
    ];
    hooks[1].output_bytes = 10;
    let answer = answer(&group(hooks));
    assert_eq!(answer.folded.decision, FoldedDecision::Deny);
    assert_eq!(answer.folded.reason.as_deref(), Some("a\n\nb\n\nc"));
    let indexes: Vec<usize> = answer.asked.iter().map(|hook| hook.index).collect();
    assert_eq!(indexes, [0, 1, 2]);
}

#[test]
fn hooks_can_run_one_after_another_and_a_refusal_spares_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut hooks = vec![
        after(path, ".", "a"),
        bash("[ -e a ] && [ ! -e c ] && echo b >&2 && exit 2"),
        after(path, "a", "c"),
    ];
    hooks[1].folders = vec![path.to_owned()];
    let mut group = group(hooks);
    group.order = Order::Serial;
    assert_eq!(answer(&group).folded.reason.as_deref(), Some("a\n\nb\n\nc"));
}

/// Each has its own copy of the payload, followed by the end of file.
#[test]
fn every_hook_reads_the_whole_payload() {
    let mut hooks = vec![bash("cat >/dev/null"), bash("cat >&2; exit 2")];
    for hook in &mut hooks {
        hook.stdin = b"payload".as_slice().into();
    }
    assert_eq!(
        answer(&group(hooks)).folded.reason.as_deref(),
        Some("payload")
    );
}

#[test]
fn the_same_hook_runs_once_if_the_dialect_says_so() {
    let same = bash("echo x >&2; exit 2");
    let mut other_environment = same.clone();
    other_environment.environment.set("A", "1");
    let mut other_folder = same.clone();
    other_folder.folders = vec!["/".into()];
    let mut other_payload = same.clone();
    other_payload.stdin = b"1".as_slice().into();
    let hooks = vec![
        same.clone(),
        other_environment,
        same,
        other_folder,
        other_payload,
    ];
    let mut group = group(hooks);
    assert_eq!(answer(&group).asked.len(), 5);
    group.once = true;
    let answer = answer(&group);
    let indexes: Vec<usize> = answer.asked.iter().map(|hook| hook.index).collect();
    assert_eq!(indexes, [0, 1, 3]);
    assert_eq!(answer.folded.reason.as_deref(), Some("x\n\nx\n\nx"));
}

#[test]
fn once_cancelled_no_further_hook_starts_and_what_runs_is_ended_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut running = bash("touch started; sleep 60");
    running.folders = vec![path.to_owned()];
    let hooks = vec![
        running,
        after(path, ".", "second"),
        after(path, ".", "third"),
    ];
    let mut group = group(hooks);
    group.order = Order::Serial;
    let (cancel, clock) = (Cancel::new(), Clock::monotonic());
    let answer = block_on(async {
        let begun = async {
            while !path.join("started").exists() {
                tokio::task::yield_now().await;
            }
            cancel.cancel();
        };
        tokio::join!(group.run(&cancel, &clock), begun).0
    });
    let ends: Vec<&HookEnd> = answer.asked.iter().map(|hook| &hook.run.end).collect();
    let not_started = HookEnd::Cancelled { started: false };
    assert_eq!(
        ends,
        [
            &HookEnd::Cancelled { started: true },
            &not_started,
            &not_started
        ]
    );
    assert!(!path.join("second").exists() && !path.join("third").exists());
    assert_eq!(answer.folded, Folded::default());
}

#[test]
fn no_hooks_say_nothing() {
    let answer = answer(&group(Vec::new()));
    assert!(answer.asked.is_empty());
    assert_eq!(answer.folded, Folded::default());
}
