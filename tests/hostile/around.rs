//! Guests around a tool. Each fails its own call, once, whatever it made of `next`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use seamgate::pipeline::{CallOutcome, CallRequest, Ending, Schema, Signal, Tool, Tools};
use seamgate::seams::{Agent, FinishedCall, ToolResult};
use seamgate::{FailureCode, Limits, Pipeline, Policy, Runtime, Tier};
use seamgate_tests::{PRELUDE, component};
use serde_json::json;

use super::{assert_serves, block_on, sandboxes, spec};

/// A guest around a tool whose function has this body. It holds `next` in `$next`, and passes unless the body writes another
/// decision at address 68.
fn guest(body: &str) -> Vec<u8> {
    component(
        &format!(
            r#"(module
                (import "seamgate:policy/next@0.1.0" "[method]next.call" (func $call (param i32 i32 i32 i32)))
                (import "seamgate:policy/next@0.1.0" "[resource-drop]next" (func $drop (param i32)))
                {PRELUDE}
                (func $run (param i32) (call $call (local.get 0) (i32.const 0) (i32.const 0) (i32.const 1024)))
                (func $run_within (param i32 i32) (call $call (local.get 0) (i32.const 1) (local.get 1) (i32.const 1024)))
                (func (export "seamgate:policy/around-tool@0.1.0#decide") (param $event i32) (result i32)
                    (local $next i32) (local $i i32)
                    (local.set $next (i32.load offset=96 (local.get $event)))
                    {body}
                    (call $drop (local.get $next))
                    (i32.const 64))
            )"#
        ),
        "only-around-tool",
    )
}

/// A substitute of a value with this text.
fn substitute(text: &str) -> String {
    let bytes: String = text
        .bytes()
        .enumerate()
        .map(|(at, byte)| {
            format!(
                "(i32.store8 (i32.const {}) (i32.const {byte}))\n",
                2048 + at
            )
        })
        .collect();
    format!(
        "{bytes}
        (i32.store8 (i32.const 68) (i32.const 1))
        (i32.store (i32.const 76) (i32.const 2048))
        (i32.store (i32.const 80) (i32.const {}))",
        text.len()
    )
}

/// What the tool does in each of its runs.
type Work = fn();

/// What became of a call, and how often its tool ran.
struct Ended {
    outcome: CallOutcome,
    runs: u32,
}

impl Ended {
    fn code(&self) -> FailureCode {
        match &self.outcome.ending {
            Ending::CouldNotDecide(failure) => {
                assert_eq!(failure.hook.as_str(), "hostile");
                assert_eq!(
                    self.outcome.code(),
                    Some(failure.code.to_string().as_str()),
                    "the model is told the same"
                );
                failure.code
            }
            other => panic!("it decided: {other:?}"),
        }
    }

    fn message(&self) -> &str {
        match &self.outcome.ending {
            Ending::CouldNotDecide(failure) => &failure.message,
            other => panic!("it decided: {other:?}"),
        }
    }
}

fn call() -> CallRequest {
    CallRequest {
        call_id: "call-1".to_owned(),
        tool: "work".to_owned(),
        arguments: json!({}).into(),
        agent: Some(Agent::default()),
        turn: None,
        signal: Signal::never(),
    }
}

/// Runs a call through the guest, in every profile. There is one outcome, and the sandbox serves others after it.
fn run_with(guest: &[u8], limits: &Limits, work: Work) -> Ended {
    let mut ended: Vec<Ended> = sandboxes()
        .iter()
        .map(|sandbox| {
            block_on(async {
                let mut spec = spec("hostile", guest.to_vec());
                spec.tier = Tier::Trusted;
                spec.limits = limits.clone();
                let mut runtime = Runtime::new();
                runtime.policy(Policy::load(sandbox, &spec).await.expect("it loads"));
                let outcomes = Arc::new(AtomicU32::new(0));
                let counted = outcomes.clone();
                runtime.listener::<ToolResult>("count", move |_: &FinishedCall| {
                    counted.fetch_add(1, Ordering::Relaxed);
                });
                let runs = Arc::new(AtomicU32::new(0));
                let counted = runs.clone();
                let schema = Schema::new(&json!({"type": "integer"})).expect("it is right");
                let tools = Tools::new();
                tools.register(Tool::new("work", schema, move |_| {
                    let run = counted.fetch_add(1, Ordering::Relaxed) + 1;
                    work();
                    async move { Ok(json!(run).into()) }
                }));
                let outcome = Pipeline::new(Arc::new(runtime))
                    .execute(call(), &tools)
                    .await;
                assert_eq!(outcomes.load(Ordering::Relaxed), 1, "one outcome is told");
                assert_serves(sandbox).await;
                Ended {
                    outcome,
                    runs: runs.load(Ordering::Relaxed),
                }
            })
        })
        .collect();
    let [serving, one_shot] = ended.as_slice() else {
        panic!("there are two profiles");
    };
    assert_eq!(serving.outcome.ending, one_shot.outcome.ending);
    assert_eq!(serving.runs, one_shot.runs);
    ended.remove(0)
}

fn run(body: &str) -> Ended {
    run_with(&guest(body), &Limits::default(), || {})
}

#[test]
fn passing_without_a_call_of_next_is_a_bad_decision() {
    let ended = run("");
    assert_eq!((ended.code(), ended.runs), (FailureCode::BadDecision, 0));
    assert_eq!(
        ended.message(),
        "it passed on what `next` gave, and never called `next`"
    );
}

#[test]
fn next_can_be_called_again_and_the_last_outcome_stands() {
    let ended = run("(call $run (local.get $next)) (call $run (local.get $next))");
    assert_eq!(ended.outcome.ending, Ending::Succeeded);
    assert_eq!((ended.outcome.text().as_str(), ended.runs), ("2", 2));
}

#[test]
fn next_is_not_called_for_ever() {
    let ended = run("(loop $again (call $run (local.get $next)) (br $again))");
    assert_eq!((ended.code(), ended.runs), (FailureCode::BadDecision, 100));
    assert_eq!(ended.message(), "it called `next` more than 100 times");
}

#[test]
fn a_deadline_of_nothing_never_runs_the_tool() {
    let thrice = "(call $run_within (local.get $next) (i32.const 0))".repeat(3);
    let ended = run(&thrice);
    assert_eq!(
        (ended.outcome.code(), ended.runs),
        (Some("TOOL_TIMEOUT"), 0)
    );
    let ended = run("(loop $again (call $run_within (local.get $next) (i32.const 0)) (br $again))");
    assert_eq!((ended.code(), ended.runs), (FailureCode::BadDecision, 0));
}

#[test]
fn an_endless_loop_after_next_runs_out_of_processor_time() {
    let limits = Limits {
        cpu_ms: 20,
        ..Limits::default()
    };
    let body = "(call $run (local.get $next)) (loop $again (br $again))";
    let ended = run_with(&guest(body), &limits, || {});
    assert_eq!((ended.code(), ended.runs), (FailureCode::Cpu, 1));
}

#[test]
fn wall_time_ends_a_guest_after_next_whose_processor_time_is_long() {
    let limits = Limits {
        wall_ms: 50,
        cpu_ms: 60_000,
        ..Limits::default()
    };
    let body = "(call $run (local.get $next)) (loop $again (br $again))";
    let ended = run_with(&guest(body), &limits, || {});
    assert_eq!((ended.code(), ended.runs), (FailureCode::Timeout, 1));
}

#[test]
fn time_inside_next_is_not_the_guests() {
    // Each run is longer than a tick of the clock, and all of them are longer than either limit.
    let limits = Limits {
        wall_ms: 300,
        cpu_ms: 100,
        ..Limits::default()
    };
    let body = "(loop $again
            (call $run (local.get $next))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $again (i32.lt_u (local.get $i) (i32.const 40))))";
    let ended = run_with(&guest(body), &limits, || {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(8) {}
    });
    assert_eq!(ended.outcome.ending, Ending::Succeeded);
    assert_eq!(ended.runs, 40);
}

#[test]
fn a_huge_substitute_is_oversize() {
    let ended = run("(drop (memory.grow (i32.const 161)))
        (i32.store8 (i32.const 68) (i32.const 1))
        (i32.store (i32.const 76) (i32.const 65536))
        (i32.store (i32.const 80) (i32.const 10485760))");
    assert_eq!((ended.code(), ended.runs), (FailureCode::Oversize, 0));
}

#[test]
fn a_substitute_has_to_be_lossless_json() {
    for text in ["{\"a\":1,\"a\":2}", "NaN", "-0", "", "1 2"] {
        let ended = run(&substitute(text));
        assert_eq!(ended.code(), FailureCode::BadDecision, "{text}");
        assert_eq!(ended.runs, 0);
    }
}

#[test]
fn a_substitute_has_to_be_a_value_of_the_tool() {
    let ended = run(&substitute("7"));
    assert_eq!(
        (ended.outcome.text().as_str(), ended.runs),
        ("7", 0),
        "it is an integer"
    );
    let ended = run(&substitute("\"seven\""));
    assert_eq!(
        (ended.outcome.code(), ended.runs),
        (Some("INVALID_TOOL_OUTPUT"), 0)
    );
    assert!(matches!(ended.outcome.ending, Ending::CouldNotDecide(_)));
}

#[test]
fn a_trap_after_next_is_the_failure_of_its_call() {
    let ended = run("(call $run (local.get $next)) unreachable");
    assert_eq!((ended.code(), ended.runs), (FailureCode::Trap, 1));
}

#[test]
fn next_is_gone_when_it_was_given_back() {
    let ended = run("(call $drop (local.get $next)) (call $run (local.get $next))");
    assert_eq!((ended.code(), ended.runs), (FailureCode::BadDecision, 0));
}

#[test]
fn a_handle_that_was_never_lent_is_none() {
    for handle in [0, 2, 77, -1] {
        let ended = run(&format!("(call $run (i32.const {handle}))"));
        assert_eq!(ended.code(), FailureCode::BadDecision, "{handle}");
        assert_eq!(ended.runs, 0);
    }
}

#[test]
fn next_has_to_be_given_back() {
    let keeps = guest("(call $run (local.get $next)) (return (i32.const 64))");
    let ended = run_with(&keeps, &Limits::default(), || {});
    assert_eq!((ended.code(), ended.runs), (FailureCode::BadDecision, 1));
}

#[test]
fn a_guest_may_say_that_it_could_not_decide_and_that_fails_the_call() {
    // err("oh"), after the tool has run
    let ended = run("(call $run (local.get $next))
        (i32.store16 (i32.const 2048) (i32.const 0x686f))
        (i32.store8 (i32.const 64) (i32.const 1))
        (i32.store (i32.const 68) (i32.const 2048))
        (i32.store (i32.const 72) (i32.const 2))");
    assert_eq!((ended.code(), ended.runs), (FailureCode::Reported, 1));
    assert_eq!(ended.message(), "oh");
    assert!(
        !ended.outcome.text().contains("oh"),
        "the model does not read it"
    );
}

#[test]
fn an_outcome_that_does_not_fit_into_its_memory_is_its_own_failure() {
    let component = guest("(call $run (local.get $next))");
    let limits = Limits {
        memory_bytes: 1 << 20,
        ..Limits::default()
    };
    let [sandbox, _] = sandboxes();
    block_on(async {
        let mut spec = spec("hostile", component);
        spec.tier = Tier::Trusted;
        spec.limits = limits;
        let mut runtime = Runtime::new();
        runtime.policy(Policy::load(&sandbox, &spec).await.expect("it loads"));
        let tools = Tools::new();
        tools.register(Tool::new("work", Schema::any(), |_| async {
            Ok(json!("x".repeat(4 << 20)).into())
        }));
        let outcome = Pipeline::new(Arc::new(runtime))
            .execute(call(), &tools)
            .await;
        assert_eq!(outcome.code(), Some("MEMORY"));
    });
}
