//! Post-tool, the tool's last word, tool-result.

use std::sync::{Arc, Mutex};

use seamgate::pipeline::{CallOutcome, Ending, Pipeline, Tool, Unchecked};
use seamgate::seams::{
    FinishedCall, PostTool, PostToolDecision, PreTool, Replacement, ToolCall, ToolError, ToolResult,
};
use seamgate::{FailureCode, Json, Runtime};
use serde_json::{Value, json};

use super::support::*;

fn replaced(by: Replacement) -> PostToolDecision {
    PostToolDecision::Accept {
        replacement: Some(by),
        contexts: vec!["why".to_owned()],
    }
}

fn content(blocks: Value) -> Replacement {
    Replacement::Content(Json::of(&blocks).unwrap())
}

fn value(value: Value) -> Replacement {
    Replacement::Value(Json::of(&value).unwrap())
}

/// A tool whose content and meta show its value.
fn shown() -> Tool {
    tool("t", json!({"type": "string"}), |invocation| async move {
        invocation.defer_context("deferred");
        Ok(json!("secret").into())
    })
    .render(|_, value| Ok(json!([{"type": "text", "text": format!("it is {value}")}]).into()))
    .meta(|_, value| Ok(json!({"length": value.text().len()}).into()))
}

fn failing() -> Tool {
    tool("t", json!({}), |_| async {
        Err(ToolError::coded("broken", "EIO"))
    })
}

async fn after(decision: PostToolDecision, tool: Tool) -> CallOutcome {
    let mut runtime = Runtime::new();
    runtime.listener::<PostTool>("post", move |_: &FinishedCall| decision.clone());
    Pipeline::new(Arc::new(runtime))
        .execute(request("t"), tools([tool]).as_ref())
        .await
}

fn bad_decision(outcome: &CallOutcome) -> &str {
    match &outcome.ending {
        Ending::CouldNotDecide(failure) if failure.code == FailureCode::BadDecision => {
            &failure.message
        }
        ending => panic!("{ending:?}"),
    }
}

#[tokio::test]
async fn b111_other_content_leaves_the_value() {
    let outcome = after(
        replaced(content(json!([{"type": "text", "text": "hidden"}]))),
        shown(),
    )
    .await;
    assert_eq!(outcome.text(), "hidden");
    assert_eq!(outcome.result.unwrap().text(), "\"secret\"");
    assert_eq!(outcome.meta.unwrap().text(), r#"{"length":8}"#);
}

#[tokio::test]
async fn b112_another_value_changes_everything_that_shows_it() {
    let outcome = after(replaced(value(json!("***"))), shown()).await;
    assert_eq!(outcome.result.as_ref().unwrap().text(), "\"***\"");
    assert_eq!(outcome.text(), "it is \"***\"");
    assert_eq!(outcome.meta.unwrap().text(), r#"{"length":5}"#);
}

#[tokio::test]
async fn b113_a_replacement_that_cannot_be_is_final() {
    let outcome = after(replaced(value(json!("x"))), failing()).await;
    assert_eq!(
        bad_decision(&outcome),
        "it gave a value to a call that failed"
    );
    let outcome = after(replaced(value(json!(7))), shown()).await;
    assert!(bad_decision(&outcome).contains("the value is no string"));
    let outcome = after(replaced(content(json!("text"))), shown()).await;
    assert!(bad_decision(&outcome).contains("no list of content blocks"));
    assert!(outcome.contexts.is_empty());
}

#[tokio::test]
async fn b114_a_block_takes_everything_away() {
    let outcome = after(block("look elsewhere"), shown()).await;
    assert_eq!(outcome.ending, Ending::Blocked);
    assert_eq!(
        (outcome.text().as_str(), message(&outcome)),
        ("look elsewhere", "look elsewhere")
    );
    assert!(outcome.meta.is_none());
}

#[tokio::test]
async fn b115_a_block_without_words_has_a_message_all_the_same() {
    assert_eq!(
        message(&after(block(""), shown()).await),
        "tool result blocked by post-execute policy"
    );
}

#[tokio::test]
async fn b116_contexts_of_post_tool_come_last() {
    assert_eq!(
        texts(&after(context("from post"), shown()).await),
        ["deferred", "from post"]
    );
}

#[tokio::test]
async fn b117_a_block_takes_what_came_with_the_result() {
    let decision = PostToolDecision::Block {
        feedback: "no".to_owned(),
        contexts: vec!["only this".to_owned()],
    };
    assert_eq!(texts(&after(decision, shown()).await), ["only this"]);
}

#[tokio::test]
async fn b118_a_hook_that_fails_withholds_the_result() {
    let mut runtime = Runtime::new();
    runtime.listener::<PostTool>("one", |_: &FinishedCall| context("gone too"));
    runtime.listener::<PostTool>("two", |_: &FinishedCall| panic!("a defect"));
    let outcome = Pipeline::new(Arc::new(runtime))
        .execute(request("t"), tools([shown()]).as_ref())
        .await;
    assert_eq!(outcome.code(), Some("PANIC"));
    assert!(outcome.contexts.is_empty());
    assert!(!outcome.text().contains("secret"));
}

#[tokio::test]
async fn b119_other_content_makes_no_success() {
    let outcome = after(
        replaced(content(json!([{"type": "text", "text": "kinder"}]))),
        failing(),
    )
    .await;
    assert_eq!(
        (outcome.text().as_str(), message(&outcome)),
        ("kinder", "broken")
    );
}

#[tokio::test]
async fn replacements_chain() {
    let mut runtime = Runtime::new();
    runtime.listener::<PostTool>("value", |_: &FinishedCall| replaced(value(json!("***"))));
    runtime.listener::<PostTool>("content", |finished: &FinishedCall| {
        replaced(content(
            json!([{"type": "text", "text": format!("[{}]", finished.outcome.text)}]),
        ))
    });
    let outcome = Pipeline::new(Arc::new(runtime))
        .execute(request("t"), tools([shown()]).as_ref())
        .await;
    assert_eq!(outcome.result.as_ref().unwrap().text(), "\"***\"");
    assert_eq!(outcome.text(), "[\"***\"]");
}

/// The outcomes a call can have, and how often the tool's last word was asked for on the way to each.
#[tokio::test]
async fn b121_the_last_word_is_asked_for_once_whatever_happens() {
    type Setup = fn(&mut Runtime);
    let setups: [Setup; 7] = [
        |_| {},
        |runtime| {
            runtime.listener::<PreTool>("h", |_: &ToolCall| deny("no"));
        },
        |runtime| {
            runtime.listener::<PreTool>("h", |_: &ToolCall| panic!("pre"));
        },
        |runtime| {
            runtime.around("h", wrap(|_, _| panic!("around")));
        },
        |runtime| {
            runtime.listener::<PostTool>("h", |_: &FinishedCall| panic!("post"));
        },
        |runtime| {
            runtime.listener::<PostTool>("h", |_: &FinishedCall| block("no"));
        },
        |runtime| {
            runtime.listener::<ToolResult>("h", |_: &FinishedCall| panic!("result"));
        },
    ];
    for (at, setup) in setups.into_iter().enumerate() {
        for arguments in ["{}", r#"{"a":-0}"#] {
            let seen = Seen::default();
            let noted = seen.clone();
            let mut runtime = Runtime::new();
            setup(&mut runtime);
            let mut request = request("t");
            request.arguments = seamgate::pipeline::Arguments::Model(arguments.to_owned());
            let last = shown().finalise(move |_| {
                noted.note("last word");
                Ok(None)
            });
            let _ = Pipeline::new(Arc::new(runtime))
                .execute(request, tools([last]).as_ref())
                .await;
            assert_eq!(seen.all(), ["last word"], "setup {at}, {arguments}");
        }
    }
}

#[tokio::test]
async fn b122_a_tool_that_is_gone_has_its_last_word_all_the_same() {
    let tools =
        tools([shown().finalise(|_| Ok(Some(json!([{"type": "text", "text": "last"}]).into())))]);
    let mut runtime = Runtime::new();
    let gone = tools.clone();
    runtime.listener::<PreTool>("gate", move |_: &ToolCall| {
        gone.unregister("t");
        panic!("a defect")
    });
    let outcome = Pipeline::new(Arc::new(runtime))
        .execute(request("t"), tools.as_ref())
        .await;
    assert_eq!(
        (outcome.code(), outcome.text().as_str()),
        (Some("PANIC"), "last")
    );
}

#[tokio::test]
async fn b123_the_last_word_changes_content_and_nothing_else() {
    let plain = after(accept(), shown()).await;
    let same = after(accept(), shown().finalise(|_| Ok(None))).await;
    let other = after(
        accept(),
        shown().finalise(|_| Ok(Some(json!([{"type": "text", "text": "short"}]).into()))),
    )
    .await;
    assert_eq!(same.content, plain.content);
    assert_eq!(other.text(), "short");
    assert_eq!(
        (other.result.ok(), other.meta),
        (plain.result.ok(), plain.meta)
    );
    assert_eq!(other.contexts, plain.contexts);
}

#[tokio::test]
async fn b124_a_last_word_that_fails_is_a_failure_and_not_asked_for_again() {
    for lossy in [true, false] {
        let seen = Seen::default();
        let noted = seen.clone();
        let outcome = after(
            accept(),
            shown().finalise(move |_| {
                noted.note("last word");
                if lossy {
                    return Ok(Some(json!([{"type": "x", "n": -0.0}]).into()));
                }
                Err(ToolError::coded("no room", "FULL"))
            }),
        )
        .await;
        assert!(outcome.result.is_err());
        assert_eq!(outcome.code(), (!lossy).then_some("FULL"));
        assert!(outcome.contexts.is_empty() && outcome.meta.is_none());
        assert_eq!(seen.all(), ["last word"]);
    }
}

#[tokio::test]
async fn b126_everybody_is_told_once_what_the_caller_gets() {
    for denied in [true, false] {
        let told: Arc<Mutex<Vec<FinishedCall>>> = Arc::default();
        let mut runtime = Runtime::new();
        if denied {
            runtime.listener::<PreTool>("gate", |_: &ToolCall| deny("no"));
        }
        let results = told.clone();
        runtime.listener::<ToolResult>("watch", move |finished: &FinishedCall| {
            results.lock().unwrap().push(finished.clone());
        });
        let outcome = Pipeline::new(Arc::new(runtime))
            .execute(request("t"), tools([shown()]).as_ref())
            .await;
        let told = told.lock().unwrap();
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].call, outcome.call);
        assert_eq!(told[0].outcome.result, outcome.result);
        assert_eq!(told[0].outcome.text, outcome.text());
    }
}

#[tokio::test]
async fn b127_an_observer_that_fails_is_recorded_and_changes_nothing() {
    let mut runtime = Runtime::new();
    runtime.listener::<ToolResult>("watch", |_: &FinishedCall| panic!("a defect"));
    let audit = Arc::new(Memory::default());
    let pipeline = Pipeline::builder(Arc::new(runtime))
        .audit(audit.clone())
        .build();
    let outcome = pipeline
        .execute(request("t"), tools([shown()]).as_ref())
        .await;
    assert!(outcome.result.is_ok());
    let record = &audit.of_type("seam/decided")[0]["data"];
    assert_eq!(
        (record["seam"].as_str(), record["callId"].as_str()),
        (Some("tool-result"), Some("call"))
    );
    assert_eq!(record["hooks"][0]["failure"], "PANIC");
}

#[tokio::test]
async fn b128_observers_hear_of_denied_calls_with_their_agent() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    runtime.listener::<PreTool>("gate", |_: &ToolCall| deny("no"));
    let noted = seen.clone();
    runtime.listener::<ToolResult>("watch", move |finished: &FinishedCall| {
        noted.note(finished.call.agent.session_id.clone());
    });
    let _ = run(runtime, &seen).await;
    assert_eq!(seen.all(), ["session"]);
}

#[tokio::test]
async fn b210_policies_and_native_hooks_leave_no_records_of_shell_hooks() {
    let mut runtime = Runtime::new();
    runtime.listener::<PreTool>("gate", |_: &ToolCall| deny("no"));
    let audit = Arc::new(Memory::default());
    let pipeline = Pipeline::builder(Arc::new(runtime))
        .audit(audit.clone())
        .build();
    let _ = pipeline
        .execute(request("t"), tools([shown()]).as_ref())
        .await;
    assert_eq!(audit.types(), ["seam/decided"]);
}

#[tokio::test]
async fn b125_the_last_word_is_about_the_failure_that_lossy_meta_became() {
    let seen = Seen::default();
    let noted = seen.clone();
    let lossy = tool("t", json!({}), |_| async { Ok(json!(1).into()) })
        .meta(|_, _| Ok(Unchecked::Text("-0".to_owned())))
        .finalise(move |finished| {
            noted.note(&finished.outcome.text);
            Ok(None)
        });
    let outcome = Pipeline::new(Arc::new(Runtime::new()))
        .execute(request("t"), tools([lossy]).as_ref())
        .await;
    assert_eq!(outcome.code(), Some("INVALID_TOOL_OUTPUT"));
    assert_eq!(seen.all(), [outcome.text()]);
    assert!(
        outcome.text().contains("negative zero"),
        "{}",
        outcome.text()
    );
}

/// A value is rendered anew. What an earlier hook took out of the text would be in it again.
#[tokio::test]
async fn a_value_after_another_hooks_content_is_final() {
    let mut runtime = Runtime::new();
    runtime.listener::<PostTool>("redacts", |_: &FinishedCall| {
        replaced(content(json!([{"type": "text", "text": "***"}])))
    });
    runtime.listener::<PostTool>("tweaks", |finished: &FinishedCall| {
        replaced(Replacement::Value(finished.outcome.result.clone().unwrap()))
    });
    let outcome = Pipeline::new(Arc::new(runtime))
        .execute(request("t"), tools([shown()]).as_ref())
        .await;
    assert!(bad_decision(&outcome).contains("`redacts`"));
}
