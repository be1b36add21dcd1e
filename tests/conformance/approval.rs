//! Approval.

use std::sync::Arc;

use seamgate::Runtime;
use seamgate::approval::{
    AlwaysReject, Approval, ApprovalOutcome, ApprovalPolicy, ApprovalRequest, Callback,
};
use seamgate::audit::AuditEvent;
use seamgate::pipeline::{CallOutcome, CallRequest, Canceller, Ending, Pipeline, Unclaimed};
use seamgate::seams::{
    FinishedCall, Guard, PermissionRequest, PermissionRequestDecision, PostTool, PreTool, ToolCall,
    Verdict,
};
use serde_json::json;

use super::support::*;
use crate::reference::{Event, JsonLines, SessionLog};

fn asking(reason: &'static str) -> Runtime {
    let mut runtime = Runtime::new();
    runtime.listener::<PreTool>("asks", move |_: &ToolCall| ask(reason));
    runtime
}

fn answering(
    seen: &Seen,
    name: &'static str,
    outcome: Option<ApprovalOutcome>,
) -> impl seamgate::approval::Approver + use<> {
    let seen = seen.clone();
    Callback(move |_: ApprovalRequest| {
        seen.note(name);
        async move { outcome }
    })
}

struct Asked {
    outcome: CallOutcome,
    seen: Seen,
    audit: Arc<Memory>,
}

impl Asked {
    /// The outcomes in the log, each of which answers the question before it.
    fn decided(&self) -> Vec<String> {
        let asked = self.audit.of_type("approval/asked");
        let decided = self.audit.of_type("approval/decided");
        assert_eq!(asked.len(), decided.len());
        for (asked, decided) in asked.iter().zip(&decided) {
            assert_eq!(asked["data"]["id"], decided["data"]["id"]);
        }
        decided
            .iter()
            .map(|record| record["data"]["outcome"].as_str().unwrap().to_owned())
            .collect()
    }
}

async fn ask_with(runtime: Runtime, make: impl FnOnce(&Seen) -> Approval) -> Asked {
    let (seen, audit) = (Seen::default(), Arc::new(Memory::default()));
    let pipeline = Pipeline::builder(Arc::new(runtime))
        .approval(make(&seen))
        .audit(audit.clone())
        .build();
    let outcome = pipeline
        .execute(request("work"), tools([work(&seen)]).as_ref())
        .await;
    Asked {
        outcome,
        seen,
        audit,
    }
}

const YES: Option<ApprovalOutcome> = Some(ApprovalOutcome::AllowedOnce);

#[tokio::test]
async fn b60_without_a_service_an_ask_is_a_denial_with_its_own_reason() {
    let seen = Seen::default();
    assert_eq!(run(asking("really?"), &seen).await.text(), "Error: really?");
    let pipeline = Pipeline::builder(Arc::new(Runtime::new()))
        .unclaimed(Unclaimed::Ask)
        .build();
    let outcome = pipeline
        .execute(request("work"), tools([work(&seen)]).as_ref())
        .await;
    assert_eq!(
        outcome.text(),
        "Error: tool \"work\" requires approval (not yet supported)"
    );
    assert!(seen.all().is_empty());
}

#[tokio::test]
async fn b61_a_call_without_an_agent_has_nobody_to_ask() {
    let seen = Seen::default();
    let approval = Approval::new().approver(answering(&seen, "asked", YES));
    let pipeline = Pipeline::builder(Arc::new(asking("why")))
        .approval(approval)
        .build();
    let mut request = request("work");
    request.agent = None;
    let outcome = pipeline
        .execute(request, tools([work(&seen)]).as_ref())
        .await;
    assert_eq!(
        message(&outcome),
        "tool \"work\" requires approval, but the call has no agent to route it through"
    );
    assert!(seen.all().is_empty());
}

#[tokio::test]
async fn b62_a_grant_runs_the_call_and_the_question_says_what_it_is_about() {
    let (seen, canceller) = (Seen::default(), Canceller::new());
    let noted = seen.clone();
    let approval = Approval::new().approver(Callback(move |request: ApprovalRequest| {
        noted.note(format!(
            "{} {} {} {} {}",
            request.agent.session_id,
            request.call.tool,
            request.call.call_id,
            request.reason().unwrap(),
            request.signal.is_fired(),
        ));
        async { YES }
    }));
    let pipeline = Pipeline::builder(Arc::new(asking("why")))
        .approval(approval)
        .build();
    let mut request = request("work");
    request.signal = canceller.signal();
    let outcome = pipeline
        .execute(request, tools([work(&seen)]).as_ref())
        .await;
    assert_eq!(outcome.text(), "done");
    assert_eq!(seen.all(), ["session work call why false", "body"]);
}

#[tokio::test]
async fn b63_three_ways_of_not_agreeing_read_differently() {
    for (outcome, expected) in [
        (ApprovalOutcome::Rejected, "the user rejected tool \"work\""),
        (
            ApprovalOutcome::Cancelled,
            "approval for tool \"work\" was cancelled",
        ),
        (
            ApprovalOutcome::Unavailable,
            "tool \"work\" requires approval, but no approval channel is available",
        ),
    ] {
        let asked = ask_with(asking("why"), |seen| {
            Approval::new().approver(answering(seen, "asked", Some(outcome)))
        })
        .await;
        assert_eq!(message(&asked.outcome), expected);
        assert_eq!(asked.outcome.ending, Ending::NotApproved(outcome));
        assert_eq!(asked.seen.all(), ["asked"]);
    }
}

#[tokio::test]
async fn b64_nobody_there_is_unavailable() {
    let asked = ask_with(asking("why"), |_| Approval::new()).await;
    assert_eq!(asked.decided(), ["unavailable"]);
    assert_eq!(
        asked.outcome.ending,
        Ending::NotApproved(ApprovalOutcome::Unavailable)
    );
}

#[tokio::test]
async fn b65_an_approver_that_panics_is_not_there() {
    let early =
        |_: ApprovalRequest| -> std::future::Ready<Option<ApprovalOutcome>> { panic!("early") };
    let asked = ask_with(asking("why"), |_| Approval::new().approver(Callback(early))).await;
    assert_eq!(asked.decided(), ["unavailable"]);
    let asked = ask_with(asking("why"), |_| {
        Approval::new().approver(Callback(|_: ApprovalRequest| async {
            tokio::task::yield_now().await;
            panic!("late")
        }))
    })
    .await;
    assert_eq!(asked.decided(), ["unavailable"]);
}

#[tokio::test]
async fn b67_the_first_decisive_answer_holds() {
    let asked = ask_with(asking("why"), |seen| {
        Approval::new()
            .approver(AlwaysReject)
            .approver(answering(seen, "second", YES))
    })
    .await;
    assert_eq!(asked.decided(), ["rejected"]);
    assert!(asked.seen.all().is_empty());
}

#[tokio::test]
async fn b68_an_approver_leaves_what_is_not_its_own_to_the_next() {
    let asked = ask_with(asking("why"), |seen| {
        Approval::new()
            .approver(answering(seen, "first", None))
            .approver(answering(seen, "second", YES))
    })
    .await;
    assert_eq!(asked.decided(), ["allowed-once"]);
    assert_eq!(asked.seen.all(), ["first", "second", "body"]);
    let asked = ask_with(asking("why"), |seen| {
        Approval::new().approver(answering(seen, "only", None))
    })
    .await;
    assert_eq!(asked.decided(), ["unavailable"]);
}

#[tokio::test]
async fn b69_never_asks_nobody_and_is_recorded() {
    let mut runtime = asking("why");
    runtime.listener::<PermissionRequest>("eager", |_: &ToolCall| {
        PermissionRequestDecision::AllowOnce
    });
    let asked = ask_with(runtime, |seen| {
        Approval::new()
            .default_policy(ApprovalPolicy::Never)
            .approver(answering(seen, "eager", YES))
    })
    .await;
    assert_eq!(asked.decided(), ["rejected"]);
    assert!(asked.seen.all().is_empty());
    assert_eq!(message(&asked.outcome), "the user rejected tool \"work\"");
}

#[tokio::test]
async fn b70_a_session_outranks_the_deployment_and_the_last_word_holds() {
    let audit = Memory::default();
    for (default, own) in [
        (ApprovalPolicy::Ask, ApprovalPolicy::Never),
        (ApprovalPolicy::Never, ApprovalPolicy::Ask),
    ] {
        let approval = Approval::new().default_policy(default);
        approval
            .set_policy("session", Some(default), Some(&audit))
            .unwrap();
        approval
            .set_policy("session", Some(own), Some(&audit))
            .unwrap();
        assert_eq!(approval.policy("session"), own);
        assert_eq!(approval.policy("other"), default);
        approval.set_policy("session", None, Some(&audit)).unwrap();
        assert_eq!(approval.policy("session"), default);
    }
    assert_eq!(audit.of_type("approval/policy").len(), 6);
    *audit.refuses.lock().unwrap() = Some("approval/policy");
    let approval = Approval::new();
    assert!(
        approval
            .set_policy("session", Some(ApprovalPolicy::Never), Some(&audit))
            .is_err()
    );
    assert_eq!(approval.policy("session"), ApprovalPolicy::Ask);
}

#[tokio::test]
async fn b72_a_question_and_its_answer_are_one_pair() {
    let asked = ask_with(asking("why"), |seen| {
        Approval::new().approver(answering(seen, "a", YES))
    })
    .await;
    assert_eq!(asked.decided(), ["allowed-once"]);
    let record = &asked.audit.of_type("approval/asked")[0];
    assert_eq!(record["session"], "session");
    assert_eq!(record["turn"], 1);
    assert_eq!(record["data"]["reason"], "why");
    assert!(record["data"].get("originalArguments").is_none());
    let pipeline_without_reason = Pipeline::builder(Arc::new(Runtime::new()))
        .unclaimed(Unclaimed::Ask)
        .approval(Approval::new())
        .audit(asked.audit.clone())
        .build();
    let _ = pipeline_without_reason
        .execute(request("work"), tools([work(&asked.seen)]).as_ref())
        .await;
    assert!(
        asked.audit.of_type("approval/asked")[1]["data"]
            .get("reason")
            .is_none()
    );
}

#[tokio::test]
async fn b74_an_answer_after_an_abort_is_not_looked_at() {
    for late in [true, false] {
        let (seen, audit, canceller) = (
            Seen::default(),
            Arc::new(Memory::default()),
            Canceller::new(),
        );
        let cancels = canceller.clone();
        let approval = Approval::new().approver(Callback(move |_: ApprovalRequest| {
            let cancels = cancels.clone();
            async move {
                cancels.cancel();
                tokio::task::yield_now().await;
                assert!(late, "a late failure");
                YES
            }
        }));
        let pipeline = Pipeline::builder(Arc::new(asking("why")))
            .approval(approval)
            .audit(audit.clone())
            .build();
        let mut request = request("work");
        request.signal = canceller.signal();
        let outcome = pipeline
            .execute(request, tools([work(&seen)]).as_ref())
            .await;
        let asked = Asked {
            outcome,
            seen,
            audit,
        };
        assert_eq!(asked.decided(), ["cancelled"]);
        assert_eq!(asked.outcome.code(), Some("ABORTED_BEFORE_DISPATCH"));
        assert!(asked.seen.all().is_empty());
    }
}

#[tokio::test]
async fn b73_an_abort_before_the_question_asks_nobody() {
    let (seen, audit, canceller) = (
        Seen::default(),
        Arc::new(Memory::default()),
        Canceller::new(),
    );
    let mut runtime = Runtime::new();
    let cancels = canceller.clone();
    runtime.listener::<PreTool>("asks", move |_: &ToolCall| {
        cancels.cancel();
        ask("why")
    });
    let approval = Approval::new().approver(answering(&seen, "asked", YES));
    let pipeline = Pipeline::builder(Arc::new(runtime))
        .approval(approval)
        .audit(audit.clone())
        .build();
    let mut request = request("work");
    request.signal = canceller.signal();
    let outcome = pipeline
        .execute(request, tools([work(&seen)]).as_ref())
        .await;
    let asked = Asked {
        outcome,
        seen,
        audit,
    };
    assert_eq!(asked.decided(), ["cancelled"]);
    assert!(asked.seen.all().is_empty());
}

#[tokio::test]
async fn b75_a_question_that_cannot_be_recorded_is_final() {
    for refused in ["approval/asked", "approval/decided"] {
        let seen = Seen::default();
        let mut runtime = asking("why");
        let post = seen.clone();
        runtime.listener::<PostTool>("post", move |_: &FinishedCall| {
            post.note("post");
            accept()
        });
        let audit = Arc::new(Memory::default());
        *audit.refuses.lock().unwrap() = Some(refused);
        let approval = Approval::new().approver(answering(&seen, "asked", YES));
        let pipeline = Pipeline::builder(Arc::new(runtime))
            .approval(approval)
            .audit(audit)
            .build();
        let outcome = pipeline
            .execute(request("work"), tools([work(&seen)]).as_ref())
            .await;
        assert_eq!(
            outcome.ending,
            Ending::Unrecorded("the disk is full".to_owned())
        );
        assert_eq!(seen.count("body") + seen.count("post"), 0, "{refused}");
    }
}

#[tokio::test]
async fn b77_a_grant_is_not_kept() {
    let seen = Seen::default();
    let approval = Approval::new().approver(answering(&seen, "asked", YES));
    let pipeline = Pipeline::builder(Arc::new(asking("why")))
        .approval(approval)
        .build();
    for _ in 0..2 {
        let outcome = pipeline
            .execute(request("work"), tools([work(&seen)]).as_ref())
            .await;
        assert!(outcome.result.is_ok());
    }
    assert_eq!(seen.all(), ["asked", "body", "asked", "body"]);
}

#[tokio::test]
async fn b78_an_abort_that_overtakes_approval_goes_through_post_tool() {
    let (seen, canceller) = (Seen::default(), Canceller::new());
    let mut runtime = asking("why");
    let post = seen.clone();
    runtime.listener::<PostTool>("post", move |_: &FinishedCall| {
        post.note("post");
        accept()
    });
    let cancels = canceller.clone();
    let approval = Approval::new().approver(Callback(move |_: ApprovalRequest| {
        cancels.cancel();
        std::future::pending()
    }));
    let pipeline = Pipeline::builder(Arc::new(runtime))
        .approval(approval)
        .build();
    let mut request = request("work");
    request.signal = canceller.signal();
    let outcome = pipeline
        .execute(request, tools([work(&seen)]).as_ref())
        .await;
    assert_eq!(outcome.code(), Some("ABORTED_BEFORE_DISPATCH"));
    assert_eq!(seen.all(), ["post"]);
}

#[tokio::test]
async fn b81_a_guard_refuses_what_a_person_approved() {
    let mut runtime = asking("why");
    runtime.listener::<Guard>("guard", |_: &ToolCall| guard_denies("not even so"));
    let asked = ask_with(runtime, |seen| {
        Approval::new().approver(answering(seen, "asked", YES))
    })
    .await;
    assert_eq!(asked.outcome.text(), "Error: not even so");
    assert_eq!(asked.outcome.ending, Ending::Guarded);
    assert_eq!(asked.seen.all(), ["asked"]);
}

#[tokio::test]
async fn a_call_that_is_dropped_while_somebody_thinks_was_cancelled() {
    let (seen, audit) = (Seen::default(), Arc::new(Memory::default()));
    let approval = Approval::new().approver(Callback(|_: ApprovalRequest| std::future::pending()));
    let pipeline = Pipeline::builder(Arc::new(asking("why")))
        .approval(approval)
        .audit(audit.clone())
        .build();
    let tools = tools([work(&seen)]);
    let call = pipeline.execute(request("work"), tools.as_ref());
    tokio::select! {
        biased;
        _ = call => panic!("nobody answered"),
        () = tokio::task::yield_now() => {}
    }
    assert_eq!(
        audit.of_type("approval/decided")[0]["data"]["outcome"],
        "cancelled"
    );
}

#[tokio::test]
async fn hooks_may_answer_in_place_of_a_person() {
    for (decision, text) in [
        (PermissionRequestDecision::AllowOnce, "done"),
        (
            PermissionRequestDecision::Deny("not today".to_owned()),
            "Error: not today",
        ),
        (
            PermissionRequestDecision::Abstain,
            "Error: the user rejected tool \"work\"",
        ),
    ] {
        let mut runtime = asking("why");
        runtime.listener::<PermissionRequest>("hook", move |_: &ToolCall| decision.clone());
        let asked = ask_with(runtime, |_| Approval::new().approver(AlwaysReject)).await;
        assert_eq!(asked.outcome.text(), text);
    }
}

#[tokio::test]
async fn an_allow_spares_the_person_and_no_other_hooks_ask() {
    let mut runtime = Runtime::new();
    runtime.listener::<PreTool>("allows", |_: &ToolCall| Verdict::Allow.into());
    let pipeline = Pipeline::builder(Arc::new(runtime))
        .unclaimed(Unclaimed::Ask)
        .build();
    let seen = Seen::default();
    let outcome = pipeline
        .execute(request("work"), tools([work(&seen)]).as_ref())
        .await;
    assert_eq!(outcome.text(), "done");
    let mut runtime = asking("still");
    runtime.listener::<PreTool>("allows", |_: &ToolCall| Verdict::Allow.into());
    assert_eq!(run(runtime, &seen).await.text(), "Error: still");
}

#[tokio::test]
async fn a_decision_that_cannot_be_recorded_closes_the_gate() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    runtime.listener::<PreTool>("allows", |_: &ToolCall| Verdict::Allow.into());
    let audit = Arc::new(Memory::default());
    *audit.refuses.lock().unwrap() = Some("seam/decided");
    let pipeline = Pipeline::builder(Arc::new(runtime)).audit(audit).build();
    let outcome = pipeline
        .execute(request("work"), tools([work(&seen)]).as_ref())
        .await;
    assert_eq!(outcome.code(), Some("UNRECORDED"));
    assert!(seen.all().is_empty());
    let _ = json!(null);
}

#[tokio::test]
async fn b71_outside_a_turn_nobody_is_asked_and_nothing_is_written() {
    let (seen, audit) = (Seen::default(), Arc::new(Memory::default()));
    let pipeline = Pipeline::builder(Arc::new(asking("why")))
        .approval(Approval::new().approver(answering(&seen, "asked", YES)))
        .audit(audit.clone())
        .build();
    let request = CallRequest {
        turn: None,
        ..request("work")
    };
    let outcome = pipeline
        .execute(request, tools([work(&seen)]).as_ref())
        .await;
    assert_eq!(outcome.code(), Some("NO_OPEN_TURN"));
    assert!(seen.all().is_empty());
    assert!(audit.of_type("approval/asked").is_empty());
}

#[tokio::test]
async fn b76_an_observer_of_the_log_that_panics_breaks_no_pair() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Seen::default());
    let store = JsonLines::create(folder.path().join("session.jsonl")).unwrap();
    let log = Arc::new(SessionLog::new(store));
    let noted = seen.clone();
    log.observe(move |logged| {
        if let Event::Audit(event) = &logged.event
            && let AuditEvent::ApprovalAsked { .. } = event.as_ref()
        {
            noted.note("observed");
            panic!("a defect");
        }
    });
    let pipeline = Pipeline::builder(Arc::new(asking("why")))
        .approval(Approval::new().approver(answering(&seen, "asked", YES)))
        .audit(log.clone())
        .build();
    let outcome = pipeline
        .execute(request("work"), tools([work(&seen)]).as_ref())
        .await;
    assert_eq!(outcome.text(), "done");
    assert_eq!(seen.all(), ["observed", "asked", "body"]);
    let pair: Vec<bool> = log
        .events()
        .iter()
        .filter_map(|logged| match &logged.event {
            Event::Audit(event) => match event.as_ref() {
                AuditEvent::ApprovalAsked { .. } => Some(true),
                AuditEvent::ApprovalDecided { .. } => Some(false),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(pair, [true, false]);
}
