//! The gate before a compaction, and the notice for everything that has no seam of its own.

use seamgate::seams::{
    AgentEvent, CompactTrigger, Compaction, Observe, PreCompact, PreCompactDecision,
};
use seamgate::turn::{Compacting, may_compact, observe};
use seamgate::{FailureCode, Json, Runtime};

use super::support::*;

fn compaction() -> Compaction {
    Compaction {
        agent: agent(),
        trigger: CompactTrigger::Auto,
        instructions: None,
    }
}

async fn asked(runtime: Runtime) -> (Compacting, Memory) {
    let audit = Memory::default();
    let said = may_compact(&runtime, &compaction(), Some(2), Some(&audit)).await;
    (said, audit)
}

#[tokio::test]
async fn a_conversation_is_compacted_unless_a_hook_objects() {
    let (said, audit) = asked(Runtime::new()).await;
    assert_eq!(said, Compacting::Proceed);
    assert!(audit.types().is_empty(), "nobody was asked");

    let mut runtime = Runtime::new();
    runtime.listener::<PreCompact>("keeps", |_| {
        PreCompactDecision::Block("the plan is not written down".to_owned())
    });
    let (said, audit) = asked(runtime).await;
    let Compacting::Block { reasons } = said else {
        panic!("{said:?}")
    };
    assert_eq!(reasons[0].hook.as_str(), "keeps");
    assert_eq!(audit.of_type("seam/decided")[0]["turn"], 2);
}

#[tokio::test]
async fn a_gate_that_fails_or_stops_keeps_the_conversation_as_it_is() {
    let mut runtime = Runtime::new();
    runtime.listener::<PreCompact>("broken", |_| panic!("a defect"));
    let (said, _) = asked(runtime).await;
    let Compacting::Failed(failure) = said else {
        panic!("{said:?}")
    };
    assert_eq!(failure.code, FailureCode::Panic);

    let mut runtime = Runtime::new();
    runtime.hook::<PreCompact>(
        "stops",
        hook::<PreCompact, _>(|event, next| {
            next.stop("enough");
            Box::pin(next.run(event))
        }),
    );
    let (said, _) = asked(runtime).await;
    let Compacting::Stop(stop) = said else {
        panic!("{said:?}")
    };
    assert_eq!(stop.reason(), "enough");

    let audit = Memory::default();
    *audit.refuses.lock().unwrap() = Some("seam/decided");
    let mut runtime = Runtime::new();
    runtime.listener::<PreCompact>("fine", |_| PreCompactDecision::Proceed);
    let said = may_compact(&runtime, &compaction(), None, Some(&audit)).await;
    assert!(matches!(said, Compacting::Unrecorded(_)), "{said:?}");
}

#[tokio::test]
async fn everybody_is_told_what_has_no_seam_of_its_own() {
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    runtime.listener::<Observe>("broken", |_: &AgentEvent| panic!("a defect"));
    let noted = seen.clone();
    runtime.listener::<Observe>("notes", move |event: &AgentEvent| {
        noted.note(format!("{} {}", event.name, event.payload));
    });
    let event = AgentEvent {
        agent: agent(),
        name: "file-changed".to_owned(),
        payload: Json::empty_object(),
    };
    let audit = Memory::default();
    assert_eq!(observe(&runtime, &event, None, Some(&audit)).await, None);
    assert_eq!(seen.all(), ["file-changed {}"]);
    assert_eq!(
        audit.of_type("seam/decided")[0]["data"]["hooks"][0]["failure"],
        "PANIC"
    );
}
