//! Subagents through the reference loop: a tool that gives work to a child.

use std::sync::{Arc, Mutex};

use seamgate::Runtime;
use seamgate::seams::{
    Agent, Prompt, PromptSubmit, PromptSubmitDecision, SubagentStart, SubagentStop, Turn,
    TurnStopping, TurnStoppingDecision,
};
use serde_json::json;

use super::support::*;
use crate::reference::testing::{Scene, Stage, scene, trace};
use crate::reference::{
    CancelCause, Event, Fate, Reply, ScriptedModel, SessionLog, TurnEnd, blocks, delegate,
};

type Child = (Arc<SessionLog>, Arc<ScriptedModel>);

/// A parent that delegates once, and the children it had.
struct Family {
    parent: Stage,
    children: Arc<Mutex<Vec<Child>>>,
}

impl Family {
    fn child(&self) -> Child {
        self.children.lock().unwrap()[0].clone()
    }
}

/// A parent whose children are like this. None is a child that can't be made.
async fn family(child: impl Fn() -> Option<Scene> + Send + Sync + 'static) -> Family {
    let call = |id| Reply::default().call(id, "delegate", json!({"task": "look", "kind": "scout"}));
    let parent = scene(Runtime::new(), [call("d"), Reply::text("done")]);
    let parent = parent.start().await;
    let children = Arc::new(Mutex::new(Vec::new()));
    let (made, folder) = (children.clone(), parent.folder.path().to_owned());
    let tool = delegate(&parent.agent, move |who: Agent| {
        let child = child().ok_or_else(|| "there is no such kind".to_owned())?;
        let (setup, model) = child.setup(who, &folder);
        made.lock().unwrap().push((setup.log.clone(), model));
        Ok(setup)
    });
    parent.tools.register(tool);
    Family { parent, children }
}

/// Hooks that note what they are told about children.
fn watch(seen: &Seen) -> Runtime {
    let mut runtime = Runtime::new();
    let noted = seen.clone();
    runtime.listener::<SubagentStart>("watch", move |agent: &Agent| {
        noted.note(format!("start {}", identity(agent)));
        vec!["you are a scout".to_owned()]
    });
    let noted = seen.clone();
    runtime.listener::<SubagentStop>("watch", move |turn: &Turn| {
        noted.note(format!(
            "stop {} {:?}",
            identity(&turn.agent),
            turn.last_message
        ));
        TurnStoppingDecision::Settle
    });
    runtime
}

fn identity(agent: &Agent) -> String {
    format!("{agent:?}")
}

fn fails(result: &str, fate: &Fate) {
    // The parent goes on: that its child failed is something for its model to read.
    assert!(
        matches!(
            fate,
            Fate::Ran {
                end: TurnEnd::Completed,
                ..
            }
        ),
        "{result} {fate:?}"
    );
}

#[tokio::test]
async fn b161_a_child_starts_before_it_ends_and_is_the_same_at_both() {
    let seen = Seen::default();
    let noted = seen.clone();
    let family = family(move || Some(scene(watch(&noted), [Reply::text("nothing here")]))).await;
    family.parent.prompt("hello").await;
    let told = seen.all();
    assert_eq!(told.len(), 2, "{told:?}");
    let (start, stop) = (told[0].strip_prefix("start ").unwrap(), &told[1]);
    assert_eq!(*stop, format!(r#"stop {start} Some("nothing here")"#));
    // The session's log has the pair too, with one id that nobody else has.
    let logged = family.parent.log.events().into_iter();
    let ids: Vec<String> = logged
        .filter_map(|logged| match logged.event {
            Event::SubagentStart { agent_id, .. } | Event::SubagentEnd { agent_id, .. } => {
                Some(agent_id)
            }
            _ => None,
        })
        .collect();
    assert_eq!(ids.len(), 2);
    assert_eq!(ids[0], ids[1]);
    assert!(
        start.contains(&format!("agent_id: Some({:?})", ids[0])),
        "{start}"
    );
    assert_eq!(
        family.parent.trace()[4..8],
        [
            r#"tool/call d delegate {"task":"look","kind":"scout"}"#,
            "subagent/start scout",
            "subagent/end completed nothing here",
            "tool/result d: nothing here",
        ]
    );
}

#[tokio::test]
async fn what_hooks_say_at_the_start_of_a_child_goes_ahead_of_its_prompt() {
    let seen = Seen::default();
    let family = family(move || Some(scene(watch(&seen), [Reply::text("nothing")]))).await;
    family.parent.prompt("hello").await;
    let (log, _) = family.child();
    assert_eq!(
        trace(&log)[1..4],
        [
            "step/start 1.1",
            "user/message (hook watch) you are a scout",
            "user/message (user) look",
        ]
    );
}

#[tokio::test]
async fn b162_of_a_child_that_can_not_be_made_nobody_hears() {
    let family = family(|| None).await;
    let fate = family.parent.prompt("hello").await;
    assert!(family.parent.of("subagent/").is_empty());
    let result = family.parent.of("tool/result").remove(0);
    assert!(
        result.contains("NO_SUBAGENT") && result.contains("no such kind"),
        "{result}"
    );
    fails(&result, &fate);
}

#[tokio::test]
async fn b163_a_child_whose_machinery_fails_ends_in_an_error_and_says_nothing() {
    let seen = Seen::default();
    let noted = seen.clone();
    let family = family(move || {
        let half = Reply::text("half an answer").call("c", "run", json!({"command": "true"}));
        Some(scene(watch(&noted), [half]).then_fails("the line is cut", "NETWORK"))
    })
    .await;
    let fate = family.parent.prompt("hello").await;
    assert_eq!(
        family.parent.of("subagent/"),
        ["subagent/start scout", "subagent/end error"]
    );
    let told = seen.all();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[1].starts_with("stop") && told[1].ends_with("None"),
        "{told:?}"
    );
    let result = family.parent.of("tool/result").remove(0);
    assert!(result.contains("the line is cut"), "{result}");
    fails(&result, &fate);
}

#[tokio::test]
async fn b164_a_child_whose_prompt_is_rejected_ends_as_a_refusal() {
    for options in [
        crate::reference::Options::default(),
        crate::reference::Options::before_turn(),
    ] {
        let seen = Seen::default();
        let noted = seen.clone();
        let family = family(move || {
            let mut runtime = watch(&noted);
            runtime.listener::<PromptSubmit>("gate", |_: &Prompt| {
                PromptSubmitDecision::Block("no scouting".to_owned())
            });
            Some(scene(runtime, []).options(options.clone()))
        })
        .await;
        let fate = family.parent.prompt("hello").await;
        assert_eq!(
            family.parent.of("subagent/"),
            ["subagent/start scout", "subagent/end refusal"]
        );
        assert_eq!(seen.all().len(), 2);
        let (_, model) = family.child();
        assert!(model.requests().is_empty());
        let result = family.parent.of("tool/result").remove(0);
        assert!(result.contains("no scouting"), "{result}");
        fails(&result, &fate);
    }
}

#[tokio::test]
async fn b165_a_hook_that_fails_where_it_is_only_told_leaves_the_child_alone() {
    // At the start of any child.
    let at_start = family(|| {
        let mut runtime = Runtime::new();
        runtime.listener::<SubagentStart>("broken", |_: &Agent| panic!("a defect"));
        Some(scene(runtime, [Reply::text("nothing here")]))
    })
    .await;
    at_start.parent.prompt("hello").await;
    assert_eq!(
        at_start.parent.of("tool/result"),
        ["tool/result d: nothing here"]
    );
    // At the end of one that has ended already.
    let at_end = family(|| {
        let mut runtime = Runtime::new();
        runtime.listener::<SubagentStop>("broken", |_: &Turn| panic!("a defect"));
        Some(scene(runtime, []).then_fails("the line is cut", "NETWORK"))
    })
    .await;
    at_end.parent.prompt("hello").await;
    assert_eq!(
        at_end.parent.of("subagent/"),
        ["subagent/start scout", "subagent/end error"]
    );
}

#[tokio::test]
async fn hooks_make_a_child_go_on_and_not_for_ever() {
    let turns = Seen::default();
    let noted = turns.clone();
    let family = family(move || {
        let mut runtime = Runtime::new();
        runtime.listener::<SubagentStop>("more", |turn: &Turn| {
            if turn.forced_continuations == 0 {
                TurnStoppingDecision::Continue("look again".to_owned())
            } else {
                TurnStoppingDecision::Settle
            }
        });
        // That seam is for the main agent.
        let noted = noted.clone();
        runtime.listener::<TurnStopping>("main", move |_: &Turn| {
            noted.note("asked");
            TurnStoppingDecision::Settle
        });
        Some(scene(
            runtime,
            [Reply::text("nothing"), Reply::text("something")],
        ))
    })
    .await;
    family.parent.prompt("hello").await;
    assert_eq!(
        family.parent.of("tool/result"),
        ["tool/result d: something"]
    );
    assert_eq!(turns.count("asked"), 0);
}

#[tokio::test]
async fn a_child_is_cancelled_with_its_parent() {
    let family = family(|| {
        Some(scene(
            Runtime::new(),
            [Reply::default().call("c", "run", json!({"command": "sleep 600"}))],
        ))
    })
    .await;
    let agent = family.parent.agent.clone();
    family.parent.log.observe(move |logged| {
        if let Event::SubagentStart { .. } = logged.event {
            let agent = agent.clone();
            tokio::spawn(async move { agent.cancel(CancelCause::User) });
        }
    });
    drop(family.parent.agent.followup(blocks("hello")));
    family.parent.agent.drive().await;
    let (log, _) = family.child();
    assert_eq!(trace(&log).last().unwrap(), "turn/end aborted parent");
    assert_eq!(
        family.parent.of("subagent/"),
        ["subagent/start scout", "subagent/end aborted"]
    );
    assert_eq!(family.parent.of("turn/end"), ["turn/end aborted user"]);
}

#[tokio::test]
async fn a_hook_that_stops_a_child_stops_its_parent_too() {
    let family = family(|| {
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
        Some(scene(runtime, []))
    })
    .await;
    family.parent.prompt("hello").await;
    assert_eq!(family.parent.agent.halted().as_deref(), Some("enough"));
    assert_eq!(
        family.parent.of("turn/end"),
        ["turn/end aborted by a hook: enough"]
    );
    assert_eq!(family.parent.requests().len(), 1);
}
