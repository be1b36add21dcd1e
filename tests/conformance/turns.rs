//! Turns through the reference loop: what the log of a call holds, where contexts go, how a turn ends.

use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use seamgate::approval::{Approval, ApprovalOutcome, Callback};
use seamgate::pipeline::{Context, ContextSource, Tool, Unchecked};
use seamgate::seams::{
    FinishedCall, Guard, GuardDecision, PostTool, PreTool, RewriteInput, RewriteInputDecision,
    SessionSource, ToolCall, ToolError, Turn, TurnStopping, TurnStoppingDecision, Verdict,
};
use seamgate::{Boxed, Json, Runtime};
use serde_json::{Value, json};

use super::support::*;
use crate::reference::testing::{Later, Stage, scene, who};
use crate::reference::{
    AgentLoop, CancelCause, Event, Fate, Message, Model, ModelError, Notice, Options, Reply,
    SessionLog, Settlement, Store, TurnEnd, blocks,
};

fn host(text: &str) -> Context {
    Context {
        source: ContextSource::Host,
        text: text.to_owned(),
    }
}

/// A reply that calls these tools, with the ids c1, c2, …
fn calls(tools: &[&str]) -> Reply {
    let numbered = tools.iter().zip(1..);
    numbered.fold(Reply::default(), |reply, (tool, number)| {
        reply.call(&format!("c{number}"), tool, "{}")
    })
}

/// A tool that gives "done", and does something to the agent.
fn does(name: &str, later: &Later, happens: impl Fn(&AgentLoop) + Send + Sync + 'static) -> Tool {
    let later = later.clone();
    tool(name, json!({"type": "string"}), move |_| {
        happens(later.get().expect("the agent is there"));
        async { Ok(json!("done").into()) }
    })
}

fn plain(name: &str) -> Tool {
    tool(name, json!({"type": "string"}), |_| async {
        Ok(json!("done").into())
    })
}

/// A tool that ends the turn.
fn concluding(name: &str) -> Tool {
    tool(name, json!({"type": "string"}), |invocation| async move {
        invocation.conclude_turn();
        Ok(json!("done").into())
    })
}

/// A hook that has something to say about every result.
fn comments() -> Runtime {
    let mut runtime = Runtime::new();
    runtime.listener::<PostTool>("comment", |finished: &FinishedCall| {
        context(&format!("about {}", finished.call.call_id))
    });
    runtime
}

/// A hook that makes a turn go on so often.
fn continuing(times: u32) -> Runtime {
    let mut runtime = Runtime::new();
    runtime.listener::<TurnStopping>("stop", move |turn: &Turn| {
        if turn.forced_continuations < times {
            TurnStoppingDecision::Continue(format!("go on, {}", turn.forced_continuations + 1))
        } else {
            TurnStoppingDecision::Settle
        }
    });
    runtime
}

/// A hook at the end of a turn that says nothing, and does something to the agent the first time.
fn at_the_end(later: &Later, happens: impl Fn(&AgentLoop) + Send + Sync + 'static) -> Runtime {
    let (later, happened) = (later.clone(), AtomicBool::new(false));
    let mut runtime = Runtime::new();
    runtime.listener::<TurnStopping>("end", move |_: &Turn| {
        if !happened.swap(true, Ordering::Relaxed) {
            happens(later.get().expect("the agent is there"));
        }
        TurnStoppingDecision::Settle
    });
    runtime
}

fn completed(turn: u32) -> Fate {
    Fate::Ran {
        turn,
        end: TurnEnd::Completed,
    }
}

/// What the agent read in each request beyond what it had read or said before.
fn news(stage: &Stage) -> Vec<Vec<String>> {
    let requests = stage.requests();
    let mut known = 0;
    requests
        .into_iter()
        .map(|request| {
            let new = request[known..].to_vec();
            known = request.len() + 1;
            new
        })
        .collect()
}

#[tokio::test]
async fn b50_nothing_about_a_call_is_logged_before_the_call() {
    let mut runtime = comments();
    runtime.listener::<RewriteInput>("rewrite", |_: &ToolCall| {
        RewriteInputDecision::Replace(Json::of(&json!({"path": "b", "text": "x"})).unwrap())
    });
    runtime.listener::<PreTool>("gate", |_: &ToolCall| ask("sure?"));
    runtime.listener::<Guard>("guard", |_: &ToolCall| GuardDecision::Abstain);
    let yes = Callback(|_| async { Some(ApprovalOutcome::AllowedOnce) });
    let call = Reply::default().call("c", "write_file", json!({"path": "a", "text": "x"}));
    let stage = scene(runtime, [call, Reply::text("done")]);
    let stage = stage.approval(Approval::new().approver(yes)).start().await;
    stage.prompt("hello").await;
    let trace = stage.trace();
    let from = trace.iter().position(|line| line.starts_with("tool/call"));
    assert_eq!(
        trace[from.unwrap()..],
        [
            r#"tool/call c write_file {"path":"a","text":"x"}"#,
            "seam/decided rewrite-input: rewrite replace",
            r#"input/rewritten {"path":"a","text":"x"} by rewrite: {"path":"b","text":"x"}"#,
            "seam/decided pre-tool: gate ask",
            "approval/asked write_file: sure?",
            "approval/decided AllowedOnce",
            "seam/decided guard: guard abstain",
            "seam/decided post-tool: comment accept",
            "tool/result c: wrote 1 bytes to b",
            r#"user/message (host) The arguments of call c were changed before it ran. It ran with {"path":"b","text":"x"}"#,
            "user/message (hook comment) about c",
            "step/end 1.1",
            "step/start 1.2",
            "assistant/message done",
            "step/end 1.2",
            "turn/end completed",
        ]
    );
}

#[tokio::test]
async fn b120_a_result_is_logged_with_what_the_model_reads_and_never_with_the_value() {
    let value = tool("value", json!({"type": "object"}), |_| async {
        Ok(json!({"token": "1234"}).into())
    })
    .render(|_, _| {
        Ok(Unchecked::from(
            json!([{"type": "text", "text": "logged in"}]),
        ))
    })
    .meta(|_, _| Ok(Unchecked::from(json!({"took": 3}))));
    let fails = tool("fails", json!({"type": "string"}), |_| async {
        Err(ToolError::coded("no such host", "NO_HOST"))
    });
    let stage = scene(
        Runtime::new(),
        [calls(&["value", "fails"]), Reply::text("done")],
    );
    let stage = stage.tool(value).tool(fails).start().await;
    stage.prompt("hello").await;
    let file = std::fs::read_to_string(stage.folder.path().join("session.jsonl")).unwrap();
    assert!(!file.contains("1234"), "{file}");
    let lines: Vec<Value> = file
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |kind: &'static str| lines.iter().filter(move |line| line["type"] == kind);
    let results: Vec<Value> = of("tool/result").map(|line| line["data"].clone()).collect();
    let called: Vec<&Value> = of("tool/call").map(|line| &line["seq"]).collect();
    assert_eq!(
        results,
        [
            json!({
                "turn": 1, "step": 1, "callId": "c1", "call": called[0], "isError": false,
                "content": [{"type": "text", "text": "logged in"}], "meta": {"took": 3},
            }),
            json!({
                "turn": 1, "step": 1, "callId": "c2", "call": called[1], "isError": true,
                "content": [{"type": "text", "text": "Error: no such host"}], "error": "NO_HOST",
            }),
        ]
    );
}

#[tokio::test]
async fn b142_contexts_come_after_all_results_of_their_batch() {
    let script = [calls(&["plain", "plain"]), Reply::text("done")];
    let stage = scene(comments(), script).tool(plain("plain")).start().await;
    stage.prompt("hello").await;
    let trace = stage.trace().into_iter();
    let said = trace.filter(|line| line.starts_with("tool/result") || line.contains("about"));
    assert_eq!(
        said.collect::<Vec<_>>(),
        [
            "tool/result c1: done",
            "tool/result c2: done",
            "user/message (hook comment) about c1",
            "user/message (hook comment) about c2",
        ]
    );
    assert_eq!(
        news(&stage)[1],
        ["c1: done", "c2: done", "about c1", "about c2"]
    );
}

#[tokio::test]
async fn b144_what_is_injected_while_calls_run_shares_their_queue() {
    let later = Later::default();
    let injects = does("injects", &later, |agent| agent.inject(host("injected")));
    let script = [calls(&["plain", "injects", "plain"]), Reply::text("done")];
    let stage = scene(comments(), script).tool(injects).tool(plain("plain"));
    let stage = stage.start().await.known_as(&later);
    stage.prompt("hello").await;
    // The first call had its result when the second began to run.
    assert_eq!(
        news(&stage)[1],
        [
            "c1: done", "c2: done", "c3: done", "about c1", "injected", "about c2", "about c3"
        ]
    );
}

#[tokio::test]
async fn b145_contexts_are_said_in_their_step_also_where_the_turn_is_interrupted() {
    let later = Later::default();
    let cancels = does("cancels", &later, |agent| agent.cancel(CancelCause::User));
    let stage = scene(comments(), [calls(&["plain", "cancels", "plain"])]);
    let stage = stage.tool(cancels).tool(plain("plain")).start().await;
    let stage = stage.known_as(&later);
    stage.prompt("hello").await;
    let trace = stage.trace();
    let trace: Vec<&String> = trace
        .iter()
        .filter(|line| !line.starts_with("seam/decided"))
        .collect();
    assert_eq!(
        trace[4..],
        [
            "tool/call c1 plain {}",
            "tool/result c1: done",
            "tool/call c2 cancels {}",
            "tool/result c2 failed ABORTED: Error: tool call aborted",
            "tool/call c3 plain {}",
            "tool/result c3 failed ABORTED_BEFORE_DISPATCH: Error: tool call aborted before dispatch",
            "user/message (hook comment) about c1",
            "user/message (hook comment) about c2",
            "step/end 1.1",
            "turn/end aborted user",
        ]
    );
}

#[tokio::test]
async fn b146_contexts_can_wait_for_the_next_step_and_after_an_interruption_for_a_wake() {
    let options = Options {
        settlement: Settlement::NextBoundary,
        ..Options::default()
    };
    let script = [calls(&["plain", "plain"]), Reply::text("done")];
    let stage = scene(comments(), script).options(options.clone());
    let stage = stage.tool(plain("plain")).start().await;
    stage.prompt("hello").await;
    let trace = stage.trace();
    let at = |line: &str| trace.iter().position(|one| one == line).expect(line);
    let start = at("step/start 1.2");
    assert!(at("step/end 1.1") < start);
    assert_eq!(at("user/message (hook comment) about c1"), start + 1);
    assert_eq!(at("user/message (hook comment) about c2"), start + 2);

    let later = Later::default();
    let cancels = does("cancels", &later, |agent| agent.cancel(CancelCause::User));
    let script = [calls(&["plain", "cancels"]), Reply::text("done")];
    let stage = scene(comments(), script).options(options).tool(cancels);
    let stage = stage.tool(plain("plain")).start().await.known_as(&later);
    stage.prompt("hello").await;
    stage.agent.drive().await;
    assert!(stage.of("user/message (hook").is_empty());
    stage.agent.wake();
    stage.agent.drive().await;
    assert_eq!(news(&stage)[1][2..], ["about c1", "about c2"]);
}

#[tokio::test]
async fn b152_an_answer_that_was_cut_off_calls_nothing() {
    let seen = Seen::default();
    let script = [calls(&["work", "work"]).cut_off()];
    let stage = scene(Runtime::new(), script)
        .tool(work(&seen))
        .start()
        .await;
    assert_eq!(
        stage.prompt("hello").await,
        Fate::Ran {
            turn: 1,
            end: TurnEnd::MaxTokens
        }
    );
    assert!(seen.all().is_empty());
    // And nothing is left that a provider would want a result for.
    assert!(stage.of("tool/").is_empty());
    assert_eq!(stage.of("assistant"), ["assistant/message "]);
}

#[tokio::test]
async fn b153_an_answer_in_words_ends_the_turn() {
    let stage = scene(Runtime::new(), [Reply::text("hi")]).start().await;
    assert_eq!(stage.prompt("hello").await, completed(1));
    assert_eq!(stage.requests().len(), 1);
}

#[tokio::test]
async fn b154_a_hook_makes_the_turn_go_on_with_what_it_says() {
    let script = [Reply::text("one"), Reply::text("two")];
    let stage = scene(continuing(1), script).start().await;
    assert_eq!(stage.prompt("hello").await, completed(1));
    assert_eq!(stage.requests()[1], ["hello", "model: one", "go on, 1"]);
    assert_eq!(stage.of("step/start"), ["step/start 1.1", "step/start 1.2"]);
    assert_eq!(
        stage.of("user/message (hook"),
        ["user/message (hook stop) go on, 1"]
    );
}

#[tokio::test]
async fn b155_a_hook_that_makes_it_go_on_twice_makes_three_steps() {
    let script = ["one", "two", "three"].map(Reply::text);
    let stage = scene(continuing(2), script).start().await;
    assert_eq!(stage.prompt("hello").await, completed(1));
    assert_eq!(stage.of("step/start").len(), 3);
}

#[tokio::test]
async fn b156_a_hook_that_fails_at_the_end_makes_it_an_error_and_the_next_prompt_works() {
    let broken = AtomicBool::new(true);
    let mut runtime = Runtime::new();
    runtime.listener::<TurnStopping>("stop", move |_: &Turn| {
        assert!(!broken.swap(false, Ordering::Relaxed), "a defect");
        TurnStoppingDecision::Settle
    });
    let stage = scene(runtime, [Reply::text("one"), Reply::text("two")]);
    let stage = stage.start().await;
    stage.prompt("hello").await;
    assert!(matches!(stage.end(), TurnEnd::Error { .. }));
    assert_eq!(stage.prompt("again").await, completed(2));
}

#[tokio::test]
async fn b157_a_cancel_at_the_end_aborts_and_no_step_follows() {
    let later = Later::default();
    let mut runtime = at_the_end(&later, |agent| agent.cancel(CancelCause::User));
    runtime.listener::<TurnStopping>("more", |_: &Turn| {
        TurnStoppingDecision::Continue("go on".to_owned())
    });
    let stage = scene(runtime, [Reply::text("one")]).start().await;
    let stage = stage.known_as(&later);
    stage.prompt("hello").await;
    assert_eq!(
        stage.end(),
        TurnEnd::Aborted {
            reason: CancelCause::User
        }
    );
    assert_eq!(stage.requests().len(), 1);
}

#[tokio::test]
async fn b158_a_tool_that_concludes_the_turn_ends_it_unless_somebody_steers() {
    let script = [calls(&["finish"]), Reply::text("two")];
    let stage = scene(Runtime::new(), script.clone());
    let stage = stage.tool(concluding("finish")).start().await;
    assert_eq!(stage.prompt("hello").await, completed(1));
    assert_eq!(stage.requests().len(), 1);

    let stage = scene(Runtime::new(), script);
    let stage = stage.tool(concluding("finish")).start().await;
    let agent = stage.agent.clone();
    stage.log.observe(move |logged| {
        if let Event::ToolCall { .. } = logged.event {
            drop(agent.steer(blocks("wait")));
        }
    });
    assert_eq!(stage.prompt("hello").await, completed(1));
    assert_eq!(news(&stage)[1], ["c1: done", "wait"]);
    assert_eq!(stage.of("turn/start").len(), 1);
}

#[tokio::test]
async fn a_hook_can_make_a_concluded_turn_go_on() {
    let script = [calls(&["finish"]), Reply::text("two")];
    let stage = scene(continuing(1), script).tool(concluding("finish"));
    let stage = stage.start().await;
    stage.prompt("hello").await;
    assert_eq!(news(&stage)[1], ["c1: done", "go on, 1"]);
}

#[tokio::test]
async fn b159_a_turn_in_which_an_answer_was_cut_off_says_so_at_its_end() {
    let script = [Reply::text("one").cut_off(), Reply::text("two")];
    let stage = scene(continuing(1), script).start().await;
    stage.prompt("hello").await;
    assert_eq!(stage.requests().len(), 2);
    assert_eq!(stage.end(), TurnEnd::MaxTokens);
}

#[tokio::test]
async fn b160_what_is_only_injected_makes_no_turn_go_on() {
    let later = Later::default();
    let runtime = at_the_end(&later, |agent| agent.inject(host("by the way")));
    let stage = scene(runtime, [Reply::text("one"), Reply::text("two")]);
    let stage = stage.start().await.known_as(&later);
    assert_eq!(stage.prompt("hello").await, completed(1));
    assert_eq!(stage.requests().len(), 1);
    // It waits for when the model reads something anyway.
    stage.prompt("again").await;
    assert_eq!(news(&stage)[1], ["by the way", "again"]);
}

#[tokio::test]
async fn b272_hooks_make_a_turn_go_on_eight_times_and_the_user_reads_about_it() {
    let script = (1..=10).map(|number| Reply::text(&number.to_string()));
    let stage = scene(continuing(u32::MAX), script).start().await;
    assert_eq!(stage.prompt("hello").await, completed(1));
    assert_eq!(stage.requests().len(), 9);
    assert_eq!(stage.of("turn/stop-capped"), ["turn/stop-capped 8"]);
    assert_eq!(stage.warnings(), 1);
}

#[tokio::test]
async fn b273_a_hook_is_told_that_a_hook_made_the_turn_go_on() {
    let told = Seen::default();
    let noted = told.clone();
    let mut runtime = continuing(2);
    runtime.listener::<TurnStopping>("watch", move |turn: &Turn| {
        noted.note(turn.forced_continuations.to_string());
        TurnStoppingDecision::Settle
    });
    let mut script = ["one", "two", "three", "four"].map(Reply::text).to_vec();
    script.extend(["five", "six"].map(Reply::text));
    let stage = scene(runtime, script).start().await;
    stage.prompt("hello").await;
    assert_eq!(told.all(), ["0", "1", "2"]);
    // Each turn is a new one.
    stage.prompt("again").await;
    assert_eq!(told.all()[3..], ["0", "1", "2"]);
}

#[tokio::test]
async fn a_user_who_says_something_takes_the_turn_out_of_the_hooks_hands() {
    let told = Seen::default();
    let (later, noted) = (Later::default(), told.clone());
    let known = later.clone();
    let mut runtime = Runtime::new();
    runtime.listener::<TurnStopping>("stop", move |turn: &Turn| {
        noted.note(turn.forced_continuations.to_string());
        match turn.last_message.as_deref() {
            Some("one") => TurnStoppingDecision::Continue("go on".to_owned()),
            Some("two") => {
                drop(known.get().unwrap().steer(blocks("and this")));
                TurnStoppingDecision::Settle
            }
            _ => TurnStoppingDecision::Settle,
        }
    });
    let script = ["one", "two", "three"].map(Reply::text);
    let stage = scene(runtime, script).start().await.known_as(&later);
    stage.prompt("hello").await;
    assert_eq!(told.all(), ["0", "1", "0"]);
}

#[tokio::test]
async fn b274_a_hook_that_stops_the_agent_outranks_one_that_goes_on() {
    let mut runtime = continuing(u32::MAX);
    runtime.hook::<TurnStopping>(
        "halt",
        hook::<TurnStopping, _>(|turn, next| {
            Box::pin(async move {
                next.stop("enough");
                next.run(turn).await
            })
        }),
    );
    let stage = scene(runtime, [Reply::text("one")]).start().await;
    stage.prompt("hello").await;
    assert_eq!(stage.requests().len(), 1);
    assert_eq!(stage.of("turn/end"), ["turn/end aborted by a hook: enough"]);
    assert!(
        stage
            .notices()
            .contains(&Notice::Stopped("enough".to_owned()))
    );
}

/// A hook that stops the agent at calls with this id.
fn stops_at(call_id: &'static str) -> Runtime {
    let mut runtime = Runtime::new();
    runtime.hook::<PreTool>(
        "halt",
        hook::<PreTool, _>(move |call, next| {
            Box::pin(async move {
                if call.call_id == call_id {
                    next.stop("enough");
                }
                next.run(call).await
            })
        }),
    );
    runtime
}

#[tokio::test]
async fn b275_a_stop_at_one_call_of_three_answers_all_and_no_step_follows() {
    let seen = Seen::default();
    let script = [calls(&["work", "work", "work"]), Reply::text("never")];
    let stage = scene(stops_at("c2"), script)
        .tool(work(&seen))
        .start()
        .await;
    let waiting = stage.agent.followup(blocks("hello"));
    drop(stage.agent.followup(blocks("and then")));
    stage.agent.drive().await;
    assert_eq!(
        stage.of("tool/result"),
        [
            "tool/result c1: done",
            "tool/result c2 failed: Error: enough",
            "tool/result c3 failed ABORTED_BEFORE_DISPATCH: Error: tool call aborted before dispatch",
        ]
    );
    assert_eq!(seen.count("body"), 1);
    assert_eq!(stage.requests().len(), 1);
    assert!(matches!(
        waiting.fate().await,
        Fate::Ran {
            end: TurnEnd::Aborted {
                reason: CancelCause::Hook { .. }
            },
            ..
        }
    ));
    // What waits is kept, and a person has to say that it may run.
    stage.agent.wake();
    stage.agent.drive().await;
    assert_eq!(stage.requests().len(), 2);
}

#[tokio::test]
async fn a_stop_after_a_call_commits_its_result() {
    let mut runtime = Runtime::new();
    runtime.hook::<PostTool>(
        "halt",
        hook::<PostTool, _>(|finished, next| {
            Box::pin(async move {
                next.stop("enough");
                next.run(finished).await
            })
        }),
    );
    let stage = scene(runtime, [calls(&["plain"])]).tool(plain("plain"));
    let stage = stage.start().await;
    stage.prompt("hello").await;
    assert_eq!(stage.of("tool/result"), ["tool/result c1: done"]);
    assert_eq!(stage.of("turn/end"), ["turn/end aborted by a hook: enough"]);
}

#[tokio::test]
async fn b276_everybody_sees_the_arguments_that_run_and_the_original_is_kept() {
    let asked = Arc::new(Mutex::new(None));
    let noted = asked.clone();
    let approves = Callback(move |request: seamgate::approval::ApprovalRequest| {
        *noted.lock().unwrap() = Some((request.call.arguments, request.original_arguments));
        async { Some(ApprovalOutcome::AllowedOnce) }
    });
    let mut runtime = Runtime::new();
    runtime.listener::<RewriteInput>("dry", |call: &ToolCall| {
        let command: Value = call.arguments.read().unwrap();
        let dry = format!("echo would {}", command["command"].as_str().unwrap());
        RewriteInputDecision::Replace(Json::of(&json!({"command": dry})).unwrap())
    });
    runtime.listener::<PreTool>("gate", |_: &ToolCall| {
        Verdict::Ask("sure?".to_owned()).into()
    });
    let call = Reply::default().call("c", "run", json!({"command": "rm -rf /"}));
    let stage = scene(runtime, [call, Reply::text("done")]);
    let stage = stage
        .approval(Approval::new().approver(approves))
        .start()
        .await;
    stage.prompt("hello").await;

    let original = r#"{"command":"rm -rf /"}"#;
    let effective = r#"{"command":"echo would rm -rf /"}"#;
    // Approval.
    let (shown, before) = asked.lock().unwrap().clone().unwrap();
    assert_eq!(shown.text(), effective);
    assert_eq!(before.unwrap().text(), original);
    // Execution.
    assert_eq!(stage.of("tool/result"), ["tool/result c: would rm -rf /\n"]);
    // The log: the call to the letter, at once what became of it, and the result with what it is a result of.
    assert_eq!(
        stage.of("tool/call"),
        [format!("tool/call c run {original}")]
    );
    assert_eq!(
        stage.of("input/rewritten"),
        [format!("input/rewritten {original} by dry: {effective}")]
    );
    let logged = stage.log.events().into_iter();
    let ran: Vec<Json> = logged
        .filter_map(|logged| match logged.event {
            Event::ToolResult {
                effective_arguments,
                ..
            } => effective_arguments,
            _ => None,
        })
        .collect();
    assert_eq!(ran[0].text(), effective);
    // The model: its own words, and after the result what really ran.
    let read = stage.requests().remove(1);
    assert_eq!(read[1], format!("model: run {original}"));
    assert_eq!(
        read[3],
        format!("The arguments of call c were changed before it ran. It ran with {effective}")
    );
}

/// A model that never answers.
struct Silent(Later);

impl Model for Silent {
    fn reply(&self, _: Vec<Message>) -> Boxed<'_, Result<Reply, ModelError>> {
        self.0.get().unwrap().cancel(CancelCause::User);
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_cancel_while_the_model_thinks_closes_what_is_open() {
    let (folder, later) = (tempfile::tempdir().unwrap(), Later::default());
    let (mut setup, _) = scene(Runtime::new(), []).setup(who(), folder.path());
    setup.model = Arc::new(Silent(later.clone()));
    let agent = AgentLoop::start(setup, SessionSource::Startup).await;
    assert!(later.set(agent.clone()).is_ok());
    drop(agent.followup(blocks("hello")));
    agent.drive().await;
    assert_eq!(
        crate::reference::testing::trace(agent.log())[1..],
        [
            "step/start 1.1",
            "user/message (user) hello",
            "step/end 1.1",
            "turn/end aborted user"
        ]
    );
}

#[tokio::test]
async fn a_model_that_fails_ends_the_turn_with_its_own_code() {
    let stage = scene(Runtime::new(), []).then_fails("too many requests", "RATE_LIMIT");
    let stage = stage.start().await;
    stage.prompt("hello").await;
    assert_eq!(
        stage
            .of("step/end")
            .into_iter()
            .chain(stage.of("turn/end"))
            .collect::<Vec<_>>(),
        ["step/end 1.1", "turn/end error RATE_LIMIT"]
    );
}

/// A store that takes no event of one type.
struct Full(&'static str);

impl Store for Full {
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let line: Value = serde_json::from_slice(line)?;
        if line["type"] == self.0 {
            return Err(io::Error::other("the disk is full"));
        }
        Ok(())
    }
}

#[tokio::test]
async fn what_can_not_be_logged_does_not_happen() {
    for (kind, requests) in [
        ("turn/start", 0),
        ("user/message", 0),
        ("tool/call", 1),
        ("tool/result", 1),
    ] {
        let seen = Seen::default();
        let script = [calls(&["work", "work"]), Reply::text("never")];
        let stage = scene(Runtime::new(), script).tool(work(&seen));
        let stage = stage.on(SessionLog::new(Full(kind))).start().await;
        drop(stage.agent.followup(blocks("hello")));
        stage.agent.drive().await;
        let notices = stage.notices();
        assert!(
            matches!(&notices[..], [_, Notice::Error { code, .. }, _] if code == "LOG"),
            "{kind}: {notices:?}"
        );
        assert_eq!(stage.requests().len(), requests, "{kind}");
        // A call without its record does not run; nor does one after a result that is lost.
        assert_eq!(
            seen.count("body"),
            usize::from(kind == "tool/result"),
            "{kind}"
        );
    }
}

#[tokio::test]
async fn a_stop_holds_although_the_log_is_full() {
    let script = [calls(&["plain"])];
    let stage = scene(stops_at("c1"), script).tool(plain("plain"));
    let log = SessionLog::new(Full("tool/result"));
    let stage = stage.on(log).start().await;
    drop(stage.agent.followup(blocks("hello")));
    stage.agent.drive().await;
    assert_eq!(stage.agent.halted().as_deref(), Some("enough"));
}

#[tokio::test]
async fn a_log_counts_without_a_gap_and_tells_whoever_watches() {
    let told = Seen::default();
    let stage = scene(comments(), [calls(&["plain"]), Reply::text("done")]);
    let stage = stage.tool(plain("plain")).start().await;
    let noted = told.clone();
    stage.log.observe(|_| panic!("a defect"));
    stage
        .log
        .observe(move |logged| noted.note(logged.seq.to_string()));
    assert_eq!(stage.prompt("hello").await, completed(1));
    let seqs: Vec<String> = (0..told.all().len()).map(|seq| seq.to_string()).collect();
    assert_eq!(told.all(), seqs);
    // The file has the same.
    let file = std::fs::read_to_string(stage.folder.path().join("session.jsonl")).unwrap();
    for (line, logged) in file.lines().zip(stage.log.events()) {
        assert_eq!(line, serde_json::to_string(&logged).unwrap());
    }
    assert_eq!(file.lines().count(), seqs.len());
}

#[tokio::test]
async fn tools_hold_their_own_ground() {
    let outside = json!({"path": "../session.jsonl"});
    let script = [
        Reply::default()
            .call("w", "write_file", json!({"path": "note", "text": "hi"}))
            .call("r", "read_file", json!({"path": "note"}))
            .call("o", "read_file", &outside)
            .call(
                "l",
                "run",
                json!({"command": "ln -s /etc there; cat note; exit 3"}),
            )
            .call("s", "read_file", json!({"path": "there/hostname"})),
        Reply::text("done"),
    ];
    let stage = scene(Runtime::new(), script).start().await;
    stage.prompt("hello").await;
    assert_eq!(
        stage.of("tool/result"),
        [
            "tool/result w: wrote 2 bytes to note",
            "tool/result r: hi",
            "tool/result o failed OUTSIDE: Error: ../session.jsonl is outside the folder",
            "tool/result l failed COMMAND_FAILED: Error: exit status: 3\nhi",
            "tool/result s failed OUTSIDE: Error: there/hostname is outside the folder",
        ]
    );
}

#[tokio::test]
async fn a_command_ends_with_its_call() {
    let call = Reply::default().call(
        "c",
        "run",
        json!({"command": "echo begun; sleep 600 & wait"}),
    );
    let stage = scene(Runtime::new(), [call]).start().await;
    let agent = stage.agent.clone();
    stage.log.observe(move |logged| {
        if let Event::ToolCall { .. } = logged.event {
            let agent = agent.clone();
            // It comes to run when the agent waits for the first time: for the command.
            tokio::spawn(async move { agent.cancel(CancelCause::User) });
        }
    });
    stage.prompt("hello").await;
    let result = stage.of("tool/result").remove(0);
    assert!(
        result.contains("COMMAND_FAILED") && result.contains("signal: 9"),
        "{result}"
    );
    assert_eq!(stage.of("turn/end"), ["turn/end aborted user"]);
}

#[tokio::test]
async fn calls_overlap_as_far_as_the_program_lets_them() {
    for overlap in [1, 4] {
        let running = Arc::new(Mutex::new((0, 0)));
        let counts = running.clone();
        let slow = tool("slow", json!({"type": "string"}), move |_| {
            let counts = counts.clone();
            async move {
                {
                    let mut counts = counts.lock().unwrap();
                    counts.0 += 1;
                    counts.1 = counts.1.max(counts.0);
                }
                for _ in 0..8 {
                    tokio::task::yield_now().await;
                }
                counts.lock().unwrap().0 -= 1;
                Ok(json!("done").into())
            }
        })
        .overlaps(|_| true);
        let script = [calls(&["slow"; 4]), Reply::text("done")];
        let stage = scene(Runtime::new(), script).tool(slow).options(Options {
            overlap: NonZeroUsize::new(overlap).unwrap(),
            ..Options::default()
        });
        stage.start().await.prompt("hello").await;
        assert_eq!(running.lock().unwrap().1 > 1, overlap > 1);
    }
}
