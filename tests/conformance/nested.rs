//! Calls within calls, and what a tool hands to its own call.

use std::sync::Arc;

use seamgate::Runtime;
use seamgate::pipeline::{CallOutcome, Inner, Invocation, Pipeline, Tool, Tools};
use seamgate::seams::{FinishedCall, PostTool, PreTool, ToolCall, ToolError, Verdict};
use serde_json::json;

use super::support::*;

/// A tool that runs `inner` as a part of itself, and does with what that gave whatever `then` says.
fn composite<F, R>(inner: Arc<Tools>, then: F) -> Tool
where
    F: Fn(Invocation, Result<Inner, ToolError>) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Returned> + Send + 'static,
{
    tool("work", json!({}), move |invocation| {
        let (inner, then) = (inner.clone(), then.clone());
        async move {
            let got = invocation
                .nested(inner.as_ref(), "inner", json!({"part": 1}))
                .await;
            then(invocation, got).await
        }
    })
}

fn inner_tool() -> Tool {
    tool(
        "inner",
        json!({"type": "string"}),
        |invocation| async move {
            invocation.defer_context("from inner");
            invocation.conclude_turn();
            Ok(json!("part").into())
        },
    )
}

async fn execute(runtime: Runtime, tool: Tool) -> CallOutcome {
    Pipeline::new(Arc::new(runtime))
        .execute(request("work"), tools([tool]).as_ref())
        .await
}

#[tokio::test]
async fn b107_only_a_direct_call_has_meta() {
    let metas = Seen::default();
    let with_meta = |name: &str, seen: &Seen| {
        let seen = seen.clone();
        tool(name, json!({}), |_| async { Ok(json!(1).into()) }).meta(move |_, _| {
            seen.note("meta");
            Ok(json!({"lines": 1}).into())
        })
    };
    let direct = execute(Runtime::new(), with_meta("work", &metas)).await;
    assert_eq!(direct.meta.unwrap().text(), r#"{"lines":1}"#);
    let inner = tools([with_meta("inner", &metas)]);
    let outer = execute(
        Runtime::new(),
        composite(inner, |_, got| async { Ok(got?.value.into()) }),
    )
    .await;
    assert_eq!(outer.text(), "1");
    assert_eq!(metas.count("meta"), 1, "the direct one");
}

#[tokio::test]
async fn b137_what_a_tool_defers_follows_its_result_in_order() {
    let deferring = tool("work", json!({}), |invocation| async move {
        invocation.defer_context("one");
        invocation.defer_context("two");
        Ok(json!("done").into())
    });
    let outcome = execute(Runtime::new(), deferring).await;
    assert_eq!(texts(&outcome), ["one", "two"]);
}

#[tokio::test]
async fn b138_what_a_tool_defers_outlives_its_failure_and_no_block() {
    let failing = || {
        tool("work", json!({}), |invocation| async move {
            invocation.defer_context("one");
            Err(ToolError::new("broken"))
        })
    };
    assert_eq!(texts(&execute(Runtime::new(), failing()).await), ["one"]);
    let mut runtime = Runtime::new();
    runtime.listener::<PostTool>("post", |_: &FinishedCall| block("no"));
    assert!(execute(runtime, failing()).await.contexts.is_empty());
}

#[tokio::test]
async fn b139_contexts_of_inner_calls_follow_the_outer_result_in_their_order() {
    let mut runtime = Runtime::new();
    runtime.listener::<PostTool>("post", |finished: &FinishedCall| {
        context(&format!("after {}", finished.call.call_id))
    });
    let inner = tools([inner_tool()]);
    let twice = tool("work", json!({}), move |invocation| {
        let inner = inner.clone();
        async move {
            for _ in 0..2 {
                invocation
                    .nested(inner.as_ref(), "inner", json!({}))
                    .await?;
            }
            Err(ToolError::new("the outer one fails later"))
        }
    });
    let outcome = execute(runtime, twice).await;
    assert_eq!(message(&outcome), "the outer one fails later");
    assert_eq!(
        texts(&outcome),
        [
            "from inner",
            "after call:code:1",
            "from inner",
            "after call:code:2",
            "after call"
        ]
    );
}

#[tokio::test]
async fn b140_an_inner_denial_is_an_error_that_the_outer_call_may_recover_from() {
    let gate = |runtime: &mut Runtime| {
        runtime.listener::<PreTool>("gate", |call: &ToolCall| match call.tool.as_str() {
            "inner" => deny("not that part"),
            _ => Verdict::Abstain.into(),
        });
    };
    let inner = tools([inner_tool()]);
    for recovers in [true, false] {
        let mut runtime = Runtime::new();
        gate(&mut runtime);
        let outcome = execute(
            runtime,
            composite(inner.clone(), move |_, got| async move {
                let error = got.unwrap_err();
                assert_eq!(error.message, "not that part");
                if recovers {
                    Ok(json!("without it").into())
                } else {
                    Err(error)
                }
            }),
        )
        .await;
        let expected = if recovers {
            "without it"
        } else {
            "Error: not that part"
        };
        assert_eq!(outcome.text(), expected);
    }
}

#[tokio::test]
async fn b141_an_inner_success_may_conclude_the_turn_and_an_inner_failure_may_not() {
    let passing_on = || {
        composite(tools([inner_tool()]), |invocation, got| async move {
            if got.is_ok_and(|inner| inner.concludes_turn) {
                invocation.conclude_turn();
            }
            Ok(json!("done").into())
        })
    };
    assert!(execute(Runtime::new(), passing_on()).await.concludes_turn);
    let mut runtime = Runtime::new();
    runtime.listener::<PostTool>("post", |finished: &FinishedCall| {
        if finished.call.tool == "inner" {
            block("no")
        } else {
            accept()
        }
    });
    assert!(!execute(runtime, passing_on()).await.concludes_turn);
}

#[tokio::test]
async fn inner_calls_are_told_apart_and_know_their_root() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    let noted = seen.clone();
    runtime.listener::<PreTool>("pre", move |call: &ToolCall| {
        noted.note(format!("{} of {}", call.call_id, call.root_call_id));
        Verdict::Abstain.into()
    });
    let inner = tools([inner_tool()]);
    let outer = composite(inner, |_, got| async { Ok(got?.value.into()) });
    let _ = execute(runtime, outer).await;
    assert_eq!(seen.all(), ["call of call", "call:code:1 of call"]);
}

#[tokio::test]
async fn decisions_of_inner_calls_never_overlap_and_their_bodies_do() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    let noted = seen.clone();
    runtime.hook::<PreTool>(
        "slow",
        hook::<PreTool, _>(move |call, next| {
            let noted = noted.clone();
            Box::pin(async move {
                noted.note("decides");
                tokio::task::yield_now().await;
                let said = next.run(call).await;
                noted.note("decided");
                said
            })
        }),
    );
    let meet = Arc::new(tokio::sync::Barrier::new(2));
    let inner = tools([tool("inner", json!({}), move |_| {
        let meet = meet.clone();
        // Each waits for the other, so both have to be under way at once.
        async move {
            meet.wait().await;
            Ok(json!(null).into())
        }
    })]);
    let outer = tool("work", json!({}), move |invocation| {
        let inner = inner.clone();
        async move {
            let call = || invocation.nested(inner.as_ref(), "inner", json!({}));
            let (one, two) = tokio::join!(call(), call());
            one.and(two).map(|inner| inner.value.into())
        }
    });
    assert!(execute(runtime, outer).await.result.is_ok());
    let all = seen.all();
    assert_eq!(all.len(), 6);
    for pair in all.chunks(2) {
        assert_eq!(pair, ["decides", "decided"]);
    }
}

#[tokio::test]
async fn calls_can_not_nest_without_end() {
    fn deeper(invocation: Invocation, tools: Arc<Tools>) -> seamgate::Boxed<'static, Returned> {
        Box::pin(async move {
            let inner = invocation.nested(tools.as_ref(), "work", json!({})).await?;
            Ok(inner.value.into())
        })
    }
    let all = tools([]);
    let own = all.clone();
    all.register(tool("work", json!({}), move |invocation| {
        deeper(invocation, own.clone())
    }));
    let outcome = Pipeline::new(Arc::new(Runtime::new()))
        .execute(request("work"), all.as_ref())
        .await;
    assert_eq!(outcome.code(), Some("NESTED_TOO_DEEPLY"));
}
