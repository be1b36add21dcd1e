//! What sessions look like: each a log from its first event to its last.

use seamgate::approval::{Approval, ApprovalPolicy};
use seamgate::seams::{
    FinishedCall, PostTool, PostToolDecision, PreTool, Prompt, PromptSubmit, PromptSubmitDecision,
    ToolCall, Turn, TurnStopping, TurnStoppingDecision, Verdict,
};
use seamgate::{Deciding, Hook, Next, Runtime};
use serde_json::json;

use super::testing::{Later, Scene, Stage, scene};
use super::*;

fn one_call() -> [Reply; 2] {
    let call = Reply::default().call("c", "run", json!({"command": "printf hi"}));
    [call, Reply::text("done")]
}

async fn plays(scene: Scene) -> String {
    let stage = scene.start().await;
    stage.prompt("hello").await;
    written(&stage)
}

fn written(stage: &Stage) -> String {
    stage.trace().join("\n")
}

fn blocks_prompts() -> Runtime {
    let mut runtime = Runtime::new();
    runtime.listener::<PromptSubmit>("gate", |_: &Prompt| {
        PromptSubmitDecision::Block("not today".to_owned())
    });
    runtime
}

fn says(verdict: Verdict) -> Runtime {
    let mut runtime = Runtime::new();
    runtime.listener::<PreTool>("gate", move |_: &ToolCall| verdict.clone().into());
    runtime
}

fn after_the_tool(decision: PostToolDecision) -> Runtime {
    let mut runtime = Runtime::new();
    runtime.listener::<PostTool>("look", move |_: &FinishedCall| decision.clone());
    runtime
}

fn context(text: &str) -> PostToolDecision {
    PostToolDecision::Accept {
        replacement: None,
        contexts: vec![text.to_owned()],
    }
}

#[tokio::test]
async fn trace_1_a_prompt_is_blocked_inside_its_turn() {
    insta::assert_snapshot!(plays(scene(blocks_prompts(), [])).await, @r#"
    turn/start 1
    seam/decided prompt-submit: gate block
    turn/end blocked
    "#);
}

#[tokio::test]
async fn trace_2_a_prompt_is_blocked_before_its_turn() {
    let scene = scene(blocks_prompts(), []).options(Options::before_turn());
    insta::assert_snapshot!(plays(scene).await, @"");
}

#[tokio::test]
async fn trace_3_a_prompt_gets_a_context() {
    let mut runtime = Runtime::new();
    runtime.listener::<PromptSubmit>("gate", |_: &Prompt| PromptSubmitDecision::Allow {
        content: None,
        contexts: vec!["it is Monday".to_owned()],
    });
    insta::assert_snapshot!(plays(scene(runtime, [Reply::text("hi")])).await, @r#"
    turn/start 1
    seam/decided prompt-submit: gate allow
    step/start 1.1
    user/message (user) hello
    user/message (hook gate) it is Monday
    assistant/message hi
    step/end 1.1
    turn/end completed
    "#);
}

#[tokio::test]
async fn trace_4_a_call_is_denied() {
    let runtime = says(Verdict::Deny("no commands".to_owned()));
    insta::assert_snapshot!(plays(scene(runtime, one_call())).await, @r#"
    turn/start 1
    step/start 1.1
    user/message (user) hello
    assistant/message c
    tool/call c run {"command":"printf hi"}
    seam/decided pre-tool: gate deny
    tool/result c failed: Error: no commands
    step/end 1.1
    step/start 1.2
    assistant/message done
    step/end 1.2
    turn/end completed
    "#);
}

#[tokio::test]
async fn trace_5_a_call_is_asked_about_where_nobody_may_be_asked() {
    let runtime = says(Verdict::Ask("sure?".to_owned()));
    let nobody = Approval::new().default_policy(ApprovalPolicy::Never);
    insta::assert_snapshot!(plays(scene(runtime, one_call()).approval(nobody)).await, @r#"
    turn/start 1
    step/start 1.1
    user/message (user) hello
    assistant/message c
    tool/call c run {"command":"printf hi"}
    seam/decided pre-tool: gate ask
    approval/asked run: sure?
    approval/decided Rejected
    tool/result c failed: Error: the user rejected tool "run"
    step/end 1.1
    step/start 1.2
    assistant/message done
    step/end 1.2
    turn/end completed
    "#);
}

#[tokio::test]
async fn trace_6_a_result_is_blocked() {
    let runtime = after_the_tool(PostToolDecision::Block {
        feedback: "it has a key in it".to_owned(),
        contexts: Vec::new(),
    });
    insta::assert_snapshot!(plays(scene(runtime, one_call())).await, @r#"
    turn/start 1
    step/start 1.1
    user/message (user) hello
    assistant/message c
    tool/call c run {"command":"printf hi"}
    seam/decided post-tool: look block
    tool/result c failed: it has a key in it
    step/end 1.1
    step/start 1.2
    assistant/message done
    step/end 1.2
    turn/end completed
    "#);
}

#[tokio::test]
async fn trace_7_a_result_gets_a_context_in_its_step() {
    let runtime = after_the_tool(context("mind the tabs"));
    insta::assert_snapshot!(plays(scene(runtime, one_call())).await, @r#"
    turn/start 1
    step/start 1.1
    user/message (user) hello
    assistant/message c
    tool/call c run {"command":"printf hi"}
    seam/decided post-tool: look accept
    tool/result c: hi
    user/message (hook look) mind the tabs
    step/end 1.1
    step/start 1.2
    assistant/message done
    step/end 1.2
    turn/end completed
    "#);
}

#[tokio::test]
async fn trace_8_a_result_gets_a_context_at_the_next_boundary() {
    let runtime = after_the_tool(context("mind the tabs"));
    let scene = scene(runtime, one_call()).options(Options {
        settlement: Settlement::NextBoundary,
        ..Options::default()
    });
    insta::assert_snapshot!(plays(scene).await, @r#"
    turn/start 1
    step/start 1.1
    user/message (user) hello
    assistant/message c
    tool/call c run {"command":"printf hi"}
    seam/decided post-tool: look accept
    tool/result c: hi
    step/end 1.1
    step/start 1.2
    user/message (hook look) mind the tabs
    assistant/message done
    step/end 1.2
    turn/end completed
    "#);
}

#[tokio::test]
async fn trace_9_a_hook_does_not_let_the_turn_end_once() {
    let mut runtime = Runtime::new();
    runtime.listener::<TurnStopping>("tests", |turn: &Turn| match turn.forced_continuations {
        0 => TurnStoppingDecision::Continue("run the tests".to_owned()),
        _ => TurnStoppingDecision::Settle,
    });
    let script = [Reply::text("done"), Reply::text("they pass")];
    insta::assert_snapshot!(plays(scene(runtime, script)).await, @r#"
    turn/start 1
    step/start 1.1
    user/message (user) hello
    assistant/message done
    step/end 1.1
    seam/decided turn-stopping: tests continue
    step/start 1.2
    user/message (hook tests) run the tests
    assistant/message they pass
    step/end 1.2
    seam/decided turn-stopping: tests settle
    turn/end completed
    "#);
}

/// A hook at the prompt that never answers: while it is waited for, the user cancels.
struct Slow(Later);

impl Hook<PromptSubmit> for Slow {
    fn decide<'a>(
        &'a self,
        _: &'a Prompt,
        _: Next<'a, PromptSubmit>,
    ) -> Deciding<'a, PromptSubmit> {
        Box::pin(async {
            let agent = self.0.get().expect("the agent is there");
            agent.cancel(CancelCause::User);
            std::future::pending().await
        })
    }
}

#[tokio::test]
async fn trace_10_a_cancel_while_a_hook_is_asked_about_a_prompt() {
    let later = Later::default();
    let mut runtime = Runtime::new();
    runtime.hook::<PromptSubmit>("slow", Slow(later.clone()));
    let stage = scene(runtime, []).start().await.known_as(&later);
    stage.prompt("hello").await;
    insta::assert_snapshot!(written(&stage), @r#"
    turn/start 1
    turn/end aborted user
    "#);
}
