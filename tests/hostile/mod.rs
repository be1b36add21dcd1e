//! Guests that try to do harm. Each fails its own decision and nothing more.

mod around;
mod limits;
mod loading;
mod state;

use std::sync::Arc;

use seamgate::seams::{Agent, PreTool, ToolCall, VerdictRank};
use seamgate::{
    Asked, Compiler, ComponentSource, EngineProfile, Grants, Json, Limits, Policy, PolicySpec,
    Runtime, Sandbox, Tier,
};

/// A sandbox as a server has it, and as a hook has it: everything here has to hold in both.
fn sandboxes() -> [Sandbox; 2] {
    [EngineProfile::Serving, EngineProfile::OneShot]
        .map(|profile| Sandbox::new(profile, Compiler::InProcess, None).expect("an engine starts"))
}

fn spec(name: &str, component: Vec<u8>) -> PolicySpec {
    PolicySpec {
        name: name.to_owned(),
        component: ComponentSource::bytes(component),
        tier: Tier::Untrusted,
        tools: None,
        settings: Vec::new(),
        grants: Grants::none(),
        limits: Limits::default(),
    }
}

fn call(arguments: &str) -> ToolCall {
    ToolCall {
        call_id: "call-1".to_owned(),
        root_call_id: "call-1".to_owned(),
        tool: "Bash".to_owned(),
        arguments: Json::parse(arguments).expect("the arguments are JSON"),
        agent: Agent {
            dialect: "embedded".to_owned(),
            session_id: "session-1".to_owned(),
            ..Agent::default()
        },
    }
}

/// Asks a policy alone.
async fn ask(policy: Policy) -> Asked<PreTool> {
    let mut runtime = Runtime::new();
    runtime.policy(policy);
    runtime.ask::<PreTool>(&call("{}")).await
}

/// Checks that a sandbox still serves a policy that has nothing to say.
async fn assert_serves(sandbox: &Sandbox) {
    let harmless = Policy::load(sandbox, &spec("harmless", seamgate_tests::pre_tool("")))
        .await
        .expect("a harmless policy loads");
    let asked = ask(harmless).await;
    assert_eq!(
        asked.decision.expect("it decides").verdict,
        VerdictRank::Abstain
    );
}

/// A tokio runtime of one thread, where a guest that does not let go of it would be noticed.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("tokio starts")
        .block_on(future)
}

/// Asks a runtime again and again, as a task of its own, for as long as a hostile task runs.
async fn beside<T: Send + 'static>(
    runtime: &Arc<Runtime>,
    hostile: impl Future<Output = T> + Send + 'static,
) -> (T, Vec<Asked<PreTool>>) {
    let hostile = tokio::spawn(hostile);
    let runtime = runtime.clone();
    let asking = tokio::spawn(async move {
        let mut others = Vec::new();
        while !hostile.is_finished() {
            others.push(runtime.ask::<PreTool>(&call("{}")).await);
            tokio::task::yield_now().await;
        }
        (hostile.await.expect("it ends"), others)
    });
    asking.await.expect("it ends")
}
