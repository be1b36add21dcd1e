//! Around a tool.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use seamgate::Runtime;
use seamgate::pipeline::{Around, Canceller, Cause, Ending, Pipeline, Ran, Tools};
use seamgate::seams::{FinishedCall, PostTool, PreTool, ToolCall, ToolError, Verdict};
use serde_json::json;

use super::support::*;

fn watching_post(runtime: &mut Runtime, seen: &Seen) {
    let seen = seen.clone();
    runtime.listener::<PostTool>("post", move |_: &FinishedCall| {
        seen.note("post");
        context("from post")
    });
}

#[tokio::test]
async fn b89_wrappers_stand_between_the_gates_and_the_tool() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    let pre = seen.clone();
    runtime.listener::<PreTool>("pre", move |_: &ToolCall| {
        pre.note("pre");
        Verdict::Abstain.into()
    });
    for (before, after) in [
        ("outer-before", "outer-after"),
        ("inner-before", "inner-after"),
    ] {
        let seen = seen.clone();
        runtime.around(
            "w",
            wrap(move |_, mut next| {
                let seen = seen.clone();
                Box::pin(async move {
                    seen.note(before);
                    let ran = next.run().await?;
                    seen.note(after);
                    Ok(Around::pass(ran))
                })
            }),
        );
    }
    watching_post(&mut runtime, &seen);
    assert_eq!(run(runtime, &seen).await.text(), "done");
    assert_eq!(
        seen.all(),
        [
            "pre",
            "outer-before",
            "inner-before",
            "body",
            "inner-after",
            "outer-after",
            "post"
        ]
    );
}

#[tokio::test]
async fn b90_a_tool_that_fails_is_no_error_of_next() {
    let got = Arc::new(Mutex::new(None));
    let mut runtime = Runtime::new();
    let kept = got.clone();
    runtime.around(
        "w",
        wrap(move |_, mut next| {
            let kept = kept.clone();
            Box::pin(async move {
                let ran = next.run().await?;
                *kept.lock().unwrap() = Some(ran.result().unwrap_err().clone());
                Ok(Around::pass(ran))
            })
        }),
    );
    let failing = tool("work", json!({}), |_| async {
        Err(ToolError::coded("disk", "EIO"))
    });
    let outcome = Pipeline::new(Arc::new(runtime))
        .execute(request("work"), tools([failing]).as_ref())
        .await;
    assert_eq!(outcome.code(), Some("EIO"));
    assert_eq!(*got.lock().unwrap(), Some(ToolError::coded("disk", "EIO")));
}

#[tokio::test]
async fn b91_an_answer_in_its_place_is_rendered_anew() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    runtime.around(
        "cache",
        wrap(|_, _| Box::pin(async { Ok(Around::value(json!("cached"))) })),
    );
    let work = work(&seen)
        .render(|_, value| Ok(json!([{"type": "text", "text": format!("<{value}>")}]).into()));
    let outcome = Pipeline::new(Arc::new(runtime))
        .execute(request("work"), tools([work]).as_ref())
        .await;
    assert_eq!(outcome.text(), "<\"cached\">");
    assert!(seen.all().is_empty());
}

#[tokio::test]
async fn b92_an_answer_that_does_not_fit_is_final() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    runtime.around(
        "cache",
        wrap(|_, _| Box::pin(async { Ok(Around::value(json!(1))) })),
    );
    watching_post(&mut runtime, &seen);
    let outcome = run(runtime, &seen).await;
    assert_eq!(outcome.code(), Some("INVALID_TOOL_OUTPUT"));
    let Ending::CouldNotDecide(failure) = &outcome.ending else {
        panic!("{outcome:?}")
    };
    assert_eq!(failure.hook.as_str(), "cache");
    assert!(seen.all().is_empty());
}

#[tokio::test]
async fn b93_what_another_call_gave_is_checked_again() {
    let kept: Arc<Mutex<Option<Ran>>> = Arc::default();
    let mut runtime = Runtime::new();
    let cache = kept.clone();
    runtime.around(
        "cache",
        wrap(move |_, mut next| {
            let cache = cache.clone();
            Box::pin(async move {
                let earlier = cache.lock().unwrap().clone();
                if let Some(ran) = earlier {
                    return Ok(Around::pass(ran));
                }
                let ran = next.run().await?;
                *cache.lock().unwrap() = Some(ran.clone());
                Ok(Around::pass(ran))
            })
        }),
    );
    let pipeline = Pipeline::new(Arc::new(runtime));
    let loud = tool("loud", json!({"type": "string"}), |_| async {
        Ok(json!("x").into())
    })
    .render(|_, _| Ok(json!([{"type": "text", "text": "LOUD"}]).into()));
    let tools = tools([
        work(&Seen::default()),
        loud,
        tool("count", json!({"type": "integer"}), |_| async {
            Ok(json!(1).into())
        }),
    ]);
    assert_eq!(
        pipeline
            .execute(request("work"), tools.as_ref())
            .await
            .text(),
        "done"
    );
    let other = pipeline.execute(request("loud"), tools.as_ref()).await;
    assert_eq!(
        (other.text().as_str(), other.result.unwrap().text()),
        ("LOUD", "\"done\"")
    );
    let misfit = pipeline.execute(request("count"), tools.as_ref()).await;
    assert_eq!(misfit.code(), Some("INVALID_TOOL_OUTPUT"));
}

#[tokio::test]
async fn b94_a_failure_keeps_what_comes_with_it() {
    let mut runtime = Runtime::new();
    runtime.around(
        "w",
        wrap(|_, _| {
            Box::pin(async {
                Ok(Around::failure_with(
                    ToolError::coded("limit", "RATE"),
                    json!([{"type": "text", "text": "later"}]).into(),
                    Some(json!({"after": 3}).into()),
                )
                .with_contexts(["one".to_owned(), "two".to_owned()]))
            })
        }),
    );
    let outcome = run(runtime, &Seen::default()).await;
    assert_eq!(
        (outcome.code(), outcome.text().as_str()),
        (Some("RATE"), "later")
    );
    assert_eq!(outcome.meta.as_ref().unwrap().text(), r#"{"after":3}"#);
    assert_eq!(texts(&outcome), ["one", "two"]);
}

#[tokio::test]
async fn b95_a_tool_that_is_gone_has_no_answers() {
    let seen = Seen::default();
    let tools: Arc<Tools> = tools([work(&seen)]);
    let mut runtime = Runtime::new();
    let gone = tools.clone();
    runtime.around(
        "w",
        wrap(move |_, _| {
            gone.unregister("work");
            Box::pin(async { Ok(Around::value(json!("mine"))) })
        }),
    );
    watching_post(&mut runtime, &seen);
    let outcome = Pipeline::new(Arc::new(runtime))
        .execute(request("work"), tools.as_ref())
        .await;
    assert_eq!(outcome.code(), Some("UNKNOWN_TOOL"));
    assert!(seen.all().is_empty());
}

fn deferring(name: &str) -> seamgate::pipeline::Tool {
    tool(name, json!({}), |invocation| async move {
        invocation.defer_context("deferred");
        Ok(json!(1).into())
    })
}

#[tokio::test]
async fn b96_contexts_come_in_the_order_of_the_stages() {
    let mut runtime = Runtime::new();
    runtime.around(
        "w",
        wrap(|_, mut next| {
            Box::pin(async move {
                Ok(Around::pass(next.run().await?).with_contexts(["from wrapper".to_owned()]))
            })
        }),
    );
    watching_post(&mut runtime, &Seen::default());
    let outcome = Pipeline::new(Arc::new(runtime))
        .execute(request("t"), tools([deferring("t")]).as_ref())
        .await;
    assert_eq!(texts(&outcome), ["deferred", "from wrapper", "from post"]);
}

#[tokio::test]
async fn b97_a_wrapper_that_fails_is_final() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    runtime.around(
        "w",
        wrap(|_, mut next| {
            Box::pin(async move {
                next.run().await?;
                panic!("a defect")
            })
        }),
    );
    watching_post(&mut runtime, &seen);
    let outcome = Pipeline::new(Arc::new(runtime))
        .execute(request("t"), tools([deferring("t")]).as_ref())
        .await;
    assert_eq!(outcome.code(), Some("PANIC"));
    assert!(outcome.contexts.is_empty());
    assert!(seen.all().is_empty());
}

#[tokio::test]
async fn b98_a_wrapper_narrows_and_detaches_nothing() {
    for by_caller in [true, false] {
        let (caller, wrapper) = (Canceller::new(), Canceller::new());
        let mut runtime = Runtime::new();
        let narrower = wrapper.signal();
        runtime.around(
            "w",
            wrap(move |_, mut next| {
                let narrower = narrower.clone();
                Box::pin(async move { next.run_under(&narrower).await.map(Around::pass) })
            }),
        );
        let fires = if by_caller { caller.clone() } else { wrapper };
        let waiting = tool("t", json!({}), move |invocation| {
            let fires = fires.clone();
            async move {
                assert!(!invocation.signal().is_fired());
                fires.cancel();
                invocation.signal().fired().await;
                Ok(json!(1).into())
            }
        });
        let mut request = request("t");
        request.signal = caller.signal();
        let outcome = Pipeline::new(Arc::new(runtime))
            .execute(request, tools([waiting]).as_ref())
            .await;
        assert_eq!(outcome.code(), Some("ABORTED"));
    }
}

#[tokio::test]
async fn b99_a_signal_that_has_fired_keeps_the_tool_from_running() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    runtime.around(
        "w",
        wrap(|_, mut next| {
            Box::pin(async move {
                let fired = Canceller::new();
                fired.cancel();
                next.run_under(&fired.signal()).await.map(Around::pass)
            })
        }),
    );
    let outcome = run(runtime, &seen).await;
    assert_eq!(outcome.code(), Some("ABORTED_BEFORE_DISPATCH"));
    assert!(seen.all().is_empty());
}

#[tokio::test]
async fn b101_a_denied_call_has_nobody_around_it() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    runtime.listener::<PreTool>("gate", |_: &ToolCall| deny("no"));
    let noted = seen.clone();
    runtime.around(
        "w",
        wrap(move |_, mut next| {
            noted.note("around");
            Box::pin(async move { next.run().await.map(Around::pass) })
        }),
    );
    let _ = run(runtime, &seen).await;
    assert!(seen.all().is_empty());
}

fn with_timeout(limit: Duration) -> Runtime {
    let mut runtime = Runtime::new();
    runtime.around(
        "timeout",
        wrap(move |_, mut next| {
            Box::pin(async move {
                let narrower = next.signal().within(limit);
                next.run_under(&narrower).await.map(Around::pass)
            })
        }),
    );
    runtime
}

#[tokio::test(start_paused = true)]
async fn b102_a_timeout_waits_for_the_tool_and_tells_its_own_from_a_cancel() {
    let limit = Duration::from_millis(30);
    let seen = Seen::default();
    let slow = |seen: &Seen| {
        let seen = seen.clone();
        tool("t", json!({}), move |invocation| {
            let seen = seen.clone();
            async move {
                invocation.signal().fired().await;
                tokio::time::sleep(Duration::from_secs(1)).await;
                seen.note("tidied up");
                Err(ToolError::new("interrupted"))
            }
        })
    };
    let pipeline = Pipeline::new(Arc::new(with_timeout(limit)));
    let outcome = pipeline
        .execute(request("t"), tools([slow(&seen)]).as_ref())
        .await;
    assert_eq!(outcome.code(), Some("TOOL_TIMEOUT"));
    assert_eq!(message(&outcome), "tool call timed out after 30ms");
    assert_eq!(outcome.ending, Ending::Aborted(Cause::Deadline(limit)));
    assert_eq!(seen.all(), ["tidied up"]);
    let canceller = Canceller::new();
    let cancels = canceller.clone();
    let cancelled = tool("t", json!({}), move |_| {
        let cancels = cancels.clone();
        async move {
            cancels.cancel();
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(json!(1).into())
        }
    });
    let mut request = request("t");
    request.signal = canceller.signal();
    let outcome = pipeline.execute(request, tools([cancelled]).as_ref()).await;
    assert_eq!(outcome.code(), Some("ABORTED"));
}

#[tokio::test]
async fn b103_a_retry_runs_everything_inside_again() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    runtime.around(
        "retry",
        wrap(|_, mut next| {
            Box::pin(async move {
                let first = next.run().await?;
                if first.result().is_ok() {
                    return Ok(Around::pass(first));
                }
                next.run().await.map(Around::pass)
            })
        }),
    );
    let inner = seen.clone();
    runtime.around(
        "inner",
        wrap(move |_, mut next| {
            inner.note("inner");
            Box::pin(async move {
                Ok(Around::pass(next.run().await?).with_contexts(["inner".to_owned()]))
            })
        }),
    );
    let attempts = Arc::new(AtomicU32::new(0));
    let flaky = tool("t", json!({}), move |invocation| {
        let attempt = attempts.fetch_add(1, Ordering::Relaxed);
        async move {
            invocation.defer_context(format!("attempt {attempt}"));
            if attempt == 0 {
                Err(ToolError::new("flaky"))
            } else {
                Ok(json!(attempt).into())
            }
        }
    });
    let outcome = Pipeline::new(Arc::new(runtime))
        .execute(request("t"), tools([flaky]).as_ref())
        .await;
    assert_eq!(outcome.result.as_ref().unwrap().text(), "1");
    assert_eq!(
        texts(&outcome),
        ["attempt 0", "inner", "attempt 1", "inner"]
    );
    assert_eq!(seen.all(), ["inner", "inner"]);
}

#[tokio::test]
async fn b133_an_abort_takes_an_answer_and_leaves_its_contexts() {
    let canceller = Canceller::new();
    let mut runtime = Runtime::new();
    let cancels = canceller.clone();
    runtime.around(
        "w",
        wrap(move |_, _| {
            cancels.cancel();
            Box::pin(async { Ok(Around::value(json!("mine")).with_contexts(["kept".to_owned()])) })
        }),
    );
    let mut request = request("work");
    request.signal = canceller.signal();
    let outcome = Pipeline::new(Arc::new(runtime))
        .execute(request, tools([work(&Seen::default())]).as_ref())
        .await;
    assert_eq!(outcome.code(), Some("ABORTED_BEFORE_DISPATCH"));
    assert_eq!(texts(&outcome), ["kept"]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_never_returns_is_given_up_where_that_was_agreed() {
    let pipeline = Pipeline::builder(Arc::new(with_timeout(Duration::from_millis(10))))
        .body_grace(Duration::from_millis(10))
        .build();
    let stuck = tool("t", json!({}), |_| std::future::pending());
    let outcome = pipeline
        .execute(request("t"), tools([stuck]).as_ref())
        .await;
    assert_eq!(outcome.code(), Some("TOOL_TIMEOUT"));
}

#[tokio::test]
async fn more_hooks_around_a_tool_than_may_be_are_refused_before_it_runs() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    for number in 0..200 {
        runtime.around(
            format!("hook-{number}"),
            wrap(|_, mut next| Box::pin(async move { next.run().await.map(Around::pass) })),
        );
    }
    let outcome = run(runtime, &seen).await;
    assert_eq!(outcome.code(), Some("UNAVAILABLE"));
    assert!(seen.all().is_empty());
}

#[tokio::test]
async fn what_hooks_around_a_tool_said_is_on_record() {
    let (seen, audit) = (Seen::default(), Arc::new(Memory::default()));
    let mut runtime = Runtime::new();
    runtime.around(
        "retries",
        wrap(|_, mut next| {
            Box::pin(async move {
                next.run().await?;
                next.run().await.map(Around::pass)
            })
        }),
    );
    runtime.around(
        "answers",
        wrap(|_, _| Box::pin(async { Ok(Around::value(json!("cached"))) })),
    );
    let pipeline = Pipeline::builder(Arc::new(runtime))
        .audit(audit.clone())
        .build();
    let tools = tools([work(&seen)]);
    let outcome = pipeline.execute(request("work"), tools.as_ref()).await;
    assert_eq!(outcome.text(), "cached");
    let record = &audit.of_type("seam/decided")[0]["data"];
    assert_eq!(record["seam"], "around-tool");
    let said: Vec<(&str, &str)> = record["hooks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hook| {
            (
                hook["hook"].as_str().unwrap(),
                hook["decision"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        said,
        [
            ("answers", "substitute"),
            ("answers", "substitute"),
            ("retries", "pass")
        ]
    );
    // What can't be recorded was not decided.
    *audit.refuses.lock().unwrap() = Some("seam/decided");
    let outcome = pipeline.execute(request("work"), tools.as_ref()).await;
    assert_eq!(outcome.code(), Some("UNRECORDED"));
}
