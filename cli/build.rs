//! Puts the prebuilt standard policies into the program, each with its digest, so that nothing has to be hashed when a hook
//! runs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use sha2::{Digest, Sha256};

/// The standard policies, in the order in which they are asked. Those around tools are prebuilt too, and are not among them:
/// an agent that calls its hooks runs its tools itself.
const STANDARD: [&str; 5] = [
    "destructive-shell",
    "git-branch-guard",
    "protected-paths",
    "secrets",
    "session-context",
];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let prebuilt = root.join("policies/prebuilt");
    let mut table = String::from("[\n");
    for name in STANDARD {
        let path = prebuilt.join(format!("{name}.wasm"));
        println!("cargo::rerun-if-changed={}", path.display());
        let component = fs::read(&path).unwrap_or_else(|error| {
            panic!("{}: {error}; `cargo xtask build` makes it", path.display())
        });
        let path = path.canonicalize().expect("it was just read");
        let digest: [u8; 32] = Sha256::digest(&component).into();
        writeln!(
            table,
            "    StandardPolicy {{ name: {name:?}, component: include_bytes!({path:?}), digest: {digest:?} }},"
        )
        .expect("writing to a string does not fail");
    }
    table.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("standard.rs"), table).expect("cargo's own folder is writable");
}
