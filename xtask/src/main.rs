//! The chores of the project, each in one way: `cargo xtask setup | policies | build | test | conformance | lint | ci`.

mod conformance;
mod guests;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The chores of the project")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Find or install what builds policies
    Setup,
    /// Build the policies into `policies/prebuilt`
    Policies,
    /// Build the policies, and the program for release
    Build,
    /// Set up, and run every test
    Test {
        /// Arguments for `cargo test`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Run the tests that are named after lines of the conformance checklist, and count the lines
    Conformance,
    /// Check the format, the lints and the documentation
    Lint,
    /// Everything that continuous integration checks
    Ci,
}

fn main() -> Result<()> {
    match Arguments::parse().chore {
        Chore::Setup => guests::setup().map(|_| ()),
        Chore::Policies => guests::build()?.keep(),
        Chore::Build => {
            guests::build()?.keep()?;
            run(cargo().args(["build", "--release", "--package", "seamgate-cli"]))
        }
        Chore::Test { arguments } => test(&arguments),
        Chore::Conformance => conformance(),
        Chore::Lint => lint(),
        Chore::Ci => {
            lint()?;
            test(&[])?;
            conformance()
        }
    }
}

/// Every test. The policies are built from their source first: what ships must be that.
fn test(arguments: &[String]) -> Result<()> {
    let rebuilt = guests::build()?;
    rebuilt.compare()?;
    run(cargo()
        .args(["test", "--workspace", "--all-targets"])
        .args(arguments)
        .env("SEAMGATE_REBUILT_POLICIES", rebuilt.folder()))?;
    run(cargo()
        .args(["test", "--workspace", "--doc"])
        .args(arguments))
}

/// The lines of the conformance checklist, and the tests that are named after them.
fn conformance() -> Result<()> {
    let mut tests = cargo();
    // The whole workspace, since another choice of packages would build the engine once more.
    tests.args([
        "test",
        "--workspace",
        "--test",
        "suite",
        "--",
        "conformance::",
    ]);
    conformance::count(&root().join("tests/conformance"), tests)
}

fn lint() -> Result<()> {
    run(cargo().args(["fmt", "--all", "--check"]))?;
    run(cargo().args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "--deny",
        "warnings",
    ]))?;
    run(cargo()
        .args([
            "doc",
            "--workspace",
            "--no-deps",
            "--document-private-items",
        ])
        .env("RUSTDOCFLAGS", "--deny warnings"))
}

fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}

/// The project's folder.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Where cargo puts what it builds.
fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}
