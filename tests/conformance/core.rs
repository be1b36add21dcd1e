//! Pre-tool, guards, core dispatch.

use std::sync::Arc;

use seamgate::pipeline::{Around, CallRequest, Canceller, Ending, Pipeline, Schema, Tool};
use seamgate::seams::{
    Agent, FinishedCall, Guard, GuardDecision, GuardFold, PostTool, PreTool, PreToolDecision,
    ToolCall, ToolError, Verdict,
};
use seamgate::{ForAgent, Listener, Runtime};
use serde_json::json;

use super::support::*;

/// A runtime whose wrapper and post-tool note that they were there, the latter with what it saw.
fn noting(seen: &Seen) -> Runtime {
    let mut runtime = Runtime::new();
    let (around, post) = (seen.clone(), seen.clone());
    runtime.around(
        "w",
        wrap(move |_, mut next| {
            let around = around.clone();
            Box::pin(async move {
                around.note("around");
                next.run().await.map(Around::pass)
            })
        }),
    );
    runtime.listener::<PostTool>("post", move |finished: &FinishedCall| {
        post.note(format!("post {}", finished.outcome.text));
        accept()
    });
    runtime
}

#[tokio::test]
async fn b52_without_hooks_a_call_runs() {
    let seen = Seen::default();
    let outcome = run(Runtime::new(), &seen).await;
    assert_eq!(
        (outcome.text().as_str(), outcome.ending),
        ("done", Ending::Succeeded)
    );
    assert_eq!(seen.all(), ["body"]);
}

#[tokio::test]
async fn b53_a_denied_call_runs_nothing() {
    let seen = Seen::default();
    let mut runtime = noting(&seen);
    runtime.listener::<PreTool>("gate", |_: &ToolCall| deny("no"));
    let outcome = run(runtime, &seen).await;
    assert_eq!(
        (outcome.text().as_str(), outcome.ending),
        ("Error: no", Ending::Denied)
    );
    assert_eq!(seen.count("body") + seen.count("around"), 0);
}

#[tokio::test]
async fn b54_post_tool_hears_of_a_denial() {
    let seen = Seen::default();
    let mut runtime = noting(&seen);
    runtime.listener::<PreTool>("gate", |_: &ToolCall| deny("no"));
    let _ = run(runtime, &seen).await;
    assert_eq!(seen.all(), ["post Error: no"]);
}

#[tokio::test]
async fn b79_an_allow_in_front_overrules_no_guard() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    runtime.listener::<PreTool>("first", |_: &ToolCall| Verdict::Allow.into());
    runtime.listener::<Guard>("guard", |_: &ToolCall| guard_denies("never"));
    assert_eq!(run(runtime, &seen).await.text(), "Error: never");
    assert!(seen.all().is_empty());
}

#[tokio::test]
async fn b80_an_abstaining_guard_leaves_it_to_the_other() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    runtime.listener::<Guard>("one", |_: &ToolCall| GuardDecision::Abstain);
    runtime.listener::<Guard>("two", |_: &ToolCall| guard_denies("two says no"));
    assert_eq!(run(runtime, &seen).await.text(), "Error: two says no");
}

#[tokio::test]
async fn b82_a_denied_call_is_not_guarded() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    runtime.listener::<PreTool>("gate", |_: &ToolCall| deny("no"));
    let noted = seen.clone();
    runtime.listener::<Guard>("guard", move |_: &ToolCall| {
        noted.note("guard");
        GuardDecision::Abstain
    });
    let _ = run(runtime, &seen).await;
    assert!(seen.all().is_empty());
}

#[tokio::test]
async fn b83_a_guard_for_one_agent_goes_with_it() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    runtime.hook::<Guard>(
        "scoped",
        ForAgent::session("session", Listener(|_: &ToolCall| guard_denies("not here"))),
    );
    let pipeline = Pipeline::new(Arc::new(runtime));
    let tools = tools([work(&seen)]);
    let text = async |agent: Option<Agent>| {
        let request = CallRequest {
            agent,
            ..request("work")
        };
        pipeline.execute(request, tools.as_ref()).await.text()
    };
    let other = Agent {
        session_id: "other".to_owned(),
        ..agent()
    };
    assert_eq!(text(Some(agent())).await, "Error: not here");
    assert_eq!(text(Some(other)).await, "done");
    assert_eq!(text(None).await, "done");
    pipeline.change(|runtime| {
        runtime.remove("scoped");
    });
    assert_eq!(text(Some(agent())).await, "done");
}

#[tokio::test]
async fn b84_a_guard_that_is_there_twice_still_denies_when_one_is_taken_away() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    for name in ["one", "two"] {
        runtime.listener::<Guard>(name, |_: &ToolCall| guard_denies("no"));
    }
    runtime.remove("one");
    assert_eq!(run(runtime, &seen).await.text(), "Error: no");
}

/// A guard has no `next`, so that none can leave another out.
#[tokio::test]
async fn a_guard_can_silence_no_other() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    runtime.hook::<Guard>(
        "alone",
        hook::<Guard, _>(|_, _| Box::pin(async { Ok(GuardFold::default()) })),
    );
    runtime.listener::<Guard>("later", |_: &ToolCall| guard_denies("no"));
    assert_eq!(run(runtime, &seen).await.text(), "Error: no");
}

#[tokio::test]
async fn a_denial_without_words_says_at_least_whose_it_is() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    runtime.listener::<PreTool>("gate", |_: &ToolCall| deny(" "));
    let outcome = run(runtime, &seen).await;
    assert_eq!(
        outcome.text(),
        "Error: hook `gate` denied this and gave no reason"
    );
}

#[tokio::test]
async fn b86_a_guard_that_fails_is_final() {
    let seen = Seen::default();
    let mut runtime = noting(&seen);
    runtime.listener::<Guard>("guard", |_: &ToolCall| panic!("a defect"));
    let outcome = run(runtime, &seen).await;
    assert_eq!(outcome.code(), Some("PANIC"));
    assert!(seen.all().is_empty());
}

#[tokio::test]
async fn b87_post_tool_hears_of_a_guard() {
    let seen = Seen::default();
    let mut runtime = noting(&seen);
    runtime.listener::<Guard>("guard", |_: &ToolCall| guard_denies("no"));
    assert_eq!(run(runtime, &seen).await.ending, Ending::Guarded);
    assert_eq!(seen.all(), ["post Error: no"]);
}

#[tokio::test]
async fn b88_a_guard_outranks_an_abort() {
    let (seen, canceller) = (Seen::default(), Canceller::new());
    let mut runtime = Runtime::new();
    let cancels = canceller.clone();
    runtime.listener::<PreTool>("cancels", move |_: &ToolCall| {
        cancels.cancel();
        Verdict::Abstain.into()
    });
    runtime.listener::<Guard>("guard", |_: &ToolCall| guard_denies("no"));
    let mut request = request("work");
    request.signal = canceller.signal();
    let outcome = Pipeline::new(Arc::new(runtime))
        .execute(request, tools([work(&seen)]).as_ref())
        .await;
    assert_eq!(outcome.ending, Ending::Guarded);
}

#[test]
fn b104_a_schema_that_would_not_be_enforced_is_refused() {
    assert!(Schema::new(&json!({"type": "string", "maxLength": 3})).is_err());
    assert!(Schema::new(&json!({"$ref": "#/x"})).is_err());
}

async fn returned(tool: Tool) -> (seamgate::pipeline::CallOutcome, Vec<String>) {
    let seen = Seen::default();
    let pipeline = Pipeline::new(Arc::new(noting(&seen)));
    let outcome = pipeline.execute(request("t"), tools([tool]).as_ref()).await;
    (outcome, seen.all())
}

#[tokio::test]
async fn b105_a_value_that_is_lossy_or_does_not_fit_is_a_failure() {
    for value in [json!({"n": -0.0}), json!({"n": "one"})] {
        let output = json!({"type": "object", "properties": {"n": {"type": "number"}}});
        let (outcome, seen) = returned(tool("t", output, move |_| {
            let value = value.clone();
            async move { Ok(value.into()) }
        }))
        .await;
        assert_eq!(outcome.code(), Some("INVALID_TOOL_OUTPUT"));
        assert!(message(&outcome).starts_with("tool \"t\" returned invalid output: "));
        assert!(
            seen[1].starts_with("post Error: tool \"t\" returned"),
            "{seen:?}"
        );
    }
}

#[tokio::test]
async fn b106_a_rendering_that_fails_is_a_failure() {
    let plain = || tool("t", json!({}), |_| async { Ok(json!(1).into()) });
    for broken in [
        plain().render(|_, _| panic!("render")),
        plain().render(|_, _| Err("can't".to_owned())),
        plain().render(|_, _| Ok(json!("no blocks").into())),
        plain().render(|_, _| Ok(json!([{"type": "x", "n": -0.0}]).into())),
        plain().meta(|_, _| panic!("meta")),
        plain().meta(|_, _| Ok(json!(-0.0).into())),
    ] {
        let (outcome, _) = returned(broken).await;
        assert_eq!(outcome.code(), Some("INVALID_TOOL_OUTPUT"), "{outcome:?}");
        assert!(outcome.meta.is_none());
    }
}

#[tokio::test]
async fn b108_whatever_is_thrown_can_be_printed() {
    for (thrown, expected) in [(true, "<unprintable thrown value>"), (false, "broken 7")] {
        let (outcome, _) = returned(tool("t", json!({}), move |_| async move {
            if thrown {
                std::panic::panic_any(7_u8);
            }
            panic!("broken {}", 7)
        }))
        .await;
        assert_eq!(message(&outcome), expected);
        assert_eq!(outcome.ending, Ending::Failed);
    }
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_told_after_all_policy() {
    let parameters =
        json!({"type": "object", "properties": {"m": {"type": "string"}}, "required": ["m"]});
    let strict = tool("t", json!({}), |_| async { Ok(json!(1).into()) })
        .parameters(Schema::new(&parameters).unwrap())
        .check_arguments(|_| Err("and it is Sunday".to_owned()));
    let (outcome, seen) = returned(strict).await;
    assert_eq!(outcome.code(), Some("INVALID_ARGS"));
    assert_eq!(
        message(&outcome),
        "tool \"t\" got invalid arguments: the value has no `m`; and it is Sunday"
    );
    assert_eq!(seen.len(), 2);
}

#[tokio::test]
async fn a_dispatcher_that_panics_has_no_tool() {
    struct Broken;
    impl seamgate::pipeline::Dispatch for Broken {
        fn tool(&self, _: &str, _: Option<&seamgate::seams::Agent>) -> Option<Arc<Tool>> {
            panic!("broken")
        }
    }
    let pipeline = Pipeline::new(Arc::new(Runtime::new()));
    let outcome = pipeline.execute(request("t"), &Broken).await;
    assert_eq!(outcome.code(), Some("UNKNOWN_TOOL"));
}

#[tokio::test]
async fn ten_mebibytes_are_a_result_like_any_other() {
    let text = "x".repeat(10 << 20);
    let given = text.clone();
    let (outcome, _) = returned(tool("t", json!({"type": "string"}), move |_| {
        let given = given.clone();
        async move { Ok(json!(given).into()) }
    }))
    .await;
    assert_eq!(outcome.text(), text);
}

#[tokio::test]
async fn contexts_of_pre_tool_reach_the_model_whatever_the_verdict() {
    for verdict in [Verdict::Abstain, Verdict::Deny("no".to_owned())] {
        let seen = Seen::default();
        let mut runtime = Runtime::new();
        runtime.listener::<PreTool>("gate", move |_: &ToolCall| PreToolDecision {
            verdict: verdict.clone(),
            contexts: vec!["look".to_owned()],
        });
        runtime.listener::<PostTool>("post", |_: &FinishedCall| context("and see"));
        assert_eq!(texts(&run(runtime, &seen).await), ["look", "and see"]);
    }
}

#[tokio::test]
async fn b135_an_error_of_the_tool_is_not_replaced_by_the_abort() {
    let canceller = Canceller::new();
    let cancels = canceller.clone();
    let failing = tool("t", json!({}), move |_| {
        cancels.cancel();
        async { Err(ToolError::coded("half done", "HALF_DONE")) }
    });
    let mut request = request("t");
    request.signal = canceller.signal();
    let outcome = Pipeline::new(Arc::new(Runtime::new()))
        .execute(request, tools([failing]).as_ref())
        .await;
    assert_eq!(outcome.code(), Some("HALF_DONE"));
}
