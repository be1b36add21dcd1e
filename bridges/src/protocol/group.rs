//! All hooks of one event.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use super::cancel::Cancel;
use super::command::HookCommand;
use super::decode::{Decoding, decode};
use super::merge::{Folded, fold};
use super::output::HookOutput;
use super::run::{Clock, HookRun, run};

/// The hooks that an event is for, in the order of the configuration.
#[derive(Debug, Clone)]
pub struct Group {
    /// The hooks.
    pub hooks: Vec<HookCommand>,
    /// How their output is read.
    pub decoding: Decoding,
    /// Whether they run at once or one after another.
    pub order: Order,
    /// Whether of several that are the same ([`HookCommand::same_as`]) only the first runs.
    pub once: bool,
}

/// When the hooks of an event run. What they say is folded in the order of the configuration either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// All at once.
    #[default]
    Parallel,
    /// One after another.
    Serial,
}

/// What became of a group.
#[derive(Debug, Clone)]
pub struct GroupAnswer {
    /// Every hook that was not the same as an earlier one, in the order of the configuration.
    pub asked: Vec<HookAsked>,
    /// What they said together.
    pub folded: Folded,
}

/// One hook of a group.
#[derive(Debug, Clone)]
pub struct HookAsked {
    /// Its place in [`Group::hooks`].
    pub index: usize,
    /// What became of its run.
    pub run: HookRun,
    /// What it said.
    pub output: HookOutput,
}

impl Group {
    /// Hooks that run at once, each as often as it is there.
    pub fn new(hooks: Vec<HookCommand>, decoding: Decoding) -> Self {
        Self {
            hooks,
            decoding,
            order: Order::Parallel,
            once: false,
        }
    }

    /// Runs them all. None is spared because another one refused; but once it is cancelled, none is started any more.
    pub async fn run(&self, cancel: &Cancel, clock: &Clock) -> GroupAnswer {
        let hooks = self.to_run();
        let runs = match self.order {
            Order::Parallel => {
                let runs = hooks.iter().map(|(_, hook)| one(hook, cancel, clock));
                join(runs.collect()).await
            }
            Order::Serial => {
                let mut runs = Vec::with_capacity(hooks.len());
                for (_, hook) in &hooks {
                    runs.push(one(hook, cancel, clock).await);
                }
                runs
            }
        };
        let asked: Vec<HookAsked> = hooks
            .into_iter()
            .zip(runs)
            .map(|((index, _), run)| HookAsked {
                index,
                output: decode(&run, &self.decoding),
                run,
            })
            .collect();
        let folded = fold(asked.iter().map(|hook| &hook.output));
        GroupAnswer { asked, folded }
    }

    fn to_run(&self) -> Vec<(usize, &HookCommand)> {
        let is_first = |index: usize, hook: &HookCommand| {
            !self.hooks[..index].iter().any(|other| other.same_as(hook))
        };
        self.hooks
            .iter()
            .enumerate()
            .filter(|(index, hook)| !self.once || is_first(*index, hook))
            .collect()
    }
}

/// A run on its way.
type Running<'a> = Pin<Box<dyn Future<Output = HookRun> + Send + 'a>>;

fn one<'a>(hook: &HookCommand, cancel: &'a Cancel, clock: &'a Clock) -> Running<'a> {
    Box::pin(run(hook.clone(), cancel.cancelled(), clock))
}

/// Waits for all of them at once.
async fn join(mut running: Vec<Running<'_>>) -> Vec<HookRun> {
    let mut runs: Vec<Option<HookRun>> = running.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut all_done = true;
        for (future, run) in running.iter_mut().zip(&mut runs) {
            if run.is_none() {
                match future.as_mut().poll(context) {
                    Poll::Ready(done) => *run = Some(done),
                    Poll::Pending => all_done = false,
                }
            }
        }
        if all_done {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    runs.into_iter().flatten().collect()
}
