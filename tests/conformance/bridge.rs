//! Shell hooks at the seams of the reference loop: the bridge in its profile `harness`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use seamgate::approval::{Approval, ApprovalOutcome, Callback};
use seamgate::audit::AuditSink;
use seamgate::pipeline::Pipeline;
use seamgate::seams::{
    Agent, FinishedCall, PostTool, PostToolDecision, PreTool, Prompt, PromptSubmit,
    PromptSubmitDecision, Replacement, Session, SessionSource, SessionStart, SubagentStart,
    SubagentStop, ToolCall, Turn,
};
use seamgate::turn::start_session;
use seamgate::{Json, Runtime};
use seamgate_bridges::Dialect;
use seamgate_bridges::bridge::{Bridge, BridgeConfig, Surroundings};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::support::*;
use crate::reference::testing::{Scene, Stage, scene};
use crate::reference::{
    AgentLoop, CancelCause, Event, Options, Reply, ScriptedModel, SessionLog, TurnEnd, blocks,
};

/// A team's folder with its hook file, and the bridge that has read it.
struct Team {
    folder: TempDir,
    bridge: Bridge,
    loop_: Arc<Loop>,
}

/// What the bridge knows of the loop.
#[derive(Default)]
struct Loop {
    log: OnceLock<Arc<SessionLog>>,
    memory: Memory,
    turn: Mutex<Option<u32>>,
    transcript: Mutex<Option<PathBuf>>,
    warnings: Mutex<Vec<String>>,
}

impl Surroundings for Loop {
    fn open_turn(&self, _: &Agent) -> Option<u32> {
        let Some(log) = self.log.get() else {
            return *self.turn.lock().unwrap();
        };
        let mut open = None;
        for logged in log.events() {
            match logged.event {
                Event::TurnStart { turn } => open = Some(turn),
                Event::TurnEnd { .. } => open = None,
                _ => {}
            }
        }
        open
    }

    fn next_turn(&self, _: &Agent) -> u32 {
        let turns = self.log.get().map_or(0, |log| {
            let starts = |event: &Event| matches!(event, Event::TurnStart { .. });
            log.events()
                .iter()
                .filter(|logged| starts(&logged.event))
                .count()
        });
        u32::try_from(turns).unwrap() + 1
    }

    fn transcript(&self, _: &Agent) -> Option<PathBuf> {
        self.transcript.lock().unwrap().clone()
    }

    fn audit(&self) -> Option<&dyn AuditSink> {
        match self.log.get() {
            Some(log) => Some(log.as_ref()),
            None => Some(&self.memory),
        }
    }

    fn warn(&self, warning: &str) {
        self.warnings.lock().unwrap().push(warning.to_owned());
    }
}

fn team(hooks: &Value) -> Team {
    team_of(Dialect::Claude, &hooks.to_string(), |config| config)
}

fn codex(hooks: &Value) -> Team {
    team_of(Dialect::Codex, &hooks.to_string(), |config| {
        config.model("m-1")
    })
}

fn team_of(
    dialect: Dialect,
    hooks: &str,
    config: impl FnOnce(BridgeConfig) -> BridgeConfig,
) -> Team {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hooks.json");
    fs::write(&file, hooks).unwrap();
    let loop_ = Arc::new(Loop::default());
    let bridge = Bridge::load(dialect, config(BridgeConfig::new(file)), loop_.clone());
    Team {
        folder,
        bridge,
        loop_,
    }
}

/// One event with one command hook.
fn one(event: &str, command: &str) -> Value {
    json!({ event: [{ "hooks": [{ "type": "command", "command": command }] }] })
}

/// One event with these command hooks for a tool.
fn matched(event: &str, matcher: &str, commands: &[&str]) -> Value {
    let hooks: Vec<Value> = commands
        .iter()
        .map(|command| json!({ "type": "command", "command": command }))
        .collect();
    json!({ event: [{ "matcher": matcher, "hooks": hooks }] })
}

/// A line that prints this object.
fn prints(object: &Value) -> String {
    format!("printf '%s' '{object}'")
}

/// The same with fields for an event.
fn specific(event: &str, mut fields: Value) -> String {
    fields["hookEventName"] = json!(event);
    prints(&json!({ "hookSpecificOutput": fields }))
}

/// A line that appends what it reads to a file of the team's folder.
const CAPTURES: &str = "cat >> \"$CLAUDE_PROJECT_DIR/seen\"; echo >> \"$CLAUDE_PROJECT_DIR/seen\"";

impl Team {
    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn who(&self) -> Agent {
        Agent {
            cwd: Some(self.path().to_string_lossy().into_owned()),
            ..agent()
        }
    }

    fn runtime(&self) -> Runtime {
        let mut runtime = Runtime::new();
        self.bridge.register(&mut runtime);
        runtime
    }

    /// An agent of this team, which works in its folder.
    async fn start(&self, scene: Scene) -> Stage {
        self.start_from(scene, SessionSource::Startup).await
    }

    async fn start_from(&self, scene: Scene, source: SessionSource) -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let (setup, model) = scene.setup(self.who(), folder.path());
        let (tools, log) = (setup.tools.clone(), setup.log.clone());
        assert!(self.loop_.log.set(log.clone()).is_ok());
        let agent = AgentLoop::start(setup, source).await;
        let notices = Arc::new(Mutex::new(Vec::new()));
        Stage {
            agent,
            model,
            tools,
            log,
            notices,
            folder,
        }
    }

    /// Runs one call of `work` with the bridge's hooks and those that are added after it.
    async fn call(
        &self,
        also: impl FnOnce(&mut Runtime),
    ) -> (seamgate::pipeline::CallOutcome, Seen) {
        self.call_by(Some(self.who()), also).await
    }

    async fn call_by(
        &self,
        who: Option<Agent>,
        also: impl FnOnce(&mut Runtime),
    ) -> (seamgate::pipeline::CallOutcome, Seen) {
        *self.loop_.turn.lock().unwrap() = Some(1);
        let (seen, mut runtime) = (Seen::default(), self.runtime());
        also(&mut runtime);
        let mut request = request("work");
        request.agent = who;
        let pipeline = Pipeline::new(Arc::new(runtime));
        let outcome = pipeline
            .execute(request, tools([work(&seen)]).as_ref())
            .await;
        (outcome, seen)
    }

    fn warnings(&self) -> Vec<String> {
        self.loop_.warnings.lock().unwrap().clone()
    }

    /// What the hooks read, one payload a line.
    fn seen(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path().join("seen")).unwrap_or_default();
        let lines = text.lines().filter(|line| !line.is_empty());
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The records of hooks: the decisions, and what they exited with.
    fn results(&self) -> Vec<Value> {
        let results = self.loop_.memory.of_type("hook/result");
        results
            .iter()
            .map(|record| record["data"].clone())
            .collect()
    }
}

fn says(text: &str) -> Scene {
    scene(Runtime::new(), [Reply::text(text)])
}

fn with(runtime: Runtime, replies: &[&str]) -> Scene {
    scene(runtime, replies.iter().map(|text| Reply::text(text)))
}

#[tokio::test]
async fn b211_what_happens_outside_of_a_turn_has_no_records() {
    let context = |event: &str| specific(event, json!({ "additionalContext": "ctx" }));
    let mut hooks = one("SessionStart", &context("SessionStart"));
    for event in ["SubagentStart", "SubagentStop"] {
        hooks[event] = one(event, &context(event))[event].clone();
    }
    let team = team(&hooks);
    let runtime = team.runtime();
    *team.loop_.turn.lock().unwrap() = Some(1);
    let session = Session {
        agent: team.who(),
        source: SessionSource::Startup,
    };
    let started = start_session(&runtime, &session, Duration::from_secs(60), None).await;
    assert_eq!(started.contexts.len(), 1);
    runtime
        .ask::<SubagentStart>(&team.who())
        .await
        .decision
        .unwrap();
    runtime
        .ask::<SubagentStop>(&turn_of(team.who()))
        .await
        .decision
        .unwrap();
    assert_eq!(team.loop_.memory.types(), [""; 0]);
}

fn turn_of(agent: Agent) -> Turn {
    Turn {
        agent,
        forced_continuations: 0,
        last_message: None,
    }
}

#[tokio::test]
async fn b212_a_blocked_prompt_has_records_where_it_has_a_turn() {
    let hooks = one("UserPromptSubmit", "echo not today >&2; exit 2");
    let team = team(&hooks);
    let stage = team.start(
        says("hello")
            .options(Options::before_turn())
            .runtime(team.runtime()),
    );
    let stage = stage.await;
    stage.prompt("hello").await;
    assert_eq!(stage.of("HookInvoked"), [""; 0]);

    let team = super::bridge::team(&hooks);
    let stage = team.start(says("hello").runtime(team.runtime())).await;
    stage.prompt("hello").await;
    let types: Vec<String> = events(&stage);
    assert_eq!(
        types,
        [
            "turn/start",
            "hook/invoked",
            "hook/result",
            "seam/decided",
            "turn/end"
        ]
    );
    assert_eq!(stage.end(), TurnEnd::Blocked);
}

/// The types of the events of a log.
fn events(stage: &Stage) -> Vec<String> {
    let events = stage.log.events();
    let values = events
        .iter()
        .map(|logged| serde_json::to_value(logged).unwrap());
    values
        .map(|event| event["type"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn b213_the_bare_map_and_the_wrapped_one_are_the_same() {
    let bare = one("PreToolUse", "echo no >&2; exit 2");
    for hooks in [bare.clone(), json!({ "permissions": {}, "hooks": bare })] {
        let (outcome, seen) = team(&hooks).call(|_| {}).await;
        assert_eq!(message(&outcome), "no");
        assert_eq!(seen.count("body"), 0);
    }
}

#[tokio::test]
async fn b214_what_is_malformed_is_left_out() {
    for hooks in [
        json!([]),
        json!("hooks"),
        json!(7),
        json!({ "PreToolUse": {} }),
        json!({ "PreToolUse": [1, {}, { "hooks": "x" }, { "hooks": [1, {}, { "command": 1 }] }] }),
    ] {
        let team = team(&hooks);
        let (_, seen) = team.call(|_| {}).await;
        assert_eq!(
            (seen.count("body"), team.warnings()),
            (1, vec![]),
            "{hooks}"
        );
    }
}

#[tokio::test]
async fn b215_a_hook_without_a_type_is_a_command() {
    let team = team(&json!({ "PreToolUse": [{ "hooks": [
        { "type": "prompt", "prompt": "is it fine?" },
        { "command": "echo no >&2; exit 2" },
        { "type": "http", "url": "http://127.0.0.1/" },
    ] }] }));
    let (outcome, _) = team.call(|_| {}).await;
    assert_eq!(message(&outcome), "no");
    let warnings = team.warnings();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    for (warning, kind) in warnings.iter().zip(["prompt", "http"]) {
        let said = format!("unsupported \"{kind}\" hook on event \"PreToolUse\"");
        assert!(warning.ends_with(&said), "{warning}");
    }
}

#[tokio::test]
async fn b216_an_event_that_is_not_supported_breaks_nothing() {
    let mut hooks = one("PreToolUse", "echo no >&2; exit 2");
    hooks["Notification"] = matched("Notification", "(", &["exit 2"])["Notification"].clone();
    let (outcome, _) = team(&hooks).call(|_| {}).await;
    assert_eq!(message(&outcome), "no");
}

#[tokio::test]
async fn b217_a_broken_matcher_rejects_the_whole_file() {
    let mut hooks = one("UserPromptSubmit", "echo no >&2; exit 2");
    hooks["PreToolUse"] = matched("PreToolUse", "(", &["exit 2"])["PreToolUse"].clone();
    let team = team(&hooks);
    let warnings = team.warnings();
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].contains("invalid claude regex matcher \"(\" on event \"PreToolUse\""),
        "{warnings:?}"
    );
    let runtime = team.runtime();
    assert!(!runtime.has::<PreTool>() && !runtime.has::<PromptSubmit>());
    let stage = team.start(says("hello").runtime(runtime)).await;
    stage.prompt("hello").await;
    assert_eq!(stage.end(), TurnEnd::Completed);
}

#[tokio::test]
async fn b218_an_event_without_a_subject_has_no_matcher_to_break() {
    let hooks = matched("UserPromptSubmit", "(", &["echo no >&2; exit 2"]);
    let team = team(&hooks);
    assert_eq!(team.warnings(), [""; 0]);
    let stage = team.start(says("hello").runtime(team.runtime())).await;
    stage.prompt("hello").await;
    assert_eq!(stage.end(), TurnEnd::Blocked);
}

#[tokio::test]
async fn b219_placeholders_are_replaced_where_they_have_a_value() {
    let line =
        "echo \"${CLAUDE_PLUGIN_ROOT}-${CLAUDE_PROJECT_DIR}-${CLAUDE_PLUGIN_ROOT}\" >&2; exit 2";
    let hooks = one("PreToolUse", line).to_string();
    let both = team_of(Dialect::Claude, &hooks, |config| {
        config.plugin_root("/plug").project_dir("/proj")
    });
    let (outcome, _) = both.call(|_| {}).await;
    assert_eq!(message(&outcome), "/plug-/proj-/plug");
    // Left to the shell, which knows only what the environment has.
    let none = team_of(Dialect::Claude, &hooks, |config| config);
    let (outcome, _) = none.call(|_| {}).await;
    assert_eq!(message(&outcome), format!("-{}-", none.path().display()));
}

#[tokio::test]
async fn b220_a_missing_file_is_a_warning() {
    let loop_ = Arc::new(Loop::default());
    let config = BridgeConfig::new("/nowhere/hooks.json");
    let bridge = Bridge::load(Dialect::Claude, config, loop_.clone());
    let warnings = loop_.warnings.lock().unwrap().clone();
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].starts_with("/nowhere/hooks.json: it can't be read"),
        "{warnings:?}"
    );
    let mut runtime = Runtime::new();
    bridge.register(&mut runtime);
    let stage = with(runtime, &["hello"]).start().await;
    stage.prompt("hello").await;
    assert_eq!(stage.end(), TurnEnd::Completed);
}

#[tokio::test]
async fn b222_a_matcher_without_hooks_does_not_matter() {
    let team = team(&json!({
        "PreToolUse": [{ "matcher": "(", "hooks": [{ "type": "http", "url": "http://127.0.0.1/" }] }],
        "UserPromptSubmit": [{ "hooks": [{ "command": "exit 2" }] }],
    }));
    assert!(team.runtime().has::<PromptSubmit>());
    assert!(!team.runtime().has::<PreTool>());
}

#[tokio::test]
async fn b223_exit_code_two_denies_a_call() {
    for (line, reason) in [
        ("echo no >&2; exit 2", "no"),
        ("echo '  ' >&2; exit 2", "blocked by PreToolUse hook"),
    ] {
        let (outcome, seen) = team(&one("PreToolUse", line)).call(|_| {}).await;
        assert_eq!((message(&outcome), seen.count("body")), (reason, 0));
    }
}

#[tokio::test]
async fn b224_a_matcher_for_another_tool_runs_nothing() {
    let team = team(&matched("PreToolUse", "Other", &["exit 2"]));
    let (_, seen) = team.call(|_| {}).await;
    assert_eq!(seen.count("body"), 1);
    assert_eq!(team.loop_.memory.types(), [""; 0]);
}

#[tokio::test]
async fn b225_a_command_that_is_not_there_decides_nothing() {
    let team = team(&one("PreToolUse", "no-such-command-here"));
    let (_, seen) = team.call(|_| {}).await;
    assert_eq!(seen.count("body"), 1);
    assert_eq!(team.results()[0]["exitCode"], 127);
}

fn asking() -> Value {
    let ask = json!({ "permissionDecision": "ask", "permissionDecisionReason": "why" });
    one("PreToolUse", &specific("PreToolUse", ask))
}

#[tokio::test]
async fn b226_who_asks_where_nobody_answers_has_denied() {
    let (outcome, seen) = team(&asking()).call(|_| {}).await;
    assert!(message(&outcome).contains("why"), "{}", message(&outcome));
    assert_eq!(seen.count("body"), 0);
}

#[tokio::test]
async fn b227_who_asks_and_gets_a_yes_lets_it_run() {
    let team = team(&asking());
    let yes = Callback(|_| async { Some(ApprovalOutcome::AllowedOnce) });
    let seen = Seen::default();
    let pipeline = Pipeline::builder(Arc::new(team.runtime()))
        .approval(Approval::new().approver(yes))
        .build();
    let outcome = pipeline
        .execute(request("work"), tools([work(&seen)]).as_ref())
        .await;
    assert!(outcome.result.is_ok());
    assert_eq!(seen.count("body"), 1);
}

#[tokio::test]
async fn b228_in_this_profile_a_hook_rewrites_nothing() {
    let allow = json!({ "permissionDecision": "allow", "updatedInput": { "n": 2 } });
    let team = team(&one("PreToolUse", &specific("PreToolUse", allow)));
    let seen = Arc::new(Mutex::new(None));
    let noted = seen.clone();
    let (outcome, _) = team
        .call(move |runtime| {
            runtime.listener::<PreTool>("note", move |call: &ToolCall| {
                *noted.lock().unwrap() = Some(call.arguments.text().to_owned());
                seamgate::seams::Verdict::Abstain.into()
            });
        })
        .await;
    assert!(outcome.result.is_ok());
    assert_eq!(seen.lock().unwrap().as_deref(), Some(r#"{"n":1}"#));
    assert!(
        team.warnings()[0].contains("updatedInput"),
        "{:?}",
        team.warnings()
    );
}

#[tokio::test]
async fn b229_what_is_said_about_another_event_does_not_count() {
    let deny = json!({ "permissionDecision": "deny" });
    let (_, seen) = team(&one("PreToolUse", &specific("PostToolUse", deny)))
        .call(|_| {})
        .await;
    assert_eq!(seen.count("body"), 1);
}

#[tokio::test]
async fn b230_a_blocked_result_is_the_feedback_and_nothing_before_it() {
    let (outcome, seen) = team(&one("PostToolUse", "echo 'look again' >&2; exit 2"))
        .call(|_| {})
        .await;
    assert_eq!(seen.count("body"), 1);
    assert_eq!(outcome.text(), "look again");
    assert!(outcome.result.is_err());
}

#[tokio::test]
async fn b231_a_block_and_its_context_both_appear() {
    let line = prints(&json!({
        "decision": "block", "reason": "look again",
        "hookSpecificOutput": { "hookEventName": "PostToolUse", "additionalContext": "ctx" },
    }));
    let (outcome, _) = team(&one("PostToolUse", &line)).call(|_| {}).await;
    assert_eq!(
        (outcome.text().as_str(), texts(&outcome)),
        ("look again", vec!["ctx"])
    );
}

fn post_context() -> Team {
    let context = json!({ "additionalContext": "ctx" });
    team(&one("PostToolUse", &specific("PostToolUse", context)))
}

#[tokio::test]
async fn b232_a_context_and_a_later_replacement_both_hold() {
    let (outcome, _) = post_context()
        .call(|runtime| {
            runtime.listener::<PostTool>("later", |_: &FinishedCall| PostToolDecision::Accept {
                replacement: Some(Replacement::Value(Json::string("other"))),
                contexts: Vec::new(),
            });
        })
        .await;
    assert_eq!(
        (outcome.text().as_str(), texts(&outcome)),
        ("other", vec!["ctx"])
    );
}

#[tokio::test]
async fn b233_the_bridges_context_comes_first() {
    let (outcome, _) = post_context()
        .call(|runtime| {
            runtime.listener::<PostTool>("later", |_: &FinishedCall| context("second"));
        })
        .await;
    assert_eq!(texts(&outcome), ["ctx", "second"]);
}

#[tokio::test]
async fn b234_a_later_block_keeps_the_bridges_context() {
    let (outcome, _) = post_context()
        .call(|runtime| {
            runtime.listener::<PostTool>("later", |_: &FinishedCall| block("no"));
        })
        .await;
    assert_eq!(
        (outcome.text().as_str(), texts(&outcome)),
        ("no", vec!["ctx"])
    );
}

#[tokio::test]
async fn b235_a_prompts_context_is_last_in_a_turn_and_first_before_one() {
    let line = specific("UserPromptSubmit", json!({ "additionalContext": "ctx" }));
    for (options, expected) in [
        (Options::default(), ["hello", "later", "ctx"]),
        (Options::before_turn(), ["hello", "ctx", "later"]),
    ] {
        let team = team(&one("UserPromptSubmit", &line));
        let mut runtime = team.runtime();
        runtime.listener::<PromptSubmit>("later", |_: &Prompt| PromptSubmitDecision::Allow {
            content: None,
            contexts: vec!["later".to_owned()],
        });
        let stage = team.start(with(runtime, &["hi"]).options(options)).await;
        stage.prompt("hello").await;
        assert_eq!(stage.requests()[0], expected);
    }
}

#[tokio::test]
async fn b236_a_stop_hook_makes_the_turn_go_on_with_its_text() {
    for (said, expected) in [
        ("echo 'run the tests' >&2;", "run the tests"),
        ("", "continue: blocked by Stop hook"),
    ] {
        let line = format!(
            "test -e \"$CLAUDE_PROJECT_DIR/once\" && exit 0; touch \"$CLAUDE_PROJECT_DIR/once\"; {said} exit 2"
        );
        let team = team(&one("Stop", &line));
        let stage = team
            .start(with(team.runtime(), &["done", "really done"]))
            .await;
        stage.prompt("hello").await;
        let requests = stage.requests();
        assert_eq!(requests.len(), 2);
        assert_eq!(requests[1].last().unwrap(), expected);
        assert_eq!(stage.end(), TurnEnd::Completed);
    }
}

#[tokio::test]
async fn b237_in_this_profile_a_hook_does_not_stop_the_agent() {
    let team = team(&one(
        "PreToolUse",
        &prints(&json!({ "continue": false, "stopReason": "halt" })),
    ));
    let call = Reply::default().call("c", "run", json!({ "command": "true" }));
    let stage = team
        .start(scene(team.runtime(), [call, Reply::text("done")]))
        .await;
    stage.prompt("hello").await;
    assert_eq!(stage.end(), TurnEnd::Completed);
    let logged = stage.log.events();
    let logged: Vec<Value> = logged
        .iter()
        .map(|one| serde_json::to_value(one).unwrap())
        .collect();
    let result = logged
        .iter()
        .find(|event| event["type"] == "hook/result")
        .unwrap();
    assert_eq!(result["data"]["decision"], "stop");
    let result = logged
        .iter()
        .find(|event| event["type"] == "tool/result")
        .unwrap();
    assert_eq!(result["data"]["isError"], false);
}

#[tokio::test]
async fn b238_a_system_message_is_warned_about_and_not_sent() {
    let team = team(&one(
        "UserPromptSubmit",
        &prints(&json!({ "systemMessage": "for the user" })),
    ));
    let stage = team.start(with(team.runtime(), &["hi"])).await;
    stage.prompt("hello").await;
    assert_eq!(stage.requests(), [["hello"]]);
    assert!(
        team.warnings()[0].contains("for the user"),
        "{:?}",
        team.warnings()
    );
}

#[tokio::test]
async fn b239_the_project_is_the_workspace_unless_it_is_configured() {
    let hooks = one("PreToolUse", "echo \"$CLAUDE_PROJECT_DIR\" >&2; exit 2").to_string();
    let team = team_of(Dialect::Claude, &hooks, |config| config);
    let (outcome, _) = team.call(|_| {}).await;
    assert_eq!(message(&outcome), team.path().to_str().unwrap());
    let team = team_of(Dialect::Claude, &hooks, |config| {
        config.project_dir("/proj")
    });
    let (outcome, _) = team.call(|_| {}).await;
    assert_eq!(message(&outcome), "/proj");
}

#[tokio::test]
async fn b240_hooks_run_in_the_workspace() {
    let team = team(&one("PreToolUse", "pwd -P >&2; exit 2"));
    let (outcome, _) = team.call(|_| {}).await;
    let workspace = team.path().canonicalize().unwrap();
    assert_eq!(message(&outcome), workspace.to_str().unwrap());
}

#[tokio::test]
async fn b241_an_unknown_transcript_is_empty() {
    let team = team(&one("PreToolUse", CAPTURES));
    drop(team.call(|_| {}).await);
    *team.loop_.transcript.lock().unwrap() = Some(PathBuf::from("/logs/s.jsonl"));
    drop(team.call(|_| {}).await);
    let seen = team.seen();
    assert_eq!(seen[0]["transcript_path"], "");
    assert_eq!(seen[1]["transcript_path"], "/logs/s.jsonl");
}

#[tokio::test]
async fn b242_a_hook_reads_the_documented_object() {
    let team = team(&one("PreToolUse", "cat > \"$CLAUDE_PROJECT_DIR/seen\""));
    drop(team.call(|_| {}).await);
    let seen = fs::read_to_string(team.path().join("seen")).unwrap();
    let cwd = json!(team.path());
    assert_eq!(
        seen,
        format!(
            "{{\"session_id\":\"session\",\"transcript_path\":\"\",\"cwd\":{cwd},\"hook_event_name\":\"PreToolUse\",\
             \"tool_name\":\"work\",\"tool_input\":{{\"n\":1}},\"tool_use_id\":\"call\"}}\n"
        )
    );
}

/// Session start is awaited here, so there is no race for the first request.
#[tokio::test]
async fn b243_a_context_of_the_start_is_in_the_first_request() {
    let team = team(&one(
        "SessionStart",
        &specific("SessionStart", json!({ "additionalContext": "ctx" })),
    ));
    let stage = team.start(with(team.runtime(), &["hi"])).await;
    stage.prompt("hello").await;
    assert_eq!(stage.requests()[0], ["ctx", "hello"]);
}

/// There is no injection that could throw: what can fail at the start is the hook itself.
#[tokio::test]
async fn b244_a_start_hook_that_breaks_keeps_nothing_from_working() {
    let team = team(&one("SessionStart", "exit 3"));
    let stage = team.start(with(team.runtime(), &["hi"])).await;
    stage.prompt("hello").await;
    assert_eq!(stage.end(), TurnEnd::Completed);
    assert!(
        team.warnings()[0].contains("it exited with 3"),
        "{:?}",
        team.warnings()
    );
}

#[tokio::test]
async fn b245_a_matcher_of_the_source_is_heeded() {
    let context = specific("SessionStart", json!({ "additionalContext": "ctx" }));
    for (source, expected) in [(SessionSource::Startup, 1), (SessionSource::Resume, 0)] {
        let team = team(&matched("SessionStart", "startup", &[&context]));
        let session = Session {
            agent: team.who(),
            source,
        };
        let asked = team.runtime().ask::<SessionStart>(&session).await;
        assert_eq!(asked.decision.unwrap().contexts.len(), expected);
    }
}

fn child_of(team: &Team) -> Agent {
    Agent {
        agent_id: Some("child".to_owned()),
        ..team.who()
    }
}

/// Every child is a local one here: it is asked about before it begins, and reads the context before its first prompt.
#[tokio::test]
async fn b246_a_child_reads_the_context_of_its_start() {
    let context = specific(
        "SubagentStart",
        json!({ "additionalContext": "you are a child" }),
    );
    let team = team(&one("SubagentStart", &context));
    let folder = tempfile::tempdir().unwrap();
    let (setup, model): (_, Arc<ScriptedModel>) =
        with(team.runtime(), &["hi"]).setup(child_of(&team), folder.path());
    let child = AgentLoop::start_child(setup).await;
    child.followup(blocks("look"));
    child.drive().await;
    assert_eq!(model.requests()[0].len(), 2);
}

#[tokio::test]
async fn b247_the_end_of_a_child_is_told_in_its_workspace() {
    let team = team(&one("SubagentStop", CAPTURES));
    let runtime = team.runtime();
    runtime
        .ask::<SubagentStop>(&turn_of(child_of(&team)))
        .await
        .decision
        .unwrap();
    let seen = team.seen();
    assert_eq!(seen[0]["session_id"], "session");
    assert_eq!(seen[0]["cwd"], json!(team.path()));
    assert_eq!(
        (
            &seen[0]["agent_id"],
            &seen[0]["agent_type"],
            &seen[0]["stop_hook_active"]
        ),
        (&json!("child"), &json!("general-purpose"), &json!(false))
    );
}

#[tokio::test]
async fn b248_a_matcher_of_the_kind_is_heeded() {
    let context = specific("SubagentStart", json!({ "additionalContext": "ctx" }));
    for (matcher, expected) in [
        ("code-reviewer", 0),
        ("general-purpose", 1),
        ("*", 1),
        ("", 1),
    ] {
        let team = team(&matched("SubagentStart", matcher, &[&context]));
        let asked = team.runtime().ask::<SubagentStart>(&child_of(&team)).await;
        assert_eq!(
            asked.decision.unwrap().contexts.len(),
            expected,
            "{matcher}"
        );
    }
}

#[tokio::test]
async fn b249_a_call_of_nobody_has_hooks_and_no_records() {
    let team = team(&one(
        "PreToolUse",
        "grep -q '\"session_id\":\"\"' && echo no >&2; exit 2",
    ));
    let (outcome, seen) = team.call_by(None, |_| {}).await;
    assert_eq!((message(&outcome), seen.count("body")), ("no", 0));
    assert_eq!(team.loop_.memory.types(), [""; 0]);
}

#[tokio::test]
async fn b250_a_denial_spares_no_later_hook() {
    let team = team(&matched(
        "PreToolUse",
        "work",
        &["echo no >&2; exit 2", "echo late >&2; exit 2"],
    ));
    let (outcome, _) = team.call(|_| {}).await;
    assert_eq!(message(&outcome), "no\n\nlate");
    assert_eq!(
        team.loop_.memory.types(),
        ["hook/invoked", "hook/result", "hook/invoked", "hook/result"]
    );
}

/// A prompt of nothing is not asked about: the loop has nothing to say to the model.
#[tokio::test]
async fn b251_nothing_claimed_is_nothing_to_ask_about() {
    let team = team(&one("UserPromptSubmit", CAPTURES));
    let stage = team.start(with(team.runtime(), &["hi"])).await;
    stage.agent.drive().await;
    stage.agent.wake();
    stage.agent.drive().await;
    assert_eq!(team.seen(), [Value::Null; 0]);
}

#[tokio::test]
async fn b252_what_a_stop_hook_says_is_no_prompt() {
    let mut hooks = one("UserPromptSubmit", CAPTURES);
    let line = "test -e \"$CLAUDE_PROJECT_DIR/once\" && exit 0; touch \"$CLAUDE_PROJECT_DIR/once\"; exit 2";
    hooks["Stop"] = one("Stop", line)["Stop"].clone();
    let team = team(&hooks);
    let stage = team.start(with(team.runtime(), &["done", "really"])).await;
    stage.prompt("hello").await;
    assert_eq!(stage.requests().len(), 2);
    let prompts: Vec<Value> = team
        .seen()
        .iter()
        .map(|seen| seen["prompt"].clone())
        .collect();
    assert_eq!(prompts, ["hello"]);
}

#[tokio::test]
async fn b253_the_stricter_of_an_ask_and_a_later_denial_holds() {
    let (outcome, _) = team(&asking())
        .call(|runtime| {
            runtime.listener::<PreTool>("later", |_: &ToolCall| deny("never"));
        })
        .await;
    assert_eq!(message(&outcome), "never");
}

#[tokio::test]
async fn b254_a_denial_is_a_result_that_post_hooks_hear_of() {
    let mut hooks = one("PreToolUse", "echo no >&2; exit 2");
    hooks["PostToolUse"] = one("PostToolUse", CAPTURES)["PostToolUse"].clone();
    let team = team(&hooks);
    drop(team.call(|_| {}).await);
    let response = team.seen()[0]["tool_response"].clone();
    assert!(response.as_str().unwrap().contains("no"), "{response}");
}

/// The number of a hook's process, once it has written it.
async fn process(team: &Team) -> i32 {
    let file = team.path().join("pid");
    let written = async {
        loop {
            if let Ok(text) = fs::read_to_string(&file)
                && text.ends_with('\n')
            {
                return text.trim().parse().unwrap();
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), written)
        .await
        .unwrap()
}

const SLEEPS: &str = "echo $$ > \"$CLAUDE_PROJECT_DIR/pid\"; exec sleep 60";

fn lives(process: i32) -> bool {
    Path::new(&format!("/proc/{process}")).exists()
}

#[tokio::test]
async fn b255_disposal_waits_for_what_runs() {
    let team = team(&one("SessionStart", SLEEPS));
    let (runtime, session) = (
        team.runtime(),
        Session {
            agent: team.who(),
            source: SessionSource::Startup,
        },
    );
    let asking = tokio::spawn(async move { runtime.ask::<SessionStart>(&session).await });
    let process = process(&team).await;
    assert!(lives(process));
    team.bridge.dispose().await;
    assert!(!lives(process));
    assert_eq!(asking.await.unwrap().decision.unwrap().contexts.len(), 0);
    assert_eq!(team.warnings(), [""; 0]);
}

#[tokio::test]
async fn b256_codex_has_fewer_events() {
    let mut hooks = one("SubagentStop", "exit 2");
    hooks["Notification"] = one("Notification", "exit 2")["Notification"].clone();
    let team = codex(&hooks);
    assert!(!team.runtime().has::<SubagentStop>());
    assert_eq!(team.warnings(), [""; 0]);
}

#[tokio::test]
async fn b257_a_timeout_has_an_older_name() {
    let slow = |timeouts: Value| {
        let mut hook = json!({ "command": "exec sleep 60" });
        hook.as_object_mut()
            .unwrap()
            .extend(timeouts.as_object().unwrap().clone());
        codex(&json!({ "PreToolUse": [{ "hooks": [hook] }] }))
    };
    for timeouts in [
        json!({ "timeout": 0.1 }),
        json!({ "timeoutSec": 0.1 }),
        json!({ "timeout": 0.1, "timeoutSec": 60 }),
    ] {
        let team = slow(timeouts);
        let (_, seen) = team.call(|_| {}).await;
        assert_eq!(seen.count("body"), 1);
        assert!(
            team.warnings()[0].contains("too long"),
            "{:?}",
            team.warnings()
        );
    }
}

#[tokio::test]
async fn b258_codex_runs_nothing_that_nobody_waits_for() {
    let team = codex(&json!({ "PreToolUse": [{ "hooks": [
        { "command": "exit 2", "async": true },
        { "command": "echo no >&2; exit 2" },
    ] }] }));
    let (outcome, _) = team.call(|_| {}).await;
    assert_eq!(message(&outcome), "no");
    assert!(team.warnings()[0].ends_with("async hook on event \"PreToolUse\""));
}

#[tokio::test]
async fn b259_codex_has_no_placeholders() {
    let hooks = one("PreToolUse", "X=shell; echo \"${X}\" >&2; exit 2").to_string();
    let team = team_of(Dialect::Codex, &hooks, |config| config.plugin_root("/plug"));
    let (outcome, _) = team.call(|_| {}).await;
    assert_eq!(message(&outcome), "shell");
}

#[tokio::test]
async fn b260_codex_reads_its_own_object() {
    let team = codex(&one("PreToolUse", "cat > seen"));
    drop(team.call(|_| {}).await);
    let seen = fs::read_to_string(team.path().join("seen")).unwrap();
    let cwd = json!(team.path());
    assert_eq!(
        seen,
        format!(
            "{{\"session_id\":\"session\",\"transcript_path\":null,\"cwd\":{cwd},\"hook_event_name\":\"PreToolUse\",\
             \"model\":\"m-1\",\"permission_mode\":\"default\",\"turn_id\":\"1\",\"tool_name\":\"work\",\
             \"tool_input\":{{\"command\":\"\"}},\"tool_use_id\":\"call\"}}"
        )
    );
}

#[tokio::test]
async fn b261_codex_reads_the_command_and_nothing_else() {
    for (arguments, command) in [
        (json!({ "command": "ls", "cwd": "/" }), "ls"),
        (json!({}), ""),
        (json!({ "command": 7 }), ""),
    ] {
        let team = codex(&one("PreToolUse", "cat > seen"));
        let call = ToolCall {
            call_id: "c".to_owned(),
            root_call_id: "c".to_owned(),
            tool: "shell".to_owned(),
            arguments: Json::of(&arguments).unwrap(),
            agent: team.who(),
        };
        team.runtime().ask::<PreTool>(&call).await.decision.unwrap();
        let seen = team.seen();
        assert_eq!(seen[0]["tool_name"], "shell");
        assert_eq!(seen[0]["tool_input"], json!({ "command": command }));
    }
}

#[tokio::test]
async fn b262_codex_knows_that_it_knows_no_transcript() {
    let team = codex(&one("PreToolUse", "cat > seen"));
    drop(team.call(|_| {}).await);
    assert_eq!(team.seen()[0]["transcript_path"], Value::Null);
}

#[tokio::test]
async fn b263_plain_text_is_context_for_codex_at_a_prompt() {
    for (line, expected) in [
        ("echo ctx", vec!["hello", "ctx"]),
        ("echo ctx; exit 1", vec!["hello"]),
        ("echo '{\"continue\":true}'", vec!["hello"]),
    ] {
        let team = codex(&one("UserPromptSubmit", line));
        let stage = team.start(with(team.runtime(), &["hi"])).await;
        stage.prompt("hello").await;
        assert_eq!(stage.requests()[0], expected, "{line}");
    }
    let team = codex(&one("UserPromptSubmit", "echo ctx; echo no >&2; exit 2"));
    let stage = team.start(with(team.runtime(), &["hi"])).await;
    stage.prompt("hello").await;
    assert_eq!(stage.end(), TurnEnd::Blocked);
}

#[tokio::test]
async fn b264_plain_text_is_context_for_codex_at_the_start() {
    for (line, expected) in [
        ("echo ctx", vec!["ctx", "hello"]),
        ("echo ctx; exit 2", vec!["hello"]),
    ] {
        let team = codex(&one("SessionStart", line));
        let stage = team.start(with(team.runtime(), &["hi"])).await;
        stage.prompt("hello").await;
        assert_eq!(stage.requests()[0], expected, "{line}");
    }
}

#[tokio::test]
async fn b265_plain_text_is_nothing_around_a_tool() {
    for event in ["PreToolUse", "PostToolUse"] {
        let (outcome, seen) = codex(&one(event, "echo ctx")).call(|_| {}).await;
        assert_eq!((seen.count("body"), texts(&outcome)), (1, vec![]));
    }
}

#[tokio::test]
async fn b266_only_a_denial_counts_for_codex() {
    for (decision, runs) in [("ask", 1), ("allow", 1), ("deny", 0)] {
        let line = specific("PreToolUse", json!({ "permissionDecision": decision }));
        let (_, seen) = codex(&one("PreToolUse", &line)).call(|_| {}).await;
        assert_eq!(seen.count("body"), runs, "{decision}");
    }
}

#[tokio::test]
async fn b267_a_prompt_names_its_turn_or_the_one_that_would_be_its() {
    for options in [Options::default(), Options::before_turn()] {
        let team = codex(&one("UserPromptSubmit", "cat >> seen; echo >> seen"));
        let stage = team
            .start(with(team.runtime(), &["hi", "hi"]).options(options))
            .await;
        stage.prompt("first").await;
        stage.prompt("second").await;
        let turns: Vec<Value> = team
            .seen()
            .iter()
            .map(|seen| seen["turn_id"].clone())
            .collect();
        assert_eq!(turns, ["1", "2"]);
    }
}

#[tokio::test]
async fn b268_a_cancel_ends_a_prompts_hook() {
    let team = team(&one("UserPromptSubmit", SLEEPS));
    let stage = team.start(with(team.runtime(), &["hi"])).await;
    stage.agent.followup(blocks("hello"));
    let (agent, cancelled) = (stage.agent.clone(), async {
        let process = process(&team).await;
        stage.agent.cancel(CancelCause::User);
        process
    });
    let ((), process) = tokio::join!(agent.drive(), cancelled);
    team.bridge.settled().await;
    assert!(!lives(process));
    assert_eq!(stage.requests().len(), 0);
    let types: Vec<String> = events(&stage);
    let types: Vec<&str> = types
        .iter()
        .map(String::as_str)
        .filter(|kind| *kind != "seam/decided")
        .collect();
    assert_eq!(
        types,
        ["turn/start", "hook/invoked", "hook/result", "turn/end"]
    );
}

#[tokio::test]
async fn b269_two_bridges_stand_in_a_row() {
    let context = specific("PostToolUse", json!({ "additionalContext": "ctx" }));
    let (first, second) = (
        team(&one("PostToolUse", &context)),
        codex(&one("PostToolUse", &context)),
    );
    let (outcome, _) = first.call(|runtime| second.bridge.register(runtime)).await;
    let sources: Vec<String> = outcome
        .contexts
        .iter()
        .map(|context| format!("{:?}", context.source))
        .collect();
    assert!(
        sources[0].contains("hooks-claude") && sources[1].contains("hooks-codex"),
        "{sources:?}"
    );

    let first = team(&one("PreToolUse", "echo no >&2; exit 2"));
    let second = codex(&one("PreToolUse", "touch ran"));
    let (outcome, _) = first.call(|runtime| second.bridge.register(runtime)).await;
    assert_eq!(message(&outcome), "no");
    assert!(!first.path().join("ran").exists());
}

#[tokio::test]
async fn what_can_not_be_recorded_does_not_happen() {
    let team = team(&one("PreToolUse", "touch ran"));
    *team.loop_.memory.refuses.lock().unwrap() = Some("hook/invoked");
    let (outcome, seen) = team.call(|_| {}).await;
    assert!(outcome.result.is_err());
    assert_eq!(seen.count("body"), 0);
    assert!(!team.path().join("ran").exists());
}

#[tokio::test]
async fn a_turn_that_is_cancelled_leaves_no_process() {
    let team = team(&one("PreToolUse", SLEEPS));
    let canceller = seamgate::pipeline::Canceller::default();
    let mut request = request("work");
    request.agent = Some(team.who());
    request.signal = canceller.signal();
    let seen = Seen::default();
    let pipeline = Pipeline::new(Arc::new(team.runtime()));
    let tools = tools([work(&seen)]);
    let (outcome, process) = tokio::join!(pipeline.execute(request, tools.as_ref()), async {
        let process = process(&team).await;
        canceller.cancel();
        process
    });
    team.bridge.settled().await;
    assert!(!lives(process));
    assert!(outcome.result.is_err());
}
