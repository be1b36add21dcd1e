//! What the way of a call through the pipeline costs: without hooks, and with policies at three of its seams.
//!
//! Compare the figures of one run with each other; alone they say more about the machine than about us.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use seamgate::pipeline::{CallRequest, Invocation, Pipeline, Schema, Signal, Tool};
use seamgate::seams::{
    Agent, FinishedCall, Guard, GuardDecision, PostTool, PreTool, ToolCall, Verdict,
};
use seamgate::seams::{PostToolDecision, ToolError};
use seamgate::{
    Compiler, ComponentSource, EngineProfile, Grants, Json, Limits, Policy, PolicySpec, Runtime,
    Sandbox, Tier,
};
use seamgate_tests::{PRELUDE, changed_wit, component_against};

fn executor() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("tokio starts")
}

async fn body(invocation: Invocation) -> Result<seamgate::pipeline::Unchecked, ToolError> {
    Ok(invocation.arguments().clone().into())
}

fn tool() -> Arc<Tool> {
    Arc::new(Tool::new("work", Schema::any(), body))
}

fn request(arguments: &Json) -> CallRequest {
    CallRequest {
        call_id: "call".to_owned(),
        tool: "work".to_owned(),
        arguments: arguments.clone().into(),
        agent: Some(Agent {
            session_id: "session".to_owned(),
            ..Agent::default()
        }),
        turn: Some(1),
        signal: Signal::never(),
    }
}

/// The smallest policy that is asked at three seams of a call, and abstains at each.
fn abstainer() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let wit = changed_wit(
        folder.path(),
        "world only-guard {",
        "world three { include only-pre-tool; include only-guard; include only-post-tool; }\nworld only-guard {",
    );
    let decide = |seam: &str| {
        format!(
            r#"(func (export "seamgate:policy/{seam}@0.1.0#decide") (param i32) (result i32) (i32.const 64))"#
        )
    };
    let module = format!(
        "(module {PRELUDE} {} {} {})",
        decide("pre-tool"),
        decide("guard"),
        decide("post-tool")
    );
    component_against(&wit, &module, "three")
}

fn policies(count: usize) -> Runtime {
    let sandbox =
        Sandbox::new(EngineProfile::Serving, Compiler::InProcess, None).expect("an engine starts");
    let component = ComponentSource::bytes(abstainer());
    let mut runtime = Runtime::new();
    executor().block_on(async {
        for number in 0..count {
            let spec = PolicySpec {
                name: format!("policy-{number}"),
                component: component.clone(),
                tier: Tier::Untrusted,
                tools: None,
                settings: Vec::new(),
                grants: Grants::none(),
                limits: Limits::default(),
            };
            runtime.policy(Policy::load(&sandbox, &spec).await.expect("it loads"));
        }
    });
    runtime
}

fn native(count: usize) -> Runtime {
    let mut runtime = Runtime::new();
    for number in 0..count {
        let name = format!("hook-{number}");
        runtime
            .listener::<PreTool>(name.as_str(), |_: &ToolCall| Verdict::Abstain.into())
            .listener::<Guard>(name.as_str(), |_: &ToolCall| GuardDecision::Abstain)
            .listener::<PostTool>(name.as_str(), |_: &FinishedCall| PostToolDecision::Accept {
                replacement: None,
                contexts: Vec::new(),
            });
    }
    runtime
}

fn calls(criterion: &mut Criterion) {
    let arguments =
        Json::of(&serde_json::json!({ "command": "git status --short" })).expect("it is lossless");
    let mut group = criterion.benchmark_group("one call");
    let mut through = |name: &str, runtime: Runtime| {
        let (pipeline, tool) = (Pipeline::new(Arc::new(runtime)), tool());
        group.bench_function(name, |bencher| {
            bencher.to_async(executor()).iter(async || {
                let outcome = pipeline
                    .execute(request(black_box(&arguments)), &tool)
                    .await;
                assert!(outcome.result.is_ok());
            });
        });
    };
    through("no hooks", Runtime::new());
    through("1 native hook at 3 seams", native(1));
    through("10 native hooks at 3 seams", native(10));
    through("1 policy at 3 seams", policies(1));
    through("10 policies at 3 seams", policies(10));
    group.finish();
}

criterion_group!(benches, calls);
criterion_main!(benches);
