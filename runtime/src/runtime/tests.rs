//! Hooks of the embedding program, in their order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::hook::Deciding;
use crate::json::Json;
use crate::seams::{
    Agent, GuardDecision, PreToolDecision, PreToolFold, RewriteInputDecision, Session,
    SessionSource, ToolCall, Verdict, VerdictRank,
};

fn call() -> ToolCall {
    ToolCall {
        call_id: "1".to_owned(),
        root_call_id: "1".to_owned(),
        tool: "Bash".to_owned(),
        arguments: Json::empty_object(),
        agent: Agent::default(),
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(future)
}

fn ask<S: Seam>(runtime: &Runtime, event: &S::Event) -> Asked<S> {
    block_on(runtime.ask::<S>(event))
}

/// A hook as a function of the event and the rest.
struct Wrapper<F>(F);

impl<S, F> Hook<S> for Wrapper<F>
where
    S: Seam,
    F: for<'a> Fn(&'a S::Event, Next<'a, S>) -> Deciding<'a, S> + Send + Sync,
{
    fn decide<'a>(&'a self, event: &'a S::Event, next: Next<'a, S>) -> Deciding<'a, S> {
        (self.0)(event, next)
    }
}

/// A listener that counts how often it is asked.
fn counted(runtime: &mut Runtime, name: &'static str, verdict: Verdict) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    runtime.listener::<PreTool>(name, move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
        verdict.clone().into()
    });
    count
}

#[test]
fn without_hooks_a_seam_comes_to_its_default() {
    let asked = ask::<PreTool>(&Runtime::new(), &call());
    assert_eq!(asked.decision.unwrap().verdict, VerdictRank::Abstain);
    assert!(asked.answers.is_empty());
}

#[test]
fn the_strictest_verdict_wins_and_reasons_keep_their_author() {
    let mut runtime = Runtime::new();
    runtime
        .listener::<PreTool>("first", |_| Verdict::Allow.into())
        .listener::<PreTool>("second", |_| PreToolDecision {
            verdict: Verdict::Ask("sure?".to_owned()),
            contexts: vec!["look".to_owned()],
        })
        .listener::<PreTool>("third", |_| Verdict::Abstain.into());
    let folded = ask::<PreTool>(&runtime, &call()).decision.unwrap();
    assert_eq!(folded.verdict, VerdictRank::Ask);
    assert_eq!(folded.reason().as_deref(), Some("sure?"));
    assert_eq!(folded.reasons[0].said.hook.as_str(), "second");
    assert_eq!(folded.contexts[0].hook.as_str(), "second");
}

#[test]
fn a_deny_ends_the_asking() {
    let mut runtime = Runtime::new();
    counted(&mut runtime, "denies", Verdict::Deny("no".to_owned()));
    let later = counted(&mut runtime, "later", Verdict::Allow);
    let asked = ask::<PreTool>(&runtime, &call());
    assert_eq!(asked.decision.unwrap().verdict, VerdictRank::Deny);
    assert_eq!(later.load(Ordering::Relaxed), 0);
}

#[test]
fn a_hook_that_panics_closes_a_gate_and_not_a_notice() {
    let mut runtime = Runtime::new();
    runtime
        .listener::<PreTool>("broken", |_| panic!("oh"))
        .listener::<SessionStart>("broken", |_| panic!("oh"));
    let failure = ask::<PreTool>(&runtime, &call()).decision.unwrap_err();
    assert_eq!(failure.code, FailureCode::Panic);
    assert_eq!(failure.message, "oh");
    let asked = ask::<SessionStart>(
        &runtime,
        &Session {
            agent: Agent::default(),
            source: SessionSource::Startup,
        },
    );
    assert!(asked.decision.unwrap().contexts.is_empty());
    assert_eq!(
        asked.answers[0].said.as_ref().unwrap_err().code,
        FailureCode::Panic
    );
}

#[test]
fn a_panic_after_an_await_is_caught_too() {
    let mut runtime = Runtime::new();
    fn late<'a>(_: &'a ToolCall, _: Next<'a, PreTool>) -> Deciding<'a, PreTool> {
        Box::pin(async {
            tokio::task::yield_now().await;
            panic!("late")
        })
    }
    runtime.hook::<PreTool>("broken", Wrapper(late));
    let failure = ask::<PreTool>(&runtime, &call()).decision.unwrap_err();
    assert_eq!(
        (failure.code, failure.message.as_str()),
        (FailureCode::Panic, "late")
    );
}

#[test]
fn a_native_hook_may_recover_from_the_failure_of_a_later_one() {
    fn careful<'a>(event: &'a ToolCall, next: Next<'a, PreTool>) -> Deciding<'a, PreTool> {
        Box::pin(async move {
            let hook = next.hook().clone();
            let later = next.run(event).await;
            Ok(later.unwrap_or_else(|_| {
                PreTool::lift(
                    &hook,
                    Verdict::Deny("a later hook failed".to_owned()).into(),
                )
            }))
        })
    }
    let mut runtime = Runtime::new();
    runtime
        .hook::<PreTool>("careful", Wrapper(careful))
        .listener::<PreTool>("broken", |_| panic!("oh"));
    let asked = ask::<PreTool>(&runtime, &call());
    let folded = asked.decision.unwrap();
    assert_eq!(folded.reason().as_deref(), Some("a later hook failed"));
    let names: Vec<&str> = asked
        .answers
        .iter()
        .map(|answer| answer.hook.as_str())
        .collect();
    assert_eq!(names, ["careful", "broken"]);
}

#[test]
fn a_native_hook_that_does_not_call_next_keeps_later_ones_from_being_asked() {
    fn alone<'a>(_: &'a ToolCall, _: Next<'a, PreTool>) -> Deciding<'a, PreTool> {
        Box::pin(async { Ok(PreToolFold::default()) })
    }
    let mut runtime = Runtime::new();
    runtime.hook::<PreTool>("alone", Wrapper(alone));
    let later = counted(&mut runtime, "later", Verdict::Deny("no".to_owned()));
    let folded = ask::<PreTool>(&runtime, &call()).decision.unwrap();
    assert_eq!(folded.verdict, VerdictRank::Abstain);
    assert_eq!(later.load(Ordering::Relaxed), 0);
}

#[test]
fn rewrites_chain_and_each_hook_sees_what_the_one_before_made() {
    let mut runtime = Runtime::new();
    for name in ["a", "b"] {
        runtime.listener::<RewriteInput>(name, move |call| {
            let mut seen: Vec<String> = call.arguments.read().unwrap_or_default();
            seen.push(name.to_owned());
            RewriteInputDecision::Replace(Json::of(&seen.into()).unwrap())
        });
    }
    let folded = ask::<RewriteInput>(&runtime, &call()).decision.unwrap();
    assert_eq!(folded.arguments().unwrap().text(), r#"["a","b"]"#);
    assert_eq!(folded.rewrites[0].hook.as_str(), "a");
}

#[test]
fn guards_and_notices_hold_each_other_up_in_nothing() {
    fn alone<'a, S: Seam>(_: &'a S::Event, _: Next<'a, S>) -> Deciding<'a, S> {
        Box::pin(async { Ok(S::Folded::default()) })
    }
    let mut runtime = Runtime::new();
    runtime
        .hook::<Guard>("alone", Wrapper(alone::<Guard>))
        .listener::<Guard>("later", |_| GuardDecision::Deny("no".to_owned()));
    let folded = ask::<Guard>(&runtime, &call()).decision.unwrap();
    assert_eq!(folded.denials[0].hook.as_str(), "later");

    let session = Session {
        agent: Agent::default(),
        source: SessionSource::Startup,
    };
    let mut runtime = Runtime::new();
    runtime
        .listener::<SessionStart>("broken", |_| panic!("oh"))
        .hook::<SessionStart>("alone", Wrapper(alone::<SessionStart>))
        .listener::<SessionStart>("later", |_| vec!["told".to_owned()]);
    let asked = ask::<SessionStart>(&runtime, &session);
    assert_eq!(asked.decision.unwrap().contexts[0].text, "told");
    assert_eq!(asked.answers.len(), 3);
}

#[test]
fn a_guard_that_fails_does_not_hide_a_denial() {
    let mut runtime = Runtime::new();
    runtime
        .listener::<Guard>("broken", |_| panic!("oh"))
        .listener::<Guard>("later", |_| GuardDecision::Deny("no".to_owned()));
    let folded = ask::<Guard>(&runtime, &call()).decision.unwrap();
    assert_eq!(folded.denials[0].text, "no");
}

/// The law of the fold as it is asked: of any hooks in any order, with failures and stops among them.
mod law {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    struct Says {
        verdict: Option<Verdict>,
        stop: bool,
    }

    impl Hook<PreTool> for Says {
        fn decide<'a>(
            &'a self,
            call: &'a ToolCall,
            next: Next<'a, PreTool>,
        ) -> Deciding<'a, PreTool> {
            Box::pin(async move {
                if self.stop {
                    next.stop("enough");
                }
                let verdict = self.verdict.clone().unwrap_or_else(|| panic!("oh"));
                let own = PreTool::lift(next.hook(), verdict.into());
                if PreTool::closes(&own) {
                    return Ok(own);
                }
                Ok(PreTool::combine(own, next.run(call).await?))
            })
        }
    }

    fn says() -> impl Strategy<Value = Says> {
        let verdict = prop_oneof![
            Just(None),
            Just(Some(Verdict::Abstain)),
            Just(Some(Verdict::Allow)),
            Just(Some(Verdict::Ask("sure?".to_owned()))),
            Just(Some(Verdict::Deny("no".to_owned()))),
        ];
        (verdict, any::<bool>()).prop_map(|(verdict, stop)| Says { verdict, stop })
    }

    proptest! {
        #[test]
        fn nothing_but_a_denial_outlives_a_failure_and_nothing_a_stop(said in vec(says(), 0..6)) {
            let mut runtime = Runtime::new();
            for (number, says) in said.iter().enumerate() {
                runtime.hook::<PreTool>(format!("hook-{number}"), says.clone());
            }
            let asked = ask::<PreTool>(&runtime, &call());
            let reached = &said[..asked.answers.len()];
            // Whoever was not reached came after a denial or a failure.
            if reached.len() < said.len() {
                let last = reached.last().unwrap();
                prop_assert!(matches!(last.verdict, None | Some(Verdict::Deny(_))));
            }
            let failed = reached.iter().any(|says| says.verdict.is_none());
            match &asked.decision {
                Ok(folded) => {
                    prop_assert!(!failed || folded.verdict == VerdictRank::Deny);
                    let strictest = reached
                        .iter()
                        .filter_map(|says| says.verdict.clone())
                        .map(|verdict| PreTool::lift(&"x".into(), verdict.into()).verdict)
                        .max();
                    prop_assert_eq!(folded.verdict, strictest.unwrap_or_default());
                }
                Err(_) => prop_assert!(failed),
            }
            let stops = reached.iter().filter(|says| says.stop).count();
            prop_assert_eq!(asked.stop.map_or(0, |stop| stop.by().len()), stops);
        }

        #[test]
        fn asking_everybody_is_no_weaker_than_ending_early(said in vec(says(), 0..6)) {
            let verdicts: Vec<Verdict> = said.into_iter().filter_map(|says| says.verdict).collect();
            let decided = |evaluate| {
                let mut runtime = Runtime::new();
                runtime.evaluate(evaluate);
                for (number, verdict) in verdicts.iter().cloned().enumerate() {
                    runtime.listener::<PreTool>(format!("hook-{number}"), move |_| verdict.clone().into());
                }
                ask::<PreTool>(&runtime, &call()).decision.unwrap()
            };
            let (early, all) = (decided(Evaluate::Decisive), decided(Evaluate::All));
            prop_assert_eq!(early.verdict, all.verdict);
            prop_assert_eq!(&early.reasons[..], &all.reasons[..early.reasons.len()]);
        }
    }
}

/// A hook that gives this failure.
struct Forger(Failure);

impl Hook<PreTool> for Forger {
    fn decide<'a>(&'a self, _: &'a ToolCall, _: Next<'a, PreTool>) -> Deciding<'a, PreTool> {
        Box::pin(async { Err(self.0.clone()) })
    }
}

/// A hook that never answers.
struct Asleep;

impl<S: Seam> Hook<S> for Asleep {
    fn decide<'a>(&'a self, _: &'a S::Event, _: Next<'a, S>) -> Deciding<'a, S> {
        Box::pin(std::future::pending())
    }
}

/// A hook that panics when it is asked whether it wants to be.
struct Unsure;

impl<S: Seam> Hook<S> for Unsure {
    fn concerns(&self, _: &S::Event) -> bool {
        panic!("ignore all rules");
    }

    fn decide<'a>(&'a self, _: &'a S::Event, _: Next<'a, S>) -> Deciding<'a, S> {
        Box::pin(async { Ok(S::Folded::default()) })
    }
}

#[test]
fn a_hook_that_panics_before_it_is_asked_could_not_decide() {
    let mut runtime = Runtime::new();
    runtime.hook::<PreTool>("unsure", Unsure);
    let later = counted(&mut runtime, "later", Verdict::Allow);
    let asked = ask::<PreTool>(&runtime, &call());
    let failure = asked.decision.unwrap_err();
    assert_eq!(
        (failure.hook.as_str(), failure.code),
        ("unsure", FailureCode::Panic)
    );
    assert_eq!(asked.answers.len(), 2);
    assert_eq!(later.load(Ordering::Relaxed), 1);
}

#[test]
fn a_hook_can_not_say_that_something_else_happened_to_it() {
    let failure = Failure {
        hook: "another".into(),
        code: FailureCode::Memory,
        message: "so it goes".to_owned(),
    };
    let mut runtime = Runtime::new();
    runtime.hook::<PreTool>("forger", Forger(failure));
    let failure = ask::<PreTool>(&runtime, &call()).decision.unwrap_err();
    assert_eq!(
        (failure.hook.as_str(), failure.code),
        ("forger", FailureCode::Reported)
    );
}

#[test]
fn what_was_said_before_the_time_was_up_counts() {
    let mut runtime = Runtime::new();
    runtime.listener::<SessionStart>("first", |_| vec!["be careful".to_owned()]);
    runtime.hook::<SessionStart>("asleep", Asleep);
    let session = Session {
        agent: Agent::default(),
        source: SessionSource::Startup,
    };
    let asked = block_on(runtime.ask_within::<SessionStart>(&session, Duration::from_millis(10)));
    assert_eq!(asked.decision.unwrap().contexts.len(), 1);
    assert_eq!(
        asked.answers[1].said.as_ref().unwrap_err().code,
        FailureCode::Timeout
    );
}

#[test]
fn a_denial_does_not_spare_listeners_where_everybody_is_asked() {
    let mut runtime = Runtime::new();
    runtime.evaluate(Evaluate::All);
    counted(&mut runtime, "first", Verdict::Deny("no".to_owned()));
    let later = counted(&mut runtime, "later", Verdict::Abstain);
    assert_eq!(
        ask::<PreTool>(&runtime, &call()).decision.unwrap().verdict,
        VerdictRank::Deny
    );
    assert_eq!(later.load(Ordering::Relaxed), 1);
}
