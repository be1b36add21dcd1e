//! For tests: an agent that is set up in a line, and its log in a few words.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use seamgate::approval::Approval;
use seamgate::audit::{AuditEvent, AuditSink};
use seamgate::pipeline::{ContextSource, Pipeline, Tool, Tools};
use seamgate::seams::{Agent, SessionSource};
use seamgate::{Json, Runtime};
use tempfile::TempDir;

use super::*;

/// An agent with all that belongs to it.
pub struct Stage {
    pub agent: Arc<AgentLoop>,
    pub model: Arc<ScriptedModel>,
    pub tools: Arc<Tools>,
    pub log: Arc<SessionLog>,
    pub notices: Arc<Mutex<Vec<Notice>>>,
    pub folder: TempDir,
}

/// The agent, for hooks and tools that do something to it. They are made before it is.
pub type Later = Arc<OnceLock<Arc<AgentLoop>>>;

/// What an agent is to be.
#[must_use]
pub struct Scene {
    runtime: Runtime,
    script: Vec<Result<Reply, ModelError>>,
    options: Options,
    approval: Option<Approval>,
    source: SessionSource,
    log: Option<Arc<SessionLog>>,
    audit: Option<Arc<dyn AuditSink>>,
    tools: Vec<Tool>,
}

/// The agent that every test is about.
pub fn who() -> Agent {
    Agent {
        dialect: "embedded".to_owned(),
        session_id: "session".to_owned(),
        ..Agent::default()
    }
}

/// An agent with these hooks, whose model says these things.
pub fn scene(runtime: Runtime, script: impl IntoIterator<Item = Reply>) -> Scene {
    Scene {
        runtime,
        script: script.into_iter().map(Ok).collect(),
        options: Options::default(),
        approval: None,
        source: SessionSource::Startup,
        log: None,
        audit: None,
        tools: Vec::new(),
    }
}

impl Scene {
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// With these hooks in place of the others.
    pub fn runtime(mut self, runtime: Runtime) -> Self {
        self.runtime = runtime;
        self
    }

    /// After all replies, the model fails.
    pub fn then_fails(mut self, message: &str, code: &str) -> Self {
        self.script.push(Err(ModelError {
            message: message.to_owned(),
            code: code.to_owned(),
        }));
        self
    }

    pub fn approval(mut self, approval: Approval) -> Self {
        self.approval = Some(approval);
        self
    }

    pub fn resumes(mut self, log: Arc<SessionLog>) -> Self {
        self.source = SessionSource::Resume;
        self.log = Some(log);
        self
    }

    pub fn on(mut self, log: SessionLog) -> Self {
        self.log = Some(Arc::new(log));
        self
    }

    pub fn audit(mut self, audit: Arc<dyn AuditSink>) -> Self {
        self.audit = Some(audit);
        self
    }

    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// What the agent is made of, in this folder.
    pub fn setup(self, who: Agent, folder: &Path) -> (Setup, Arc<ScriptedModel>) {
        let log = self.log.unwrap_or_else(|| {
            let name = who.agent_id.as_deref().unwrap_or("session");
            let lines = JsonLines::create(folder.join(format!("{name}.jsonl")));
            let log = SessionLog::new(lines.expect("the folder can be written"));
            Arc::new(match self.audit {
                Some(audit) => log.audit(audit),
                None => log,
            })
        });
        let mut pipeline = Pipeline::builder(Arc::new(self.runtime)).audit(log.clone());
        if let Some(approval) = self.approval {
            pipeline = pipeline.approval(approval);
        }
        let files = folder.join("files");
        std::fs::create_dir_all(&files).expect("the folder can be written");
        let tools = Tools::new();
        for tool in [read_file(&files), write_file(&files), run(&files)]
            .into_iter()
            .chain(self.tools)
        {
            tools.register(tool);
        }
        let model = Arc::new(ScriptedModel::new(self.script));
        let setup = Setup {
            who,
            pipeline: pipeline.build(),
            tools: Arc::new(tools),
            model: model.clone(),
            log,
            options: self.options,
        };
        (setup, model)
    }

    pub async fn start(self) -> Stage {
        let folder = tempfile::tempdir().expect("there is a folder for temporary files");
        let source = self.source.clone();
        let (setup, model) = self.setup(who(), folder.path());
        let (tools, log) = (setup.tools.clone(), setup.log.clone());
        let agent = AgentLoop::start(setup, source).await;
        let notices = Arc::new(Mutex::new(Vec::new()));
        let noted = notices.clone();
        agent.observe(move |notice| noted.lock().unwrap().push(notice.clone()));
        Stage {
            agent,
            model,
            tools,
            log,
            notices,
            folder,
        }
    }
}

impl Stage {
    /// Makes the agent known to its hooks.
    pub fn known_as(self, later: &Later) -> Self {
        assert!(later.set(self.agent.clone()).is_ok(), "it is known already");
        self
    }

    /// Sends a prompt, lets the agent work, and says what became of the prompt.
    pub async fn prompt(&self, text: &str) -> Fate {
        let submitted = self.agent.followup(blocks(text));
        self.agent.drive().await;
        // Whatever became of it is certain by now, unless it waits for a wake.
        let fate = tokio::time::timeout(Duration::from_secs(60), submitted.fate());
        fate.await.expect("the prompt has a fate")
    }

    pub fn notices(&self) -> Vec<Notice> {
        self.notices.lock().unwrap().clone()
    }

    pub fn warnings(&self) -> usize {
        let notices = self.notices();
        let warnings = notices
            .iter()
            .filter(|one| matches!(one, Notice::Warning(_)));
        warnings.count()
    }

    /// What the model was given to read, each message in a few words.
    pub fn requests(&self) -> Vec<Vec<String>> {
        let requests = self.model.requests();
        requests
            .iter()
            .map(|messages| messages.iter().map(words).collect())
            .collect()
    }

    /// The log, each event in a few words.
    pub fn trace(&self) -> Vec<String> {
        trace(&self.log)
    }

    /// The events of the log whose words begin so.
    pub fn of(&self, beginning: &str) -> Vec<String> {
        let trace = self.trace().into_iter();
        trace.filter(|line| line.starts_with(beginning)).collect()
    }

    /// How the last turn ended.
    pub fn end(&self) -> TurnEnd {
        let events = self.log.events().into_iter().rev();
        events
            .filter_map(|logged| match logged.event {
                Event::TurnEnd { reason, .. } => Some(reason),
                _ => None,
            })
            .next()
            .expect("a turn ended")
    }
}

fn words(message: &Message) -> String {
    match message {
        Message::User(message) => message.text(),
        Message::Assistant { text, calls } if calls.is_empty() => format!("model: {text}"),
        Message::Assistant { calls, .. } => {
            let calls: Vec<String> = calls
                .iter()
                .map(|call| format!("{} {}", call.name, call.arguments))
                .collect();
            format!("model: {}", calls.join(", "))
        }
        Message::Result {
            call_id,
            content,
            is_error,
        } => {
            let failed = if *is_error { " failed" } else { "" };
            format!("{call_id}{failed}: {}", text(content))
        }
    }
}

fn text(content: &Json) -> String {
    UserMessage::of_user(content.clone()).text()
}

fn source(source: &Source) -> String {
    match source {
        Source::User => "user".to_owned(),
        Source::Context(ContextSource::Hook { hook }) => format!("hook {hook}"),
        Source::Context(ContextSource::Tool { tool, .. }) => format!("tool {tool}"),
        Source::Context(ContextSource::Host) => "host".to_owned(),
    }
}

/// A log, each event in a few words. Ids and times are left out.
pub fn trace(log: &SessionLog) -> Vec<String> {
    log.events()
        .iter()
        .map(|logged| line(&logged.event))
        .collect()
}

fn line(event: &Event) -> String {
    match event {
        Event::TurnStart { turn } => format!("turn/start {turn}"),
        Event::TurnEnd { reason, .. } => match reason {
            TurnEnd::Completed => "turn/end completed".to_owned(),
            TurnEnd::MaxTokens => "turn/end max-tokens".to_owned(),
            TurnEnd::Blocked => "turn/end blocked".to_owned(),
            TurnEnd::Aborted { reason } => match reason {
                CancelCause::Hook { reason } => format!("turn/end aborted by a hook: {reason}"),
                reason => format!("turn/end aborted {reason:?}").to_lowercase(),
            },
            TurnEnd::Error { code, .. } => format!("turn/end error {code}"),
        },
        Event::StepStart { turn, step } => format!("step/start {turn}.{step}"),
        Event::StepEnd { turn, step } => format!("step/end {turn}.{step}"),
        Event::UserMessage(message) => {
            format!(
                "user/message ({}) {}",
                source(&message.source),
                message.text()
            )
        }
        Event::AssistantMessage { text, calls, .. } => {
            let names: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
            format!("assistant/message {text}{}", names.join(" "))
        }
        Event::ToolCall {
            call_id,
            name,
            arguments,
            ..
        } => format!("tool/call {call_id} {name} {arguments}"),
        Event::ToolResult {
            call_id,
            is_error,
            content,
            error,
            ..
        } => {
            let failed = if *is_error { " failed" } else { "" };
            let code = error
                .as_deref()
                .map_or(String::new(), |code| format!(" {code}"));
            format!("tool/result {call_id}{failed}{code}: {}", text(content))
        }
        Event::SubagentStart { agent_type, .. } => {
            format!(
                "subagent/start {}",
                agent_type.as_deref().unwrap_or_default()
            )
        }
        Event::SubagentEnd {
            reason,
            last_message,
            ..
        } => format!(
            "subagent/end {reason} {}",
            last_message.as_deref().unwrap_or_default()
        )
        .trim_end()
        .to_owned(),
        Event::Audit(event) => audit(event),
    }
}

fn audit(event: &AuditEvent) -> String {
    match event {
        AuditEvent::SeamDecided { seam, hooks, .. } => {
            let said: Vec<String> = hooks
                .iter()
                .map(|answer| {
                    let word = answer.decision.map_or_else(
                        || {
                            answer
                                .failure
                                .map(|code| code.to_string())
                                .unwrap_or_default()
                        },
                        str::to_owned,
                    );
                    format!("{} {word}", answer.hook)
                })
                .collect();
            format!("seam/decided {seam}: {}", said.join(", "))
        }
        AuditEvent::ApprovalAsked {
            tool_name, reason, ..
        } => format!(
            "approval/asked {tool_name}: {}",
            reason.as_deref().unwrap_or_default()
        ),
        AuditEvent::ApprovalDecided { outcome, .. } => format!("approval/decided {outcome:?}"),
        AuditEvent::ApprovalPolicy { policy } => format!("approval/policy {policy:?}"),
        AuditEvent::InputRewritten {
            original, rewrites, ..
        } => {
            let steps: Vec<String> = rewrites
                .iter()
                .map(|rewrite| format!("{}: {}", rewrite.hook, rewrite.arguments))
                .collect();
            format!("input/rewritten {original} by {}", steps.join(", "))
        }
        AuditEvent::StopCapped {
            forced_continuations,
            ..
        } => format!("turn/stop-capped {forced_continuations}"),
        other => format!("{other:?}"),
    }
}
