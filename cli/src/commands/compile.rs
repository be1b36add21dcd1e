//! `seamgate compile`: the child that compiles a component for its parent.
//!
//! A component can keep a compiler busy for minutes, or make it eat all memory. So this process limits itself before it
//! reads a byte, and when a limit is hit, only it is lost.

use std::io::Read;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::printer::Printer;

/// Seconds of processor time. A component of 20 MiB takes about ten.
const CPU_SECONDS: u64 = 50;

/// Bytes of address space. A component of 20 MiB takes about two gigabytes.
const ADDRESS_SPACE: u64 = 6 << 30;

pub(crate) fn run(printer: &mut Printer) -> Result<ExitCode> {
    for (resource, limit) in [
        (Resource::Cpu, CPU_SECONDS),
        (Resource::As, ADDRESS_SPACE),
        (Resource::Core, 0),
    ] {
        let limit = Rlimit {
            current: Some(limit),
            maximum: Some(limit),
        };
        setrlimit(resource, limit).context("cannot limit the compiler")?;
    }
    let mut component = Vec::new();
    std::io::stdin()
        .lock()
        .read_to_end(&mut component)
        .context("cannot read the component")?;
    let code = match seamgate::compile_component(&component) {
        Ok(code) => code,
        // The parent says whose component it was.
        Err(reason) => {
            printer.note(&reason);
            return Ok(ExitCode::FAILURE);
        }
    };
    printer.raw(&code).map_err(|error| anyhow!(error))?;
    Ok(ExitCode::SUCCESS)
}
