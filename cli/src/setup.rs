//! From a configuration to a runtime with loaded policies.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Context, Result};
use seamgate::config::Config;
use seamgate::seams::SeamName;
use seamgate::{
    Compiler, EngineProfile, Evaluate, Inspection, Policy, PolicySpec, Runtime, Sandbox,
};

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

/// A policy would not do here what its author and its configuration mean it to do. It would only seem to stand, so it is
/// not loaded.
#[derive(Debug)]
pub(crate) enum Unfit {
    /// It exports a seam at which this program asks nobody.
    NotAsked {
        /// The policy.
        policy: String,
        /// The seam.
        seam: SeamName,
    },
    /// It keeps state in memory, and this process ends with the event that it is for.
    Forgets {
        /// The policy.
        policy: String,
    },
}

impl Unfit {
    fn check(policy: &str, inspection: &Inspection) -> Result<(), Self> {
        // The agent runs its tools itself.
        let seam = SeamName::AroundTool;
        if inspection.exports(seam) {
            return Err(Self::NotAsked {
                policy: policy.to_owned(),
                seam,
            });
        }
        Ok(())
    }

    /// Checks policies for a process that lives for one event.
    pub(crate) fn check_one_event(policies: &[PolicySpec]) -> Result<(), Self> {
        match policies.iter().find(|spec| spec.grants.state.is_some()) {
            Some(spec) => Err(Self::Forgets {
                policy: spec.name.clone(),
            }),
            None => Ok(()),
        }
    }

    /// What would be right.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::NotAsked { .. } => {
                "an agent that calls its hooks runs its tools itself, so nothing can be put around them; take the policy out \
                 of the configuration, or build it without this export"
            }
            Self::Forgets { .. } => {
                "take the policy out of the configuration of this program; a program that embeds the runtime, and lives \
                 longer than one event, can use it"
            }
        }
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAsked { policy, seam } => write!(
                formatter,
                "policy `{policy}`: it exports `{seam}`, and this program asks no policy there"
            ),
            Self::Forgets { policy } => write!(
                formatter,
                "policy `{policy}`: what it keeps is kept in memory, and this program runs anew for every event, so that \
                 the policy would have forgotten everything each time"
            ),
        }
    }
}

impl std::error::Error for Unfit {}

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
        if let Some(known) = Policy::known(sandbox, &spec)? {
            Unfit::check(&spec.name, &known)?;
            if !seams.iter().any(|seam| known.exports(*seam)) {
                continue;
            }
        }
        let policy = Policy::load(sandbox, &spec).await?;
        Unfit::check(&spec.name, policy.inspection())?;
        runtime.policy(policy);
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
