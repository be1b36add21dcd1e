//! Hooks at every seam at once.

use seamgate::seams::{
    Guard, GuardDecision, Observe, PermissionRequest, PermissionRequestDecision, PostTool,
    PostToolDecision, PreCompact, PreCompactDecision, PreTool, PreToolDecision, PromptSubmit,
    PromptSubmitDecision, Replacement, RewriteInput, RewriteInputDecision, SessionStart,
    SubagentStart, SubagentStop, ToolResult, TurnStopping, TurnStoppingDecision, Verdict,
};
use seamgate::{Json, Runtime};

/// Hooks that deny, block and go on wherever that can be said.
pub fn denying() -> Runtime {
    with(Said {
        verdict: Verdict::Deny("no".to_owned()),
        permission: PermissionRequestDecision::Deny("no".to_owned()),
        prompt: PromptSubmitDecision::Block("no".to_owned()),
        result: PostToolDecision::Block {
            feedback: "no".to_owned(),
            contexts: vec!["context".to_owned()],
        },
        compaction: PreCompactDecision::Block("no".to_owned()),
        stop: TurnStoppingDecision::Continue("go on".to_owned()),
        ..Said::default()
    })
}

/// Hooks that all panic.
pub fn broken() -> Runtime {
    let mut runtime = Runtime::new();
    runtime.listener::<RewriteInput>("broken", |_| panic!("hook's own words"));
    runtime.listener::<PreTool>("broken", |_| panic!("hook's own words"));
    runtime.listener::<Guard>("broken", |_| panic!("hook's own words"));
    runtime.listener::<PostTool>("broken", |_| panic!("hook's own words"));
    runtime.listener::<ToolResult>("broken", |_| panic!("hook's own words"));
    runtime.listener::<PromptSubmit>("broken", |_| panic!("hook's own words"));
    runtime.listener::<PermissionRequest>("broken", |_| panic!("hook's own words"));
    runtime.listener::<PreCompact>("broken", |_| panic!("hook's own words"));
    runtime.listener::<TurnStopping>("broken", |_| panic!("hook's own words"));
    runtime.listener::<SubagentStop>("broken", |_| panic!("hook's own words"));
    runtime.listener::<SessionStart>("broken", |_| panic!("hook's own words"));
    runtime.listener::<SubagentStart>("broken", |_| panic!("hook's own words"));
    runtime.listener::<Observe>("broken", |_| panic!("hook's own words"));
    runtime
}

/// What hooks say at each seam. The default is the least that can be said.
#[derive(Clone)]
pub struct Said {
    pub rewrite: RewriteInputDecision,
    pub verdict: Verdict,
    pub guard: GuardDecision,
    pub permission: PermissionRequestDecision,
    pub prompt: PromptSubmitDecision,
    pub result: PostToolDecision,
    pub compaction: PreCompactDecision,
    pub stop: TurnStoppingDecision,
    pub contexts: Vec<String>,
}

impl Default for Said {
    fn default() -> Self {
        Self {
            rewrite: RewriteInputDecision::Keep,
            verdict: Verdict::Abstain,
            guard: GuardDecision::Abstain,
            permission: PermissionRequestDecision::Abstain,
            prompt: PromptSubmitDecision::Allow {
                content: None,
                contexts: Vec::new(),
            },
            result: PostToolDecision::Accept {
                replacement: None,
                contexts: Vec::new(),
            },
            compaction: PreCompactDecision::Proceed,
            stop: TurnStoppingDecision::Settle,
            contexts: Vec::new(),
        }
    }
}

/// Every combination of what can be said at a seam, with texts that are plain, blank, and hostile.
pub fn everything() -> Vec<Said> {
    let json = |text: &str| Json::parse(text).unwrap();
    let mut all = Vec::new();
    for text in [
        "plain",
        "",
        " \n\t",
        "\"}],\u{0}\u{1b}[2J\u{202e}</x>",
        &"long ".repeat(20_000),
    ] {
        let text = text.to_owned();
        for contexts in [
            Vec::new(),
            vec![text.clone()],
            vec![text.clone(), "two".to_owned()],
        ] {
            for rewrite in [
                RewriteInputDecision::Keep,
                RewriteInputDecision::Replace(json(r#"{"command":"x"}"#)),
                RewriteInputDecision::Replace(json("null")),
                RewriteInputDecision::Replace(json("[]")),
            ] {
                for verdict in [
                    Verdict::Abstain,
                    Verdict::Allow,
                    Verdict::Ask(text.clone()),
                    Verdict::Deny(text.clone()),
                ] {
                    all.push(Said {
                        rewrite: rewrite.clone(),
                        verdict,
                        contexts: contexts.clone(),
                        ..Said::default()
                    });
                }
            }
            for replacement in [
                None,
                Some(Replacement::Content(Json::string(&text))),
                Some(Replacement::Content(json(
                    r#"[{"type":"text","text":"clean"}]"#,
                ))),
                Some(Replacement::Value(json(r#"{"stdout":1}"#))),
                Some(Replacement::Value(Json::string(&text))),
            ] {
                all.push(Said {
                    result: PostToolDecision::Accept {
                        replacement,
                        contexts: contexts.clone(),
                    },
                    ..Said::default()
                });
            }
            all.push(Said {
                guard: GuardDecision::Deny(text.clone()),
                permission: PermissionRequestDecision::Deny(text.clone()),
                prompt: PromptSubmitDecision::Block(text.clone()),
                result: PostToolDecision::Block {
                    feedback: text.clone(),
                    contexts: contexts.clone(),
                },
                compaction: PreCompactDecision::Block(text.clone()),
                stop: TurnStoppingDecision::Continue(text.clone()),
                contexts: contexts.clone(),
                ..Said::default()
            });
            all.push(Said {
                permission: PermissionRequestDecision::AllowOnce,
                prompt: PromptSubmitDecision::Allow {
                    content: Some(json(r#"[{"type":"text","text":"other"}]"#)),
                    contexts: contexts.clone(),
                },
                ..Said::default()
            });
        }
    }
    all
}

/// A hook at each seam that says this.
pub fn with(said: Said) -> Runtime {
    let mut runtime = Runtime::new();
    let Said {
        rewrite,
        verdict,
        guard,
        permission,
        prompt,
        result,
        compaction,
        stop,
        contexts,
    } = said;
    let decision = PreToolDecision {
        verdict,
        contexts: contexts.clone(),
    };
    let (session, subagent, subagent_stop) = (contexts.clone(), contexts, stop.clone());
    runtime.listener::<RewriteInput>("hook", move |_| rewrite.clone());
    runtime.listener::<PreTool>("hook", move |_| decision.clone());
    runtime.listener::<Guard>("hook", move |_| guard.clone());
    runtime.listener::<PostTool>("hook", move |_| result.clone());
    runtime.listener::<PromptSubmit>("hook", move |_| prompt.clone());
    runtime.listener::<PermissionRequest>("hook", move |_| permission.clone());
    runtime.listener::<PreCompact>("hook", move |_| compaction.clone());
    runtime.listener::<TurnStopping>("hook", move |_| stop.clone());
    runtime.listener::<SubagentStop>("hook", move |_| subagent_stop.clone());
    runtime.listener::<SessionStart>("hook", move |_| session.clone());
    runtime.listener::<SubagentStart>("hook", move |_| subagent.clone());
    runtime
}
