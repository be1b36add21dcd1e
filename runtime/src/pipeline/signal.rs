//! Cancellation of a tool call: who may cause it, and who may only see it.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// Cancels what was given its [`Signal`].
///
/// Dropping it cancels nothing: a caller that loses interest says so.
#[derive(Debug, Clone, Default)]
pub struct Canceller(Arc<Flag>);

#[derive(Debug, Default)]
struct Flag {
    fired: OnceLock<Instant>,
    notify: Notify,
}

impl Canceller {
    /// One that has not fired.
    pub fn new() -> Self {
        Self::default()
    }

    /// Fires every signal that was made from this one. The first time counts.
    pub fn cancel(&self) {
        if self.0.fired.set(Instant::now()).is_ok() {
            self.0.notify.notify_waiters();
        }
    }

    /// What fires when this is cancelled.
    pub fn signal(&self) -> Signal {
        Signal {
            flags: vec![self.0.clone()],
            deadlines: Vec::new(),
        }
    }
}

/// Says whether something is cancelled. Whoever holds it can wait for that, narrow it by a deadline or by another signal,
/// and can neither cause it nor get rid of it.
#[derive(Debug, Clone, Default)]
pub struct Signal {
    flags: Vec<Arc<Flag>>,
    /// Each with how long it was when it was set.
    deadlines: Vec<(Instant, Duration)>,
}

/// Why a signal fired. The earliest reason counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Somebody cancelled.
    Cancelled,
    /// A deadline of this length passed.
    Deadline(Duration),
}

impl Signal {
    /// One that never fires.
    pub fn never() -> Self {
        Self::default()
    }

    /// Fires when either does. One that is the same adds nothing.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        let mut both = self.clone();
        for flag in &other.flags {
            if !both.flags.iter().any(|known| Arc::ptr_eq(known, flag)) {
                both.flags.push(flag.clone());
            }
        }
        for deadline in &other.deadlines {
            if !both.deadlines.contains(deadline) {
                both.deadlines.push(*deadline);
            }
        }
        both
    }

    /// Fires when this does, and after so long at the latest.
    #[must_use]
    pub fn within(&self, limit: Duration) -> Self {
        let mut narrowed = self.clone();
        // A deadline beyond what the clock can count is none.
        if let Some(at) = Instant::now().checked_add(limit) {
            narrowed.deadlines.push((at, limit));
        }
        narrowed
    }

    /// Whether it has fired.
    pub fn is_fired(&self) -> bool {
        self.cause().is_some()
    }

    /// Why it fired, where it has.
    pub fn cause(&self) -> Option<Cause> {
        let flags = self
            .flags
            .iter()
            .filter_map(|flag| flag.fired.get())
            .map(|at| (*at, Cause::Cancelled));
        let passed = if self.deadlines.is_empty() {
            None
        } else {
            let now = Instant::now();
            self.deadlines
                .iter()
                .filter(|(at, _)| *at <= now)
                .min_by_key(|(at, _)| *at)
                .map(|(at, limit)| (*at, Cause::Deadline(*limit)))
        };
        // At one instant of the clock the deadline was first: it was due before anybody could look at the clock.
        passed
            .into_iter()
            .chain(flags)
            .min_by_key(|(at, _)| *at)
            .map(|(_, cause)| cause)
    }

    /// Waits until it fires.
    pub async fn fired(&self) {
        let mut waiting: Vec<Pin<Box<dyn Future<Output = ()> + Send + '_>>> = Vec::new();
        for flag in &self.flags {
            let mut notified = Box::pin(flag.notify.notified());
            // From here on no firing is missed, so the question after it is the last word.
            notified.as_mut().enable();
            waiting.push(notified);
        }
        if let Some((at, _)) = self.deadlines.iter().min_by_key(|(at, _)| *at) {
            waiting.push(Box::pin(tokio::time::sleep_until(*at)));
        }
        if self.is_fired() {
            return;
        }
        poll_fn(|context| {
            if waiting
                .iter_mut()
                .any(|one| one.as_mut().poll(context).is_ready())
            {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    /// What the future comes to, or none where the signal fires before it is done. The future is then dropped.
    pub async fn race<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        if self.flags.is_empty() && self.deadlines.is_empty() {
            return Some(future.await);
        }
        tokio::select! {
            biased;
            () = self.fired() => None,
            done = future => Some(done),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_fires_both_and_neither_fires_the_other() {
        let (one, two) = (Canceller::new(), Canceller::new());
        let both = one.signal().or(&two.signal()).or(&one.signal());
        assert!(!both.is_fired());
        two.cancel();
        assert_eq!(both.cause(), Some(Cause::Cancelled));
        assert!(!one.signal().is_fired());
    }

    #[tokio::test(start_paused = true)]
    async fn the_earliest_reason_counts() {
        let caller = Canceller::new();
        let limit = Duration::from_millis(20);
        let narrowed = caller.signal().within(limit);
        narrowed.fired().await;
        caller.cancel();
        assert_eq!(narrowed.cause(), Some(Cause::Deadline(limit)));
        assert_eq!(
            caller.signal().within(limit).cause(),
            Some(Cause::Cancelled)
        );
    }

    #[tokio::test]
    async fn a_wait_ends_also_where_it_began_too_late() {
        let caller = Canceller::new();
        caller.cancel();
        caller.signal().fired().await;
        assert_eq!(
            caller.signal().race(std::future::pending::<()>()).await,
            None
        );
    }
}
