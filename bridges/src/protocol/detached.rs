//! Hooks that nobody waits for, and somebody owns.

use tokio::sync::watch;

use super::cancel::Cancel;

/// Owns what runs beside the agent's work: chains of a hook's run and of what is done with its answer. Clones are the same
/// owner.
#[derive(Debug, Clone)]
pub struct Detached {
    cancel: Cancel,
    running: watch::Sender<usize>,
}

impl Detached {
    /// An owner of nothing.
    pub fn new() -> Self {
        Self {
            cancel: Cancel::new(),
            running: watch::Sender::new(0),
        }
    }

    /// The signal that every run of a chain has to be given. It comes with [`Detached::drain`].
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Starts a chain. It must end soon after the signal.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn track<T: Send + 'static>(&self, chain: impl Future<Output = T> + Send + 'static) {
        let counted = Counted::new(self.running.clone());
        tokio::spawn(async move {
            let _counted = counted;
            chain.await
        });
    }

    /// Waits until nothing runs. Nothing is told to end.
    pub async fn settled(&self) {
        // The sender lives as long as `self`, so this can't end with an error.
        let _ = self.running.subscribe().wait_for(|count| *count == 0).await;
    }

    /// Ends what runs and waits for it, and for what is added meanwhile. A chain that panics has ended, too. Afterwards every
    /// process of a hook is dead and reaped.
    pub async fn drain(&self) {
        self.cancel.cancel();
        self.settled().await;
    }
}

impl Default for Detached {
    fn default() -> Self {
        Self::new()
    }
}

/// Counts for as long as it lives, so also when its chain panics or the runtime drops it.
struct Counted(watch::Sender<usize>);

impl Counted {
    fn new(running: watch::Sender<usize>) -> Self {
        running.send_modify(|count| *count += 1);
        Self(running)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
