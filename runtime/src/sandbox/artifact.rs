//! Compiled code, and when it may be loaded.
//!
//! Compiled code is machine code: whoever can write it runs as us. It is kept in one folder that only the user can write,
//! under a name made of the component's digest and of everything that shaped the code, and is loaded from nowhere else:
//! never from a project, a registry or a path in a configuration.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use super::engine;
use super::inspect::Inspection;

/// How the files of compiled code end.
const CODE: &str = "cwasm";

/// How the files end that say what a component exports and imports.
const INSPECTION: &str = "json";

/// The SHA-256 of a component's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Digests some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Takes a digest that was made earlier, for instance when the program was built.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            write!(formatter, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "sha256:{self}")
    }
}

/// What is wrong with the folder for compiled code.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// It can't be made, read or written.
    #[error("cannot use {}", path.display())]
    Unusable {
        /// The folder or file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Somebody else could put code there.
    #[error("{} is not safe to load code from: {problem}", path.display())]
    Unsafe {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        problem: &'static str,
    },
}

/// The folder that compiled code is kept in.
#[derive(Debug, Clone)]
pub struct ArtifactCache {
    folder: PathBuf,
}

impl ArtifactCache {
    /// Uses this folder. It is made, for the user alone, when there is something to keep.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    fn path(&self, digest: &Digest, what: &str) -> PathBuf {
        self.folder
            .join(format!("{digest}-{}.{what}", engine::artifact_key()))
    }

    /// Opens a file of the folder, where it is there and nobody else could have written it.
    fn open(&self, path: &Path) -> Result<Option<File>, CacheError> {
        let file = match File::options()
            .read(true)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32)
            .open(path)
        {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
                return Err(CacheError::Unsafe {
                    path: path.to_owned(),
                    problem: "it is a symbolic link",
                });
            }
            Err(source) => {
                return Err(CacheError::Unusable {
                    path: path.to_owned(),
                    source,
                });
            }
        };
        own(&self.folder, fs::metadata(&self.folder))?;
        own(path, file.metadata())?;
        Ok(Some(file))
    }

    /// The compiled code of a component, where it is there and may be loaded. Code that the engine refuses counts as not
    /// being there.
    ///
    /// # Errors
    /// The code is there, but somebody else could have written it.
    pub(crate) fn load(
        &self,
        engine: &Engine,
        digest: &Digest,
    ) -> Result<Option<Component>, CacheError> {
        let Some(file) = self.open(&self.path(digest, CODE))? else {
            return Ok(None);
        };
        let open = format!("/proc/self/fd/{}", file.as_raw_fd());
        // SAFETY: the file holds what our engine wrote, unchanged: it was opened without following a link, and file and
        // folder were just checked (on the open file, not on its name) to belong to this user with nobody else able to
        // write them; `store` puts files there whole, by renaming, and nothing of ours changes one in place. Whoever can
        // act as this user could change this process directly.
        match unsafe { Component::deserialize_file(engine, open) } {
            Ok(component) => Ok(Some(component)),
            // Made by other settings, or cut short: as good as not there. It is written anew.
            Err(_) => Ok(None),
        }
    }

    /// What a component exports and imports, where that was kept with its code. What can't be read counts as not being
    /// there: the component is loaded then, and asked.
    ///
    /// # Errors
    /// It is there, but somebody else could have written it.
    pub(crate) fn inspection(&self, digest: &Digest) -> Result<Option<Inspection>, CacheError> {
        let Some(mut file) = self.open(&self.path(digest, INSPECTION))? else {
            return Ok(None);
        };
        let mut text = String::new();
        match file.read_to_string(&mut text) {
            Ok(_) => Ok(serde_json::from_str(&text).ok()),
            Err(_) => Ok(None),
        }
    }

    /// Makes a component of code that was compiled just now, by us.
    pub(crate) fn load_fresh(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
        // SAFETY: the bytes come from our own compiler, either a call in this process or a child that is this very
        // program, over a pipe that nobody else holds.
        unsafe { Component::deserialize(engine, code) }
    }

    /// Whether code could be kept here: makes the folder, and checks that it is safe.
    pub(crate) fn prepare(&self) -> Result<(), CacheError> {
        let made = fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder);
        if let Err(source) = made {
            return Err(CacheError::Unusable {
                path: self.folder.clone(),
                source,
            });
        }
        own(&self.folder, fs::metadata(&self.folder))?;
        rustix::fs::access(&self.folder, rustix::fs::Access::WRITE_OK).map_err(|error| {
            CacheError::Unusable {
                path: self.folder.clone(),
                source: error.into(),
            }
        })
    }

    /// Keeps the compiled code of a component, and what it exports and imports. Several processes may do so at once.
    pub(crate) fn store(
        &self,
        digest: &Digest,
        code: &[u8],
        inspection: &Inspection,
    ) -> Result<(), CacheError> {
        self.write(digest, CODE, code)?;
        let text = serde_json::to_vec(inspection).map_err(|error| CacheError::Unusable {
            path: self.path(digest, INSPECTION),
            source: error.into(),
        })?;
        self.write(digest, INSPECTION, &text)
    }

    /// Puts a file there, whole or not at all.
    fn write(&self, digest: &Digest, what: &str, content: &[u8]) -> Result<(), CacheError> {
        let path = self.path(digest, what);
        let temporary = self
            .folder
            .join(format!(".{digest}.{what}.{}.tmp", std::process::id()));
        let written = (|| {
            let mut file = File::options()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32)
                .open(&temporary)?;
            file.write_all(content)?;
            file.sync_all()?;
            fs::rename(&temporary, &path)
        })();
        written.map_err(|source| {
            // What was written is of no use, and if it can't be removed either there is nothing more to do.
            let _ = fs::remove_file(&temporary);
            CacheError::Unusable { path, source }
        })
    }
}

/// Checks that only this user can write a file or folder.
fn own(path: &Path, metadata: io::Result<fs::Metadata>) -> Result<(), CacheError> {
    let metadata = metadata.map_err(|source| CacheError::Unusable {
        path: path.to_owned(),
        source,
    })?;
    let problem = if metadata.uid() != rustix::process::geteuid().as_raw() {
        "it belongs to another user"
    } else if metadata.mode() & 0o022 != 0 {
        "others can write it"
    } else {
        return Ok(());
    };
    Err(CacheError::Unsafe {
        path: path.to_owned(),
        problem,
    })
}
