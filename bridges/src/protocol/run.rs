//! Runs one command hook and tells what became of it.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::command::HookCommand;
use super::supervise::{Ending, supervise};

/// How much stack the thread of a run has. It needs little, and there may be many.
const STACK_BYTES: usize = 256 * 1024;

/// What became of one run.
#[derive(Debug, Clone)]
pub struct HookRun {
    /// How it ended.
    pub end: HookEnd,
    /// What it wrote to standard output.
    pub stdout: Captured,
    /// What it wrote to standard error.
    pub stderr: Captured,
    /// How long it took, to the answer.
    pub duration: Duration,
    /// When its answer was there. Of several hooks that ran at once, some dialects let the last to finish win.
    pub finished: Instant,
}

/// How a run ended. What comes first decides: a hook that is told to end because its time is up and then exits with 2 has
/// timed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookEnd {
    /// By itself, with this exit code.
    Exited(i32),
    /// By this signal, which was not ours.
    Killed(i32),
    /// Its time was up, so its process group was ended.
    TimedOut,
    /// No answer was wanted any more, so its process group was ended, or it was not even started.
    Cancelled {
        /// Whether it ran at all.
        started: bool,
    },
    /// It could not be run. The text says why.
    Failed(String),
}

/// One stream of output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// The text, with U+FFFD for what is no UTF-8.
    pub text: String,
    /// Whether there was more of it than is kept. Then `text` is its end.
    pub truncated: bool,
}

/// Where the time is read, from a clock that never goes back.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Duration + Send + Sync>);

impl Clock {
    /// The clock of the system.
    pub fn monotonic() -> Self {
        let start = Instant::now();
        Self(Arc::new(move || start.elapsed()))
    }

    /// A clock for tests. It is read once before a run and once after it.
    pub fn from_fn(now: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    fn now(&self) -> Duration {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Clock")
    }
}

impl HookRun {
    /// The exit code of a hook that ended by itself.
    pub fn exit_code(&self) -> Option<i32> {
        match self.end {
            HookEnd::Exited(code) => Some(code),
            HookEnd::Killed(_)
            | HookEnd::TimedOut
            | HookEnd::Cancelled { .. }
            | HookEnd::Failed(_) => None,
        }
    }
}

/// Runs a hook. Never an error: what goes wrong is in [`HookRun::end`].
///
/// The hook is in a session of its own, so it has no terminal to ask at or to draw on, and leads a process group that is
/// ended as a whole. The run is over when the hook itself has ended and its pipes have been read; a process that it left
/// behind can't draw it out beyond [`HookCommand::drain`].
///
/// With `cancelled`, or when this future is dropped, the process group is ended as at the timeout. Dropping doesn't wait for
/// that; the hook is ended and reaped all the same.
///
/// # How it is done
///
/// By one thread per run, which waits for the process, its pipes and the signal together. A process can be waited for with
/// tokio, too. But a hook has to be ended and reaped when nobody awaits it any more, which takes somebody who stays; and so
/// it needs nothing of the executor, neither its I/O nor its timer.
pub async fn run(
    command: HookCommand,
    cancelled: impl Future<Output = ()>,
    clock: &Clock,
) -> HookRun {
    let before = clock.now();
    let ending = run_on_thread(command, cancelled).await;
    HookRun {
        end: ending.end,
        stdout: ending.stdout,
        stderr: ending.stderr,
        duration: clock.now().saturating_sub(before),
        finished: ending.at,
    }
}

async fn run_on_thread(command: HookCommand, cancelled: impl Future<Output = ()>) -> Ending {
    let mut cancelled = std::pin::pin!(cancelled);
    tokio::select! {
        biased;
        () = &mut cancelled => return Ending::without_output(HookEnd::Cancelled { started: false }),
        () = std::future::ready(()) => {}
    }
    // The thread sees the other end of this pipe close, whether on purpose or because this future is dropped.
    let (signal, signal_writer) = match io::pipe() {
        Ok(ends) => ends,
        Err(error) => return Ending::failed(format!("no pipe for the hook: {error}")),
    };
    let (sender, mut receiver) = oneshot::channel();
    let thread = thread::Builder::new()
        .name("hook".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            supervise(&command, signal, |ending| {
                // Nobody waits for it any more where the future was dropped.
                let _ = sender.send(ending);
            });
        });
    if let Err(error) = thread {
        return Ending::failed(format!("no thread for the hook: {error}"));
    }
    let ending = tokio::select! {
        biased;
        ending = &mut receiver => ending,
        () = cancelled => {
            drop(signal_writer);
            receiver.await
        }
    };
    ending.unwrap_or_else(|_| Ending::failed("the thread of the hook panicked".to_owned()))
}
