//! Each limit is hit by a guest that tries.

use std::sync::Arc;

use seamgate::seams::{PreTool, VerdictRank};
use seamgate::{FailureCode, Limits, Policy, Runtime};
use seamgate_tests::{PRELUDE, component, pre_tool};

use super::{ask, assert_serves, beside, block_on, call, sandboxes, spec};

/// What a guest at `pre-tool` fails with, in every profile. The sandbox serves others before and after.
fn failure(component: Vec<u8>, limits: Limits) -> (FailureCode, String) {
    let mut failures: Vec<(FailureCode, String)> = sandboxes()
        .iter()
        .map(|sandbox| {
            block_on(async {
                let mut spec = spec("hostile", component.clone());
                spec.limits = limits.clone();
                let policy = Policy::load(sandbox, &spec).await.expect("it loads");
                let asked = ask(policy).await;
                assert_serves(sandbox).await;
                let failure = asked.decision.expect_err("it can't decide");
                assert_eq!(failure.hook.as_str(), "hostile");
                (failure.code, failure.message)
            })
        })
        .collect();
    failures.dedup();
    assert_eq!(failures.len(), 1, "the profiles differ: {failures:?}");
    failures.remove(0)
}

/// The same for what loading refuses.
fn load_error(component: Vec<u8>) -> String {
    let mut errors: Vec<String> = sandboxes()
        .iter()
        .map(|sandbox| {
            block_on(async {
                let loaded = Policy::load(sandbox, &spec("hostile", component.clone())).await;
                assert_serves(sandbox).await;
                loaded.err().expect("it does not load").to_string()
            })
        })
        .collect();
    errors.dedup();
    assert_eq!(errors.len(), 1, "the profiles differ: {errors:?}");
    errors.remove(0)
}

fn small() -> Limits {
    Limits {
        wall_ms: 2_000,
        cpu_ms: 20,
        memory_bytes: 1 << 20,
        decision_bytes: 4 << 10,
        ..Limits::default()
    }
}

#[test]
fn an_endless_loop_runs_out_of_processor_time() {
    assert_eq!(
        failure(pre_tool("(loop $again (br $again))"), small()),
        (
            FailureCode::Cpu,
            "it computed for more than 20 ms, its limit `cpu-ms`".to_owned()
        )
    );
}

#[test]
fn wall_time_ends_a_guest_whose_processor_time_is_long() {
    let limits = Limits {
        wall_ms: 50,
        cpu_ms: 60_000,
        ..small()
    };
    assert_eq!(
        failure(pre_tool("(loop $again (br $again))"), limits),
        (
            FailureCode::Timeout,
            "it took more than 50 ms, its limit `wall-ms`".to_owned()
        )
    );
}

#[test]
fn a_memory_eater_hits_its_memory_limit() {
    let body = "(loop $again (drop (memory.grow (i32.const 1))) (br $again))";
    assert_eq!(
        failure(pre_tool(body), small()),
        (
            FailureCode::Memory,
            "it wanted 1114112 bytes of memory, and its limit `memory-bytes` is 1048576".to_owned()
        )
    );
}

#[test]
fn a_table_eater_hits_its_table_limit() {
    let guest = component(
        &format!(
            r#"(module {PRELUDE}
                (table $t 1 funcref)
                (func (export "seamgate:policy/pre-tool@0.1.0#decide") (param i32) (result i32)
                    (drop (table.grow $t (ref.null func) (i32.const 1000000)))
                    (i32.const 64))
            )"#
        ),
        "only-pre-tool",
    );
    let (code, message) = failure(guest, small());
    assert_eq!(code, FailureCode::Memory);
    assert!(
        message.contains("its limit `table-elements` is 20000"),
        "{message}"
    );
}

#[test]
fn endless_recursion_runs_out_of_stack() {
    let guest = component(
        &format!(
            r#"(module {PRELUDE}
                (func $deeper (param i32) (result i32)
                    (i32.add (call $deeper (i32.add (local.get 0) (i32.const 1))) (i32.const 1)))
                (func (export "seamgate:policy/pre-tool@0.1.0#decide") (param i32) (result i32)
                    (call $deeper (i32.const 0)))
            )"#
        ),
        "only-pre-tool",
    );
    assert_eq!(
        failure(guest, small()),
        (FailureCode::Stack, "it ran out of stack".to_owned())
    );
}

#[test]
fn a_panic_is_a_trap_of_its_own_decision() {
    assert_eq!(
        failure(pre_tool("unreachable"), small()).0,
        FailureCode::Trap
    );
}

#[test]
fn reading_outside_of_memory_is_a_trap() {
    assert_eq!(
        failure(pre_tool("(drop (i32.load (i32.const -4)))"), small()).0,
        FailureCode::Trap
    );
}

#[test]
fn a_huge_reason_is_oversize() {
    // deny, with a reason of 64 KiB
    let body = "(i32.store8 (i32.const 68) (i32.const 2))
                (i32.store (i32.const 72) (i32.const 4096))
                (i32.store (i32.const 76) (i32.const 65536))";
    assert_eq!(
        failure(pre_tool(body), small()),
        (
            FailureCode::Oversize,
            "its decision is larger than 4096 bytes, its limit `decision-bytes`".to_owned()
        )
    );
}

#[test]
fn millions_of_empty_contexts_are_oversize() {
    let body = "(i32.store (i32.const 80) (i32.const 4096))
                (i32.store (i32.const 84) (i32.const 15000))";
    assert_eq!(failure(pre_tool(body), small()).0, FailureCode::Oversize);
}

#[test]
fn a_verdict_that_does_not_exist_is_a_bad_decision() {
    let (code, message) = failure(
        pre_tool("(i32.store8 (i32.const 68) (i32.const 7))"),
        small(),
    );
    assert_eq!(code, FailureCode::BadDecision);
    assert!(message.contains("discriminant"), "{message}");
}

#[test]
fn a_reason_outside_of_memory_is_a_bad_decision() {
    let body = "(i32.store8 (i32.const 68) (i32.const 2))
                (i32.store (i32.const 72) (i32.const 0x7fffff00))
                (i32.store (i32.const 76) (i32.const 16))";
    assert_eq!(failure(pre_tool(body), small()).0, FailureCode::BadDecision);
}

#[test]
fn a_reason_that_is_not_utf8_is_a_bad_decision() {
    let body = "(i32.store8 (i32.const 4096) (i32.const 0xff))
                (i32.store8 (i32.const 68) (i32.const 2))
                (i32.store (i32.const 72) (i32.const 4096))
                (i32.store (i32.const 76) (i32.const 1))";
    assert_eq!(failure(pre_tool(body), small()).0, FailureCode::BadDecision);
}

#[test]
fn a_guest_may_say_that_it_could_not_decide_and_that_closes_the_gate() {
    // err("oh")
    let body = "(i32.store16 (i32.const 4096) (i32.const 0x686f))
                (i32.store8 (i32.const 64) (i32.const 1))
                (i32.store (i32.const 68) (i32.const 4096))
                (i32.store (i32.const 72) (i32.const 2))";
    assert_eq!(
        failure(pre_tool(body), small()),
        (FailureCode::Reported, "oh".to_owned())
    );
}

#[test]
fn arguments_larger_than_the_guests_memory_fail_its_decision() {
    for sandbox in sandboxes() {
        block_on(async {
            let mut spec = spec("small", pre_tool(""));
            spec.limits = small();
            let mut runtime = Runtime::new();
            runtime.policy(Policy::load(&sandbox, &spec).await.expect("it loads"));
            let text = format!("\"{}\"", "x".repeat(4 << 20));
            let asked = runtime.ask::<PreTool>(&call(&text)).await;
            assert_eq!(
                asked.decision.expect_err("it can't decide").code,
                FailureCode::Memory
            );
        });
    }
}

#[test]
fn a_start_function_that_loops_is_refused_at_load() {
    let guest = component(
        &format!(
            r#"(module {PRELUDE}
                (func $spin (loop $again (br $again)))
                (start $spin)
                (func (export "seamgate:policy/pre-tool@0.1.0#decide") (param i32) (result i32) (i32.const 64))
            )"#
        ),
        "only-pre-tool",
    );
    assert_eq!(
        load_error(guest),
        "policy `hostile`: a trial instance could not be made: it computed for more than 200 ms, its limit `cpu-ms`"
    );
}

#[test]
fn a_memory_larger_than_the_limit_is_refused_at_load() {
    let guest = component(
        r#"(module
            (memory (export "memory") 2000)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 0))
            (func (export "seamgate:policy/pre-tool@0.1.0#decide") (param i32) (result i32) (i32.const 64))
        )"#,
        "only-pre-tool",
    );
    let error = load_error(guest);
    assert!(
        error.contains("its limit `memory-bytes` is 67108864"),
        "{error}"
    );
}

#[test]
fn a_slow_policy_does_not_hold_the_thread_of_the_others() {
    let [sandbox, _] = sandboxes();
    block_on(async {
        let mut slow = spec("slow", pre_tool("(loop $again (br $again))"));
        slow.limits.cpu_ms = 100;
        let slow = Policy::load(&sandbox, &slow).await.expect("it loads");
        let mut quick = Runtime::new();
        quick.policy(
            Policy::load(&sandbox, &spec("quick", pre_tool("")))
                .await
                .expect("it loads"),
        );
        let quick = Arc::new(quick);
        let (slow, others) = beside(&quick, ask(slow)).await;
        assert_eq!(slow.decision.expect_err("it loops").code, FailureCode::Cpu);
        // The hostile guest gave the thread back at each of its ticks, on which the others ran.
        assert!(others.len() > 5, "only {} ran beside it", others.len());
        assert!(others.iter().all(
            |asked| matches!(&asked.decision, Ok(folded) if folded.verdict == VerdictRank::Abstain)
        ));
    });
}

#[test]
fn nothing_survives_a_decision() {
    // Denies from the second call of an instance on.
    let guest = component(
        &format!(
            r#"(module {PRELUDE}
                (global $calls (mut i32) (i32.const 0))
                (func (export "seamgate:policy/pre-tool@0.1.0#decide") (param i32) (result i32)
                    (i32.store8 (i32.const 68) (select (i32.const 2) (i32.const 0) (global.get $calls)))
                    (i32.store8 (i32.const 68) (select (i32.const 2) (i32.load8_u (i32.const 68)) (i32.load (i32.const 2000))))
                    (global.set $calls (i32.const 1))
                    (i32.store (i32.const 2000) (i32.const 1))
                    (i32.const 64))
            )"#
        ),
        "only-pre-tool",
    );
    for sandbox in sandboxes() {
        block_on(async {
            let mut runtime = Runtime::new();
            let spec = spec("counting", guest.clone());
            runtime.policy(Policy::load(&sandbox, &spec).await.expect("it loads"));
            for _ in 0..600 {
                let asked = runtime.ask::<PreTool>(&call("{}")).await;
                assert_eq!(
                    asked.decision.expect("it decides").verdict,
                    VerdictRank::Abstain
                );
            }
        });
    }
}
