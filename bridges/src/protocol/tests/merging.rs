//! The fold of several hooks' words.

use proptest::prelude::*;

use super::super::*;

fn output(decision: Option<HookDecision>, reason: &str) -> HookOutput {
    HookOutput {
        decision,
        reason: Some(reason.to_owned()),
        ..HookOutput::default()
    }
}

fn folded(said: &[(HookDecision, &str)]) -> Folded {
    fold(
        said.iter()
            .map(|(decision, reason)| output(Some(*decision), reason)),
    )
}

use HookDecision::{Allow, Approve, Ask, Block, Deny};

#[test]
fn b193_the_strictest_wins_in_any_order() {
    for (one, other, expected) in [
        (Allow, Ask, FoldedDecision::Ask),
        (Approve, Ask, FoldedDecision::Ask),
        (Ask, Deny, FoldedDecision::Deny),
        (Ask, Block, FoldedDecision::Deny),
        (Deny, Allow, FoldedDecision::Deny),
        (Allow, Approve, FoldedDecision::Allow),
    ] {
        assert_eq!(folded(&[(one, ""), (other, "")]).decision, expected);
        assert_eq!(folded(&[(other, ""), (one, "")]).decision, expected);
    }
}

#[test]
fn b194_the_reasons_of_those_who_won_are_joined() {
    let folded = folded(&[(Deny, "a"), (Allow, "x"), (Block, ""), (Block, "b")]);
    assert_eq!(folded.reason.as_deref(), Some("a\n\nb"));
}

#[test]
fn b195_the_reasons_of_the_others_are_dropped() {
    assert_eq!(
        folded(&[(Ask, "q"), (Deny, "d")]).reason.as_deref(),
        Some("d")
    );
    assert_eq!(
        folded(&[(Allow, "x"), (Ask, "q")]).reason.as_deref(),
        Some("q")
    );
    assert_eq!(folded(&[(Allow, "x")]).reason, None);
    assert_eq!(fold([output(None, "said for nothing")]).reason, None);
}

#[test]
fn b196_the_first_that_stops_says_why() {
    let stop = |reason: Option<&str>| HookOutput {
        continues: Some(false),
        stop_reason: reason.map(str::to_owned),
        ..HookOutput::default()
    };
    let go_on = HookOutput {
        continues: Some(true),
        stop_reason: Some("no".to_owned()),
        ..HookOutput::default()
    };
    let folded = fold([&go_on, &stop(None), &stop(Some("late"))]);
    assert!(folded.stop);
    assert_eq!(folded.stop_reason, None);
    let folded = fold([&go_on, &stop(Some("first")), &stop(Some("late"))]);
    assert_eq!(folded.stop_reason.as_deref(), Some("first"));
    assert!(!fold([&go_on]).stop);
}

#[test]
fn b197_contexts_and_messages_are_kept_apart_and_in_order() {
    let outputs = ["A", "", "B"].map(|text| HookOutput {
        additional_context: Some(text.to_owned()),
        system_message: Some(text.to_lowercase()),
        ..HookOutput::default()
    });
    let folded = fold(&outputs);
    assert_eq!(folded.additional_contexts, ["A", "B"]);
    assert_eq!(folded.system_messages, ["a", "b"]);
}

#[test]
fn b198_of_nothing_comes_nothing() {
    assert_eq!(fold(Vec::<HookOutput>::new()), Folded::default());
    assert_eq!(Folded::default().decision, FoldedDecision::None);
}

fn any_output() -> impl Strategy<Value = HookOutput> {
    let decision = prop_oneof![
        Just(None),
        Just(Some(Approve)),
        Just(Some(Allow)),
        Just(Some(Ask)),
        Just(Some(Block)),
        Just(Some(Deny)),
    ];
    let text = || proptest::option::of("[ab]{0,2}");
    let continues = proptest::option::of(any::<bool>());
    (decision, text(), continues, text(), text()).prop_map(
        |(decision, reason, continues, stop_reason, additional_context)| HookOutput {
            decision,
            reason,
            continues,
            stop_reason,
            additional_context,
            ..HookOutput::default()
        },
    )
}

/// Some outputs, and the same in another order.
fn in_two_orders() -> impl Strategy<Value = (Vec<HookOutput>, Vec<HookOutput>)> {
    proptest::collection::vec(any_output(), 0..8)
        .prop_flat_map(|outputs| (Just(outputs.clone()), Just(outputs).prop_shuffle()))
}

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts
}

proptest! {
    #[test]
    fn the_decision_does_not_depend_on_the_order((one, other) in in_two_orders()) {
        let (one, other) = (fold(&one), fold(&other));
        prop_assert_eq!(one.decision, other.decision);
        prop_assert_eq!(one.stop, other.stop);
        prop_assert_eq!(sorted(one.additional_contexts.clone()), sorted(other.additional_contexts.clone()));
        let reasons = |folded: Folded| {
            folded.reason.map(|reason| sorted(reason.split("\n\n").map(str::to_owned).collect()))
        };
        prop_assert_eq!(reasons(one), reasons(other));
    }

    #[test]
    fn no_hook_can_loosen_what_the_others_decided(outputs in proptest::collection::vec(any_output(), 0..8), more in any_output()) {
        let before = fold(&outputs).decision;
        let after = fold(outputs.iter().chain([&more])).decision;
        prop_assert!(after >= before);
    }
}
