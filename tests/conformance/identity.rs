//! Tool identity, and what rewrites do before it exists.

use std::sync::{Arc, Mutex};

use seamgate::Runtime;
use seamgate::approval::{AlwaysReject, Approval, ApprovalOutcome};
use seamgate::audit::{Durability, FileSink};
use seamgate::pipeline::{Arguments, CallRequest, Canceller, Ending, Pipeline, Schema};
use seamgate::seams::{
    FinishedCall, Guard, GuardDecision, PostTool, PreTool, RewriteInput, RewriteInputDecision,
    ToolCall, ToolResult, Verdict,
};
use seamgate::{FailureCode, Json};
use serde_json::json;

use super::support::*;

/// Every seam notes its name.
fn watched(seen: &Seen) -> Runtime {
    let mut runtime = Runtime::new();
    let note = |what: &'static str| {
        let seen = seen.clone();
        move || seen.note(what)
    };
    let (rewrite, pre, guard) = (note("rewrite"), note("pre"), note("guard"));
    let (post, result) = (note("post"), note("result"));
    let around = seen.clone();
    runtime.listener::<RewriteInput>("w", move |_: &ToolCall| {
        rewrite();
        RewriteInputDecision::Keep
    });
    runtime.listener::<PreTool>("w", move |_: &ToolCall| {
        pre();
        Verdict::Abstain.into()
    });
    runtime.listener::<Guard>("w", move |_: &ToolCall| {
        guard();
        GuardDecision::Abstain
    });
    runtime.around(
        "w",
        wrap(move |_, mut next| {
            let around = around.clone();
            Box::pin(async move {
                around.note("around");
                next.run().await.map(seamgate::pipeline::Around::pass)
            })
        }),
    );
    runtime.listener::<PostTool>("w", move |_: &FinishedCall| {
        post();
        accept()
    });
    runtime.listener::<ToolResult>("w", move |_: &FinishedCall| result());
    runtime
}

#[tokio::test]
async fn b43_one_call_has_one_token_and_two_have_two() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let tokens = seen.clone();
    let tools = tools([tool("work", json!({}), move |invocation| {
        tokens.lock().unwrap().push(invocation.token());
        async { Ok(json!(1).into()) }
    })]);
    let pipeline = Pipeline::new(Arc::new(Runtime::new()));
    let one = pipeline.execute(request("work"), tools.as_ref()).await;
    let two = pipeline.execute(request("work"), tools.as_ref()).await;
    assert_eq!(*seen.lock().unwrap(), [one.token, two.token]);
    assert_ne!(one.token, two.token);
}

#[tokio::test]
async fn b46_lossy_arguments_reach_no_seam() {
    for arguments in [
        Arguments::Model(r#"{"a":-0}"#.to_owned()),
        Arguments::from(json!({"a": -0.0})),
    ] {
        let seen = Seen::default();
        let told = Arc::new(Mutex::new(Vec::new()));
        let mut runtime = watched(&seen);
        let results = told.clone();
        runtime.listener::<ToolResult>("absent", move |finished: &FinishedCall| {
            results
                .lock()
                .unwrap()
                .push(finished.call.arguments.clone());
        });
        let pipeline = Pipeline::new(Arc::new(runtime));
        let mut request = request("work");
        request.arguments = arguments;
        let outcome = pipeline
            .execute(request, tools([work(&seen)]).as_ref())
            .await;
        assert!(
            message(&outcome).contains("losslessly JSON-serializable"),
            "{outcome:?}"
        );
        assert_eq!(outcome.ending, Ending::BadArguments);
        assert_eq!(seen.all(), ["result"]);
        assert_eq!(*told.lock().unwrap(), [Json::null()]);
    }
}

#[tokio::test]
async fn b47_lossy_arguments_outrank_an_abort() {
    let canceller = Canceller::new();
    canceller.cancel();
    let mut request = request("work");
    request.arguments = Arguments::Model(r#"{"a":1,"a":2}"#.to_owned());
    request.signal = canceller.signal();
    let pipeline = Pipeline::new(Arc::new(Runtime::new()));
    let outcome = pipeline
        .execute(request, tools([work(&Seen::default())]).as_ref())
        .await;
    assert_eq!(outcome.ending, Ending::BadArguments);
}

#[tokio::test]
async fn b48_what_the_model_wrote_is_read_as_it_is() {
    let echo = tools([tool("echo", json!({}), |invocation| async move {
        Ok(invocation.arguments().clone().into())
    })]);
    let pipeline = Pipeline::new(Arc::new(Runtime::new()));
    for (text, expected) in [
        ("", "{}"),
        ("ls -l", r#""ls -l""#),
        (r#"{"a":[1]}"#, r#"{"a":[1]}"#),
    ] {
        let mut request = request("echo");
        request.arguments = Arguments::Model(text.to_owned());
        let outcome = pipeline.execute(request, echo.as_ref()).await;
        assert_eq!(outcome.result.unwrap().text(), expected);
    }
}

#[tokio::test]
async fn b49_an_unknown_tool_is_decided_about_first() {
    let seen = Seen::default();
    let pipeline = Pipeline::new(Arc::new(watched(&seen)));
    let outcome = pipeline
        .execute(request("nothing"), tools([]).as_ref())
        .await;
    assert_eq!(outcome.code(), Some("UNKNOWN_TOOL"));
    assert_eq!(message(&outcome), "unknown tool \"nothing\"");
    assert_eq!(
        seen.all(),
        ["rewrite", "pre", "guard", "around", "post", "result"]
    );
}

#[tokio::test]
async fn b51_five_thousand_levels_cost_no_stack() {
    let deep = "[".repeat(5_000) + &"]".repeat(5_000);
    let seen = Seen::default();
    let echo = tool("echo", json!({"type": "array"}), |invocation| async move {
        Ok(invocation.arguments().clone().into())
    });
    let pipeline = Pipeline::new(Arc::new(watched(&seen)));
    let mut request = request("echo");
    request.arguments = Arguments::Model(deep.clone());
    let outcome = pipeline.execute(request, tools([echo]).as_ref()).await;
    assert_eq!(outcome.result.unwrap().text(), deep);
}

#[tokio::test]
async fn b276_a_rewritten_call_is_decided_shown_and_run_as_rewritten() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    let rewriter = |number: u32| {
        move |call: &ToolCall| {
            let mut arguments: serde_json::Value = call.arguments.read().unwrap();
            arguments["by"] = json!([arguments["by"].clone(), number]);
            RewriteInputDecision::Replace(Json::of(&arguments).unwrap())
        }
    };
    runtime.listener::<RewriteInput>("one", rewriter(1));
    runtime.listener::<RewriteInput>("two", rewriter(2));
    let effective = r#"{"n":1,"by":[[null,1],2]}"#;
    let gate = seen.clone();
    runtime.listener::<PreTool>("gate", move |call: &ToolCall| {
        gate.note(call.arguments.text());
        ask("sure?")
    });
    let approver = seen.clone();
    let approval = seamgate::approval::Approval::new().approver(seamgate::approval::Callback(
        move |request: seamgate::approval::ApprovalRequest| {
            approver.note(request.call.arguments.text());
            approver.note(request.original_arguments.unwrap().text());
            async { Some(seamgate::approval::ApprovalOutcome::AllowedOnce) }
        },
    ));
    let audit = Arc::new(Memory::default());
    let pipeline = Pipeline::builder(Arc::new(runtime))
        .approval(approval)
        .audit(audit.clone())
        .build();
    let echo = tool("echo", json!({}), |invocation| async move {
        Ok(invocation.arguments().clone().into())
    });
    let outcome = pipeline
        .execute(request("echo"), tools([echo]).as_ref())
        .await;
    assert_eq!(outcome.result.as_ref().unwrap().text(), effective);
    assert_eq!(outcome.call.arguments.text(), effective);
    assert_eq!(outcome.original_arguments.unwrap().text(), r#"{"n":1}"#);
    assert_eq!(seen.all(), [effective, effective, r#"{"n":1}"#]);
    let rewritten = &audit.of_type("input/rewritten")[0]["data"];
    assert_eq!(rewritten["original"], json!({"n": 1}));
    assert_eq!(
        rewritten["rewrites"][0],
        json!({"hook": "one", "arguments": {"n": 1, "by": [null, 1]}})
    );
    assert_eq!(rewritten["rewrites"][1]["hook"], "two");
    let asked = &audit.of_type("approval/asked")[0]["data"];
    assert_eq!(asked["arguments"], json!({"n": 1, "by": [[null, 1], 2]}));
    assert_eq!(asked["originalArguments"], json!({"n": 1}));
}

#[tokio::test]
async fn a_rewrite_that_does_not_fit_the_tool_closes_the_call() {
    let seen = Seen::default();
    let mut runtime = watched(&seen);
    runtime.listener::<RewriteInput>("wrong", |_: &ToolCall| {
        RewriteInputDecision::Replace(Json::parse(r#"{"n":"one"}"#).unwrap())
    });
    let parameters = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let work = work(&seen).parameters(Schema::new(&parameters).unwrap());
    let pipeline = Pipeline::new(Arc::new(runtime));
    let outcome = pipeline
        .execute(request("work"), tools([work]).as_ref())
        .await;
    let Ending::CouldNotDecide(failure) = outcome.ending else {
        panic!("{:?}", outcome.ending)
    };
    assert_eq!(
        (failure.hook.as_str(), failure.code),
        ("wrong", FailureCode::BadDecision)
    );
    assert!(failure.message.contains("`/n` is no integer"), "{failure}");
    assert_eq!(seen.all(), ["rewrite", "result"]);
}

#[tokio::test]
async fn b44_what_the_caller_changes_later_changes_nothing() {
    let seen = Seen::default();
    let given = Arc::new(Mutex::new(json!({"n": 1})));
    let mut runtime = Runtime::new();
    let (theirs, noted) = (given.clone(), seen.clone());
    runtime.listener::<PreTool>("changes", move |call: &ToolCall| {
        theirs.lock().unwrap()["n"] = json!(2);
        noted.note(call.arguments.text());
        Verdict::Abstain.into()
    });
    let noted = seen.clone();
    let shows = tool("work", json!({}), move |invocation| {
        noted.note(invocation.arguments().text());
        async { Ok(json!(null).into()) }
    });
    let request = CallRequest {
        arguments: Arguments::from(given.lock().unwrap().clone()),
        ..request("work")
    };
    let pipeline = Pipeline::new(Arc::new(runtime));
    let _ = pipeline.execute(request, tools([shows]).as_ref()).await;
    assert_eq!(seen.all(), [r#"{"n":1}"#, r#"{"n":1}"#]);
}

#[tokio::test]
async fn b45_the_callers_own_arguments_stay_theirs() {
    let seen = Seen::default();
    let mut given = json!({"n": 1});
    let request = CallRequest {
        arguments: Arguments::from(given.clone()),
        ..request("work")
    };
    let pipeline = Pipeline::new(Arc::new(Runtime::new()));
    let outcome = pipeline
        .execute(request, tools([work(&seen)]).as_ref())
        .await;
    given["n"] = json!(2);
    assert_eq!(outcome.call.arguments.text(), r#"{"n":1}"#);
    assert_eq!(given, json!({"n": 2}));
}

#[tokio::test]
async fn b56_a_hook_that_changes_its_copy_of_the_call_changes_nothing() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    runtime.hook::<PreTool>(
        "changes",
        hook::<PreTool, _>(|call, next| {
            let mut copy = call.clone();
            copy.tool = "other".to_owned();
            copy.call_id = "other".to_owned();
            copy.arguments = Json::null();
            Box::pin(async move { next.run(&copy).await })
        }),
    );
    let noted = seen.clone();
    runtime.listener::<Guard>("guard", move |call: &ToolCall| {
        noted.note(format!("{} {} {}", call.call_id, call.tool, call.arguments));
        GuardDecision::Abstain
    });
    let outcome = run(runtime, &seen).await;
    assert_eq!(seen.all(), [r#"call work {"n":1}"#, "body"]);
    assert_eq!(outcome.call.tool, "work");
}

#[tokio::test]
async fn rewrites_of_one_member_by_two_hooks_are_on_record() {
    let (seen, audit) = (Seen::default(), Arc::new(Memory::default()));
    let mut runtime = Runtime::new();
    for (name, number) in [("one", 2), ("two", 3)] {
        runtime.listener::<RewriteInput>(name, move |_: &ToolCall| {
            RewriteInputDecision::Replace(Json::of(&json!({"n": number})).unwrap())
        });
    }
    let pipeline = Pipeline::builder(Arc::new(runtime))
        .audit(audit.clone())
        .build();
    let outcome = pipeline
        .execute(request("work"), tools([work(&seen)]).as_ref())
        .await;
    assert_eq!(outcome.call.arguments.text(), r#"{"n":3}"#);
    assert_eq!(outcome.original_arguments.unwrap().text(), r#"{"n":1}"#);
    assert_eq!(outcome.conflicts.len(), 1);
    assert_eq!(
        audit.of_type("input/rewritten")[0]["data"]["conflicts"],
        json!([{"member": "n", "earlier": "one", "later": "two"}])
    );
}

#[tokio::test]
async fn depth_costs_no_stack_in_rewrites_approvals_and_records_either() {
    let folder = tempfile::tempdir().unwrap();
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(5_000), "]".repeat(5_000));
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    let rewritten = deep.replace('1', "2");
    runtime.listener::<RewriteInput>("deep", move |_: &ToolCall| {
        RewriteInputDecision::Replace(Json::parse(rewritten.as_str()).unwrap())
    });
    runtime.listener::<PreTool>("asks", |_: &ToolCall| ask("sure?"));
    let pipeline = Pipeline::builder(Arc::new(runtime))
        .approval(Approval::new().approver(AlwaysReject))
        .audit(Arc::new(
            FileSink::open(folder.path().join("log"), Durability::Process).unwrap(),
        ))
        .build();
    let request = CallRequest {
        arguments: Arguments::Model(deep.clone()),
        ..request("work")
    };
    let outcome = pipeline
        .execute(request, tools([work(&seen)]).as_ref())
        .await;
    assert_eq!(
        outcome.ending,
        Ending::NotApproved(ApprovalOutcome::Rejected)
    );
    assert_eq!(outcome.original_arguments.unwrap().text(), deep);
}
