//! What can be typed. Definitions only; what the verbs do is in `commands`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use seamgate_bridges::Dialect;

/// Decides what coding agents may do, by sandboxed policies.
#[derive(Debug, Parser)]
#[command(name = "seamgate", version, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Replay real recorded sessions through the standard policies. Needs nothing
    Demo {
        /// Print one JSON object for each event
        #[arg(long)]
        json: bool,
    },
    /// Replay a recorded session through the policies of a configuration
    ///
    /// The file has one event of the agent on each line, as the agent writes it to the standard input of a command hook.
    Replay {
        /// The recorded session
        #[arg(value_name = "FILE.jsonl")]
        file: PathBuf,
        /// The agent's protocol. Told from the events where it is left out
        #[arg(long)]
        dialect: Option<Dialect>,
        #[command(flatten)]
        config: ConfigArguments,
        /// Print one JSON object for each event
        #[arg(long)]
        json: bool,
    },
    /// Be a command hook of an agent: one event on standard input, the agent's answer on standard output
    ///
    /// An event that could not be decided closes the agent's gate, and standard error says why.
    Hook {
        /// The agent's protocol
        dialect: Dialect,
        #[command(flatten)]
        config: ConfigArguments,
    },
    /// Show what a component exports and imports. Nothing of it runs
    Inspect {
        /// The component
        #[arg(value_name = "FILE.wasm")]
        file: PathBuf,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Compile a component from standard input to standard output, within limits. For the program itself
    #[command(hide = true)]
    Compile,
}

/// Where the configuration is.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArguments {
    /// The configuration. Without it: `seamgate/seamgate.toml` in the user's configuration folder, and where there is none the
    /// standard policies
    #[arg(long, value_name = "FILE", env = "SEAMGATE_CONFIG")]
    pub(crate) config: Option<PathBuf>,
}
