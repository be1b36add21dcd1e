//! `seamgate completions SHELL`.

use std::process::ExitCode;

use anyhow::Result;
use clap::CommandFactory;

use crate::arguments::Arguments;
use crate::printer::Printer;

pub(crate) fn run(printer: &mut Printer, shell: clap_complete::Shell) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "seamgate", &mut script);
    printer.raw(&script)?;
    Ok(ExitCode::SUCCESS)
}
