//! What the crate does with whole payloads: recorded ones, one of each event, and hostile ones.

mod answers;
mod hooks;
mod hostile;
mod matching;
mod payloads;
mod recorded;
mod schema;

use std::fs;
use std::path::{Path, PathBuf};

/// Where the fixtures of all suites are.
fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files of a folder, in the order of their names.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str().unwrap().ends_with(ending))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(future)
}
