//! The fold as a law, checked on arbitrary decisions.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn hook() -> impl Strategy<Value = HookName> {
    "[a-c]".prop_map(HookName::from)
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    vec("[a-z]{0,3}", 0..3)
}

fn json() -> impl Strategy<Value = Json> {
    "[a-z]{0,3}".prop_map(|text| Json::string(&text))
}

fn pre_tool() -> impl Strategy<Value = PreToolDecision> {
    let verdict = prop_oneof![
        Just(Verdict::Abstain),
        Just(Verdict::Allow),
        "[a-z]{0,3}".prop_map(Verdict::Ask),
        "[a-z]{0,3}".prop_map(Verdict::Deny),
    ];
    (verdict, texts()).prop_map(|(verdict, contexts)| PreToolDecision { verdict, contexts })
}

fn guard() -> impl Strategy<Value = GuardDecision> {
    prop_oneof![
        Just(GuardDecision::Abstain),
        "[a-z]{0,3}".prop_map(GuardDecision::Deny),
    ]
}

fn prompt_submit() -> impl Strategy<Value = PromptSubmitDecision> {
    prop_oneof![
        (proptest::option::of(json()), texts())
            .prop_map(|(content, contexts)| PromptSubmitDecision::Allow { content, contexts }),
        "[a-z]{0,3}".prop_map(PromptSubmitDecision::Block),
    ]
}

fn rewrite_input() -> impl Strategy<Value = RewriteInputDecision> {
    prop_oneof![
        Just(RewriteInputDecision::Keep),
        json().prop_map(RewriteInputDecision::Replace),
    ]
}

fn post_tool() -> impl Strategy<Value = PostToolDecision> {
    let replacement = prop_oneof![
        json().prop_map(Replacement::Content),
        json().prop_map(Replacement::Value),
    ];
    prop_oneof![
        (proptest::option::of(replacement), texts()).prop_map(|(replacement, contexts)| {
            PostToolDecision::Accept {
                replacement,
                contexts,
            }
        }),
        ("[a-z]{0,3}", texts())
            .prop_map(|(feedback, contexts)| PostToolDecision::Block { feedback, contexts }),
    ]
}

fn turn_stopping() -> impl Strategy<Value = TurnStoppingDecision> {
    prop_oneof![
        Just(TurnStoppingDecision::Settle),
        "[a-z]{0,3}".prop_map(TurnStoppingDecision::Continue),
    ]
}

fn permission_request() -> impl Strategy<Value = PermissionRequestDecision> {
    prop_oneof![
        Just(PermissionRequestDecision::Abstain),
        Just(PermissionRequestDecision::AllowOnce),
        "[a-z]{0,3}".prop_map(PermissionRequestDecision::Deny),
    ]
}

fn pre_compact() -> impl Strategy<Value = PreCompactDecision> {
    prop_oneof![
        Just(PreCompactDecision::Proceed),
        "[a-z]{0,3}".prop_map(PreCompactDecision::Block),
    ]
}

fn fold<S: Seam>(decisions: &[(HookName, S::Decision)]) -> S::Folded {
    decisions
        .iter()
        .map(|(hook, decision)| S::lift(hook, decision.clone()))
        .fold(S::Folded::default(), S::combine)
}

/// What holds for every seam.
fn lawful<S: Seam>(decisions: &[(HookName, S::Decision)], at: usize) -> Result<(), TestCaseError> {
    let at = at.min(decisions.len());
    let at_once = fold::<S>(decisions);

    // In pieces as at once.
    let (first, second) = decisions.split_at(at);
    let in_pieces = S::combine(fold::<S>(first), fold::<S>(second));
    prop_assert_eq!(&in_pieces, &at_once);

    // The default changes nothing, on either side.
    let neutral = S::Folded::default;
    prop_assert_eq!(&S::combine(neutral(), at_once.clone()), &at_once);
    prop_assert_eq!(&S::combine(at_once.clone(), neutral()), &at_once);
    prop_assert!(!S::closes(&neutral()));

    // Closed is closed by somebody, whoever else says whatever, in whichever order.
    let closed_by_one = decisions
        .iter()
        .any(|(hook, decision)| S::closes(&S::lift(hook, decision.clone())));
    prop_assert_eq!(S::closes(&at_once), closed_by_one);
    let backwards: Vec<_> = decisions.iter().rev().cloned().collect();
    prop_assert_eq!(S::closes(&fold::<S>(&backwards)), closed_by_one);

    // Nothing is lost and nothing is made up: every name and every text that a hook gave is there as often as it gave it.
    let mut given: Vec<String> = decisions
        .iter()
        .flat_map(|(hook, decision)| written(&S::lift(hook, decision.clone())))
        .collect();
    let mut kept = written(&at_once);
    given.sort();
    kept.sort();
    prop_assert_eq!(kept, given);
    Ok(())
}

/// Everything that stands between quotes in something's debug form. The texts above have none inside.
fn written(shown: &impl fmt::Debug) -> Vec<String> {
    format!("{shown:?}")
        .split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

macro_rules! laws {
    ($($name:ident: $seam:ident of $decision:expr;)*) => {
        proptest! {
            $(
                #[test]
                fn $name(decisions in vec((hook(), $decision), 0..6), at in 0..6usize) {
                    lawful::<$seam>(&decisions, at)?;
                }
            )*
        }
    };
}

laws! {
    pre_tool_is_lawful: PreTool of pre_tool();
    guard_is_lawful: Guard of guard();
    prompt_submit_is_lawful: PromptSubmit of prompt_submit();
    rewrite_input_is_lawful: RewriteInput of rewrite_input();
    post_tool_is_lawful: PostTool of post_tool();
    turn_stopping_is_lawful: TurnStopping of turn_stopping();
    subagent_stop_is_lawful: SubagentStop of turn_stopping();
    permission_request_is_lawful: PermissionRequest of permission_request();
    pre_compact_is_lawful: PreCompact of pre_compact();
    session_start_is_lawful: SessionStart of texts();
    subagent_start_is_lawful: SubagentStart of texts();
}

proptest! {
    /// The strictest verdict wins in every order, and every reason and context is kept with its author.
    #[test]
    fn order_never_weakens_a_verdict_and_nothing_is_lost(
        decisions in vec((hook(), pre_tool()), 0..6).prop_shuffle(),
    ) {
        let folded = fold::<PreTool>(&decisions);
        let strictest = decisions
            .iter()
            .map(|(hook, decision)| PreTool::lift(hook, decision.clone()).verdict)
            .max()
            .unwrap_or_default();
        prop_assert_eq!(folded.verdict, strictest);
        let contexts: Vec<Attributed> = decisions
            .iter()
            .flat_map(|(hook, decision)| Attributed::all(hook, decision.contexts.clone()))
            .collect();
        prop_assert_eq!(&folded.contexts, &contexts);
        let reasons: Vec<(VerdictRank, HookName, String)> = decisions
            .iter()
            .filter_map(|(hook, decision)| match &decision.verdict {
                Verdict::Ask(reason) => Some((VerdictRank::Ask, hook.clone(), reason.clone())),
                Verdict::Deny(reason) => Some((VerdictRank::Deny, hook.clone(), reason.clone())),
                Verdict::Abstain | Verdict::Allow => None,
            })
            .collect();
        let kept: Vec<(VerdictRank, HookName, String)> = folded
            .reasons
            .into_iter()
            .map(|reason| (reason.verdict, reason.said.hook, reason.said.text))
            .collect();
        prop_assert_eq!(kept, reasons);
    }

    /// Each hook sees what the one before made, and the last one's arguments hold.
    #[test]
    fn rewrites_chain_in_order(decisions in vec((hook(), rewrite_input()), 0..6)) {
        let folded = fold::<RewriteInput>(&decisions);
        let made: Vec<Json> = decisions
            .iter()
            .filter_map(|(_, decision)| match decision {
                RewriteInputDecision::Replace(arguments) => Some(arguments.clone()),
                RewriteInputDecision::Keep => None,
            })
            .collect();
        prop_assert_eq!(folded.arguments(), made.last());
        prop_assert_eq!(folded.rewrites.len(), made.len());
    }
}
