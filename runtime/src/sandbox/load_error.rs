//! Why a policy could not be loaded, for the person who has to do something about it.

use std::path::PathBuf;

use super::artifact::CacheError;
use super::grants::Grants;
use super::inspect::Tier;

/// Why a policy could not be loaded.
///
/// Each message says what is wrong with the policy; [`LoadError::hint`] says what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The component's file can't be read.
    #[error("policy `{policy}`: cannot read {}", path.display())]
    Read {
        /// The policy's name.
        policy: String,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is larger than any policy should be.
    #[error("policy `{policy}`: the component has {size} bytes, and at most {limit} are read")]
    TooLarge {
        /// The policy's name.
        policy: String,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The bytes are something else.
    #[error("policy `{policy}`: this is {what}, not a WebAssembly component")]
    NotAComponent {
        /// The policy's name.
        policy: String,
        /// What it looks like.
        what: &'static str,
    },
    /// The engine refuses it.
    #[error("policy `{policy}`: the component is not valid: {reason}")]
    Invalid {
        /// The policy's name.
        policy: String,
        /// What the engine says.
        reason: String,
    },
    /// It exports no seam at all.
    #[error(
        "policy `{policy}`: the component exports no interface of seamgate:policy (it exports: {exports})"
    )]
    NoSeam {
        /// The policy's name.
        policy: String,
        /// What it exports.
        exports: String,
    },
    /// It exports a seam that this version does not have.
    #[error(
        "policy `{policy}`: it exports `{interface}` at version {found}, and this program knows {known}"
    )]
    UnknownInterface {
        /// The policy's name.
        policy: String,
        /// The interface, without its version.
        interface: String,
        /// The version that the component was built against.
        found: String,
        /// What this program has: the version, or that it has no such interface at all.
        known: String,
    },
    /// It exports more than its tier may.
    #[error(
        "policy `{policy}`: it exports `{interface}`, which only a trusted policy may, and its tier is {tier}"
    )]
    Tier {
        /// The policy's name.
        policy: String,
        /// The interface.
        interface: String,
        /// The tier the configuration gives it.
        tier: Tier,
    },
    /// It exports a seam in both of its forms.
    #[error("policy `{policy}`: it exports both `{seam}` and `trusted-{seam}`")]
    BothForms {
        /// The policy's name.
        policy: String,
        /// The seam.
        seam: String,
    },
    /// It imports what was not granted.
    #[error("policy `{policy}`: it imports `{import}`, which is not granted")]
    Import {
        /// The policy's name.
        policy: String,
        /// The interface.
        import: String,
    },
    /// Its interfaces have other types than those of the same name here.
    #[error("policy `{policy}`: it does not fit seamgate:policy@{version}: {reason}")]
    Mismatch {
        /// The policy's name.
        policy: String,
        /// The version of the package.
        version: &'static str,
        /// What the engine says.
        reason: String,
    },
    /// No instance of it could be made.
    #[error("policy `{policy}`: a trial instance could not be made: {reason}")]
    Trial {
        /// The policy's name.
        policy: String,
        /// What happened.
        reason: String,
    },
    /// It was not compiled.
    #[error("policy `{policy}`: it could not be compiled: {reason}")]
    Compile {
        /// The policy's name.
        policy: String,
        /// What the compiler said.
        reason: String,
    },
    /// The folder for compiled code can't be used.
    #[error("policy `{policy}`: its compiled code could not be kept")]
    Cache {
        /// The policy's name.
        policy: String,
        /// What is wrong with the folder.
        source: CacheError,
    },
}

impl LoadError {
    /// What would be right.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Read { .. } => "check the path of the component in the configuration".to_owned(),
            Self::TooLarge { .. } => {
                "build the policy for release, without debug information".to_owned()
            }
            Self::NotAComponent { what, .. } if what.contains("core module") => {
                "make a component of it, for instance by building with the linker `wasm-component-ld`".to_owned()
            }
            Self::NotAComponent { what, .. } if what.contains("compiled") => {
                "give the `.wasm` file; compiled code is made on this machine and kept out of sight".to_owned()
            }
            Self::NotAComponent { .. } => "give the `.wasm` file of a component".to_owned(),
            Self::Invalid { reason, .. } if reason.contains("component model async") => {
                "the component uses async, which policies do not; build it with the synchronous ABI".to_owned()
            }
            Self::NoSeam { .. } => {
                "build it against one of the worlds of seamgate:policy, for instance `only-pre-tool`".to_owned()
            }
            Self::UnknownInterface { .. } => {
                "rebuild the policy against the version that this program knows, or use a program of the policy's version"
                    .to_owned()
            }
            Self::Tier { .. } => {
                "if you trust this policy to allow, rewrite and replace, write `tier = \"trusted\"` into its entry"
                    .to_owned()
            }
            Self::BothForms { .. } => "export the seam in one form only".to_owned(),
            Self::Import { import, .. } if import.starts_with("wasi:cli/") || import.starts_with("wasi:io/") => {
                "a policy that needs no rights builds for `wasm32-unknown-unknown`, where the standard library asks for none"
                    .to_owned()
            }
            Self::Import { import, .. } if let Some(grants) = Grants::needed_for(import) => {
                format!("if this policy may have it, write `grants = {grants}` into its entry")
            }
            Self::Import { .. } => "no grant for it exists; build the policy without it".to_owned(),
            Self::Mismatch { .. } => {
                "rebuild the policy against the interfaces of this program".to_owned()
            }
            Self::Cache { .. } => {
                "make the folder writable for you alone, or name another in SEAMGATE_CACHE_DIR".to_owned()
            }
            Self::Invalid { .. } | Self::Trial { .. } | Self::Compile { .. } => return None,
        })
    }
}
