//! The smaller verbs.

use seamgate_tests::{PRELUDE, component};

use crate::Home;

#[test]
fn inspect_shows_seams_and_imports() {
    let home = Home::new();
    home.write(
        "guard.wasm",
        include_bytes!("../../../policies/prebuilt/git-branch-guard.wasm"),
    );
    let ran = home.run(&["inspect", "guard.wasm"], "");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    insta::with_settings!({ filters => vec![(r"\d+ bytes", "[SIZE] bytes"), (r"[0-9a-f]{64}", "[DIGEST]")] }, {
        insta::assert_snapshot!(ran.stdout, @"
        guard.wasm
          size     [SIZE] bytes
          sha256   [DIGEST]
          seams    pre-tool (version 0.1.0)
          imports  wasi:config/store@0.2.0-rc.1 (its own settings)
          tier     untrusted
          loads    yes
        ");
    });
    let ran = home.run(&["inspect", "guard.wasm", "--json"], "");
    let object: serde_json::Value = serde_json::from_str(&ran.stdout).expect("one JSON object");
    assert_eq!(object["exports"][0]["interface"], "pre-tool");
    assert_eq!(object["loads"], true);
}

#[test]
fn inspect_shows_that_a_component_needs_trust() {
    let home = Home::new();
    let module = format!(
        r#"(module {PRELUDE}
            (func (export "seamgate:policy/trusted-pre-tool@0.1.0#decide") (param i32) (result i32) (i32.const 64)))"#
    );
    home.write("guest.wasm", component(&module, "only-trusted-pre-tool"));
    let ran = home.run(&["inspect", "guest.wasm"], "");
    insta::with_settings!({ filters => vec![(r"\d+ bytes", "[SIZE] bytes"), (r"[0-9a-f]{64}", "[DIGEST]")] }, {
        insta::assert_snapshot!(ran.stdout, @"
        guest.wasm
          size     [SIZE] bytes
          sha256   [DIGEST]
          seams    pre-tool (trusted form, version 0.1.0)
          imports  none
          tier     trusted
          loads    yes
        ");
    });
}

#[test]
fn inspect_shows_a_policy_around_tools_and_the_grants_it_needs() {
    let home = Home::new();
    home.write(
        "cache.wasm",
        include_bytes!("../../../policies/prebuilt/result-cache.wasm"),
    );
    let ran = home.run(&["inspect", "cache.wasm"], "");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    insta::with_settings!({ filters => vec![(r"\d+ bytes", "[SIZE] bytes"), (r"[0-9a-f]{64}", "[DIGEST]")] }, {
        insta::assert_snapshot!(ran.stdout, @r#"
        cache.wasm
          size     [SIZE] bytes
          sha256   [DIGEST]
          seams    around-tool (trusted only, version 0.1.0; asked by programs that run tools, not by `seamgate hook`)
          imports  seamgate:policy/next@0.1.0 (the rest of a tool call)
                   wasi:keyvalue/store@0.2.0-draft2 (its own state)
          grants   { state = "memory" }
          tier     trusted
          loads    yes
        "#);
    });
    let ran = home.run(&["inspect", "cache.wasm", "--json"], "");
    let object: serde_json::Value = serde_json::from_str(&ran.stdout).expect("one JSON object");
    assert_eq!(object["grants"], serde_json::json!({ "state": "memory" }));
}

#[test]
fn inspect_refuses_what_is_no_component() {
    let home = Home::new();
    home.write("guest.wasm", "(component)");
    let ran = home.run(&["inspect", "guest.wasm"], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    insta::assert_snapshot!(ran.stderr, @"
    error: policy `guest`: this is something else, not a WebAssembly component
      hint: give the `.wasm` file of a component
    ");
}

#[test]
fn the_version_is_the_packages() {
    let ran = Home::new().run(&["--version"], "");
    assert_eq!(
        ran.stdout,
        concat!("seamgate ", env!("CARGO_PKG_VERSION"), "\n")
    );
}

#[test]
fn completions_name_the_verbs() {
    for shell in ["bash", "zsh", "fish"] {
        let ran = Home::new().run(&["completions", shell], "");
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        assert!(ran.stdout.contains("replay"), "{shell}");
    }
}

#[test]
fn help_is_for_people() {
    let ran = Home::new().run(&["--help"], "");
    insta::assert_snapshot!(ran.stdout, @"
    Decides what coding agents may do, by sandboxed policies

    Usage: seamgate <COMMAND>

    Commands:
      demo         Replay real recorded sessions through the standard policies. Needs nothing
      replay       Replay a recorded session through the policies of a configuration
      hook         Be a command hook of an agent: one event on standard input, the agent's answer on standard output
      inspect      Show what a component exports and imports. Nothing of it runs
      completions  Print the completions of a shell
      help         Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help
      -V, --version  Print version
    ");
}
