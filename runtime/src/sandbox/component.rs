//! Where a policy's component comes from.

use std::borrow::Cow;
use std::path::PathBuf;

use wasmtime::Engine;

use super::artifact::Digest;
use super::load_error::LoadError;

/// The largest component that is read, in bytes. Interpreters compiled to WebAssembly have some 20 MiB.
const MAX_COMPONENT_BYTES: u64 = 64 << 20;

/// Where a component is.
#[derive(Debug, Clone)]
pub enum ComponentSource {
    /// In a file.
    File(PathBuf),
    /// In memory, with its digest.
    Bytes {
        /// The component.
        bytes: Cow<'static, [u8]>,
        /// The digest of these bytes. Compiled code is found by it.
        digest: Digest,
    },
}

impl ComponentSource {
    /// A component in memory.
    pub fn bytes(bytes: impl Into<Cow<'static, [u8]>>) -> Self {
        let bytes = bytes.into();
        let digest = Digest::of(&bytes);
        Self::Bytes { bytes, digest }
    }

    /// Its bytes and their digest.
    ///
    /// # Errors
    /// The file can't be read, or is too large.
    pub fn read(&self, policy: &str) -> Result<(Cow<'_, [u8]>, Digest), LoadError> {
        match self {
            Self::Bytes { bytes, digest } => Ok((Cow::Borrowed(bytes), *digest)),
            Self::File(path) => {
                let failed = |source| LoadError::Read {
                    policy: policy.to_owned(),
                    path: path.clone(),
                    source,
                };
                let size = std::fs::metadata(path).map_err(failed)?.len();
                if size > MAX_COMPONENT_BYTES {
                    return Err(LoadError::TooLarge {
                        policy: policy.to_owned(),
                        size,
                        limit: MAX_COMPONENT_BYTES,
                    });
                }
                let bytes = std::fs::read(path).map_err(failed)?;
                let digest = Digest::of(&bytes);
                Ok((Cow::Owned(bytes), digest))
            }
        }
    }
}

/// Says by the first bytes what something is that should be a component.
pub(super) fn recognise(policy: &str, bytes: &[u8]) -> Result<(), LoadError> {
    let what = match bytes {
        [b'\0', b'a', b's', b'm', 0x0d, 0, 1, 0, ..] => return Ok(()),
        [b'\0', b'a', b's', b'm', 1, 0, 0, 0, ..] => "a core module",
        [b'\0', b'a', b's', b'm', ..] => "WebAssembly of an unknown version",
        [0x7f, b'E', b'L', b'F', ..] if Engine::detect_precompiled(bytes).is_some() => {
            "compiled code"
        }
        [] => "an empty file",
        _ => "something else",
    };
    Err(LoadError::NotAComponent {
        policy: policy.to_owned(),
        what,
    })
}
