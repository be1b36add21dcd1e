//! The prompt gate in both placements, and the start of a session: first through the reference loop, then the pieces.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use seamgate::pipeline::{Context, ContextSource};
use seamgate::seams::{
    Prompt, PromptSubmit, PromptSubmitDecision, Session, SessionSource, SessionStart,
    SubagentStart, SubagentStop, Turn, TurnStopping, TurnStoppingDecision,
};
use seamgate::turn::{
    ContextQueue, DEFAULT_CAP, Ending, Gate, PromptGate, StopGuard, start_session, start_subagent,
    subagent_ended,
};
use seamgate::{FailureCode, Json, Runtime};
use serde_json::json;

use super::support::*;
use crate::reference::testing::{Later, scene};
use crate::reference::{
    AfterReject, AgentLoop, CancelCause, Event, Fate, Notice, Options, Placement, Reply, TurnEnd,
    blocks,
};

/// Both placements of the prompt gate.
fn placements() -> [Options; 2] {
    [Options::default(), Options::before_turn()]
}

fn answers(number: usize) -> impl Iterator<Item = Reply> {
    (1..=number).map(|number| Reply::text(&format!("answer {number}")))
}

/// A gate that knows prompts by their text.
fn gate(decide: impl Fn(&str) -> PromptSubmitDecision + Send + Sync + 'static) -> Runtime {
    let mut runtime = Runtime::new();
    runtime.listener::<PromptSubmit>("gate", move |prompt: &Prompt| decide(&prompt.text));
    runtime
}

/// One that blocks prompts that begin with `secret`.
fn keeps_secrets() -> Runtime {
    gate(|text| {
        if text.starts_with("secret") {
            PromptSubmitDecision::Block("it has a key in it".to_owned())
        } else {
            allow(&[])
        }
    })
}

fn rewrites(to: serde_json::Value) -> PromptSubmitDecision {
    PromptSubmitDecision::Allow {
        content: Some(Json::of(&to).unwrap()),
        contexts: vec![],
    }
}

fn host(text: &str) -> Context {
    Context {
        source: ContextSource::Host,
        text: text.to_owned(),
    }
}

fn starts(contexts: &'static [&str]) -> Runtime {
    let mut runtime = Runtime::new();
    runtime.listener::<SessionStart>("start", |_: &Session| {
        contexts.iter().map(|text| (*text).to_owned()).collect()
    });
    runtime
}

fn sessions(seen: &Seen) -> Runtime {
    let (mut runtime, seen) = (Runtime::new(), seen.clone());
    runtime.listener::<SessionStart>("start", move |session: &Session| {
        seen.note(format!("{:?}", session.source));
        vec![]
    });
    runtime
}

fn blocked(reasons: &[&str]) -> Vec<String> {
    reasons.iter().map(|reason| (*reason).to_owned()).collect()
}

fn reasons(fate: &Fate) -> Vec<String> {
    match fate {
        Fate::Blocked { reasons } => reasons.iter().map(|said| said.text.clone()).collect(),
        fate => panic!("{fate:?}"),
    }
}

fn completed(turn: u32) -> Fate {
    Fate::Ran {
        turn,
        end: TurnEnd::Completed,
    }
}

#[tokio::test]
async fn b11_a_session_begins_once_and_before_anything_else() {
    let seen = Seen::default();
    let stage = scene(sessions(&seen), []).start().await;
    assert_eq!(seen.all(), ["Startup"]);
    assert!(stage.trace().is_empty());
}

#[tokio::test]
async fn b12_a_session_that_goes_on_says_so() {
    let seen = Seen::default();
    let first = scene(sessions(&seen), answers(1)).start().await;
    assert_eq!(first.prompt("one").await, completed(1));
    let second = scene(sessions(&seen), answers(1));
    let second = second.resumes(first.log.clone()).start().await;
    assert_eq!(seen.all(), ["Startup", "Resume"]);
    // It goes on where it was.
    assert_eq!(second.prompt("two").await, completed(2));
    assert_eq!(second.requests()[0], ["one", "model: answer 1", "two"]);
}

#[tokio::test]
async fn b13_a_session_begins_once_however_many_turns_it_has() {
    for options in placements() {
        let seen = Seen::default();
        let stage = scene(sessions(&seen), answers(3)).options(options);
        let stage = stage.start().await;
        for turn in 1..=3 {
            assert_eq!(stage.prompt("go on").await, completed(turn));
        }
        assert_eq!(seen.count("Startup"), 1);
    }
}

#[tokio::test]
async fn b14_the_first_request_shows_what_hooks_said_at_the_start() {
    for options in placements() {
        let mut runtime = starts(&["first", "second"]);
        runtime.listener::<PromptSubmit>("gate", |_: &Prompt| allow(&["beside"]));
        let stage = scene(runtime, answers(1)).options(options).start().await;
        stage.prompt("hello").await;
        assert_eq!(stage.requests()[0], ["first", "second", "hello", "beside"]);
    }
}

#[tokio::test]
async fn what_hooks_said_at_the_start_outlives_a_rejected_prompt() {
    for options in placements() {
        let mut runtime = keeps_secrets();
        runtime.listener::<SessionStart>("start", |_: &Session| vec!["first".to_owned()]);
        let stage = scene(runtime, answers(1)).options(options).start().await;
        stage.prompt("secret").await;
        stage.prompt("hello").await;
        assert_eq!(stage.requests(), [["first", "hello"]]);
    }
}

#[tokio::test]
async fn b15_what_hooks_said_at_the_start_is_not_the_users() {
    for options in placements() {
        let stage = scene(starts(&["first"]), answers(1)).options(options);
        let stage = stage.start().await;
        stage.prompt("hello").await;
        assert_eq!(
            stage.of("user/message"),
            [
                "user/message (hook start) first",
                "user/message (user) hello"
            ]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn b16_an_agent_begins_whatever_its_hooks_do_at_the_start() {
    for options in placements() {
        let mut runtime = Runtime::new();
        runtime.listener::<SessionStart>("broken", |_: &Session| panic!("a defect"));
        runtime.hook::<SessionStart>(
            "asleep",
            hook::<SessionStart, _>(|_, _| Box::pin(std::future::pending())),
        );
        let stage = scene(runtime, answers(1)).options(options).start().await;
        assert_eq!(stage.prompt("hello").await, completed(1));
    }
}

#[tokio::test]
async fn b17_contexts_alone_open_no_turn() {
    for options in placements() {
        let stage = scene(starts(&["first"]), answers(1)).options(options);
        let stage = stage.start().await;
        stage.agent.inject(host("later"));
        stage.agent.drive().await;
        assert!(stage.trace().is_empty() && stage.requests().is_empty());
        assert!(stage.notices().is_empty());
        stage.prompt("hello").await;
        let mut read = stage.requests()[0].clone();
        read.sort();
        assert_eq!(read, ["first", "hello", "later"]);
    }
}

#[tokio::test]
async fn b18_a_prompt_that_nobody_changes_is_logged_as_it_was_sent() {
    for options in placements() {
        let stage = scene(gate(|_| allow(&[])), answers(1)).options(options);
        let stage = stage.start().await;
        let sent = Json::of(&json!([
            {"type": "text", "text": "look", "cached": true},
            {"type": "image", "attachment": "a.png"},
            {"type": "text", "text": " here"},
        ]))
        .unwrap();
        let submitted = stage.agent.followup(sent.clone());
        stage.agent.drive().await;
        assert_eq!(submitted.fate().await, completed(1));
        let logged = stage.log.events().into_iter();
        let mut messages = logged.filter_map(|logged| match logged.event {
            Event::UserMessage(message) => Some(message.content),
            _ => None,
        });
        assert_eq!(messages.next(), Some(sent));
        assert_eq!(messages.next(), None);
    }
}

#[tokio::test]
async fn b19_log_and_request_know_a_rewritten_prompt_only_as_rewritten() {
    for options in placements() {
        let runtime = gate(|_| rewrites(json!([{"type": "text", "text": "[redacted]"}])));
        let stage = scene(runtime, answers(1)).options(options).start().await;
        stage.prompt("the key is 1234").await;
        assert_eq!(stage.requests(), [["[redacted]"]]);
        let file = std::fs::read_to_string(stage.folder.path().join("session.jsonl")).unwrap();
        assert!(
            file.contains("[redacted]") && !file.contains("1234"),
            "{file}"
        );
    }
}

#[tokio::test]
async fn b20_a_context_is_a_message_of_its_own_after_the_prompt() {
    for options in placements() {
        let runtime = gate(|_| allow(&["beside"]));
        let stage = scene(runtime, answers(1)).options(options).start().await;
        stage.prompt("hello").await;
        assert_eq!(
            stage.of("user/message"),
            [
                "user/message (user) hello",
                "user/message (hook gate) beside"
            ]
        );
        assert_eq!(stage.requests(), [["hello", "beside"]]);
    }
}

#[tokio::test]
async fn b21_a_rejected_prompt_makes_nothing_happen() {
    for options in placements() {
        let stage = scene(keeps_secrets(), []).options(options).start().await;
        stage.prompt("secret").await;
        assert!(stage.requests().is_empty());
        assert!(stage.of("step").is_empty() && stage.of("user/message").is_empty());
    }
}

#[tokio::test]
async fn b22_a_rejection_takes_along_what_an_outer_hook_added() {
    for options in placements() {
        let mut runtime = Runtime::new();
        runtime.hook::<PromptSubmit>(
            "outer",
            hook::<PromptSubmit, _>(|prompt, next| {
                Box::pin(async move {
                    let name = next.hook().clone();
                    let mut folded = next.run(prompt).await?;
                    folded.contexts.push(seamgate::seams::Attributed {
                        hook: name,
                        text: "moot".to_owned(),
                    });
                    Ok(folded)
                })
            }),
        );
        runtime.listener::<PromptSubmit>("inner", |_: &Prompt| {
            PromptSubmitDecision::Block("no".to_owned())
        });
        let stage = scene(runtime, []).options(options).start().await;
        assert_eq!(reasons(&stage.prompt("hello").await), ["no"]);
        assert!(stage.requests().is_empty() && stage.of("user/message").is_empty());
    }
}

/// A gate at which something happens to the agent, once.
fn meanwhile(
    later: &Later,
    decision: PromptSubmitDecision,
    happens: impl Fn(&AgentLoop) + Send + Sync + 'static,
) -> Runtime {
    let (later, asked) = (later.clone(), AtomicUsize::new(0));
    let happens = Arc::new(happens);
    let mut runtime = Runtime::new();
    runtime.hook::<PromptSubmit>(
        "gate",
        hook::<PromptSubmit, _>(move |_, next| {
            let first = asked.fetch_add(1, Ordering::Relaxed) == 0;
            let said = if first { decision.clone() } else { allow(&[]) };
            let (later, happens) = (later.clone(), happens.clone());
            Box::pin(async move {
                if first {
                    // The question is pending while it happens, and for a while after.
                    tokio::task::yield_now().await;
                    happens(later.get().expect("the agent is there"));
                    tokio::task::yield_now().await;
                }
                Ok(<PromptSubmit as seamgate::seams::Seam>::lift(
                    next.hook(),
                    said,
                ))
            })
        }),
    );
    runtime
}

#[tokio::test]
async fn b24_a_hook_that_allows_after_the_cancel_is_not_listened_to() {
    for options in placements() {
        let later = Later::default();
        let runtime = meanwhile(&later, allow(&[]), |agent| agent.cancel(CancelCause::User));
        let stage = scene(runtime, answers(1)).options(options).start().await;
        let stage = stage.known_as(&later);
        assert_eq!(stage.prompt("hello").await, Fate::Cancelled);
        assert!(stage.requests().is_empty() && stage.of("user/message").is_empty());
        // And nothing is left of the cancel.
        assert!(matches!(stage.prompt("again").await, Fate::Ran { .. }));
    }
}

#[tokio::test]
async fn b25_two_prompts_are_two_turns() {
    for options in placements() {
        let stage = scene(Runtime::new(), answers(2)).options(options);
        let stage = stage.start().await;
        let (one, two) = (
            stage.agent.followup(blocks("one")),
            stage.agent.followup(blocks("two")),
        );
        stage.agent.drive().await;
        assert_eq!(one.fate().await, completed(1));
        assert_eq!(two.fate().await, completed(2));
        assert_eq!(stage.requests()[0], ["one"]);
        assert_eq!(stage.requests()[1], ["one", "model: answer 1", "two"]);
    }
}

#[tokio::test]
async fn b26_a_blocked_prompt_leaves_no_trace() {
    let audit = Arc::new(Memory::default());
    let stage = scene(keeps_secrets(), answers(1)).options(Options::before_turn());
    let stage = stage.audit(audit.clone()).start().await;
    assert_eq!(
        reasons(&stage.prompt("secret").await),
        ["it has a key in it"]
    );
    assert!(stage.log.events().is_empty());
    let file = std::fs::read_to_string(stage.folder.path().join("session.jsonl")).unwrap();
    assert_eq!(file, "");
    // The audit log, which is no part of the session, knows.
    assert_eq!(audit.of_type("seam/decided").len(), 1);
    // Its turn's number goes to the next one.
    assert_eq!(stage.prompt("safe").await, completed(1));
}

#[tokio::test]
async fn b27_the_prompt_behind_a_blocked_one_runs() {
    let stage = scene(keeps_secrets(), answers(1)).options(Options::before_turn());
    let stage = stage.start().await;
    let secret = stage.agent.followup(blocks("secret"));
    let safe = stage.agent.followup(blocks("safe"));
    stage.agent.drive().await;
    assert_eq!(reasons(&secret.fate().await), ["it has a key in it"]);
    assert_eq!(safe.fate().await, completed(1));
    assert_eq!(stage.of("turn/"), ["turn/start 1", "turn/end completed"]);
}

#[tokio::test]
async fn b28_an_admitted_prompt_comes_before_its_contexts_and_what_waited() {
    let runtime = gate(|_| PromptSubmitDecision::Allow {
        content: Some(blocks("rewritten")),
        contexts: blocked(&["one", "two"]),
    });
    let stage = scene(runtime, answers(1)).options(Options::before_turn());
    let stage = stage.start().await;
    stage.agent.inject(host("waited"));
    stage.prompt("hello").await;
    assert_eq!(
        stage.trace()[..6],
        [
            "turn/start 1",
            "user/message (user) rewritten",
            "user/message (hook gate) one",
            "user/message (hook gate) two",
            "user/message (host) waited",
            "step/start 1.1",
        ]
    );
}

#[tokio::test]
async fn b29_a_prompt_at_which_a_hook_fails_is_dropped_with_a_warning() {
    let runtime = gate(|text| {
        assert_ne!(text, "one", "a defect");
        allow(&[])
    });
    let stage = scene(runtime, answers(1)).options(Options::before_turn());
    let stage = stage.start().await;
    let one = stage.agent.followup(blocks("one"));
    let two = stage.agent.followup(blocks("two"));
    stage.agent.drive().await;
    assert!(matches!(one.fate().await, Fate::Failed { .. }));
    assert_eq!(two.fate().await, completed(1));
    assert_eq!(stage.warnings(), 1);
    let errors = stage.notices().into_iter();
    assert_eq!(
        errors
            .filter(|one| matches!(one, Notice::Error { .. }))
            .count(),
        0
    );
    assert!(!stage.trace().join("\n").contains("one"));
}

#[tokio::test]
async fn b30_what_comes_into_an_open_turn_is_not_asked_about_before_the_turn() {
    let (later, asked) = (Later::default(), Seen::default());
    let noted = asked.clone();
    let mut runtime = gate(move |text| {
        noted.note(text);
        allow(&[])
    });
    let known = later.clone();
    runtime.listener::<TurnStopping>("stop", move |turn: &Turn| {
        if turn.last_message.as_deref() == Some("answer 1") {
            let agent = known.get().unwrap();
            agent.inject(host("injected"));
            drop(agent.steer(blocks("steered")));
        }
        TurnStoppingDecision::Settle
    });
    let stage = scene(runtime, answers(2)).options(Options::before_turn());
    let stage = stage.start().await.known_as(&later);
    stage.prompt("hello").await;
    assert_eq!(asked.all(), ["hello"]);
    assert_eq!(stage.requests()[1][2..], ["injected", "steered"]);
    // While no turn is open there is only the gate's way in.
    drop(stage.agent.steer(blocks("late")));
    stage.agent.drive().await;
    assert_eq!(asked.all(), ["hello", "late"]);
}

#[tokio::test]
async fn b31_a_front_end_learns_that_its_prompt_never_ran() {
    let stage = scene(keeps_secrets(), []).options(Options::before_turn());
    let stage = stage.start().await;
    let submitted = stage.agent.followup(blocks("secret"));
    stage.agent.drive().await;
    assert_eq!(stage.notices(), [Notice::Running, Notice::Idle]);
    // A protocol that knows no better calls that cancelled; this one knows better.
    assert_eq!(reasons(&submitted.fate().await), ["it has a key in it"]);
}

#[tokio::test]
async fn b32_a_rejection_inside_a_turn_is_all_that_the_turn_has() {
    let stage = scene(keeps_secrets(), []).start().await;
    stage.prompt("secret").await;
    assert_eq!(
        stage.trace(),
        [
            "turn/start 1",
            "seam/decided prompt-submit: gate block",
            "turn/end blocked"
        ]
    );
}

#[tokio::test]
async fn b33_there_is_one_question_for_each_message_of_the_user() {
    let asked = Seen::default();
    let noted = asked.clone();
    let runtime = gate(move |text| {
        noted.note(text);
        allow(&[])
    });
    let script = [
        Reply::default().call("c", "run", json!({"command": "true"})),
        Reply::text("done"),
    ];
    let stage = scene(runtime, script).start().await;
    stage.prompt("hello").await;
    assert_eq!(asked.all(), ["hello"]);
    assert_eq!(
        stage.trace(),
        [
            "turn/start 1",
            "seam/decided prompt-submit: gate allow",
            "step/start 1.1",
            "user/message (user) hello",
            "assistant/message c",
            "tool/call c run {\"command\":\"true\"}",
            "tool/result c: ",
            "step/end 1.1",
            // Nobody said anything here, so there is nothing to ask about.
            "step/start 1.2",
            "assistant/message done",
            "step/end 1.2",
            "turn/end completed",
        ]
    );
}

#[tokio::test]
async fn b34_what_comes_while_the_gate_is_asked_waits_for_the_next_step() {
    let later = Later::default();
    let runtime = meanwhile(&later, allow(&[]), |agent| {
        agent.inject(host("injected"));
        drop(agent.steer(blocks("steered")));
    });
    let stage = scene(runtime, answers(2)).start().await.known_as(&later);
    assert_eq!(stage.prompt("hello").await, completed(1));
    assert_eq!(stage.requests()[0], ["hello"]);
    assert_eq!(
        stage.requests()[1],
        ["hello", "model: answer 1", "injected", "steered"]
    );
}

#[tokio::test]
async fn b35_what_came_while_a_prompt_was_rejected_stays_for_the_next_wake() {
    let later = Later::default();
    let no = PromptSubmitDecision::Block("no".to_owned());
    let runtime = meanwhile(&later, no, |agent| {
        agent.inject(host("injected"));
        drop(agent.steer(blocks("steered")));
    });
    let stage = scene(runtime, answers(1)).start().await.known_as(&later);
    assert_eq!(reasons(&stage.prompt("hello").await), ["no"]);
    assert!(stage.requests().is_empty());
    stage.agent.drive().await;
    assert!(stage.requests().is_empty());
    stage.agent.wake();
    stage.agent.drive().await;
    assert_eq!(stage.requests(), [["injected", "steered"]]);
}

#[tokio::test]
async fn b36_the_prompt_behind_a_rejected_one_waits_for_a_wake() {
    let stage = scene(keeps_secrets(), answers(1)).start().await;
    let secret = stage.agent.followup(blocks("secret"));
    let later = stage.agent.followup(blocks("later"));
    stage.agent.drive().await;
    stage.agent.drive().await;
    assert_eq!(reasons(&secret.fate().await), ["it has a key in it"]);
    assert!(stage.requests().is_empty());
    stage.agent.wake();
    stage.agent.drive().await;
    assert_eq!(later.fate().await, completed(2));
}

#[tokio::test]
async fn whether_the_queue_goes_on_after_a_rejection_can_be_chosen() {
    for placement in [Placement::InTurn, Placement::BeforeTurn] {
        for (after_reject, ran) in [(AfterReject::ContinueQueue, 1), (AfterReject::Park, 0)] {
            let stage = scene(keeps_secrets(), answers(1)).options(Options {
                placement,
                after_reject,
                ..Options::default()
            });
            let stage = stage.start().await;
            drop(stage.agent.followup(blocks("secret")));
            drop(stage.agent.followup(blocks("safe")));
            stage.agent.drive().await;
            assert_eq!(
                stage.requests().len(),
                ran,
                "{placement:?} {after_reject:?}"
            );
        }
    }
}

#[tokio::test]
async fn b37_a_hook_that_fails_inside_a_turn_ends_it_in_one_error() {
    let stage = scene(gate(|_| panic!("a defect")), []).start().await;
    let fate = stage.prompt("hello").await;
    assert!(matches!(fate, Fate::Failed { .. }), "{fate:?}");
    assert!(matches!(stage.end(), TurnEnd::Error { code, .. } if code == "UNKNOWN"));
    let notices = stage.notices();
    assert!(
        matches!(
            &notices[..],
            [Notice::Running, Notice::Error { .. }, Notice::Idle]
        ),
        "{notices:?}"
    );
}

#[tokio::test]
async fn b38_a_prompt_of_which_hooks_leave_nothing_makes_no_step() {
    let stage = scene(gate(|_| rewrites(json!([]))), []).start().await;
    assert!(reasons(&stage.prompt("hello").await).is_empty());
    assert_eq!(
        stage.trace(),
        [
            "turn/start 1",
            "seam/decided prompt-submit: gate rewrite",
            "turn/end completed"
        ]
    );
    assert!(stage.requests().is_empty());
}

#[tokio::test]
async fn b39_steering_of_which_hooks_leave_nothing_opens_no_step() {
    let runtime = gate(|text| match text {
        "steered" => rewrites(json!([])),
        _ => allow(&[]),
    });
    let stage = scene(runtime, answers(1)).start().await;
    let agent = stage.agent.clone();
    stage.log.observe(move |logged| {
        if let Event::StepEnd { .. } = logged.event {
            drop(agent.steer(blocks("steered")));
        }
    });
    assert_eq!(stage.prompt("hello").await, completed(1));
    assert_eq!(stage.requests().len(), 1);
    assert_eq!(stage.of("step/start"), ["step/start 1.1"]);
}

#[tokio::test]
async fn b40_a_prompt_that_is_cancelled_at_once_closes_its_turn() {
    let stage = scene(Runtime::new(), answers(1)).start().await;
    let submitted = stage.agent.followup(blocks("hello"));
    stage.agent.cancel(CancelCause::User);
    stage.agent.drive().await;
    assert_eq!(submitted.fate().await, Fate::Cancelled);
    assert_eq!(stage.trace(), ["turn/start 1", "turn/end aborted user"]);
    assert_eq!(stage.prompt("again").await, completed(2));
}

#[tokio::test]
async fn a_cancel_for_nothing_does_nothing_now_or_later() {
    for options in placements() {
        let stage = scene(Runtime::new(), answers(2)).options(options);
        let stage = stage.start().await;
        stage.agent.cancel(CancelCause::User);
        stage.agent.drive().await;
        assert!(stage.trace().is_empty());
        assert_eq!(stage.prompt("hello").await, completed(1));
        stage.agent.cancel(CancelCause::User);
        assert_eq!(stage.prompt("again").await, completed(2));
    }
}

#[tokio::test]
async fn what_is_said_after_a_cancel_is_not_cancelled() {
    for options in placements() {
        let stage = scene(Runtime::new(), answers(1)).options(options);
        let stage = stage.start().await;
        let one = stage.agent.followup(blocks("one"));
        stage.agent.cancel(CancelCause::User);
        let two = stage.agent.followup(blocks("two"));
        stage.agent.drive().await;
        assert_eq!(one.fate().await, Fate::Cancelled);
        assert!(matches!(two.fate().await, Fate::Ran { .. }));
        assert_eq!(stage.requests(), [["two"]]);
    }
}

#[tokio::test]
async fn b41_what_steers_is_asked_about_first_and_the_prompt_last() {
    let asked = Seen::default();
    let noted = asked.clone();
    let runtime = gate(move |text| {
        noted.note(text);
        allow(&[])
    });
    let stage = scene(runtime, answers(1)).start().await;
    drop(stage.agent.followup(blocks("prompt")));
    stage.agent.inject(host("not asked about"));
    drop(stage.agent.steer(blocks("one")));
    drop(stage.agent.steer(blocks("two")));
    stage.agent.drive().await;
    assert_eq!(asked.all(), ["one", "two", "prompt"]);
    assert_eq!(
        stage.requests(),
        [["not asked about", "one", "two", "prompt"]]
    );
}

#[tokio::test]
async fn one_rejection_rejects_all_that_was_to_be_said_with_it() {
    let stage = scene(keeps_secrets(), []).start().await;
    let prompt = stage.agent.followup(blocks("safe"));
    let steered = stage.agent.steer(blocks("fine"));
    let secret = stage.agent.steer(blocks("secret"));
    stage.agent.drive().await;
    for submitted in [prompt, steered, secret] {
        assert_eq!(reasons(&submitted.fate().await), ["it has a key in it"]);
    }
    assert!(stage.of("user/message").is_empty());
}

#[tokio::test]
async fn b42_whoever_submitted_a_prompt_learns_why_it_was_rejected() {
    for options in placements() {
        let stage = scene(keeps_secrets(), []).options(options).start().await;
        let fate = stage.prompt("secret").await;
        assert_eq!(reasons(&fate), ["it has a key in it"]);
    }
}

/// A gate that stops the agent at `stop`.
fn halts() -> Runtime {
    let mut runtime = Runtime::new();
    runtime.hook::<PromptSubmit>(
        "halt",
        hook::<PromptSubmit, _>(|prompt, next| {
            Box::pin(async move {
                if prompt.text == "stop" {
                    next.stop("enough");
                }
                next.run(prompt).await
            })
        }),
    );
    runtime
}

#[tokio::test]
async fn a_stop_at_the_gate_keeps_what_waits_until_a_person_says_so() {
    for options in placements() {
        let stage = scene(halts(), answers(2)).options(options).start().await;
        let stopping = stage.agent.followup(blocks("stop"));
        let waiting = stage.agent.followup(blocks("waiting"));
        stage.agent.drive().await;
        assert_eq!(reasons(&stopping.fate().await), ["enough"]);
        assert_eq!(stage.agent.halted().as_deref(), Some("enough"));
        // A prompt is not the word of a person: programs and tools can send one too.
        drop(stage.agent.followup(blocks("more")));
        stage.agent.drive().await;
        assert!(stage.requests().is_empty());
        stage.agent.wake();
        stage.agent.drive().await;
        assert!(matches!(waiting.fate().await, Fate::Ran { .. }));
        assert_eq!(stage.requests().len(), 2);
    }
}

#[tokio::test]
async fn a_cancel_does_not_do_away_with_a_stop() {
    for options in placements() {
        let later = Later::default();
        let mut runtime = Runtime::new();
        let known = later.clone();
        runtime.hook::<PromptSubmit>(
            "halt",
            hook::<PromptSubmit, _>(move |prompt, next| {
                let known = known.clone();
                Box::pin(async move {
                    next.stop("enough");
                    known.get().unwrap().cancel(CancelCause::User);
                    next.run(prompt).await
                })
            }),
        );
        let stage = scene(runtime, []).options(options).start().await;
        let stage = stage.known_as(&later);
        stage.prompt("hello").await;
        assert_eq!(stage.agent.halted().as_deref(), Some("enough"));
    }
}

#[tokio::test]
async fn a_stop_at_the_start_holds_the_first_prompt() {
    let mut runtime = Runtime::new();
    runtime.hook::<SessionStart>(
        "halt",
        hook::<SessionStart, _>(|session, next| {
            Box::pin(async move {
                next.stop("not here");
                next.run(session).await
            })
        }),
    );
    let stage = scene(runtime, answers(1)).start().await;
    let held = stage.agent.followup(blocks("hello"));
    stage.agent.drive().await;
    assert!(stage.trace().is_empty());
    stage.agent.wake();
    stage.agent.drive().await;
    assert_eq!(held.fate().await, completed(1));
}

// The pieces.

fn prompt(text: &str) -> Prompt {
    Prompt {
        agent: agent(),
        text: text.to_owned(),
        blocks: None,
    }
}

fn says(decision: PromptSubmitDecision) -> Runtime {
    let mut runtime = Runtime::new();
    runtime.listener::<PromptSubmit>("gate", move |_: &Prompt| decision.clone());
    runtime
}

fn allow(contexts: &[&str]) -> PromptSubmitDecision {
    PromptSubmitDecision::Allow {
        content: None,
        contexts: contexts
            .iter()
            .map(|context| (*context).to_owned())
            .collect(),
    }
}

/// Both placements: before there is a turn, and inside one.
const PLACEMENTS: [Option<u32>; 2] = [None, Some(1)];

#[tokio::test]
async fn a_prompt_nobody_changes_enters_as_it_is() {
    for turn in PLACEMENTS {
        let runtime = says(allow(&[]));
        let Gate::Enter(entered) = PromptGate::new(&runtime)
            .submit(&prompt("hello"), turn)
            .await
        else {
            panic!("it enters");
        };
        assert_eq!(
            entered.content.text(),
            r#"[{"type":"text","text":"hello"}]"#
        );
        assert!(!entered.rewritten && entered.contexts.is_empty());
    }
}

#[tokio::test]
async fn a_rewritten_prompt_enters_rewritten() {
    for turn in PLACEMENTS {
        let rewritten = Json::of(&json!([{"type": "text", "text": "other"}])).unwrap();
        let runtime = says(PromptSubmitDecision::Allow {
            content: Some(rewritten.clone()),
            contexts: vec![],
        });
        let Gate::Enter(entered) = PromptGate::new(&runtime)
            .submit(&prompt("secret"), turn)
            .await
        else {
            panic!("it enters");
        };
        assert!(entered.rewritten);
        assert_eq!(entered.content, rewritten);
    }
}

#[tokio::test]
async fn contexts_are_messages_of_their_own_with_their_source() {
    for turn in PLACEMENTS {
        let runtime = says(allow(&["one", "two"]));
        let Gate::Enter(entered) = PromptGate::new(&runtime)
            .submit(&prompt("hello"), turn)
            .await
        else {
            panic!("it enters");
        };
        let expected = ["one", "two"].map(|text| Context {
            source: ContextSource::Hook {
                hook: "gate".into(),
            },
            text: text.to_owned(),
        });
        assert_eq!(entered.contexts, expected);
    }
}

#[tokio::test]
async fn a_rejection_takes_the_contexts_of_others() {
    let mut runtime = says(allow(&["moot"]));
    runtime.listener::<PromptSubmit>("two", |_: &Prompt| {
        PromptSubmitDecision::Block("no".to_owned())
    });
    for turn in PLACEMENTS {
        let gate = PromptGate::new(&runtime)
            .submit(&prompt("hello"), turn)
            .await;
        let Gate::Reject { reasons } = gate else {
            panic!("{gate:?}")
        };
        assert_eq!((reasons.len(), reasons[0].hook.as_str()), (1, "two"));
    }
}

#[tokio::test]
async fn the_reason_of_a_rejection_reaches_whoever_submitted_the_prompt() {
    let runtime = says(PromptSubmitDecision::Block("it has a key in it".to_owned()));
    for turn in PLACEMENTS {
        let audit = Memory::default();
        let gate = PromptGate::new(&runtime)
            .audit(&audit)
            .submit(&prompt("hello"), turn)
            .await;
        let Gate::Reject { reasons } = gate else {
            panic!("{gate:?}")
        };
        assert_eq!(reasons[0].text, "it has a key in it");
        let record = &audit.of_type("seam/decided")[0];
        assert_eq!(record.get("turn").cloned(), turn.map(|turn| json!(turn)));
    }
}

#[tokio::test]
async fn a_gate_that_fails_or_stops_keeps_the_prompt_from_the_model() {
    let mut runtime = Runtime::new();
    runtime.listener::<PromptSubmit>("gate", |_: &Prompt| panic!("a defect"));
    for turn in PLACEMENTS {
        let gate = PromptGate::new(&runtime)
            .submit(&prompt("hello"), turn)
            .await;
        let Gate::Failed(failure) = gate else {
            panic!("{gate:?}")
        };
        assert_eq!(failure.code, FailureCode::Panic);
    }
    let mut runtime = Runtime::new();
    runtime.hook::<PromptSubmit>(
        "halt",
        hook::<PromptSubmit, _>(|prompt, next| {
            Box::pin(async move {
                next.stop("enough");
                next.run(prompt).await
            })
        }),
    );
    let gate = PromptGate::new(&runtime)
        .submit(&prompt("hello"), None)
        .await;
    let Gate::Stop(stop) = gate else {
        panic!("{gate:?}")
    };
    assert_eq!(stop.reason(), "enough");
    let audit = Memory::default();
    *audit.refuses.lock().unwrap() = Some("seam/decided");
    // A stop holds although it can't be recorded. What else was said does not.
    let gate = PromptGate::new(&runtime)
        .audit(&audit)
        .submit(&prompt("hello"), None)
        .await;
    assert!(matches!(gate, Gate::Stop(_)), "{gate:?}");
    let gate = PromptGate::new(&says(allow(&[])))
        .audit(&audit)
        .submit(&prompt("hello"), None)
        .await;
    assert_eq!(gate, Gate::Unrecorded("the disk is full".to_owned()));
}

#[tokio::test]
async fn a_prompt_that_a_hook_makes_unreadable_does_not_enter() {
    for wrong in [
        json!("text"),
        json!([{"text": "no tag"}]),
        json!([{"type": "text"}]),
    ] {
        let runtime = says(rewrites(wrong.clone()));
        let gate = PromptGate::new(&runtime)
            .submit(&prompt("hello"), None)
            .await;
        let Gate::Failed(failure) = gate else {
            panic!("{wrong}: {gate:?}")
        };
        assert_eq!(failure.code, FailureCode::BadDecision);
        assert_eq!(failure.hook.as_str(), "gate");
    }
}

#[tokio::test(start_paused = true)]
async fn a_gate_is_not_waited_for_for_ever() {
    let mut runtime = Runtime::new();
    runtime.hook::<PromptSubmit>(
        "asleep",
        hook::<PromptSubmit, _>(|_, _| Box::pin(std::future::pending())),
    );
    runtime.hook::<TurnStopping>(
        "asleep",
        hook::<TurnStopping, _>(|_, _| Box::pin(std::future::pending())),
    );
    let second = Duration::from_secs(1);
    let gate = PromptGate::new(&runtime).limit(second);
    let Gate::Failed(failure) = gate.submit(&prompt("hello"), None).await else {
        panic!("it does not enter");
    };
    assert_eq!(failure.code, FailureCode::Timeout);
    let ending = StopGuard::default()
        .limit(second)
        .ask::<TurnStopping>(&runtime, &agent(), None, None, None)
        .await;
    let Ending::Failed(failure) = ending else {
        panic!("{ending:?}")
    };
    assert_eq!(failure.code, FailureCode::Timeout);
}

#[tokio::test]
async fn hooks_are_told_of_a_subagent_that_ended_without_asking() {
    let mut runtime = Runtime::new();
    runtime.listener::<SubagentStop>("broken", |_: &Turn| panic!("a defect"));
    runtime.hook::<SubagentStop>(
        "halt",
        hook::<SubagentStop, _>(|turn, next| {
            Box::pin(async move {
                next.stop("enough");
                next.run(turn).await
            })
        }),
    );
    let audit = Memory::default();
    let second = Duration::from_secs(1);
    let stop = subagent_ended(&runtime, &agent(), second, Some(&audit)).await;
    assert_eq!(stop.expect("somebody stopped").reason(), "enough");
    let hooks = &audit.of_type("seam/decided")[0]["data"]["hooks"];
    assert_eq!(
        (&hooks[0]["failure"], &hooks[1]["hook"]),
        (&json!("PANIC"), &json!("halt"))
    );
}

fn session(source: SessionSource) -> Session {
    Session {
        agent: agent(),
        source,
    }
}

#[tokio::test]
async fn contexts_of_a_session_are_there_before_the_first_prompt() {
    let mut runtime = Runtime::new();
    runtime.listener::<SessionStart>("start", |session: &Session| {
        vec![format!("{:?}", session.source)]
    });
    runtime.listener::<SubagentStart>("sub", |_: &seamgate::seams::Agent| {
        vec!["for the child".to_owned()]
    });
    let second = Duration::from_secs(1);
    let started = start_session(&runtime, &session(SessionSource::Resume), second, None).await;
    assert_eq!(started.contexts[0].text, "Resume");
    let started = start_subagent(&runtime, &agent(), second, None).await;
    assert_eq!(started.contexts[0].text, "for the child");
}

#[tokio::test]
async fn contexts_of_a_session_have_their_hook_as_source() {
    let mut runtime = Runtime::new();
    runtime.listener::<SessionStart>("start", |_: &Session| vec!["hello".to_owned()]);
    let second = Duration::from_secs(1);
    let started = start_session(&runtime, &session(SessionSource::Startup), second, None).await;
    assert_eq!(
        started.contexts[0].source,
        ContextSource::Hook {
            hook: "start".into()
        }
    );
}

#[tokio::test(start_paused = true)]
async fn a_session_begins_whatever_its_hooks_do() {
    let mut runtime = Runtime::new();
    runtime.listener::<SessionStart>("start", |_: &Session| panic!("a defect"));
    let second = Duration::from_secs(1);
    let audit = Memory::default();
    let started = start_session(
        &runtime,
        &session(SessionSource::Startup),
        second,
        Some(&audit),
    )
    .await;
    assert!(started.contexts.is_empty() && started.stop.is_none());
    let mut runtime = Runtime::new();
    runtime.hook::<SessionStart>(
        "asleep",
        hook::<SessionStart, _>(|_, _| Box::pin(std::future::pending())),
    );
    let started = start_session(
        &runtime,
        &session(SessionSource::Startup),
        second,
        Some(&audit),
    )
    .await;
    assert!(started.contexts.is_empty());
    let failures: Vec<_> = audit
        .of_type("seam/decided")
        .iter()
        .map(|record| {
            record["data"]["hooks"][0]["failure"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(failures, ["PANIC", "TIMEOUT"]);
}

/// A loop with nothing in it but its end: how many steps a turn has, and how it ends.
async fn steps(
    runtime: &Runtime,
    guard: &mut StopGuard,
    audit: &Memory,
) -> (u32, Vec<String>, Ending) {
    let (mut steps, mut read) = (0, Vec::new());
    loop {
        steps += 1;
        let last = Some(format!("answer {steps}"));
        match guard
            .ask::<TurnStopping>(runtime, &agent(), last, Some(1), Some(audit))
            .await
        {
            Ending::Continue(said) => read.extend(said.into_iter().map(|said| said.text)),
            ending => return (steps, read, ending),
        }
    }
}

fn continuing(times: u32) -> Runtime {
    let mut runtime = Runtime::new();
    runtime.listener::<TurnStopping>("stop", move |turn: &Turn| {
        if turn.forced_continuations < times {
            TurnStoppingDecision::Continue(format!(
                "go on after {}",
                turn.last_message.as_ref().unwrap()
            ))
        } else {
            TurnStoppingDecision::Settle
        }
    });
    runtime
}

#[tokio::test]
async fn without_hooks_a_turn_ends_after_one_step() {
    let (steps, read, ending) = steps(
        &Runtime::new(),
        &mut StopGuard::default(),
        &Memory::default(),
    )
    .await;
    assert_eq!(
        (steps, read, ending),
        (1, Vec::<String>::new(), Ending::Settle)
    );
}

#[tokio::test]
async fn a_hook_that_goes_on_once_makes_a_second_step() {
    let (steps, read, ending) = steps(
        &continuing(1),
        &mut StopGuard::default(),
        &Memory::default(),
    )
    .await;
    assert_eq!((steps, ending), (2, Ending::Settle));
    assert_eq!(read, ["go on after answer 1"]);
}

#[tokio::test]
async fn a_hook_that_goes_on_twice_makes_three_steps() {
    let (steps, ..) = steps(
        &continuing(2),
        &mut StopGuard::default(),
        &Memory::default(),
    )
    .await;
    assert_eq!(steps, 3);
}

#[tokio::test]
async fn a_hook_that_fails_ends_the_turn_in_an_error_and_the_next_turn_works() {
    let mut runtime = Runtime::new();
    let broken = Arc::new(Mutex::new(true));
    let breaks = broken.clone();
    runtime.listener::<TurnStopping>("stop", move |_: &Turn| {
        assert!(!std::mem::take(&mut *breaks.lock().unwrap()), "a defect");
        TurnStoppingDecision::Settle
    });
    let audit = Memory::default();
    let (_, _, ending) = steps(&runtime, &mut StopGuard::default(), &audit).await;
    let Ending::Failed(failure) = ending else {
        panic!("{ending:?}")
    };
    // The lock is poisoned by the panic, which is a failure of the hook again and no settle.
    assert_eq!(failure.code, FailureCode::Panic);
    let (_, _, ending) = steps(&continuing(0), &mut StopGuard::default(), &audit).await;
    assert_eq!(ending, Ending::Settle);
}

#[tokio::test]
async fn hooks_make_a_turn_go_on_eight_times_at_the_most() {
    let audit = Memory::default();
    let mut guard = StopGuard::default();
    let (taken, read, ending) = steps(&continuing(u32::MAX), &mut guard, &audit).await;
    assert_eq!((DEFAULT_CAP, taken, read.len()), (8, 9, 8));
    let Ending::Capped {
        forced_continuations,
        continuations,
    } = ending
    else {
        panic!("{ending:?}")
    };
    assert_eq!((forced_continuations, continuations.len()), (8, 1));
    assert_eq!(
        audit.of_type("turn/stop-capped")[0]["data"]["forcedContinuations"],
        8
    );
    let (taken, ..) = steps(&continuing(u32::MAX), &mut StopGuard::new(0), &audit).await;
    assert_eq!(taken, 1);
    let (taken, ..) = steps(&continuing(u32::MAX), &mut StopGuard::resumed(8, 6), &audit).await;
    assert_eq!(taken, 3);
}

#[tokio::test]
async fn the_cap_holds_for_subagents_too() {
    let mut runtime = Runtime::new();
    runtime.listener::<SubagentStop>("stop", |_: &Turn| {
        TurnStoppingDecision::Continue("more".to_owned())
    });
    let mut guard = StopGuard::new(1);
    let first = guard
        .ask::<SubagentStop>(&runtime, &agent(), None, None, None)
        .await;
    assert!(matches!(first, Ending::Continue(_)));
    let second = guard
        .ask::<SubagentStop>(&runtime, &agent(), None, None, None)
        .await;
    assert!(matches!(second, Ending::Capped { .. }));
}

#[tokio::test]
async fn a_hook_is_told_that_it_made_the_turn_go_on() {
    let seen = Seen::default();
    let mut runtime = continuing(1);
    let noted = seen.clone();
    runtime.listener::<TurnStopping>("watch", move |turn: &Turn| {
        noted.note(turn.forced_continuations.to_string());
        TurnStoppingDecision::Settle
    });
    let mut guard = StopGuard::default();
    assert!(!guard.is_active());
    let _ = steps(&runtime, &mut guard, &Memory::default()).await;
    assert!(guard.is_active());
    assert_eq!(seen.all(), ["0", "1"]);
    guard.user_message();
    assert!(!guard.is_active());
}

#[tokio::test]
async fn a_hard_stop_ends_a_turn_that_others_want_to_go_on() {
    let mut runtime = Runtime::new();
    runtime.hook::<TurnStopping>(
        "halt",
        hook::<TurnStopping, _>(|turn, next| {
            Box::pin(async move {
                next.stop("enough");
                next.run(turn).await
            })
        }),
    );
    runtime.listener::<TurnStopping>("more", |_: &Turn| {
        TurnStoppingDecision::Continue("more".to_owned())
    });
    let (taken, _, ending) = steps(&runtime, &mut StopGuard::default(), &Memory::default()).await;
    assert_eq!(taken, 1);
    let Ending::Stop(stop) = ending else {
        panic!("{ending:?}")
    };
    assert_eq!(stop.reason(), "enough");
}

#[test]
fn what_is_only_injected_makes_no_turn_go_on() {
    // A queue holds contexts; only what a hook says at turn-stopping makes a step.
    let queue = ContextQueue::new();
    queue.inject("for later");
    assert!(!queue.is_empty());
    assert_eq!(queue.settle().len(), 1);
    assert!(queue.is_empty());
}
