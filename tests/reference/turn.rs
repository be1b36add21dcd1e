//! One turn: the prompt gate, the steps, the end.

use std::io;
use std::mem::take;

use seamgate::pipeline::Signal;
use seamgate::seams::{Attributed, Prompt, SubagentStop, TurnStopping};
use seamgate::turn::{Ending, Gate, PromptGate, StopGuard};

use super::agent::{AfterReject, AgentLoop, Flow, Notice, Placement};
use super::inbox::{CancelCause, Fate, Item, Target};
use super::log::{Event, TurnEnd};
use super::message::UserMessage;

/// The code of an error that is not the model's. What happened to a hook stands beside it in the audit record.
const UNKNOWN: &str = "UNKNOWN";

/// Why a message does not get past the gate.
enum Refused {
    Blocked(Vec<Attributed>),
    Stopped {
        by: Vec<Attributed>,
        cause: CancelCause,
    },
    Cancelled,
    Failed(String),
}

impl Refused {
    fn fate(&self) -> Fate {
        match self {
            Self::Blocked(reasons) | Self::Stopped { by: reasons, .. } => Fate::Blocked {
                reasons: reasons.clone(),
            },
            Self::Cancelled => Fate::Cancelled,
            Self::Failed(message) => Fate::Failed {
                message: message.clone(),
            },
        }
    }
}

impl AgentLoop {
    /// Asks about one message of a user. What enters is the message, as hooks made it, and what they want said after it.
    async fn gate(
        &self,
        message: &UserMessage,
        turn: Option<u32>,
        signal: &Signal,
    ) -> Result<Vec<UserMessage>, Refused> {
        let runtime = self.setup.pipeline.runtime();
        let gate = PromptGate::new(&runtime).audit(self.setup.log.as_ref());
        let prompt = Prompt::new(self.setup.who.clone(), &message.content);
        // A hook that has not answered when the turn is cancelled is not listened to. The question is withdrawn, hook and all.
        match signal.race(gate.submit(&prompt, turn)).await {
            None => Err(Refused::Cancelled),
            // A stop goes beyond the turn, so a cancel of the turn does not do away with it.
            Some(Gate::Stop(stop)) => Err(Refused::Stopped {
                by: stop.by().to_vec(),
                cause: self.stopped(&stop),
            }),
            Some(_) if signal.is_fired() => Err(Refused::Cancelled),
            Some(Gate::Reject { reasons }) => Err(Refused::Blocked(reasons)),
            Some(Gate::Failed(failure)) => Err(Refused::Failed(failure.to_string())),
            Some(Gate::Unrecorded(problem)) => Err(Refused::Failed(problem)),
            // Hooks left nothing to say, so there is nothing to say something beside.
            Some(Gate::Enter(entered)) if entered.is_empty() => Ok(Vec::new()),
            Some(Gate::Enter(entered)) => {
                let prompt = UserMessage {
                    content: entered.content,
                    ..message.clone()
                };
                let contexts = entered.contexts.into_iter().map(UserMessage::from);
                Ok([prompt].into_iter().chain(contexts).collect())
            }
        }
    }

    /// The gate before the turn. There is no turn until a prompt has entered, and none at all where none does.
    pub(super) async fn admit(&self, signal: &Signal) -> Flow {
        if signal.is_fired() {
            return self.after_reject();
        }
        let Some(prompt) = self.state().inbox.claim_prompt() else {
            // What steered a turn that was interrupted has not been read yet.
            if self.state().inbox.is_empty() {
                return Flow::Park;
            }
            return Turn::run(self, signal, Vec::new(), None).await;
        };
        match self.gate(&prompt.message, None, signal).await {
            Ok(messages) if !messages.is_empty() => {
                Turn::run(self, signal, messages, Some(prompt)).await
            }
            Ok(_) => {
                prompt.end(Refused::Blocked(Vec::new()).fate());
                self.after_reject()
            }
            Err(refused) => {
                if let Refused::Failed(problem) = &refused {
                    // No turn is open that could end in an error, but nobody should wonder where the prompt went.
                    self.tell(Notice::Warning(format!("a prompt was dropped: {problem}")));
                }
                prompt.end(refused.fate());
                self.after_reject()
            }
        }
    }

    /// The gate inside the turn. The turn is there before anything is claimed, so that whatever happens to a prompt happens
    /// in a turn.
    pub(super) async fn propose_turn(&self, signal: &Signal) -> Flow {
        if self.state().inbox.is_empty() && !signal.is_fired() {
            return Flow::Park;
        }
        Turn::run(self, signal, Vec::new(), None).await
    }

    fn after_reject(&self) -> Flow {
        match self.setup.options.after_reject {
            AfterReject::ContinueQueue => Flow::Next,
            AfterReject::Park => Flow::Park,
        }
    }
}

/// A turn that is open.
pub(super) struct Turn<'a> {
    pub(super) agent: &'a AgentLoop,
    pub(super) number: u32,
    pub(super) signal: &'a Signal,
    /// The step that is under way, or was last. 0 is none.
    pub(super) step: u32,
    /// What entered before the turn.
    admitted: Vec<UserMessage>,
    /// What was submitted and has entered: its fate is the turn's.
    entered: Vec<Item>,
    /// Hooks can make a turn go on, and not for ever. What they made of one turn says nothing about the next.
    guard: StopGuard,
    was_cut_off: bool,
    last_message: Option<String>,
}

/// What a part of a turn comes to: something to go on with, or the end of the turn.
pub(super) type Part<T> = Result<T, TurnEnd>;

impl<'a> Turn<'a> {
    /// A turn from its start to its end.
    async fn run(
        agent: &'a AgentLoop,
        signal: &'a Signal,
        admitted: Vec<UserMessage>,
        prompt: Option<Item>,
    ) -> Flow {
        let mut turn = Self {
            agent,
            number: agent.setup.log.last_turn() + 1,
            signal,
            step: 0,
            admitted,
            entered: prompt.into_iter().collect(),
            guard: StopGuard::new(agent.setup.options.stop_cap),
            was_cut_off: false,
            last_message: None,
        };
        agent.state().in_turn = true;
        let (Ok(end) | Err(end)) = turn.steps().await;
        agent.state().in_turn = false;
        let closed = turn.append(Event::TurnEnd {
            turn: turn.number,
            reason: end.clone(),
        });
        // Where the log can't say how the turn ended, that is how it ended.
        let end = closed.err().unwrap_or(end);
        if let TurnEnd::Error { message, code } = end.clone() {
            agent.tell(Notice::Error { message, code });
        }
        let flow = match end {
            // A turn in which nothing was said is no better than a rejected prompt.
            TurnEnd::Completed | TurnEnd::MaxTokens if turn.step > 0 => Flow::Next,
            _ => agent.after_reject(),
        };
        for item in turn.entered {
            item.end(Fate::Ran {
                turn: turn.number,
                end: end.clone(),
            });
        }
        flow
    }

    async fn steps(&mut self) -> Part<TurnEnd> {
        self.append(Event::TurnStart { turn: self.number })?;
        // Whether there are results that the model has not read.
        let mut owes = false;
        loop {
            let messages = self.propose().await?;
            if owes || !messages.is_empty() {
                owes = self.take_step(messages).await?;
            } else if self.step == 0 {
                // Nothing was said, so there is nothing to stop either.
                return Ok(TurnEnd::Completed);
            }
            // A tool that concludes the turn does not outrank what somebody wants said in it.
            if !owes && !self.agent.state().inbox.steers() {
                self.may_stop().await?;
            }
        }
    }

    /// What the model is to read next, past the gate. Nothing where nothing waits.
    async fn propose(&mut self) -> Part<Vec<UserMessage>> {
        if self.signal.is_fired() {
            return Err(self.aborted());
        }
        let mut entering = take(&mut self.admitted);
        match self.agent.setup.options.placement {
            // One prompt entered already, and what steers an open turn is not asked about.
            Placement::BeforeTurn => {
                let claimed = self.agent.state().inbox.claim(Target::NextStep);
                entering.extend(claimed.iter().map(|item| item.message.clone()));
                self.entered.extend(claimed);
            }
            Placement::InTurn => {
                let target = match self.step {
                    0 => Target::NextTurn,
                    _ => Target::NextStep,
                };
                let claimed = self.agent.state().inbox.claim(target);
                entering.extend(self.ask_about(claimed).await?);
            }
        }
        if entering.is_empty() {
            return Ok(entering);
        }
        if self.step > 0 && entering.iter().any(UserMessage::is_users) {
            // From here on the turn goes on for the user's sake.
            self.guard.user_message();
        }
        // Not before something enters, so that a rejected prompt does not take it along.
        let opening = take(&mut self.agent.state().opening);
        let opening = opening.into_iter().map(UserMessage::from);
        Ok(opening.chain(entering).collect())
    }

    /// Asks the gate about each message of a user, in the order in which the model would read them. What hooks and tools
    /// say is not asked about: it went past a seam of its own.
    async fn ask_about(&mut self, claimed: Vec<Item>) -> Part<Vec<UserMessage>> {
        let mut entering = Vec::new();
        let mut passed = Vec::new();
        let mut emptied = Vec::new();
        let mut claimed = claimed.into_iter();
        while let Some(item) = claimed.next() {
            if !item.message.is_users() {
                entering.push(item.message.clone());
                continue;
            }
            let turn = Some(self.number);
            match self.agent.gate(&item.message, turn, self.signal).await {
                Ok(messages) if messages.is_empty() => emptied.push(item),
                Ok(messages) => {
                    entering.extend(messages);
                    passed.push(item);
                }
                Err(refused) => {
                    // They were to be said in one breath: one rejection rejects all.
                    let others = passed.into_iter().chain(emptied).chain(claimed);
                    for item in others.chain([item]) {
                        item.end(refused.fate());
                    }
                    return Err(match refused {
                        Refused::Blocked(_) => TurnEnd::Blocked,
                        Refused::Stopped { cause, .. } => TurnEnd::Aborted { reason: cause },
                        Refused::Cancelled => self.aborted(),
                        Refused::Failed(message) => TurnEnd::Error {
                            message,
                            code: UNKNOWN.to_owned(),
                        },
                    });
                }
            }
        }
        for item in emptied {
            item.end(Refused::Blocked(Vec::new()).fate());
        }
        self.entered.extend(passed);
        Ok(entering)
    }

    /// One step. Says whether the model has something to read afterwards.
    async fn take_step(&mut self, messages: Vec<UserMessage>) -> Part<bool> {
        self.step += 1;
        self.agent.state().end_was_asked = false;
        let (turn, step) = (self.number, self.step);
        match self.agent.setup.options.placement {
            // What was admitted belongs to the turn.
            Placement::BeforeTurn => {
                self.say(messages)?;
                self.append(Event::StepStart { turn, step })?;
            }
            // What was proposed belongs to the step.
            Placement::InTurn => {
                self.append(Event::StepStart { turn, step })?;
                self.say(messages)?;
            }
        }
        let came_to = self.ask_model().await;
        self.append(Event::StepEnd { turn, step })?;
        came_to
    }

    /// Everything that the model reads is logged first, and what is logged is what it reads.
    pub(super) fn say(&self, messages: impl IntoIterator<Item = UserMessage>) -> Part<()> {
        for message in messages {
            self.append(Event::UserMessage(message))?;
        }
        Ok(())
    }

    async fn ask_model(&mut self) -> Part<bool> {
        let setup = &self.agent.setup;
        let replying = setup.model.reply(setup.log.history());
        let reply = self.signal.race(replying).await;
        let reply = reply.ok_or_else(|| self.aborted())?;
        let mut reply = reply.map_err(|error| TurnEnd::Error {
            message: error.message,
            code: error.code,
        })?;
        if reply.is_cut_off {
            self.was_cut_off = true;
            // The last of them may be half of one. None runs, so none is kept: a call without a result could never be sent
            // back to the model.
            reply.calls.clear();
        }
        self.append(Event::AssistantMessage {
            turn: self.number,
            step: self.step,
            text: reply.text.clone(),
            calls: reply.calls.clone(),
        })?;
        if !reply.text.is_empty() {
            self.last_message = Some(reply.text);
        }
        if reply.calls.is_empty() {
            return Ok(false);
        }
        self.run_calls(reply.calls).await
    }

    /// Nothing is left to do, so hooks are asked whether the turn may end. An error is its end.
    ///
    /// They are asked before every attempt to stop, also after a tool that concludes the turn: this is the last place at
    /// which somebody can say that the work is not done.
    async fn may_stop(&mut self) -> Part<()> {
        let agent = self.agent;
        let (who, log) = (&agent.setup.who, agent.setup.log.as_ref());
        let runtime = agent.setup.pipeline.runtime();
        let (guard, turn) = (&mut self.guard, Some(self.number));
        let last = self.last_message.clone();
        let asking = async {
            if agent.is_child {
                guard
                    .ask::<SubagentStop>(&runtime, who, last, turn, Some(log))
                    .await
            } else {
                guard
                    .ask::<TurnStopping>(&runtime, who, last, turn, Some(log))
                    .await
            }
        };
        let ending = self.signal.race(asking).await;
        agent.state().end_was_asked = ending.is_some();
        let error = |message| TurnEnd::Error {
            message,
            code: UNKNOWN.to_owned(),
        };
        match ending.ok_or_else(|| self.aborted())? {
            Ending::Stop(stop) => {
                let reason = agent.stopped(&stop);
                return Err(TurnEnd::Aborted { reason });
            }
            // Only a stop goes beyond the turn. Everything else is moot where somebody cancelled meanwhile.
            _ if self.signal.is_fired() => return Err(self.aborted()),
            Ending::Settle => {}
            Ending::Continue(said) => {
                let mut state = agent.state();
                for said in said {
                    let item = Item::context(said.into(), true);
                    state.inbox.push(Target::NextStep, item);
                }
            }
            Ending::Capped {
                forced_continuations: often,
                ..
            } => agent.tell(Notice::Warning(format!(
                "hooks made this turn go on {often} times and want it once more; it ends"
            ))),
            Ending::Failed(failure) => return Err(error(failure.to_string())),
            Ending::Unrecorded(problem) => return Err(error(problem)),
        }
        // Somebody may have steered while hooks were asked. Whoever it was, the inbox decides.
        if agent.state().inbox.steers() {
            return Ok(());
        }
        Err(if self.was_cut_off {
            TurnEnd::MaxTokens
        } else {
            TurnEnd::Completed
        })
    }

    pub(super) fn aborted(&self) -> TurnEnd {
        TurnEnd::Aborted {
            reason: self.agent.cancel_cause(),
        }
    }

    pub(super) fn append(&self, event: Event) -> Part<()> {
        self.agent.setup.log.append(event)?;
        Ok(())
    }
}

/// What can't be logged must not happen, so the turn is over.
impl From<io::Error> for TurnEnd {
    fn from(error: io::Error) -> Self {
        Self::Error {
            message: format!("the session's log can't be written: {error}"),
            code: "LOG".to_owned(),
        }
    }
}
