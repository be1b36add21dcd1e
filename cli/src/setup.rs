//! From a configuration to a runtime with loaded policies.

use std::env;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Context, Result};
use seamgate::config::Config;
use seamgate::seams::SeamName;
use seamgate::{Compiler, EngineProfile, Evaluate, Policy, PolicySpec, Runtime, Sandbox};

use crate::arguments::ConfigArguments;
use crate::standard;

/// The configuration that holds: the one that is named, or the user's, or the standard policies.
///
/// A project's own configuration is never looked for: whoever wrote a repository does not get to say what guards it.
pub(crate) fn config(arguments: &ConfigArguments) -> Result<Config> {
    let file = match &arguments.config {
        Some(file) => Some(file.clone()),
        // One that is there and can't be read is an error, not a reason to do without it.
        None => user_config().filter(|file| match file.symlink_metadata() {
            Ok(_) => true,
            Err(error) => error.kind() != ErrorKind::NotFound,
        }),
    };
    match file {
        Some(file) => Ok(Config::read(&file, standard::component)?),
        None => Ok(Config {
            policies: standard::all(),
            evaluate: Evaluate::default(),
        }),
    }
}

/// An engine for this process. Components are compiled by a child: this very program.
pub(crate) fn sandbox(profile: EngineProfile) -> Result<Sandbox> {
    let compiler = Compiler::Child {
        program: None,
        arguments: vec![OsString::from("compile")],
    };
    Sandbox::new(profile, compiler, Some(cache_folder()?))
        .map_err(|error| anyhow::anyhow!("{error:#}"))
        .context("the engine could not be started")
}

/// Loads the policies and puts them at their seams.
pub(crate) async fn runtime(
    sandbox: &Sandbox,
    policies: &[PolicySpec],
    evaluate: Evaluate,
) -> Result<Runtime> {
    runtime_for(sandbox, policies, evaluate, &SeamName::ALL).await
}

/// The same for some seams only. A policy that is known to have nothing to say at them is checked, and not loaded: most
/// of what a hook's process does is loading.
pub(crate) async fn runtime_for(
    sandbox: &Sandbox,
    policies: &[PolicySpec],
    evaluate: Evaluate,
    seams: &[SeamName],
) -> Result<Runtime> {
    let mut runtime = Runtime::new();
    runtime.evaluate(evaluate);
    for spec in policies {
        let spec = spec.read()?;
        let known = Policy::known(sandbox, &spec)?;
        let asked = known.is_none_or(|known| seams.iter().any(|seam| known.exports(*seam)));
        if asked {
            runtime.policy(Policy::load(sandbox, &spec).await?);
        }
    }
    Ok(runtime)
}

/// A tokio runtime on this thread, which is all that one event needs.
pub(crate) fn executor() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .context("cannot start")
}

/// Where compiled code is kept.
fn cache_folder() -> Result<PathBuf> {
    if let Some(folder) = variable("SEAMGATE_CACHE_DIR") {
        return Ok(folder.join("compiled"));
    }
    variable("XDG_CACHE_HOME")
        .or_else(|| Some(variable("HOME")?.join(".cache")))
        .map(|folder| folder.join("seamgate/compiled"))
        .context(
            "there is no folder for compiled code: HOME is not set; name one in SEAMGATE_CACHE_DIR",
        )
}

fn user_config() -> Option<PathBuf> {
    variable("XDG_CONFIG_HOME")
        .or_else(|| Some(variable("HOME")?.join(".config")))
        .map(|folder| folder.join("seamgate/seamgate.toml"))
}

/// A variable that holds an absolute path. Anything else in it counts as not set, as the base directory
/// specification has it.
fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}
