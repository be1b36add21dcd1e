//! What the thread of a run does: starts the process, feeds and reads it, and sees that it ends.

use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use process_wrap::std::{CommandWrap, CommandWrapper, ProcessSession};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid,
};

use super::command::{HookCommand, Leftovers};
use super::run::{Captured, HookEnd};
use super::tail::Tail;

/// How much is read at once: what a pipe holds.
const PIECE: usize = 64 * 1024;

/// How often something is looked at that can't be waited for.
const LOOK: Duration = Duration::from_millis(5);

/// How long a process that was killed may take to be gone. It is more only when the system hangs.
const DEATH: Duration = Duration::from_millis(500);

/// How long a killed group may take to be gone. Whoever adopts its processes may be slow to reap them.
const GROUP_DEATH: Duration = Duration::from_millis(100);

/// What a run came to.
pub(super) struct Ending {
    pub(super) end: HookEnd,
    pub(super) stdout: Captured,
    pub(super) stderr: Captured,
    pub(super) at: Instant,
}

impl Ending {
    pub(super) fn without_output(end: HookEnd) -> Self {
        Self {
            end,
            stdout: Captured::default(),
            stderr: Captured::default(),
            at: Instant::now(),
        }
    }

    pub(super) fn failed(message: String) -> Self {
        Self::without_output(HookEnd::Failed(message))
    }
}

/// Runs the command to its end and hands over what it came to. Returns when the process is reaped.
pub(super) fn supervise(command: &HookCommand, signal: PipeReader, done: impl FnOnce(Ending)) {
    let mut hook = match Process::start(command, signal) {
        Ok(hook) => hook,
        Err(message) => return done(Ending::failed(message)),
    };
    let end = hook.see_to_its_end(command);
    let (stdout, stderr) = (hook.stdout.take(), hook.stderr.take());
    done(Ending {
        end,
        stdout: stdout.finish(),
        stderr: stderr.finish(),
        at: Instant::now(),
    });
    // `hook` is dropped here, which waits for a process that would not die in time.
}

/// A hook that runs.
struct Process {
    child: Child,
    /// Of the process and of its group, which it leads.
    pid: Pid,
    /// Can be waited for. Without one the process is looked at every now and then.
    pidfd: Option<OwnedFd>,
    ended: bool,
    reaped: bool,
    /// Closes when the run is cancelled.
    signal: Option<PipeReader>,
    cancelled: bool,
    stdin: Option<File>,
    payload: Arc<[u8]>,
    written: usize,
    stdout: Stream,
    stderr: Stream,
    piece: Box<[u8]>,
}

impl Process {
    fn start(command: &HookCommand, signal: PipeReader) -> Result<Self, String> {
        let program = command.program.to_string_lossy();
        let mut starting = Command::new(&command.program);
        starting
            .args(&command.arguments)
            .env_clear()
            .envs(command.environment.iter())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(folder) = folder(command)? {
            starting.current_dir(folder);
        }
        // A call of `setsid` between fork and exec is unsafe code, which this crate has not; `process-wrap` has it. Of all
        // that it can do, only this step is wanted, since it neither caps what it reads nor waits with a limit.
        ProcessSession
            .pre_spawn(&mut starting, &CommandWrap::with_new("", |_| {}))
            .map_err(|error| format!("`{program}` can't have a session of its own: {error}"))?;
        let mut child = starting
            .spawn()
            .map_err(|error| format!("`{program}` can't be started: {error}"))?;

        let stdin = child
            .stdin
            .take()
            .map(|pipe| File::from(OwnedFd::from(pipe)));
        let stdout = child
            .stdout
            .take()
            .map(|pipe| File::from(OwnedFd::from(pipe)));
        let stderr = child
            .stderr
            .take()
            .map(|pipe| File::from(OwnedFd::from(pipe)));
        let pid = Pid::from_child(&child);
        let process = Self {
            child,
            pid,
            pidfd: pidfd(pid),
            ended: false,
            reaped: false,
            signal: Some(signal),
            cancelled: false,
            stdin,
            payload: Arc::clone(&command.stdin),
            written: 0,
            stdout: Stream::new(stdout, command.output_bytes),
            stderr: Stream::new(stderr, command.output_bytes),
            piece: vec![0; PIECE].into(),
        };
        // From here on the process is ended and reaped by `drop`, whatever happens.
        for pipe in [&process.stdin, &process.stdout.pipe, &process.stderr.pipe]
            .into_iter()
            .flatten()
        {
            rustix::io::ioctl_fionbio(pipe, true)
                .map_err(|error| format!("the pipes of `{program}` can't be used: {error}"))?;
        }
        Ok(process)
    }

    fn see_to_its_end(&mut self, command: &HookCommand) -> HookEnd {
        let deadline = Instant::now().checked_add(command.timeout);
        while !self.ended {
            if self.cancelled {
                self.end_group(command.grace);
                return HookEnd::Cancelled { started: true };
            }
            if is_past(deadline) {
                self.end_group(command.grace);
                return HookEnd::TimedOut;
            }
            self.turn(deadline);
        }

        // What it has not read by now, nobody decides by.
        self.stdin = None;
        let until = match command.drain {
            Some(drain) => Instant::now().checked_add(drain),
            None => deadline,
        };
        while self.stdout.is_open() || self.stderr.is_open() {
            let out_of_time = is_past(until);
            if out_of_time && command.drain.is_none() {
                self.end_group(command.grace);
                return HookEnd::TimedOut;
            }
            if out_of_time || self.cancelled {
                break;
            }
            self.turn(until);
        }
        if command.leftovers == Leftovers::Kill {
            self.kill_group();
        } else {
            self.reap();
        }
        match self.child.try_wait() {
            Ok(Some(status)) => match (status.code(), status.signal()) {
                (Some(code), _) => HookEnd::Exited(code),
                (None, Some(signal)) => HookEnd::Killed(signal),
                (None, None) => HookEnd::Failed(format!("it ended in an unknown way: {status}")),
            },
            Ok(None) => HookEnd::Failed("it ended, but can't be reaped".to_owned()),
            // Somebody else reaped it: a program that ignores SIGCHLD, or waits for just any process.
            Err(error) => HookEnd::Failed(format!("how it ended can't be learnt: {error}")),
        }
    }

    /// Waits until something happens or the time is up, and does what there is to do.
    fn turn(&mut self, until: Option<Instant>) {
        let mut patience = until.map(|until| until.saturating_duration_since(Instant::now()));
        if self.pidfd.is_none() && !self.ended {
            patience = Some(patience.map_or(LOOK, |patience| patience.min(LOOK)));
        }
        // In this order: process, signal, standard output, standard error, standard input.
        let waited_for = [
            (self.pidfd.as_ref().map(AsFd::as_fd)).filter(|_| !self.ended),
            self.signal.as_ref().map(AsFd::as_fd),
            self.stdout.pipe.as_ref().map(AsFd::as_fd),
            self.stderr.pipe.as_ref().map(AsFd::as_fd),
            self.stdin.as_ref().map(AsFd::as_fd),
        ];
        let happened = wait_for(&waited_for, patience);

        if !self.ended && (happened[0] || self.pidfd.is_none()) {
            self.ended = has_ended(self.pid);
        }
        if happened[1] {
            self.signal = None;
            self.cancelled = true;
        }
        if happened[2] {
            self.stdout.read(&mut self.piece);
        }
        if happened[3] {
            self.stderr.read(&mut self.piece);
        }
        if happened[4] || self.written == self.payload.len() {
            self.write();
        }
    }

    /// Writes what goes in. A hook need not read, so an error only means that it doesn't want any more.
    fn write(&mut self) {
        let Some(stdin) = &mut self.stdin else { return };
        let rest = &self.payload[self.written..];
        if !rest.is_empty() {
            match stdin.write(rest) {
                Ok(count) if count > 0 => self.written += count,
                Err(error) if is_temporary(&error) => {}
                Ok(_) | Err(_) => self.written = self.payload.len(),
            }
        }
        if self.written == self.payload.len() {
            self.stdin = None;
        }
    }

    /// Ends the whole group: asks, waits, and kills what is left. Output is read all the while, so that nothing in the group
    /// hangs in writing its last words.
    fn end_group(&mut self, grace: Duration) {
        self.stdin = None;
        self.signal = None;
        if !grace.is_zero() {
            self.signal_group(Signal::TERM);
            // A process that was stopped, perhaps for want of a terminal, would not see it.
            self.signal_group(Signal::CONT);
            let until = Instant::now().checked_add(grace);
            while !self.ended && !is_past(until) {
                self.turn(until);
            }
            if self.ended {
                // Its leader is gone, but that doesn't have to be all.
                self.reap();
                while self.group_is_there() && !is_past(until) {
                    let soon = Instant::now().checked_add(LOOK);
                    if self.stdout.is_open() || self.stderr.is_open() {
                        self.turn(soon);
                    } else {
                        thread::sleep(LOOK);
                    }
                }
                if !self.group_is_there() {
                    return;
                }
            }
        }
        self.kill_group();
    }

    fn kill_group(&mut self) {
        // As long as its leader is not reaped, or a process is left in it, no other group can have its number.
        self.signal_group(Signal::KILL);
        let until = Instant::now().checked_add(DEATH);
        while !self.ended && !is_past(until) {
            self.turn(until);
        }
        if self.ended {
            self.reap();
        }
        let until = Instant::now().checked_add(GROUP_DEATH);
        while self.group_is_there() && !is_past(until) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn signal_group(&self, signal: Signal) {
        // There is nobody left to signal, or nobody that we may signal. Both are no news.
        let _ = kill_process_group(self.pid, signal);
    }

    fn group_is_there(&self) -> bool {
        test_kill_process_group(self.pid) != Err(rustix::io::Errno::SRCH)
    }

    /// Takes the end of the process from the system. Waits for it, so only where there was an end.
    fn reap(&mut self) {
        if !self.reaped {
            // Its status is kept by `child`, which is asked for it later.
            let _ = self.child.wait();
            self.reaped = true;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.reaped {
            self.signal_group(Signal::KILL);
            self.reap();
        }
    }
}

/// One stream of output, of which the end is kept.
struct Stream {
    pipe: Option<File>,
    tail: Tail,
}

impl Stream {
    fn new(pipe: Option<File>, most: usize) -> Self {
        Self {
            pipe,
            tail: Tail::new(most),
        }
    }

    fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    fn read(&mut self, piece: &mut [u8]) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.read(piece) {
            Ok(0) => self.pipe = None,
            Ok(count) => self.tail.push(&piece[..count]),
            Err(error) if is_temporary(&error) => {}
            Err(_) => self.pipe = None,
        }
    }

    fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new(None, 0))
    }

    fn finish(self) -> Captured {
        let (text, truncated) = self.tail.finish();
        Captured { text, truncated }
    }
}

/// The first folder of those named that is one.
fn folder(command: &HookCommand) -> Result<Option<&Path>, String> {
    if command.folders.is_empty() {
        return Ok(None);
    }
    match command.folders.iter().find(|folder| folder.is_dir()) {
        Some(folder) => Ok(Some(folder)),
        None => Err(format!(
            "`{}` can't be started: no folder to run in, {} is none",
            command.program.to_string_lossy(),
            command.folders[0].display()
        )),
    }
}

/// Which of these have something to say, within so much time. Those that are not there have not.
fn wait_for<const N: usize>(
    waited_for: &[Option<BorrowedFd<'_>>; N],
    patience: Option<Duration>,
) -> [bool; N] {
    let mut polled: Vec<PollFd<'_>> = Vec::with_capacity(N);
    for (index, fd) in waited_for.iter().enumerate() {
        if let Some(fd) = fd {
            // Only the last one is written to.
            let flags = if index + 1 == N {
                PollFlags::OUT
            } else {
                PollFlags::IN
            };
            polled.push(PollFd::from_borrowed_fd(*fd, flags));
        }
    }
    // A wait that is too long for the system is as good as one without end.
    let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
    if poll(&mut polled, patience.as_ref()).is_err() {
        // A signal came between, or the system is short of memory: look again, but not at once.
        thread::sleep(Duration::from_millis(1));
        return [false; N];
    }
    let mut results = polled.iter().map(|fd| !fd.revents().is_empty());
    waited_for.map(|fd| fd.is_some() && results.next().unwrap_or(false))
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn pidfd(pid: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn pidfd(_: Pid) -> Option<OwnedFd> {
    None
}

/// Whether a process has ended. It stays unreaped, so that its number stays its own.
fn has_ended(pid: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(pid), options) {
        Ok(None) => false,
        Ok(Some(_)) => true,
        // Reaped by somebody else.
        Err(error) => error == rustix::io::Errno::CHILD,
    }
}

fn is_past(time: Option<Instant>) -> bool {
    time.is_some_and(|time| Instant::now() >= time)
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
