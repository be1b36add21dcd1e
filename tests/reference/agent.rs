//! The agent as its front end sees it: how it begins, the verbs, the driver.

use std::mem::take;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use seamgate::pipeline::{Canceller, Context, DEFAULT_OVERLAP, Pipeline, Signal, Tools};
use seamgate::seams::{Agent, Session, SessionSource};
use seamgate::turn::{DEFAULT_CAP, Started, start_session, start_subagent};
use seamgate::{Json, Stop};

use super::inbox::{CancelCause, Fate, Inbox, Item, Submitted, Target};
use super::log::SessionLog;
use super::message::UserMessage;
use super::model::Model;

/// Where the prompt gate stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Before there is a turn. A prompt that is rejected leaves no trace in the session, which is right for secrets. What
    /// steers an open turn is not asked about.
    BeforeTurn,
    /// Inside the turn. Whatever a user says is asked about, and the session shows that something was rejected.
    InTurn,
}

/// What becomes of the prompts behind one that was rejected, failed or was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterReject {
    /// The next one runs.
    ContinueQueue,
    /// They stay, until somebody wakes the agent.
    Park,
}

/// When the model reads the contexts of a batch of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// They are said at once, right after the results. They stand beside their cause also where the turn is interrupted.
    InStep,
    /// They wait in the inbox for the next step, or after an interruption for the next turn.
    NextBoundary,
}

/// What an embedding program may choose.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where the prompt gate stands.
    pub placement: Placement,
    /// What becomes of the prompts behind one that did not run.
    pub after_reject: AfterReject,
    /// When the model reads the contexts of calls.
    pub settlement: Settlement,
    /// How many calls of one step may be under way at once.
    pub overlap: NonZeroUsize,
    /// How often hooks may make one turn go on.
    pub stop_cap: u32,
    /// How long the first prompt waits for the hooks at the start.
    pub start_deadline: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            placement: Placement::InTurn,
            after_reject: AfterReject::Park,
            settlement: Settlement::InStep,
            overlap: DEFAULT_OVERLAP,
            stop_cap: DEFAULT_CAP,
            start_deadline: Duration::from_secs(60),
        }
    }
}

impl Options {
    /// With the prompt gate before the turn, and what goes with it.
    pub fn before_turn() -> Self {
        Self {
            placement: Placement::BeforeTurn,
            after_reject: AfterReject::ContinueQueue,
            ..Self::default()
        }
    }
}

/// What an agent is made of.
pub struct Setup {
    /// Who it is, as every seam is told.
    pub who: Agent,
    /// The seams. Its audit sink is the log, so that approvals stand in the session.
    pub pipeline: Pipeline,
    /// What its model can call.
    pub tools: Arc<Tools>,
    /// Who thinks.
    pub model: Arc<dyn Model>,
    /// What happens. An agent that goes on with a session goes on with its log.
    pub log: Arc<SessionLog>,
    /// How it behaves.
    pub options: Options,
}

/// What a front end is told as it happens, beside the events of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The agent works.
    Running,
    /// It has nothing to do, or waits until somebody wakes it.
    Idle,
    /// Something that the user should read.
    Warning(String),
    /// A hook stopped the agent. It does nothing more until [`AgentLoop::wake`].
    Stopped(String),
    /// A turn ended in an error.
    Error { message: String, code: String },
}

/// An agent.
pub struct AgentLoop {
    pub(super) setup: Setup,
    /// Whether this is a child, which wants to end rather than to stop.
    pub(super) is_child: bool,
    state: Mutex<State>,
    /// Held by the one driver.
    driving: tokio::sync::Mutex<()>,
    observers: Mutex<Vec<Observer>>,
}

type Observer = Arc<dyn Fn(&Notice) + Send + Sync>;

/// What verbs and driver share. One lock, so that every verb happens at once.
#[derive(Default)]
pub(super) struct State {
    pub(super) inbox: Inbox,
    /// What hooks said at the start. It goes ahead of the first prompt that enters, whichever that is.
    pub(super) opening: Vec<Context>,
    /// Whether a turn is open.
    pub(super) in_turn: bool,
    /// Whether hooks have been asked if the agent may end as it is now.
    pub(super) end_was_asked: bool,
    /// What a cancel would cancel: the turn, or what comes before it.
    activity: Option<Activity>,
    /// Whether the driver should look for something to do.
    woken: bool,
    /// The same, for when what was cancelled is over.
    woken_after: bool,
    /// Why a hook stopped the agent.
    halted: Option<String>,
}

#[derive(Default)]
struct Activity {
    canceller: Canceller,
    /// The first cause counts.
    cause: Option<CancelCause>,
}

impl State {
    fn wake(&mut self) {
        if self.halted.is_some() {
            return;
        }
        match &self.activity {
            // It takes in what is new by itself.
            Some(Activity { cause: None, .. }) => {}
            // It is about to end, and what is new comes after it.
            Some(_) => self.woken_after = true,
            // From this moment on there is something to cancel, although no driver has looked yet.
            None => {
                self.woken = true;
                self.activity = Some(Activity::default());
            }
        }
    }
}

/// How the driver goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// With the next turn, where somebody waits for one.
    Next,
    /// Not at all, until somebody wakes it.
    Park,
}

impl AgentLoop {
    /// A session begins. What hooks have to say at its start is waited for, since the first request has to show it; and not
    /// for ever, since a hook that hangs must not keep the session from beginning.
    pub async fn start(setup: Setup, source: SessionSource) -> Arc<Self> {
        let session = Session {
            agent: setup.who.clone(),
            source,
        };
        let runtime = setup.pipeline.runtime();
        let deadline = setup.options.start_deadline;
        let audit = Some(setup.log.as_ref() as _);
        let started = start_session(&runtime, &session, deadline, audit).await;
        Self::new(setup, started, false)
    }

    /// A child begins. It is no session of its own, so its hooks are asked at another seam.
    pub async fn start_child(setup: Setup) -> Arc<Self> {
        let runtime = setup.pipeline.runtime();
        let deadline = setup.options.start_deadline;
        let audit = Some(setup.log.as_ref() as _);
        let started = start_subagent(&runtime, &setup.who, deadline, audit).await;
        Self::new(setup, started, true)
    }

    fn new(setup: Setup, started: Started, is_child: bool) -> Arc<Self> {
        let state = State {
            opening: started.contexts,
            // Whoever is stopped before they began begins when somebody says so.
            halted: started.stop.map(|stop| stop.reason()),
            ..State::default()
        };
        Arc::new(Self {
            setup,
            is_child,
            state: Mutex::new(state),
            driving: tokio::sync::Mutex::default(),
            observers: Mutex::default(),
        })
    }

    /// A prompt. It gets a turn of its own, after those before it.
    pub fn followup(&self, content: Json) -> Submitted {
        let (item, submitted) = Item::of_user(UserMessage::of_user(content));
        let mut state = self.state();
        state.inbox.push(Target::NextTurn, item);
        state.wake();
        submitted
    }

    /// Something that the model should read as soon as possible: in the turn that is open, or else in one of its own.
    pub fn steer(&self, content: Json) -> Submitted {
        let (item, submitted) = Item::of_user(UserMessage::of_user(content));
        let mut state = self.state();
        let asked_about = state.in_turn || self.setup.options.placement == Placement::InTurn;
        let target = if asked_about {
            Target::NextStep
        } else {
            // The gate stands before the turn, so outside of one there is no other way past it.
            Target::NextTurn
        };
        state.inbox.push(target, item);
        state.wake();
        submitted
    }

    /// Something that the model should read when it reads something anyway. It wakes nobody, and no turn goes on for it.
    pub fn inject(&self, context: Context) {
        self.state().inbox.inject(context);
    }

    /// Cancels what is under way, and withdraws all that waits. Where there is neither, nothing happens, now or later.
    pub fn cancel(&self, cause: CancelCause) {
        self.cancel_turn(cause);
        // Apart from the state, since somebody may be waiting for the fate, and look at the agent.
        let withdrawn = self.state().inbox.clear();
        for item in withdrawn {
            item.end(Fate::Cancelled);
        }
    }

    /// Cancels what is under way. What waits stays, until somebody wakes the agent.
    pub fn cancel_turn(&self, cause: CancelCause) {
        if let Some(activity) = &mut self.state().activity {
            activity.cause.get_or_insert(cause);
            activity.canceller.cancel();
        }
    }

    /// Stops the agent, as a hook wants it. What waits stays, and nothing wakes the agent but [`AgentLoop::wake`].
    pub fn halt(&self, reason: String) {
        self.halted_by(&reason);
        self.cancel_turn(CancelCause::Hook { reason });
    }

    /// A person says that the agent may go on: after a stop, or with what was left waiting.
    pub fn wake(&self) {
        let mut state = self.state();
        state.halted = None;
        state.wake();
    }

    /// Why a hook stopped the agent, where one did.
    pub fn halted(&self) -> Option<String> {
        self.state().halted.clone()
    }

    /// Whether hooks have been asked if the agent may end as it is now. Those of a child that failed or was cancelled have
    /// not.
    pub fn end_was_asked(&self) -> bool {
        self.state().end_was_asked
    }

    /// Who the agent is.
    pub fn who(&self) -> &Agent {
        &self.setup.who
    }

    /// Its log.
    pub fn log(&self) -> &SessionLog {
        &self.setup.log
    }

    /// Tells somebody what happens from now on. One that panics changes nothing.
    pub fn observe(&self, observer: impl Fn(&Notice) + Send + Sync + 'static) {
        let observers = self.observers.lock();
        observers
            .unwrap_or_else(PoisonError::into_inner)
            .push(Arc::new(observer));
    }

    /// Works until nothing is left that it should do by itself. A program has a task that calls this whenever one of the
    /// verbs may have woken the agent; called for nothing, it does nothing.
    ///
    /// The future is not to be dropped while it works, or a turn stays open: cancel the turn and let it close.
    pub async fn drive(&self) {
        let _only = self.driving.lock().await;
        while self.is_woken() {
            self.tell(Notice::Running);
            loop {
                let signal = self.signal();
                let flow = match self.setup.options.placement {
                    Placement::BeforeTurn => self.admit(&signal).await,
                    Placement::InTurn => self.propose_turn(&signal).await,
                };
                if !self.goes_on(flow) {
                    break;
                }
            }
            self.tell(Notice::Idle);
        }
    }

    fn is_woken(&self) -> bool {
        let mut state = self.state();
        let woken = take(&mut state.woken) && state.halted.is_none();
        if woken {
            state.activity.get_or_insert_default();
        }
        woken
    }

    /// One turn is over. Says whether another follows at once.
    fn goes_on(&self, flow: Flow) -> bool {
        let mut state = self.state();
        let goes_on = flow == Flow::Next && state.halted.is_none() && state.inbox.wants_turn();
        state.woken |= take(&mut state.woken_after);
        // A cancel was for what is over. What comes next has another.
        state.activity = (goes_on || state.woken).then(Activity::default);
        goes_on
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What cancels the turn that is open or about to be.
    fn signal(&self) -> Signal {
        let state = self.state();
        let activity = state.activity.as_ref();
        activity.map_or_else(Signal::never, |activity| activity.canceller.signal())
    }

    /// Why it was cancelled.
    pub(super) fn cancel_cause(&self) -> CancelCause {
        let state = self.state();
        let cause = state.activity.as_ref().and_then(|one| one.cause.clone());
        cause.unwrap_or(CancelCause::Disposed)
    }

    /// A hook stopped the agent at a seam that the loop itself asked.
    pub(super) fn stopped(&self, stop: &Stop) -> CancelCause {
        let reason = stop.reason();
        self.halted_by(&reason);
        CancelCause::Hook { reason }
    }

    pub(super) fn halted_by(&self, reason: &str) {
        {
            let mut state = self.state();
            state.halted = Some(reason.to_owned());
            state.woken = false;
            state.woken_after = false;
        }
        self.tell(Notice::Stopped(reason.to_owned()));
    }

    pub(super) fn tell(&self, notice: Notice) {
        let observers = self.observers.lock();
        let observers = observers.unwrap_or_else(PoisonError::into_inner).clone();
        for observer in observers {
            drop(catch_unwind(AssertUnwindSafe(|| observer(&notice))));
        }
    }
}
