//! Many calls at once, and many one after another.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use seamgate::Runtime;
use seamgate::pipeline::{CallRequest, Ending, Pipeline};
use seamgate::seams::{FinishedCall, Guard, GuardDecision, PostTool, PreTool, ToolCall, Verdict};
use serde_json::json;
use tokio::sync::Barrier;

use super::support::*;

/// Set for child processes only: these measure a process that nobody else's tests run in.
const CHILD: &str = "SEAMGATE_TEST_CHILD";

/// What this process has in memory, in KiB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn child(test: &str) {
    let ran = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            &format!("conformance::load::{test}"),
            "--nocapture",
        ])
        .env(CHILD, "1")
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

fn hooks() -> Runtime {
    let mut runtime = Runtime::new();
    runtime
        .listener::<PreTool>("pre", |_: &ToolCall| Verdict::Abstain.into())
        .listener::<Guard>("guard", |_: &ToolCall| GuardDecision::Abstain)
        .listener::<PostTool>("post", |_: &FinishedCall| context("noted"));
    runtime
}

#[test]
fn ten_thousand_calls_in_flight_end_well_in_bounded_memory() {
    if cfg!(target_os = "linux") {
        child("ten_thousand_calls_in_flight");
    }
}

#[test]
fn ten_thousand_calls_in_flight() {
    const CALLS: usize = 10_000;
    if !is_child() {
        return;
    }
    let executor = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    executor.block_on(async {
        let pipeline = Pipeline::new(Arc::new(hooks()));
        // Nobody goes on until all are in their tool.
        let (meet, most) = (Arc::new(Barrier::new(CALLS)), Arc::new(AtomicUsize::new(0)));
        let running = most.clone();
        let tools = tools([tool("work", json!({}), move |invocation| {
            let (meet, running) = (meet.clone(), running.clone());
            async move {
                running.fetch_add(1, Ordering::Relaxed);
                meet.wait().await;
                Ok(invocation.arguments().clone().into())
            }
        })]);
        let before = resident();
        let calls: Vec<_> = (0..CALLS)
            .map(|number| {
                let (pipeline, tools) = (pipeline.clone(), tools.clone());
                let request = CallRequest {
                    call_id: number.to_string(),
                    ..request("work")
                };
                tokio::spawn(async move { pipeline.execute(request, tools.as_ref()).await })
            })
            .collect();
        for (number, call) in calls.into_iter().enumerate() {
            let outcome = call.await.unwrap();
            assert_eq!(outcome.ending, Ending::Succeeded);
            assert_eq!(outcome.call.call_id, number.to_string());
        }
        assert_eq!(most.load(Ordering::Relaxed), CALLS);
        let each = resident().saturating_sub(before) / (CALLS / 1_000);
        // In 1/1000 KiB for each call: 20 KiB are some three times what one takes.
        assert!(each < 20_000, "{each} bytes for each call");
    });
}

#[test]
fn the_ten_thousandth_call_takes_no_more_memory_than_the_thousandth() {
    if cfg!(target_os = "linux") {
        child("calls_one_after_another");
    }
}

#[test]
fn calls_one_after_another() {
    if !is_child() {
        return;
    }
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    executor.block_on(async {
        let (pipeline, seen) = (Pipeline::new(Arc::new(hooks())), Seen::default());
        let tools = tools([tool("work", json!({}), |invocation| async move {
            invocation.defer_context("x".repeat(1_000));
            Ok(json!("x".repeat(1_000)).into())
        })]);
        let run = async |calls: usize| {
            for _ in 0..calls {
                let outcome = pipeline.execute(request("work"), tools.as_ref()).await;
                assert_eq!(outcome.contexts.len(), 2);
            }
            resident()
        };
        let (early, late) = (run(1_000).await, run(20_000).await);
        assert!(late < early + 1_024, "{early} KiB, then {late} KiB");
        assert!(seen.all().is_empty());
    });
}
