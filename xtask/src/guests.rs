//! Policies to components.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use anyhow::{Context, Result, bail, ensure};

use crate::{root, run, target};

/// Notes which compiler made the prebuilt components. Another one makes other bytes of the same source.
const COMPILER_FILE: &str = "COMPILER";

/// Components that were just built from their source.
pub(crate) struct Built {
    folder: PathBuf,
    compiler: String,
    components: BTreeMap<String, Vec<u8>>,
}

/// Finds or installs what builds policies, and gives the `cargo` that does.
pub(crate) fn setup() -> Result<PathBuf> {
    let script = root().join("guest-sdk/setup.sh");
    let output = Command::new(&script)
        .args(["--targets", "wasm32-unknown-unknown", "--verbose"])
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {}", script.display()))?;
    ensure!(
        output.status.success(),
        "what builds policies could not be set up"
    );
    let cargo = String::from_utf8(output.stdout).context("the path is not UTF-8")?;
    Ok(PathBuf::from(cargo.trim_end()))
}

/// Builds every policy of `policies/`.
pub(crate) fn build() -> Result<Built> {
    let cargo = setup()?;
    let names = names()?;
    let folder = target().join("guests");
    let flags = rust_flags()?;
    for name in &names {
        // As a component only: beside a library cargo leaves out optimisation over all crates, and with it a third of
        // the size.
        run(Command::new(&cargo)
            .current_dir(root())
            .env("CARGO_TARGET_DIR", &folder)
            .args(["rustc", "--package", &format!("policy-{name}")])
            .args(["--lib", "--crate-type", "cdylib", "--profile", "policy"])
            .args(["--target", "wasm32-unknown-unknown", "--config", &flags]))?;
    }
    let output = folder.join("wasm32-unknown-unknown/policy");
    let rebuilt = folder.join("components");
    fs::create_dir_all(&rebuilt)?;
    let mut components = BTreeMap::new();
    for name in names {
        let file = output.join(format!("policy_{}.wasm", name.replace('-', "_")));
        let component =
            fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        fs::write(rebuilt.join(format!("{name}.wasm")), &component)?;
        components.insert(name, component);
    }
    Ok(Built {
        folder: rebuilt,
        compiler: compiler(&cargo)?,
        components,
    })
}

/// The names of the policies: the folders with a manifest.
fn names() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root().join("policies"))? {
        let entry = entry?;
        if entry.path().join("Cargo.toml").exists() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Flags that make the components small, and the same wherever they are built: no path of this machine gets into them.
fn rust_flags() -> Result<String> {
    let home = env::var("CARGO_HOME")
        .or_else(|_| env::var("HOME").map(|home| format!("{home}/.cargo")))
        .context("neither CARGO_HOME nor HOME is set")?;
    let project = root().canonicalize()?;
    let flags = [
        format!("--remap-path-prefix={home}=/cargo"),
        format!("--remap-path-prefix={}=/seamgate", project.display()),
        // A policy needs little stack, and every page of it is cleared after each decision.
        "-Clink-arg=-zstack-size=262144".to_owned(),
    ];
    Ok(format!("target.wasm32-unknown-unknown.rustflags={flags:?}"))
}

/// The version of the compiler behind a `cargo`.
fn compiler(cargo: &Path) -> Result<String> {
    let wrapper = fs::read_to_string(cargo)?;
    let rustc = wrapper
        .lines()
        .find_map(|line| line.strip_prefix("RUSTC=\"")?.split('"').next())
        .unwrap_or("rustc");
    let output = Command::new(rustc)
        .arg("--version")
        .output()
        .with_context(|| format!("cannot ask {rustc} for its version"))?;
    ensure!(output.status.success(), "{rustc} does not tell its version");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

impl Built {
    /// Where they are, one file `NAME.wasm` each.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes them the ones that ship with the program.
    pub(crate) fn keep(&self) -> Result<()> {
        let prebuilt = prebuilt();
        fs::create_dir_all(&prebuilt)?;
        for (name, component) in &self.components {
            fs::write(prebuilt.join(format!("{name}.wasm")), component)?;
        }
        fs::write(prebuilt.join(COMPILER_FILE), format!("{}\n", self.compiler))?;
        Ok(())
    }

    /// Checks that those that ship are these: byte for byte where the same compiler made both. What another compiler made is
    /// compared by what it decides, which the tests do.
    pub(crate) fn compare(&self) -> Result<()> {
        let prebuilt = prebuilt();
        let compiler = fs::read_to_string(prebuilt.join(COMPILER_FILE))
            .context("cannot read which compiler made the prebuilt policies")?;
        let same_compiler = compiler.trim() == self.compiler;
        for (name, component) in &self.components {
            let file = prebuilt.join(format!("{name}.wasm"));
            let shipped =
                fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            if same_compiler && shipped != *component {
                bail!(
                    "{} is not what its source gives; `cargo xtask build` makes it anew",
                    file.display()
                );
            }
        }
        Ok(())
    }
}

fn prebuilt() -> PathBuf {
    root().join("policies/prebuilt")
}
