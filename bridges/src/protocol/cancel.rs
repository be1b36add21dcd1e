//! The signal by which whoever asked says that no answer is wanted any more.

use tokio::sync::watch;

/// A signal that is given once and stays given. Clones are the same signal.
#[derive(Debug, Clone)]
pub struct Cancel(watch::Sender<bool>);

impl Cancel {
    /// A signal that is not given.
    pub fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// Gives it. Hooks that run are ended, and no further one starts.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was given.
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is given.
    pub async fn cancelled(&self) {
        // The sender lives as long as `self`, so this can't end with an error before the signal.
        let _ = self.0.subscribe().wait_for(|given| *given).await;
    }
}

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}
