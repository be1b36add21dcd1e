//! The calls of one message.

use std::num::NonZeroUsize;
use std::sync::Arc;

use seamgate::Runtime;
use seamgate::audit::AuditError;
use seamgate::pipeline::{
    Batch, BatchLog, CallOutcome, CallRequest, Canceller, DEFAULT_OVERLAP, Ending, Pipeline, Tool,
    Tools,
};
use seamgate::seams::{FinishedCall, PostTool, PreTool, ToolCall, ToolResult, Verdict};
use seamgate::turn::ContextQueue;
use serde_json::json;
use tokio::sync::Barrier;

use super::support::*;

/// The log of a session, as far as a batch writes it.
struct Written(Seen);

impl BatchLog for Written {
    fn call(&mut self, request: &CallRequest) -> Result<(), AuditError> {
        self.0.note(format!("call {}", request.call_id));
        Ok(())
    }

    fn result(&mut self, outcome: &CallOutcome) -> Result<(), AuditError> {
        self.0.note(format!("result {}", outcome.call.call_id));
        Ok(())
    }
}

fn calls(tools: &[&str]) -> Batch {
    Batch {
        calls: (1..)
            .zip(tools)
            .map(|(number, tool)| CallRequest {
                call_id: number.to_string(),
                ..request(tool)
            })
            .collect(),
        signal: Default::default(),
        overlap: DEFAULT_OVERLAP,
    }
}

async fn run_batch(
    runtime: Runtime,
    batch: Batch,
    tools: Arc<Tools>,
    seen: &Seen,
) -> (Vec<CallOutcome>, ContextQueue) {
    let queue = ContextQueue::new();
    let outcomes = Pipeline::new(Arc::new(runtime))
        .execute_batch(batch, tools.as_ref(), &queue, &mut Written(seen.clone()))
        .await;
    (outcomes, queue)
}

/// A tool that may run beside others, and notes when it begins and ends. In between it lets `turns` others go on.
fn safe(name: &str, turns: usize, seen: &Seen) -> Tool {
    alone(name, turns, seen).overlaps(|_| true)
}

fn alone(name: &str, turns: usize, seen: &Seen) -> Tool {
    let seen = seen.clone();
    tool(name, json!({}), move |invocation| {
        let seen = seen.clone();
        async move {
            let id = invocation.call().call_id.clone();
            seen.note(format!("begin {id}"));
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
            seen.note(format!("end {id}"));
            Ok(json!(id).into())
        }
    })
}

#[tokio::test]
async fn b57_a_denied_call_and_a_failed_gate_disturb_no_neighbour() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    runtime.listener::<PreTool>("gate", |call: &ToolCall| match call.call_id.as_str() {
        "2" => deny("no"),
        "3" => panic!("a defect"),
        _ => Verdict::Abstain.into(),
    });
    let noted = seen.clone();
    runtime.listener::<PostTool>("post", move |finished: &FinishedCall| {
        noted.note(format!("post {}", finished.call.call_id));
        accept()
    });
    let tools = tools([safe("work", 0, &seen)]);
    let (outcomes, _) = run_batch(runtime, calls(&["work"; 3]), tools, &seen).await;
    let codes: Vec<_> = outcomes.iter().map(|outcome| outcome.code()).collect();
    assert_eq!(codes, [None, None, Some("PANIC")]);
    assert_eq!(outcomes[1].ending, Ending::Denied);
    let seen = seen.all();
    let of = |kind: &str| -> Vec<&str> {
        let kind = format!("{kind} ");
        seen.iter()
            .filter_map(|note| note.strip_prefix(&kind))
            .collect()
    };
    assert_eq!(of("begin"), ["1"]);
    assert_eq!(of("post"), ["1", "2"]);
    assert_eq!(of("result"), ["1", "2", "3"]);
}

#[tokio::test]
async fn b143_what_ends_first_waits_for_what_the_model_called_first() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    let noted = seen.clone();
    runtime.listener::<PostTool>("post", move |finished: &FinishedCall| {
        let id = &finished.call.call_id;
        noted.note(format!("post {id}"));
        context(&format!("of {id}"))
    });
    let tools = tools([safe("slow", 20, &seen), safe("fast", 1, &seen)]);
    let (outcomes, queue) = run_batch(runtime, calls(&["slow", "fast"]), tools, &seen).await;
    let seen = seen.all();
    let end_of_two = seen.iter().position(|note| note == "end 2").unwrap();
    let end_of_one = seen.iter().position(|note| note == "end 1").unwrap();
    assert!(end_of_two < end_of_one, "{seen:?}");
    assert_eq!(
        seen[seen.len() - 4..],
        ["post 1", "result 1", "post 2", "result 2"]
    );
    let texts: Vec<String> = queue.settle().into_iter().map(|one| one.text).collect();
    assert_eq!(texts, ["of 1", "of 2"]);
    // They are in the queue, and not there twice.
    assert!(outcomes.iter().all(|outcome| outcome.contexts.is_empty()));
}

#[tokio::test]
async fn b144_what_is_injected_while_a_tool_runs_shares_the_queue() {
    let (seen, queue) = (Seen::default(), ContextQueue::new());
    let injecting = queue.clone();
    let tool = tool("work", json!({}), move |invocation| {
        injecting.inject(format!("injected by {}", invocation.call().call_id));
        invocation.defer_context(format!("deferred by {}", invocation.call().call_id));
        async { Ok(json!(null).into()) }
    });
    let outcomes = Pipeline::new(Arc::new(Runtime::new()))
        .execute_batch(
            calls(&["work", "work"]),
            tools([tool]).as_ref(),
            &queue,
            &mut Written(seen.clone()),
        )
        .await;
    assert_eq!(outcomes.len(), 2);
    assert_eq!(seen.all(), ["call 1", "result 1", "call 2", "result 2"]);
    let texts: Vec<String> = queue.settle().into_iter().map(|one| one.text).collect();
    assert_eq!(
        texts,
        [
            "injected by 1",
            "deferred by 1",
            "injected by 2",
            "deferred by 2"
        ]
    );
    assert!(queue.is_empty());
}

#[tokio::test]
async fn b147_an_exclusive_call_runs_alone_between_its_neighbours() {
    let seen = Seen::default();
    let tools = tools([safe("safe", 5, &seen), alone("alone", 5, &seen)]);
    let batch = calls(&["safe", "alone", "safe"]);
    let _ = run_batch(Runtime::new(), batch, tools, &seen).await;
    assert_eq!(
        seen.all(),
        [
            "call 1", "begin 1", "end 1", "result 1", "call 2", "begin 2", "end 2", "result 2",
            "call 3", "begin 3", "end 3", "result 3"
        ]
    );
}

#[tokio::test]
async fn b148_no_more_run_at_once_than_the_cap_and_a_commit_makes_room() {
    let seen = Seen::default();
    // Two have to be under way at once, or this never ends.
    let meet = Arc::new(Barrier::new(2));
    let noted = seen.clone();
    let meeting = tool("work", json!({}), move |invocation| {
        let (meet, noted) = (meet.clone(), noted.clone());
        async move {
            let id = invocation.call().call_id.clone();
            noted.note(format!("begin {id}"));
            meet.wait().await;
            noted.note(format!("end {id}"));
            Ok(json!(id).into())
        }
    })
    .overlaps(|_| true);
    let batch = Batch {
        overlap: NonZeroUsize::new(2).unwrap(),
        ..calls(&["work"; 4])
    };
    let (outcomes, _) = run_batch(Runtime::new(), batch, tools([meeting]), &seen).await;
    assert_eq!(outcomes.len(), 4);
    let (mut running, mut most) = (0, 0);
    for note in seen.all() {
        match note.split(' ').next() {
            Some("begin") => running += 1,
            Some("end") => running -= 1,
            _ => {}
        }
        most = most.max(running);
    }
    assert_eq!(most, 2);
    let all = seen.all();
    let at = |what: &str| all.iter().position(|note| note == what).unwrap();
    assert!(at("result 1") < at("call 3"), "{all:?}");
}

#[tokio::test]
async fn b149_a_cap_of_one_is_one_after_the_other() {
    let seen = Seen::default();
    let batch = Batch {
        overlap: NonZeroUsize::MIN,
        ..calls(&["safe"; 3])
    };
    let tools = tools([safe("safe", 3, &seen)]);
    let _ = run_batch(Runtime::new(), batch, tools, &seen).await;
    let expected: Vec<String> = (1..=3)
        .flat_map(|id| ["call", "begin", "end", "result"].map(|what| format!("{what} {id}")))
        .collect();
    assert_eq!(seen.all(), expected);
}

#[tokio::test]
async fn b150_what_began_is_committed_and_what_did_not_begin_has_a_result_too() {
    let (seen, canceller) = (Seen::default(), Canceller::new());
    let mut runtime = Runtime::new();
    let noted = seen.clone();
    runtime.listener::<PreTool>("pre", move |call: &ToolCall| {
        noted.note(format!("pre {}", call.call_id));
        Verdict::Abstain.into()
    });
    let noted = seen.clone();
    runtime.listener::<ToolResult>("told", move |finished: &FinishedCall| {
        noted.note(format!("told {}", finished.call.call_id));
    });
    let (meet, cancels) = (Arc::new(Barrier::new(2)), canceller.clone());
    let cancelling = tool("work", json!({}), move |invocation| {
        let (meet, cancels) = (meet.clone(), cancels.clone());
        async move {
            invocation.defer_context("kept");
            meet.wait().await;
            cancels.cancel();
            Ok(json!(null).into())
        }
    })
    .overlaps(|_| true);
    let batch = Batch {
        signal: canceller.signal(),
        overlap: NonZeroUsize::new(2).unwrap(),
        ..calls(&["work"; 4])
    };
    let (outcomes, queue) = run_batch(runtime, batch, tools([cancelling]), &seen).await;
    let codes: Vec<_> = outcomes
        .iter()
        .filter_map(|outcome| outcome.code())
        .collect();
    assert_eq!(
        codes,
        [
            "ABORTED",
            "ABORTED",
            "ABORTED_BEFORE_DISPATCH",
            "ABORTED_BEFORE_DISPATCH"
        ]
    );
    assert_eq!(
        seen.all()[2..],
        [
            "call 2", "pre 2", "told 1", "result 1", "told 2", "result 2", "call 3", "result 3",
            "call 4", "result 4"
        ]
    );
    assert_eq!(queue.settle().len(), 2);
}

#[tokio::test]
async fn b151_no_two_decisions_overlap_whatever_bodies_do() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    let noted = seen.clone();
    runtime.hook::<PreTool>(
        "pre",
        hook::<PreTool, _>(move |call, next| {
            let noted = noted.clone();
            Box::pin(async move {
                noted.note("in");
                tokio::task::yield_now().await;
                noted.note("out");
                next.run(call).await
            })
        }),
    );
    let noted = seen.clone();
    runtime.hook::<PostTool>(
        "post",
        hook::<PostTool, _>(move |finished, next| {
            let noted = noted.clone();
            Box::pin(async move {
                noted.note("in");
                tokio::task::yield_now().await;
                noted.note("out");
                next.run(finished).await
            })
        }),
    );
    // The tools make calls of their own, whose decisions count as well.
    let inner = tools([tool("inner", json!({}), |_| async {
        Ok(json!(null).into())
    })]);
    let outer = tool("work", json!({}), move |invocation| {
        let inner = inner.clone();
        async move {
            let got = invocation
                .nested(inner.as_ref(), "inner", json!({}))
                .await?;
            Ok(got.value.into())
        }
    })
    .overlaps(|_| true);
    let written = Seen::default();
    let (outcomes, _) = run_batch(runtime, calls(&["work"; 3]), tools([outer]), &written).await;
    assert!(outcomes.iter().all(|outcome| outcome.result.is_ok()));
    let all = seen.all();
    assert_eq!(all.len(), 3 * 2 * 2 * 2);
    for pair in all.chunks(2) {
        assert_eq!(pair, ["in", "out"]);
    }
}

#[tokio::test]
async fn a_call_rewritten_to_something_exclusive_runs_alone() {
    use seamgate::seams::{RewriteInput, RewriteInputDecision};
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    runtime.listener::<RewriteInput>("rewrites", |call: &ToolCall| match call.call_id.as_str() {
        "2" => RewriteInputDecision::Replace(seamgate::Json::empty_object()),
        _ => RewriteInputDecision::Keep,
    });
    let tool = alone("work", 3, &seen).overlaps(|arguments| arguments.text().contains('1'));
    let _ = run_batch(runtime, calls(&["work"; 3]), tools([tool]), &seen).await;
    let all = seen.all();
    let begin = all.iter().position(|note| note == "begin 2").unwrap();
    assert_eq!(all[begin - 1], "result 1");
    assert_eq!(all[begin + 1], "end 2");
}

#[tokio::test]
async fn a_hard_stop_in_a_batch_ends_it() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    runtime.hook::<PreTool>(
        "stops",
        hook::<PreTool, _>(|call, next| {
            if call.call_id == "2" {
                next.stop("enough");
            }
            Box::pin(next.run(call))
        }),
    );
    let tools = tools([alone("work", 0, &seen)]);
    let (outcomes, _) = run_batch(runtime, calls(&["work"; 3]), tools, &seen).await;
    assert_eq!(
        seen.all(),
        [
            "call 1", "begin 1", "end 1", "result 1", "call 2", "result 2", "call 3", "result 3"
        ]
    );
    assert_eq!(outcomes[1].ending, Ending::Stopped);
    assert_eq!(outcomes[1].text(), "Error: enough");
    assert_eq!(
        outcomes[1].stop.as_ref().unwrap().by()[0].hook.as_str(),
        "stops"
    );
    assert_eq!(outcomes[2].code(), Some("ABORTED_BEFORE_DISPATCH"));
}

/// A log that can't keep the second call, or the first result.
struct Full {
    refuses: &'static str,
    kept: Vec<String>,
}

impl Full {
    fn keep(&mut self, line: String) -> Result<(), AuditError> {
        if line == self.refuses {
            return Err(AuditError::Other("the disk is full".to_owned()));
        }
        self.kept.push(line);
        Ok(())
    }
}

impl BatchLog for Full {
    fn call(&mut self, request: &CallRequest) -> Result<(), AuditError> {
        self.keep(format!("call {}", request.call_id))
    }

    fn result(&mut self, outcome: &CallOutcome) -> Result<(), AuditError> {
        self.keep(format!("result {}", outcome.call.call_id))
    }
}

#[tokio::test]
async fn what_can_not_be_logged_does_not_run() {
    for (refuses, codes) in [
        (
            "call 2",
            [None, Some("UNRECORDED"), Some("ABORTED_BEFORE_DISPATCH")],
        ),
        (
            "result 1",
            [
                None,
                Some("ABORTED_BEFORE_DISPATCH"),
                Some("ABORTED_BEFORE_DISPATCH"),
            ],
        ),
    ] {
        let seen = Seen::default();
        let mut log = Full {
            refuses,
            kept: Vec::new(),
        };
        let outcomes = Pipeline::new(Arc::new(Runtime::new()))
            .execute_batch(
                calls(&["work"; 3]),
                tools([alone("work", 0, &seen)]).as_ref(),
                &ContextQueue::new(),
                &mut log,
            )
            .await;
        let got: Vec<_> = outcomes.iter().map(|outcome| outcome.code()).collect();
        assert_eq!(got, codes);
        assert_eq!(seen.all(), ["begin 1", "end 1"]);
        assert_eq!(log.kept.len(), 5, "{:?}", log.kept);
    }
}
