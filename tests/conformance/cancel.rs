//! Cancellation: at each moment one outcome, nothing hangs, nothing is left behind.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use seamgate::Runtime;
use seamgate::approval::{Approval, ApprovalOutcome, ApprovalRequest, Callback};
use seamgate::audit::AuditError;
use seamgate::pipeline::{
    Around, Batch, BatchLog, CallOutcome, CallRequest, Canceller, Cause, DEFAULT_OVERLAP, Ending,
    Pipeline, Signal,
};
use seamgate::seams::{
    FinishedCall, Guard, PostTool, PreTool, PreToolDecision, RewriteInput, Seam, ToolCall,
    ToolError, ToolResult, Verdict,
};
use seamgate::turn::ContextQueue;
use serde_json::json;

use super::support::*;

/// A pipeline, its runtime, and what cancels the call.
async fn cancelled(
    runtime: Runtime,
    canceller: &Canceller,
    tool: seamgate::pipeline::Tool,
) -> CallOutcome {
    let request = CallRequest {
        signal: canceller.signal(),
        ..request("work")
    };
    Pipeline::new(Arc::new(runtime))
        .execute(request, tools([tool]).as_ref())
        .await
}

/// A runtime whose gate cancels the call and then says this.
fn cancelling_gate(canceller: &Canceller, seen: &Seen, said: PreToolDecision) -> Runtime {
    let mut runtime = Runtime::new();
    let cancels = canceller.clone();
    runtime.listener::<PreTool>("gate", move |_: &ToolCall| {
        cancels.cancel();
        said.clone()
    });
    let seen = seen.clone();
    runtime.listener::<PostTool>("post", move |finished: &FinishedCall| {
        seen.note(format!("post {}", finished.outcome.text));
        context("from post")
    });
    runtime
}

#[tokio::test]
async fn b110_a_tool_that_does_not_listen_is_waited_for() {
    let (canceller, ended) = (Canceller::new(), Arc::new(AtomicBool::new(false)));
    let (cancels, ending) = (canceller.clone(), ended.clone());
    let stubborn = tool("work", json!({}), move |_| {
        let (cancels, ending) = (cancels.clone(), ending.clone());
        async move {
            cancels.cancel();
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            ending.store(true, Ordering::Relaxed);
            Ok(json!(null).into())
        }
    });
    let outcome = cancelled(Runtime::new(), &canceller, stubborn).await;
    assert!(ended.load(Ordering::Relaxed));
    assert_eq!(outcome.code(), Some("ABORTED"));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_never_returns_is_given_up_where_the_program_says_so() {
    for around in [false, true] {
        let (canceller, dropped) = (Canceller::new(), Arc::new(()));
        let mut runtime = Runtime::new();
        if around {
            let held = dropped.clone();
            runtime.around(
                "asleep",
                wrap(move |_, _| {
                    let held = held.clone();
                    Box::pin(async move {
                        let _held = held;
                        std::future::pending().await
                    })
                }),
            );
        }
        let held = dropped.clone();
        let hanging = tool("work", json!({}), move |_| {
            let held = held.clone();
            async move {
                let _held = held;
                std::future::pending().await
            }
        });
        let request = CallRequest {
            signal: canceller.signal(),
            ..request("work")
        };
        let pipeline = Pipeline::builder(Arc::new(runtime))
            .body_grace(Duration::from_secs(5))
            .build();
        let tools = tools([hanging]);
        let (outcome, ()) = tokio::join!(pipeline.execute(request, tools.as_ref()), async {
            tokio::time::sleep(Duration::from_secs(60)).await;
            canceller.cancel();
        });
        assert_eq!(outcome.ending, Ending::Aborted(Cause::Cancelled));
        drop((pipeline, tools));
        assert_eq!(Arc::strong_count(&dropped), 1, "nothing of it is left");
    }
}

#[tokio::test]
async fn b129_a_call_cancelled_before_it_begins_reaches_no_seam() {
    let (seen, canceller) = (Seen::default(), Canceller::new());
    canceller.cancel();
    let mut runtime = cancelling_gate(&canceller, &seen, deny("not asked"));
    runtime.listener::<RewriteInput>("rewrites", |_: &ToolCall| panic!("not asked"));
    let told = seen.clone();
    runtime.listener::<ToolResult>("told", move |finished: &FinishedCall| {
        told.note(&finished.outcome.text);
    });
    let outcome = cancelled(runtime, &canceller, work(&seen)).await;
    assert_eq!(outcome.code(), Some("ABORTED_BEFORE_DISPATCH"));
    assert_eq!(seen.all(), ["Error: tool call aborted before dispatch"]);
}

#[tokio::test]
async fn b130_cancelled_while_a_gate_that_then_lets_it_pass_was_asked() {
    let (seen, canceller) = (Seen::default(), Canceller::new());
    let runtime = cancelling_gate(&canceller, &seen, Verdict::Allow.into());
    let outcome = cancelled(runtime, &canceller, work(&seen)).await;
    assert_eq!(outcome.code(), Some("ABORTED_BEFORE_DISPATCH"));
    assert_eq!(
        seen.all(),
        ["post Error: tool call aborted before dispatch"]
    );
}

#[tokio::test]
async fn b131_cancelled_while_a_gate_that_denies_or_fails_was_asked() {
    let (seen, canceller) = (Seen::default(), Canceller::new());
    let runtime = cancelling_gate(&canceller, &seen, deny("no"));
    let outcome = cancelled(runtime, &canceller, work(&seen)).await;
    assert_eq!(outcome.ending, Ending::Denied);
    let (canceller, cancels) = (Canceller::new(), Canceller::new());
    let mut runtime = Runtime::new();
    runtime.listener::<PreTool>("gate", move |_: &ToolCall| {
        cancels.cancel();
        panic!("a defect")
    });
    let outcome = cancelled(runtime, &canceller, work(&seen)).await;
    assert_eq!(outcome.code(), Some("PANIC"));
}

#[tokio::test]
async fn b132_cancelled_while_a_wrapper_has_not_called_next() {
    let (seen, canceller) = (Seen::default(), Canceller::new());
    let mut runtime = Runtime::new();
    let cancels = canceller.clone();
    runtime.around(
        "waits",
        wrap(move |_, mut next| {
            cancels.cancel();
            Box::pin(async move {
                tokio::task::yield_now().await;
                let ran = next.run().await?;
                assert_eq!(
                    ran.result().unwrap_err().code.as_deref(),
                    Some("ABORTED_BEFORE_DISPATCH")
                );
                Ok(Around::pass(ran))
            })
        }),
    );
    let outcome = cancelled(runtime, &canceller, work(&seen)).await;
    assert_eq!(outcome.code(), Some("ABORTED_BEFORE_DISPATCH"));
    assert!(seen.all().is_empty());
}

#[tokio::test]
async fn b134_cancelled_after_a_success_keeps_its_contexts() {
    let deferring = || {
        tool("work", json!({}), |invocation| async move {
            invocation.defer_context("deferred");
            Ok(json!(null).into())
        })
    };
    // In a wrapper, behind the tool.
    let (seen, canceller) = (Seen::default(), Canceller::new());
    let mut runtime = Runtime::new();
    let cancels = canceller.clone();
    runtime.around(
        "after",
        wrap(move |_, mut next| {
            let cancels = cancels.clone();
            Box::pin(async move {
                let ran = next.run().await?;
                cancels.cancel();
                Ok(Around::pass(ran))
            })
        }),
    );
    let told = seen.clone();
    runtime.listener::<PostTool>("post", move |finished: &FinishedCall| {
        told.note(&finished.outcome.text);
        context("from post")
    });
    let outcome = cancelled(runtime, &canceller, deferring()).await;
    assert_eq!(outcome.code(), Some("ABORTED"));
    assert_eq!(texts(&outcome), ["deferred", "from post"]);
    assert_eq!(seen.all(), ["Error: tool call aborted"]);

    // In post-tool.
    let canceller = Canceller::new();
    let mut runtime = Runtime::new();
    let cancels = canceller.clone();
    runtime.listener::<PostTool>("post", move |_: &FinishedCall| {
        cancels.cancel();
        context("from post")
    });
    let outcome = cancelled(runtime, &canceller, deferring()).await;
    assert_eq!(outcome.code(), Some("ABORTED"));
    assert_eq!(texts(&outcome), ["deferred", "from post"]);
}

#[tokio::test]
async fn b136_a_block_or_a_failure_of_post_tool_outranks_an_abort() {
    for blocks in [true, false] {
        let (seen, canceller) = (Seen::default(), Canceller::new());
        let mut runtime = Runtime::new();
        let cancels = canceller.clone();
        runtime.listener::<PostTool>("post", move |_: &FinishedCall| {
            cancels.cancel();
            if blocks {
                block("no")
            } else {
                panic!("a defect")
            }
        });
        let outcome = cancelled(runtime, &canceller, work(&seen)).await;
        if blocks {
            assert_eq!(outcome.ending, Ending::Blocked);
        } else {
            assert_eq!(outcome.code(), Some("PANIC"));
        }
    }
}

/// Lets go of the thread a few times, so that there are moments to be cancelled at.
async fn moments(count: usize) {
    for _ in 0..count {
        let mut waited = false;
        poll_fn(|context| {
            if std::mem::replace(&mut waited, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

/// A hook that takes its time before and after the hooks behind it.
fn slow<S: Seam>(token: &Arc<()>) -> impl seamgate::Hook<S> + use<S> {
    let token = token.clone();
    hook::<S, _>(move |event, next| {
        let held = token.clone();
        Box::pin(async move {
            moments(2).await;
            let later = next.run(event).await;
            moments(1).await;
            drop(held);
            later
        })
    })
}

struct Scene {
    pipeline: Pipeline,
    tools: Arc<seamgate::pipeline::Tools>,
    audit: Arc<Memory>,
    seen: Seen,
    /// Held by everything that is under way.
    token: Arc<()>,
}

/// Hooks at every seam of a call, somebody to approve, and a tool that makes a call of its own.
fn scene() -> Scene {
    let (seen, token, audit) = (Seen::default(), Arc::new(()), Arc::new(Memory::default()));
    let mut runtime = Runtime::new();
    runtime.hook::<RewriteInput>("slow", slow(&token));
    runtime.hook::<PreTool>("slow", slow(&token));
    runtime.listener::<PreTool>("asks", |call: &ToolCall| match call.tool.as_str() {
        "work" => ask("sure?"),
        _ => Verdict::Abstain.into(),
    });
    runtime.hook::<Guard>("slow", slow(&token));
    let held = token.clone();
    runtime.around(
        "slow",
        wrap(move |_, mut next| {
            let held = held.clone();
            Box::pin(async move {
                moments(2).await;
                let ran = next.run().await?;
                moments(2).await;
                drop(held);
                Ok(Around::pass(ran))
            })
        }),
    );
    runtime.hook::<PostTool>("slow", slow(&token));
    let told = seen.clone();
    runtime.listener::<ToolResult>("told", move |finished: &FinishedCall| {
        told.note(format!("told {}", finished.call.call_id));
    });
    runtime.hook::<ToolResult>("slow", slow(&token));
    let inner = tools([tool("inner", json!({}), |_| async {
        moments(2).await;
        Ok(json!(null).into())
    })]);
    let (noted, held) = (seen.clone(), token.clone());
    let outer = tool("work", json!({}), move |invocation| {
        let (noted, held, inner) = (noted.clone(), held.clone(), inner.clone());
        async move {
            noted.note("begins");
            moments(1).await;
            let got = invocation.nested(inner.as_ref(), "inner", json!({})).await;
            moments(1).await;
            noted.note("ends");
            drop(held);
            got.map(|inner| inner.value.into())
        }
    })
    .overlaps(|_| true);
    let held = token.clone();
    let approval = Approval::new().approver(Callback(move |_: ApprovalRequest| {
        let held = held.clone();
        async move {
            moments(3).await;
            drop(held);
            Some(ApprovalOutcome::AllowedOnce)
        }
    }));
    let pipeline = Pipeline::builder(Arc::new(runtime))
        .approval(approval)
        .audit(audit.clone())
        .build();
    Scene {
        pipeline,
        tools: tools([outer]),
        audit,
        seen,
        token,
    }
}

impl Scene {
    /// Every question has one answer.
    fn assert_pairs(&self) {
        let asked = self.audit.of_type("approval/asked");
        let decided = self.audit.of_type("approval/decided");
        let ids = |records: &[serde_json::Value]| -> Vec<String> {
            records
                .iter()
                .map(|record| record["data"]["id"].to_string())
                .collect()
        };
        assert_eq!(ids(&asked), ids(&decided));
    }

    /// Nothing that was under way is left. What holds the token otherwise goes with the scene.
    fn assert_nothing_left(self) {
        let Self {
            pipeline,
            tools,
            token,
            ..
        } = self;
        drop((pipeline, tools));
        assert_eq!(Arc::strong_count(&token), 1);
    }
}

/// Polls a future as often as it takes, doing something before one of the polls. Says how often that was.
fn drive<T>(future: impl Future<Output = T>, at: usize, act: impl FnOnce()) -> (T, usize) {
    let mut future = pin!(future);
    let mut act = Some(act);
    let mut context = Context::from_waker(Waker::noop());
    for polls in 0..10_000 {
        if polls == at
            && let Some(act) = act.take()
        {
            act();
        }
        if let Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return (done, polls);
        }
    }
    panic!("it hangs when cancelled before poll {at}");
}

const NEVER: usize = usize::MAX;

#[test]
fn cancelled_at_any_moment_a_call_has_one_outcome() {
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let _inside = executor.enter();
    let execute = |scene: &Scene, at: usize| {
        let canceller = Canceller::new();
        let request = CallRequest {
            signal: canceller.signal(),
            ..request("work")
        };
        drive(
            scene.pipeline.execute(request, scene.tools.as_ref()),
            at,
            || canceller.cancel(),
        )
    };
    let (outcome, moments) = execute(&scene(), NEVER);
    assert!(outcome.result.is_ok(), "{outcome:?}");
    assert!(
        moments > 20,
        "there are moments to be cancelled at: {moments}"
    );
    let mut ways: Vec<Option<String>> = Vec::new();
    for at in 0..=moments {
        let scene = scene();
        let (outcome, _) = execute(&scene, at);
        assert_eq!(
            scene.seen.count("told call"),
            1,
            "cancelled before poll {at}"
        );
        assert_eq!(scene.seen.count("begins"), scene.seen.count("ends"));
        let code = outcome.code().map(str::to_owned);
        if code.as_deref() == Some("ABORTED_BEFORE_DISPATCH") && ways.len() < 2 {
            // An inner call that did not begin has this code too, and the outer one passes it on.
            assert!(outcome.result.is_err());
        }
        if ways.last() != Some(&code) {
            ways.push(code);
        }
        scene.assert_pairs();
        scene.assert_nothing_left();
    }
    // First it does not run; while it runs the inner call is what is cancelled, before or after it runs; then a success is
    // withheld; and when everything is decided it is too late.
    assert_eq!(
        ways.first().unwrap().as_deref(),
        Some("ABORTED_BEFORE_DISPATCH")
    );
    assert_eq!(ways.last().unwrap(), &None);
    assert!(ways.contains(&Some("ABORTED".to_owned())));
    let allowed = [
        Some("ABORTED_BEFORE_DISPATCH".to_owned()),
        Some("ABORTED".to_owned()),
        None,
    ];
    assert!(ways.iter().all(|way| allowed.contains(way)), "{ways:?}");
}

#[test]
fn dropped_at_any_moment_a_call_leaves_nothing_behind() {
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let _inside = executor.enter();
    let (_, moments) = {
        let scene = scene();
        drive(
            scene
                .pipeline
                .execute(request("work"), scene.tools.as_ref()),
            NEVER,
            || {},
        )
    };
    let mut questions = 0;
    for at in 0..=moments {
        let scene = scene();
        {
            let mut future = pin!(
                scene
                    .pipeline
                    .execute(request("work"), scene.tools.as_ref())
            );
            let mut context = Context::from_waker(Waker::noop());
            for _ in 0..at {
                assert!(future.as_mut().poll(&mut context).is_pending());
            }
        }
        scene.assert_pairs();
        for answer in scene.audit.of_type("approval/decided") {
            questions += usize::from(answer["data"]["outcome"] == "cancelled");
        }
        scene.assert_nothing_left();
    }
    assert!(
        questions > 0,
        "some were dropped while somebody was thinking"
    );
}

#[test]
fn cancelled_at_any_moment_a_batch_has_an_outcome_for_every_call() {
    struct Written(Vec<String>);
    impl BatchLog for Written {
        fn call(&mut self, request: &CallRequest) -> Result<(), AuditError> {
            self.0.push(format!("call {}", request.call_id));
            Ok(())
        }
        fn result(&mut self, outcome: &CallOutcome) -> Result<(), AuditError> {
            self.0.push(format!("result {}", outcome.call.call_id));
            Ok(())
        }
    }
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let _inside = executor.enter();
    let execute = |scene: &Scene, at: usize| {
        let (canceller, queue) = (Canceller::new(), ContextQueue::new());
        let batch = Batch {
            calls: ["1", "2", "3"]
                .map(|id| CallRequest {
                    call_id: id.to_owned(),
                    ..request("work")
                })
                .into(),
            signal: canceller.signal(),
            overlap: DEFAULT_OVERLAP,
        };
        let mut log = Written(Vec::new());
        let (outcomes, polls) = drive(
            scene
                .pipeline
                .execute_batch(batch, scene.tools.as_ref(), &queue, &mut log),
            at,
            || canceller.cancel(),
        );
        (outcomes, log.0, polls)
    };
    let (outcomes, _, moments) = execute(&scene(), NEVER);
    assert!(outcomes.iter().all(|outcome| outcome.result.is_ok()));
    for at in 0..=moments {
        let scene = scene();
        let (outcomes, log, _) = execute(&scene, at);
        let ids: Vec<&str> = outcomes
            .iter()
            .map(|outcome| outcome.call.call_id.as_str())
            .collect();
        assert_eq!(ids, ["1", "2", "3"], "cancelled before poll {at}");
        for kind in ["call", "result"] {
            let written: Vec<&String> = log.iter().filter(|line| line.starts_with(kind)).collect();
            let expected = ["1", "2", "3"].map(|id| format!("{kind} {id}"));
            assert!(written.iter().copied().eq(&expected), "{log:?}");
        }
        assert_eq!(scene.seen.count("begins"), scene.seen.count("ends"));
        scene.assert_pairs();
        scene.assert_nothing_left();
    }
}

#[tokio::test]
async fn a_tool_that_is_looked_for_in_vain_or_with_a_panic_is_unknown() {
    struct Broken;
    impl seamgate::pipeline::Dispatch for Broken {
        fn tool(
            &self,
            _: &str,
            _: Option<&seamgate::seams::Agent>,
        ) -> Option<Arc<seamgate::pipeline::Tool>> {
            panic!("a defect")
        }
    }
    let pipeline = Pipeline::new(Arc::new(Runtime::new()));
    let outcome = pipeline.execute(request("work"), &Broken).await;
    assert_eq!(outcome.code(), Some("UNKNOWN_TOOL"));
    let panics = tool("work", json!({}), |_| async { panic!("in the tool") });
    let outcome = pipeline
        .execute(request("work"), tools([panics]).as_ref())
        .await;
    assert_eq!(outcome.result, Err(ToolError::new("in the tool")));
}

#[tokio::test(start_paused = true)]
async fn b100_what_a_wrapper_narrowed_is_wide_again_behind_it() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    runtime.around(
        "narrows",
        wrap(|_, mut next| {
            Box::pin(async move {
                let narrow = Signal::never().within(Duration::from_millis(5));
                let ran = next.run_under(&narrow).await?;
                assert_eq!(
                    ran.result().unwrap_err().code.as_deref(),
                    Some("TOOL_TIMEOUT")
                );
                // Its own signal has fired; nobody else's has.
                Ok(Around::value(json!("another way")))
            })
        }),
    );
    let told = seen.clone();
    runtime.listener::<PostTool>("post", move |finished: &FinishedCall| {
        told.note(&finished.outcome.text);
        context("from post")
    });
    let slow = tool("work", json!({"type": "string"}), |invocation| async move {
        invocation.signal().fired().await;
        Err(ToolError::new("told to stop"))
    });
    let outcome = Pipeline::new(Arc::new(runtime))
        .execute(request("work"), tools([slow]).as_ref())
        .await;
    assert_eq!(outcome.text(), "another way");
    assert_eq!(texts(&outcome), ["from post"]);
    assert_eq!(seen.all(), ["another way"]);
}
