//! The `seamgate` program.
//!
//! `arguments` says what can be typed, `commands` has a file for each verb, `setup` makes a runtime of a configuration,
//! `printer` is the only place that writes.

mod arguments;
mod commands;
mod printer;
mod setup;
mod standard;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Verb};
use printer::Printer;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut printer = Printer::new();
    let done = match arguments.verb {
        Verb::Hook { dialect, config } => {
            return commands::hook::run(&mut printer, dialect, &config);
        }
        Verb::Demo { json } => commands::demo::run(&mut printer, json),
        Verb::Replay {
            file,
            dialect,
            config,
            json,
        } => commands::replay::run(&mut printer, &file, dialect, &config, json),
        Verb::Inspect { file, json } => commands::inspect::run(&mut printer, &file, json),
        Verb::Completions { shell } => commands::completions::run(&mut printer, shell),
        Verb::Compile => commands::compile::run(&mut printer),
    };
    match done {
        Ok(code) => code,
        // Whoever reads our output has seen enough.
        Err(error) if printer::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            printer.error(&error);
            ExitCode::FAILURE
        }
    }
}
