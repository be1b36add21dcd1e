//! The layout that the architecture promises: one name for one seam everywhere, and dependencies that point one way.

use std::fs;
use std::path::{Path, PathBuf};

use seamgate::seams::SeamName;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn every_seam_has_its_interface_and_a_world_of_its_own() {
    let worlds = fs::read_to_string(root().join("wit/worlds.wit")).expect("it can be read");
    for seam in SeamName::ALL {
        let file = root().join(format!("wit/{seam}.wit"));
        let text = fs::read_to_string(&file).expect("each seam has a file");
        assert!(text.contains(&format!("interface {seam} {{")), "{seam}");
        assert!(worlds.contains(&format!("world only-{seam} {{")), "{seam}");
    }
}

#[test]
fn every_seam_that_is_asked_has_its_file_in_the_runtime() {
    for seam in SeamName::ALL {
        let name = seam.as_str().replace('-', "_");
        let file = root().join(format!("runtime/src/seams/{name}.rs"));
        assert!(file.exists(), "{seam}");
    }
}

#[test]
fn dependencies_point_one_way() {
    for (folder, foreign) in [
        (
            "runtime",
            &["seamgate-bridges", "seamgate-cli", "seamgate-sdk"][..],
        ),
        ("bridges", &["seamgate-cli", "seamgate-sdk"]),
        (
            "guest-sdk/rust",
            &["seamgate.", "seamgate-bridges", "seamgate-cli"],
        ),
    ] {
        let manifest =
            fs::read_to_string(root().join(folder).join("Cargo.toml")).expect("it is there");
        for name in foreign {
            assert!(!manifest.contains(name), "{folder} must not know {name}");
        }
    }
}

/// An untrusted policy has no word for allow, rewrite or replace.
#[test]
fn the_untrusted_interfaces_have_no_case_that_widens() {
    for seam in SeamName::ALL {
        let text =
            fs::read_to_string(root().join(format!("wit/{seam}.wit"))).expect("it can be read");
        for interface in text.split("\ninterface ").skip(1) {
            let name = interface.split(' ').next().expect("it has a name");
            if name.starts_with("trusted-")
                || matches!(name, "rewrite-input" | "around-tool" | "next")
            {
                continue;
            }
            for line in interface.lines().map(str::trim) {
                if line.starts_with("///") {
                    continue;
                }
                for word in ["allow", "replace", "rewrite", "substitute"] {
                    assert!(!line.contains(word), "{name}: {line}");
                }
            }
        }
    }
}
