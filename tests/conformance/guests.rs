//! Lines about guests: policies that answer wrongly, or not at all.

use std::sync::Arc;

use seamgate::pipeline::{CallOutcome, ContextSource, Ending, Pipeline};
use seamgate::seams::{
    FinishedCall, Guard, GuardDecision, PostTool, PreTool, Session, SessionSource, ToolCall,
    Verdict,
};
use seamgate::turn::start_session;
use seamgate::{
    Compiler, ComponentSource, EngineProfile, FailureCode, Grants, Limits, Policy, PolicySpec,
    Runtime, Sandbox, Tier,
};
use seamgate_tests::{PRELUDE, component, pre_tool};

use super::support::*;

async fn load(name: &str, component: ComponentSource, tier: Tier) -> Policy {
    let sandbox = Sandbox::new(EngineProfile::OneShot, Compiler::InProcess, None).unwrap();
    let spec = PolicySpec {
        name: name.to_owned(),
        component,
        tier,
        tools: None,
        settings: Vec::new(),
        grants: Grants::none(),
        limits: Limits {
            cpu_ms: 20,
            ..Limits::default()
        },
    };
    Policy::load(&sandbox, &spec).await.unwrap()
}

async fn guest(component: Vec<u8>) -> Policy {
    load("guest", ComponentSource::bytes(component), Tier::Trusted).await
}

/// Runs a call through a guest, with a guard and a post-tool hook that note that they were asked.
async fn through(guest: Policy) -> (CallOutcome, Vec<String>) {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    runtime.policy(guest);
    let noted = seen.clone();
    runtime.listener::<Guard>("guard", move |_: &ToolCall| {
        noted.note("guard");
        GuardDecision::Abstain
    });
    let noted = seen.clone();
    runtime.listener::<PostTool>("post", move |_: &FinishedCall| {
        noted.note("post");
        accept()
    });
    let outcome = run(runtime, &seen).await;
    (outcome, seen.all())
}

fn code(outcome: &CallOutcome) -> FailureCode {
    match &outcome.ending {
        Ending::CouldNotDecide(failure) => failure.code,
        ending => panic!("it is {ending:?}"),
    }
}

/// The interface has no deny without a reason; what comes nearest is one whose reason is not there.
#[tokio::test]
async fn b58_a_deny_whose_reason_is_not_there_is_no_decision() {
    // ok({deny(reason), []}) with a reason far outside the guest's memory.
    let guest = guest(pre_tool(
        r#"(i32.store8 (i32.const 68) (i32.const 2))
           (i32.store (i32.const 72) (i32.const 0x7fffff00))
           (i32.store (i32.const 76) (i32.const 100))"#,
    ))
    .await;
    let (outcome, seen) = through(guest).await;
    assert_eq!(code(&outcome), FailureCode::BadDecision);
    assert_eq!(outcome.code(), Some("BAD_DECISION"));
    assert!(seen.is_empty(), "{seen:?}");
}

#[tokio::test]
async fn b59_an_unknown_verdict_is_no_decision() {
    let guest = guest(pre_tool("(i32.store8 (i32.const 68) (i32.const 9))")).await;
    let (outcome, seen) = through(guest).await;
    assert_eq!(code(&outcome), FailureCode::BadDecision);
    assert!(seen.is_empty(), "{seen:?}");
}

/// The inner guest traps, and the outer one would allow.
#[tokio::test]
async fn b10_what_one_guest_allows_does_not_hide_that_another_trapped() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    runtime.listener::<PreTool>("outer", |_: &ToolCall| Verdict::Allow.into());
    runtime.policy(guest(pre_tool("unreachable")).await);
    runtime.listener::<PreTool>("inner", |_: &ToolCall| Verdict::Allow.into());
    let outcome = run(runtime, &seen).await;
    assert_eq!(code(&outcome), FailureCode::Trap);
    assert!(seen.all().is_empty());
}

/// Loops the first time that its instance is asked. It would answer the second time, so it shows that there is none.
const LOOPS_ONCE: &str = r#"
    (if (i32.eqz (i32.load (i32.const 2048)))
        (then (i32.store (i32.const 2048) (i32.const 1)) (loop $forever (br $forever))))
"#;

#[tokio::test]
async fn b279_a_guest_that_computes_for_ever_fails_its_call_and_its_instance_is_gone() {
    for seam in ["pre-tool", "guard", "post-tool", "around-tool"] {
        let imports = match seam {
            "around-tool" => {
                r#"(import "seamgate:policy/next@0.1.0" "[resource-drop]next" (func (param i32)))"#
            }
            _ => "",
        };
        let module = format!(
            r#"(module {imports} {PRELUDE}
                (func (export "seamgate:policy/{seam}@0.1.0#decide") (param i32) (result i32)
                    {LOOPS_ONCE}
                    (i32.const 64)))"#
        );
        let guest = guest(component(&module, &format!("only-{seam}"))).await;
        let seen = Seen::default();
        let mut runtime = Runtime::new();
        runtime.policy(guest);
        let pipeline = Pipeline::new(Arc::new(runtime));
        for _ in 0..2 {
            let outcome = pipeline
                .execute(request("work"), tools([work(&seen)]).as_ref())
                .await;
            assert_eq!(code(&outcome), FailureCode::Cpu, "{seam}");
            assert!(outcome.result.is_err());
        }
        let ran = if seam == "post-tool" { 2 } else { 0 };
        assert_eq!(seen.count("body"), ran, "{seam}");
    }
}

#[tokio::test]
async fn b280_what_a_guest_injects_has_the_guest_as_its_source() {
    let prebuilt = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../policies/prebuilt/session-context.wasm"
    );
    let policy = load(
        "house-rules",
        ComponentSource::File(prebuilt.into()),
        Tier::Untrusted,
    )
    .await;
    let mut runtime = Runtime::new();
    runtime.policy(policy);
    let session = Session {
        agent: agent(),
        source: SessionSource::Startup,
    };
    let started = start_session(&runtime, &session, std::time::Duration::from_secs(5), None).await;
    assert!(!started.contexts.is_empty());
    for context in started.contexts {
        let hook = "house-rules".into();
        assert_eq!(context.source, ContextSource::Hook { hook });
    }
}
