//! Components to machine code.
//!
//! Compiling a stranger's component can take minutes or bring the compiler down; upstream does not treat that as a defect.
//! So a program that runs policies for an agent compiles in a child process with limits of its own, and never on the
//! way of a decision where the code is at hand.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::engine;

/// How long a child may compile.
const CHILD_TIMEOUT: Duration = Duration::from_secs(60);

/// Where components are compiled.
#[derive(Debug, Clone)]
pub enum Compiler {
    /// In this process. For programs that choose their components themselves, and for tests.
    InProcess,
    /// In a child process: the component on its standard input, the code on its standard output. The child calls
    /// [`compile_component`] and limits itself.
    Child {
        /// The program. None is the one that is running.
        program: Option<PathBuf>,
        /// Its arguments.
        arguments: Vec<OsString>,
    },
}

impl Compiler {
    /// Compiles a component. Blocks; it takes from a tenth of a second to some seconds.
    pub(crate) fn compile(&self, component: &[u8]) -> Result<Vec<u8>, String> {
        match self {
            Self::InProcess => compile_component(component),
            Self::Child { program, arguments } => {
                let program = match program {
                    Some(program) => program.clone(),
                    None => std::env::current_exe()
                        .map_err(|error| format!("cannot find this program: {error}"))?,
                };
                in_child(Command::new(program).args(arguments), component)
            }
        }
    }
}

/// Compiles a component in this process, with the settings that the sandbox loads.
///
/// # Errors
/// What the engine has against the component.
pub fn compile_component(component: &[u8]) -> Result<Vec<u8>, String> {
    let engine = engine::compiling_engine().map_err(|error| format!("{error:#}"))?;
    engine
        .precompile_component(component)
        .map_err(|error| format!("{error:#}"))
}

fn in_child(command: &mut Command, component: &[u8]) -> Result<Vec<u8>, String> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("the compiler could not be started: {error}"))?;
    let mut stdin = child.stdin.take().ok_or("the compiler has no input")?;
    let mut stdout = child.stdout.take().ok_or("the compiler has no output")?;
    let mut stderr = child
        .stderr
        .take()
        .ok_or("the compiler has no error output")?;
    std::thread::scope(|scope| {
        let (done, finished) = mpsc::channel();
        let code = scope.spawn(move || {
            let mut code = Vec::new();
            let read = stdout.read_to_end(&mut code).map(|_| code);
            // Nobody is waiting any more where the limit has passed.
            let _ = done.send(());
            read
        });
        let complaints = scope.spawn(move || {
            let mut text = String::new();
            // Only the child's own words for a person; what can't be read is not there.
            let _ = (&mut stderr).take(16 << 10).read_to_string(&mut text);
            text
        });
        // A child that has died reads nothing, and its exit says why.
        scope.spawn(move || stdin.write_all(component));
        let in_time = finished.recv_timeout(CHILD_TIMEOUT).is_ok();
        if !in_time {
            child
                .kill()
                .map_err(|error| format!("the compiler could not be ended: {error}"))?;
        }
        let status = child
            .wait()
            .map_err(|error| format!("the compiler was lost: {error}"))?;
        let complaints = complaints.join().unwrap_or_default();
        if !in_time {
            return Err(format!(
                "the compiler took more than {} seconds",
                CHILD_TIMEOUT.as_secs()
            ));
        }
        if !status.success() {
            let complaints = complaints.trim();
            return Err(if complaints.is_empty() {
                format!("the compiler ended with {status}")
            } else {
                complaints.to_owned()
            });
        }
        match code.join() {
            Ok(Ok(code)) if !code.is_empty() => Ok(code),
            Ok(Ok(_)) => Err("the compiler gave nothing".to_owned()),
            Ok(Err(error)) => Err(format!("the compiler's output could not be read: {error}")),
            Err(_) => Err("the compiler's output could not be read".to_owned()),
        }
    })
}
