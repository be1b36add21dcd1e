//! The policies around tools, as the components that are prebuilt, through the sandbox and the pipeline.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use seamgate::pipeline::{
    CallOutcome, CallRequest, Ending, Invocation, Schema, Signal, Tool, Tools,
};
use seamgate::seams::{Agent, PreTool, ToolCall, ToolError, Verdict};
use seamgate::{
    Compiler, ComponentSource, EngineProfile, Grants, Limits, Pipeline, Policy, PolicySpec,
    Runtime, Sandbox, StateGrant, Tier,
};
use serde_json::{Value, json};

/// The components that ship, and where `cargo xtask test` has rebuilt them from their source, those as well.
fn folders() -> Vec<PathBuf> {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies/prebuilt");
    let rebuilt = std::env::var_os("SEAMGATE_REBUILT_POLICIES").map(PathBuf::from);
    [shipped].into_iter().chain(rebuilt).collect()
}

/// Runs a test with each set of components.
fn each<F: Future<Output = ()>>(test: impl Fn(Loader) -> F) {
    for folder in folders() {
        let sandbox = Sandbox::new(EngineProfile::Serving, Compiler::InProcess, None)
            .expect("an engine starts");
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("tokio starts")
            .block_on(test(Loader { folder, sandbox }));
    }
}

/// Loads policies by name.
struct Loader {
    folder: PathBuf,
    sandbox: Sandbox,
}

impl Loader {
    async fn load(&self, name: &str, settings: &[(&str, &str)], tools: Option<&[&str]>) -> Policy {
        let needs_state = name == "result-cache";
        let spec = PolicySpec {
            name: name.to_owned(),
            component: ComponentSource::File(self.folder.join(format!("{name}.wasm"))),
            tier: Tier::Trusted,
            tools: tools.map(|tools| tools.iter().map(|&tool| tool.to_owned()).collect()),
            settings: settings
                .iter()
                .map(|&(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
            grants: Grants {
                state: needs_state.then_some(StateGrant::Memory),
            },
            limits: Limits::default(),
        };
        Policy::load(&self.sandbox, &spec).await.expect("it loads")
    }

    /// A pipeline with one policy around every tool.
    async fn alone(&self, name: &str, settings: &[(&str, &str)]) -> Pipeline {
        pipeline([self.load(name, settings, None).await])
    }
}

/// A pipeline with these policies, the outermost first.
fn pipeline(policies: impl IntoIterator<Item = Policy>) -> Pipeline {
    let mut runtime = Runtime::new();
    for policy in policies {
        runtime.policy(policy);
    }
    Pipeline::new(Arc::new(runtime))
}

fn request(tool: &str, arguments: Value) -> CallRequest {
    CallRequest {
        call_id: "call-1".to_owned(),
        tool: tool.to_owned(),
        arguments: arguments.into(),
        agent: Some(Agent {
            dialect: "embedded".to_owned(),
            session_id: "session-1".to_owned(),
            ..Agent::default()
        }),
        turn: None,
        signal: Signal::never(),
    }
}

/// How often something happened.
#[derive(Clone, Default)]
struct Count(Arc<AtomicU32>);

impl Count {
    /// Once more. Gives how often now.
    fn up(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A tool that is told which run of it this is.
fn tool<F, R>(name: &str, runs: &Count, body: F) -> Tool
where
    F: Fn(u32, Invocation) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Value, ToolError>> + Send + 'static,
{
    let runs = runs.clone();
    Tool::new(name, Schema::any(), move |invocation| {
        let running = body(runs.up(), invocation);
        async move { Ok(running.await?.into()) }
    })
}

fn tools(all: impl IntoIterator<Item = Tool>) -> Arc<Tools> {
    let tools = Tools::new();
    for tool in all {
        tools.register(tool);
    }
    Arc::new(tools)
}

/// A tool that does not get anywhere in its first runs, until it is told to stop, and is done at once in later ones.
fn slow_at_first(name: &str, slow: u32, runs: &Count) -> Tool {
    tool(name, runs, move |run, invocation| async move {
        if run <= slow {
            invocation.signal().fired().await;
        }
        Ok(json!(format!("run {run}")))
    })
}

fn message(outcome: &CallOutcome) -> &str {
    &outcome.result.as_ref().expect_err("it failed").message
}

#[test]
fn timeout_ends_a_tool_that_listens_to_its_signal() {
    each(|loader| async move {
        let settings = [
            ("milliseconds", "20"),
            ("per-tool", r#"{"patient":3600000}"#),
        ];
        let pipeline = loader.alone("timeout", &settings).await;
        let runs = Count::default();
        let tools = tools([
            slow_at_first("work", 1, &runs),
            slow_at_first("patient", u32::MAX, &runs),
        ]);
        // An hour passes at once where nothing else is to be done.
        tokio::time::pause();
        let outcome = pipeline.execute(request("work", json!({})), &*tools).await;
        assert_eq!(outcome.code(), Some("TOOL_TIMEOUT"));
        assert_eq!(message(&outcome), "tool call timed out after 20ms");
        // The same tool in time.
        let outcome = pipeline.execute(request("work", json!({})), &*tools).await;
        assert_eq!(outcome.text(), "run 2");
        let outcome = pipeline
            .execute(request("patient", json!({})), &*tools)
            .await;
        assert_eq!(message(&outcome), "tool call timed out after 3600000ms");
    });
}

#[test]
fn timeout_without_its_setting_fails_the_call_before_the_tool_runs() {
    each(|loader| async move {
        let pipeline = loader.alone("timeout", &[]).await;
        let runs = Count::default();
        let tools = tools([slow_at_first("work", 0, &runs)]);
        let outcome = pipeline.execute(request("work", json!({})), &*tools).await;
        let Ending::CouldNotDecide(failure) = &outcome.ending else {
            panic!("{outcome:?}");
        };
        assert_eq!(failure.message, "the setting `milliseconds` is missing");
        assert_eq!((outcome.code(), runs.get()), (Some("REPORTED"), 0));
    });
}

#[test]
fn retry_runs_a_tool_again_that_a_timeout_further_in_has_ended() {
    each(|loader| async move {
        let retry = loader.load("retry", &[], None).await;
        let timeout = loader
            .load("timeout", &[("milliseconds", "20")], None)
            .await;
        let pipeline = pipeline([retry, timeout]);
        let runs = Count::default();
        let tools = tools([slow_at_first("work", 1, &runs)]);
        tokio::time::pause();
        let outcome = pipeline.execute(request("work", json!({})), &*tools).await;
        assert_eq!((outcome.text().as_str(), runs.get()), ("run 2", 2));
        assert_eq!(outcome.ending, Ending::Succeeded);
    });
}

#[test]
fn a_timeout_further_out_is_for_all_attempts_together() {
    each(|loader| async move {
        let timeout = loader
            .load("timeout", &[("milliseconds", "20")], None)
            .await;
        let retry = loader.load("retry", &[], None).await;
        let pipeline = pipeline([timeout, retry]);
        let runs = Count::default();
        let tools = tools([slow_at_first("work", u32::MAX, &runs)]);
        tokio::time::pause();
        let outcome = pipeline.execute(request("work", json!({})), &*tools).await;
        assert_eq!((outcome.code(), runs.get()), (Some("TOOL_TIMEOUT"), 1));
    });
}

#[test]
fn retry_lets_stand_what_is_none_of_its_codes_and_gives_up_in_the_end() {
    each(|loader| async move {
        let settings = [("attempts", "4"), ("codes", r#"["BUSY"]"#)];
        let pipeline = loader.alone("retry", &settings).await;
        for (code, expected) in [("BUSY", 4), ("BROKEN", 1)] {
            let runs = Count::default();
            let tools = tools([tool("work", &runs, move |run, _| async move {
                Err(ToolError::coded(format!("run {run}"), code))
            })]);
            let outcome = pipeline.execute(request("work", json!({})), &*tools).await;
            assert_eq!((outcome.code(), runs.get()), (Some(code), expected));
            // The last failure stands.
            assert_eq!(message(&outcome), format!("run {expected}"));
        }
    });
}

#[test]
fn cache_answers_the_second_of_two_equal_calls_and_no_other() {
    each(|loader| async move {
        let pipeline = loader.alone("result-cache", &[]).await;
        let runs = Count::default();
        let tools = tools([tool("read", &runs, |run, _| async move {
            Ok(json!({ "run": run }))
        })]);
        let first = request("read", json!({ "path": "a" }));
        let other = request("read", json!({ "path": "b" }));
        let mut session = request("read", json!({ "path": "a" }));
        session.agent.as_mut().expect("it has one").session_id = "session-2".to_owned();
        for (call, run) in [
            (&first, 1),
            (&first, 1),
            (&other, 2),
            (&session, 3),
            (&session, 3),
            (&first, 1),
        ] {
            let outcome = pipeline.execute(call.clone(), &*tools).await;
            let value = outcome.result.expect("it succeeds");
            assert_eq!(value.text(), format!(r#"{{"run":{run}}}"#));
        }
        assert_eq!(runs.get(), 3);
    });
}

#[test]
fn cache_keeps_no_failure() {
    each(|loader| async move {
        let pipeline = loader.alone("result-cache", &[]).await;
        let runs = Count::default();
        let tools = tools([tool("read", &runs, |run, _| async move {
            match run {
                1 => Err(ToolError::new("not yet")),
                _ => Ok(json!(run)),
            }
        })]);
        let mut texts = Vec::new();
        for _ in 0..3 {
            let outcome = pipeline.execute(request("read", json!({})), &*tools).await;
            texts.push(outcome.text());
        }
        assert_eq!(texts, ["Error: not yet", "2", "2"]);
    });
}

#[test]
fn a_gate_decides_about_a_call_that_the_cache_would_answer() {
    each(|loader| async move {
        let mut runtime = Runtime::new();
        let calls = Count::default();
        runtime.listener::<PreTool>("once", move |_: &ToolCall| match calls.up() {
            1 => Verdict::Abstain.into(),
            _ => Verdict::Deny("once is enough".to_owned()).into(),
        });
        runtime.policy(loader.load("result-cache", &[], None).await);
        let pipeline = Pipeline::new(Arc::new(runtime));
        let runs = Count::default();
        let tools = tools([slow_at_first("read", 0, &runs)]);
        let first = pipeline.execute(request("read", json!({})), &*tools).await;
        assert_eq!(first.text(), "run 1");
        let second = pipeline.execute(request("read", json!({})), &*tools).await;
        assert_eq!(second.ending, Ending::Denied);
    });
}

#[test]
fn a_tool_behind_next_may_call_another_one_with_policies_around_it() {
    each(|loader| async move {
        // Around both calls, so each of their components is in use twice at once.
        let retry = loader.load("retry", &[], Some(&["inner"])).await;
        let timeout = loader
            .load(
                "timeout",
                &[("milliseconds", "60000"), ("per-tool", r#"{"inner":20}"#)],
                None,
            )
            .await;
        let cache = loader
            .load("result-cache", &[], Some(&["outer", "inner"]))
            .await;
        let pipeline = pipeline([cache, retry, timeout]);
        let (outer_runs, inner_runs) = (Count::default(), Count::default());
        let inside = tools([slow_at_first("inner", 1, &inner_runs)]);
        let tools = tools([tool("outer", &outer_runs, move |_, invocation| {
            let inside = inside.clone();
            async move {
                let inner = invocation.nested(&*inside, "inner", json!({})).await?;
                Ok(json!(format!("outer around {}", inner.value.text())))
            }
        })]);
        tokio::time::pause();
        for _ in 0..2 {
            let outcome = pipeline.execute(request("outer", json!({})), &*tools).await;
            assert_eq!(outcome.text(), "outer around \"run 2\"");
        }
        // The inner one ran into its deadline once, and the second outer call was answered by the cache.
        assert_eq!((outer_runs.get(), inner_runs.get()), (1, 2));
    });
}
