//! What one decision costs, beside what it would cost to start a shell for it.
//!
//! Compare the figures of one run with each other; alone they say more about the machine than about us.

use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use seamgate::seams::{Agent, PreTool, ToolCall, VerdictRank};
use seamgate::{
    Compiler, ComponentSource, EngineProfile, Grants, Json, Limits, Policy, PolicySpec, Runtime,
    Sandbox, Tier,
};

/// A policy that parses the arguments of every shell call.
const POLICY: &str = "destructive-shell";

fn spec(name: &str, tools: Option<Vec<String>>) -> PolicySpec {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../policies/prebuilt")
        .join(format!("{POLICY}.wasm"));
    PolicySpec {
        name: name.to_owned(),
        component: ComponentSource::File(file),
        tier: Tier::Untrusted,
        tools,
        settings: Vec::new(),
        grants: Grants::none(),
        limits: Limits::default(),
    }
}

/// A shell call whose event has about so many bytes.
fn call(bytes: usize) -> ToolCall {
    let padding = "x".repeat(bytes.saturating_sub(200));
    let arguments = serde_json::json!({ "command": "git status --short", "description": padding });
    ToolCall {
        call_id: "call-1".to_owned(),
        root_call_id: "call-1".to_owned(),
        tool: "Bash".to_owned(),
        arguments: Json::of(&arguments).expect("it is lossless"),
        agent: Agent {
            dialect: "claude".to_owned(),
            session_id: "3649cab0-62de-4992-a88b-d36d31bee311".to_owned(),
            cwd: Some("/home/user/project".to_owned()),
            ..Agent::default()
        },
    }
}

fn executor() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("tokio starts")
}

fn runtime_of(specs: &[PolicySpec]) -> Runtime {
    let sandbox =
        Sandbox::new(EngineProfile::Serving, Compiler::InProcess, None).expect("an engine starts");
    let mut runtime = Runtime::new();
    executor().block_on(async {
        for spec in specs {
            runtime.policy(Policy::load(&sandbox, spec).await.expect("it loads"));
        }
    });
    runtime
}

async fn ask(runtime: &Runtime, call: &ToolCall) {
    let asked = runtime.ask::<PreTool>(black_box(call)).await;
    assert_eq!(
        asked.decision.expect("it decides").verdict,
        VerdictRank::Abstain
    );
}

fn one_decision(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("one decision");
    group.bench_function("spawn and reap /bin/sh -c :", |bencher| {
        bencher.iter(|| {
            Command::new("/bin/sh")
                .args(["-c", ":"])
                .stdin(Stdio::null())
                .status()
                .expect("a shell starts")
        });
    });
    let runtime = runtime_of(&[spec("one", None)]);
    for (name, bytes) in [("1 KiB event", 1 << 10), ("100 KiB event", 100 << 10)] {
        let call = call(bytes);
        group.bench_function(name, |bencher| {
            bencher.to_async(executor()).iter(|| ask(&runtime, &call));
        });
    }
    group.finish();
}

/// Decisions on so many threads at once. The time is that of one decision of one thread, so with perfect scaling all are
/// equal.
fn threads(criterion: &mut Criterion) {
    let runtime = Arc::new(runtime_of(&[spec("one", None)]));
    let call = Arc::new(call(1 << 10));
    let mut group = criterion.benchmark_group("threads, 1 KiB event");
    for threads in [1, 2] {
        group.bench_function(format!("{threads}"), |bencher| {
            bencher.iter_custom(|iterations| {
                let started = Instant::now();
                std::thread::scope(|scope| {
                    for _ in 0..threads {
                        scope.spawn(|| {
                            executor().block_on(async {
                                for _ in 0..iterations {
                                    ask(&runtime, &call).await;
                                }
                            });
                        });
                    }
                });
                started.elapsed()
            });
        });
    }
    group.finish();
}

fn many_policies(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("policies loaded, of which one matches");
    let call = call(1 << 10);
    for loaded in [1, 1_000] {
        let specs: Vec<PolicySpec> = (0..loaded)
            .map(|number| {
                let tool = if number == loaded / 2 {
                    "Bash"
                } else {
                    "Write"
                };
                spec(&format!("policy-{number}"), Some(vec![tool.to_owned()]))
            })
            .collect();
        let runtime = runtime_of(&specs);
        group.bench_function(format!("{loaded}"), |bencher| {
            bencher.to_async(executor()).iter(|| ask(&runtime, &call));
        });
    }
    group.finish();
}

fn settings() -> Criterion {
    Criterion::default()
        .sample_size(50)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(4))
}

criterion_group! {
    name = benches;
    config = settings();
    targets = one_decision, threads, many_policies
}
criterion_main!(benches);
