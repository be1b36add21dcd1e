//! Hooks that nobody waits for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::*;
use super::*;

#[test]
fn b270_with_nothing_tracked_a_drain_is_over_at_once() {
    block_on(async {
        let detached = Detached::new();
        assert!(!detached.cancel().is_cancelled());
        detached.drain().await;
        assert!(detached.cancel().is_cancelled());
        detached.drain().await;
    });
}

#[test]
fn b271_a_drain_waits_for_chains_and_for_those_added_meanwhile_and_for_those_that_fail() {
    block_on(async {
        let detached = Detached::new();
        let done = Arc::new(AtomicUsize::new(0));

        let (owner, count) = (detached.clone(), Arc::clone(&done));
        detached.track(async move {
            let clock = Clock::monotonic();
            let hook = run(bash("sleep 60"), owner.cancel().cancelled(), &clock);
            let end = hook.await.end;
            assert!(matches!(end, HookEnd::Cancelled { .. }));
            count.fetch_add(1, Ordering::Relaxed);
            let late = Arc::clone(&count);
            owner.track(async move {
                tokio::task::yield_now().await;
                late.fetch_add(1, Ordering::Relaxed);
            });
        });
        detached.track(async { Err::<(), _>("a chain may fail") });
        detached.track(async { std::panic::resume_unwind(Box::new("or panic")) });

        tokio::task::yield_now().await;
        detached.drain().await;
        assert_eq!(done.load(Ordering::Relaxed), 2);
    });
}
