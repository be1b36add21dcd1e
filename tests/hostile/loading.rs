//! Components that are not what they should be, or want more than they may.

use seamgate::{
    Compiler, ComponentSource, EngineProfile, LoadError, Policy, PolicySpec, Sandbox, StateGrant,
    Tier,
};
use seamgate_tests::{PRELUDE, changed_wit, component, component_against, pre_tool};

use super::{block_on, spec};

fn load(spec: &PolicySpec) -> Result<Policy, LoadError> {
    let sandbox =
        Sandbox::new(EngineProfile::OneShot, Compiler::InProcess, None).expect("an engine starts");
    block_on(Policy::load(&sandbox, spec))
}

/// The error of loading a component, with its hint.
fn error(component: Vec<u8>) -> String {
    error_at(component, Tier::Untrusted)
}

fn error_at(component: Vec<u8>, tier: Tier) -> String {
    let mut spec = spec("guest", component);
    spec.tier = tier;
    let error = load(&spec).err().expect("it does not load");
    match error.hint() {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    }
}

fn module(exports: &str) -> String {
    format!("(module {PRELUDE} {exports})")
}

const TRUSTED_PRE_TOOL: &str = r#"(func (export "seamgate:policy/trusted-pre-tool@0.1.0#decide") (param i32) (result i32) (i32.const 64))"#;
const PRE_TOOL: &str = r#"(func (export "seamgate:policy/pre-tool@0.1.0#decide") (param i32) (result i32) (i32.const 64))"#;

#[test]
fn what_is_no_component_is_named_for_what_it_is() {
    for (bytes, expected) in [
        (b"".to_vec(), "an empty file"),
        (b"#!/bin/sh\n".to_vec(), "something else"),
        (b"\0asm\x01\0\0\0".to_vec(), "a core module"),
        (
            b"\0asm\x02\0\0\0".to_vec(),
            "WebAssembly of an unknown version",
        ),
    ] {
        let error = error(bytes);
        assert!(
            error.starts_with(&format!(
                "policy `guest`: this is {expected}, not a WebAssembly component\nhint: "
            )),
            "{error}"
        );
    }
}

#[test]
fn compiled_code_is_never_taken_for_a_policy() {
    let code = seamgate::compile_component(&pre_tool("")).expect("it compiles");
    insta::assert_snapshot!(error(code), @r"
    policy `guest`: this is compiled code, not a WebAssembly component
    hint: give the `.wasm` file; compiled code is made on this machine and kept out of sight
    ");
}

#[test]
fn a_component_that_is_cut_short_or_damaged_is_refused() {
    let whole = pre_tool("");
    for length in [8, 20, whole.len() / 2, whole.len() - 1] {
        let error = error(whole[..length].to_vec());
        assert!(
            error.starts_with("policy `guest`: the component "),
            "{length}: {error}"
        );
    }
    // Flipping any one byte never brings the process down; most flips are refused, some change a name or a constant.
    for position in (8..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[position] ^= 0x55;
        // Loading answers, one way or the other.
        drop(load(&spec("guest", damaged)));
    }
}

#[test]
fn a_component_without_a_seam_says_what_it_exports() {
    let wit = tempfile::tempdir().expect("a folder");
    let changed = changed_wit(
        wit.path(),
        "package seamgate:policy@0.1.0",
        "package other:hooks@2.0.0",
    );
    let module = module(
        r#"(func (export "other:hooks/pre-tool@2.0.0#decide") (param i32) (result i32) (i32.const 64))"#,
    );
    insta::assert_snapshot!(error(component_against(&changed, &module, "only-pre-tool")), @r"
    policy `guest`: the component exports no interface of seamgate:policy (it exports: other:hooks/pre-tool@2.0.0)
    hint: build it against one of the worlds of seamgate:policy, for instance `only-pre-tool`
    ");
}

#[test]
fn a_newer_version_is_refused_with_both_versions() {
    let wit = tempfile::tempdir().expect("a folder");
    let changed = changed_wit(
        wit.path(),
        "package seamgate:policy@0.1.0",
        "package seamgate:policy@0.2.0",
    );
    let module = module(
        r#"(func (export "seamgate:policy/pre-tool@0.2.0#decide") (param i32) (result i32) (i32.const 64))"#,
    );
    insta::assert_snapshot!(error(component_against(&changed, &module, "only-pre-tool")), @r"
    policy `guest`: it exports `seamgate:policy/pre-tool` at version 0.2.0, and this program knows version 0.1.0
    hint: rebuild the policy against the version that this program knows, or use a program of the policy's version
    ");
}

#[test]
fn an_unknown_seam_is_refused() {
    let wit = tempfile::tempdir().expect("a folder");
    let changed = changed_wit(wit.path(), "interface guard {", "interface sentinel {");
    std::fs::write(
        changed.join("worlds.wit"),
        "package seamgate:policy@0.1.0;\nworld only-sentinel { export sentinel; }\n",
    )
    .expect("it can be written");
    let module = module(
        r#"(func (export "seamgate:policy/sentinel@0.1.0#decide") (param i32) (result i32) (i32.const 64))"#,
    );
    insta::assert_snapshot!(error(component_against(&changed, &module, "only-sentinel")), @r"
    policy `guest`: it exports `seamgate:policy/sentinel` at version 0.1.0, and this program knows no such seam in version 0.1.0
    hint: rebuild the policy against the version that this program knows, or use a program of the policy's version
    ");
}

#[test]
fn a_type_that_changed_under_its_name_is_refused() {
    let wit = tempfile::tempdir().expect("a folder");
    let changed = changed_wit(
        wit.path(),
        "        deny(string),\n    }\n\n    /// The decision at this seam.\n    record pre-tool-decision",
        "        deny(string),\n        postpone,\n    }\n\n    record pre-tool-decision",
    );
    let error = error(component_against(
        &changed,
        &module(PRE_TOOL),
        "only-pre-tool",
    ));
    assert!(
        error.starts_with("policy `guest`: it does not fit seamgate:policy@0.1.0: "),
        "{error}"
    );
    assert!(
        error.contains("expected variant of 3 cases, found 4 cases"),
        "{error}"
    );
}

#[test]
fn an_untrusted_policy_with_a_trusted_seam_is_refused_and_a_trusted_one_loads() {
    let guest = component(&module(TRUSTED_PRE_TOOL), "only-trusted-pre-tool");
    insta::assert_snapshot!(error(guest.clone()), @r#"
    policy `guest`: it exports `trusted-pre-tool`, which only a trusted policy may, and its tier is untrusted
    hint: if you trust this policy to allow, rewrite and replace, write `tier = "trusted"` into its entry
    "#);
    let mut trusted = spec("guest", guest);
    trusted.tier = Tier::Trusted;
    load(&trusted).expect("a trusted policy may");
}

#[test]
fn every_trusted_interface_is_refused_for_an_untrusted_policy() {
    for (interface, world) in [
        ("trusted-pre-tool", "only-trusted-pre-tool"),
        ("trusted-prompt-submit", "only-trusted-prompt-submit"),
        ("trusted-post-tool", "only-trusted-post-tool"),
        (
            "trusted-permission-request",
            "only-trusted-permission-request",
        ),
        ("rewrite-input", "only-rewrite-input"),
        ("around-tool", "only-around-tool"),
    ] {
        let module = module(&format!(
            r#"(func (export "seamgate:policy/{interface}@0.1.0#decide") (param i32) (result i32) (i32.const 64))"#
        ));
        let error = error(component(&module, world));
        assert!(
            error.contains(&format!(
                "it exports `{interface}`, which only a trusted policy may"
            )),
            "{error}"
        );
    }
}

#[test]
fn both_forms_of_a_seam_are_refused() {
    let wit = tempfile::tempdir().expect("a folder");
    let changed = changed_wit(
        wit.path(),
        "world only-pre-tool {",
        "world both-pre-tool {\n    export pre-tool;\n    export trusted-pre-tool;\n}\n\nworld only-pre-tool {",
    );
    let module = module(&format!("{PRE_TOOL}{TRUSTED_PRE_TOOL}"));
    insta::assert_snapshot!(error_at(component_against(&changed, &module, "both-pre-tool"), Tier::Trusted), @r"
    policy `guest`: it exports both `pre-tool` and `trusted-pre-tool`
    hint: export the seam in one form only
    ");
}

#[test]
fn an_import_that_is_not_granted_is_refused_by_name() {
    let wit = tempfile::tempdir().expect("a folder");
    let changed = changed_wit(
        wit.path(),
        "world only-pre-tool {",
        "interface clock { now: func() -> u64; }\n\nworld only-pre-tool {\n    import clock;",
    );
    let module = format!(
        r#"(module (import "seamgate:policy/clock@0.1.0" "now" (func $now (result i64))) {PRELUDE}
            (func (export "seamgate:policy/pre-tool@0.1.0#decide") (param i32) (result i32)
                (drop (call $now)) (i32.const 64)))"#
    );
    insta::assert_snapshot!(error(component_against(&changed, &module, "only-pre-tool")), @r"
    policy `guest`: it imports `seamgate:policy/clock@0.1.0`, which is not granted
    hint: no grant for it exists; build the policy without it
    ");
}

#[test]
fn state_without_its_grant_is_refused_with_the_line_to_add() {
    let wit = tempfile::tempdir().expect("a folder");
    let changed = changed_wit(
        wit.path(),
        "world only-pre-tool {",
        "world only-pre-tool {\n    include with-state;",
    );
    let module = format!(
        r#"(module
            (import "wasi:keyvalue/store@0.2.0-draft2" "open" (func $open (param i32 i32 i32)))
            {PRELUDE}
            (func (export "seamgate:policy/pre-tool@0.1.0#decide") (param i32) (result i32)
                (call $open (i32.const 0) (i32.const 0) (i32.const 1024)) (i32.const 64)))"#
    );
    let guest = component_against(&changed, &module, "only-pre-tool");
    insta::assert_snapshot!(error(guest.clone()), @r#"
    policy `guest`: it imports `wasi:keyvalue/store@0.2.0-draft2`, which is not granted
    hint: if this policy may have it, write `grants = { state = "memory" }` into its entry
    "#);
    let mut granted = spec("guest", guest);
    granted.grants.state = Some(StateGrant::Memory);
    load(&granted).expect("it was granted");
}

#[test]
fn proposals_that_can_bring_the_engine_down_are_refused_at_load() {
    // A subtype hierarchy of the GC proposal aborts an engine that was built without it, unless it is off.
    let gc = r#"(component (core module
        (rec (type $a (sub (func))) (type $b (sub $a (func))))
        (table 1 funcref)
        (func $f (type $b))
        (func (export "run") (call_indirect (type $a) (i32.const 0)))))"#;
    let shared = r#"(component (core module (memory 1 1 shared)))"#;
    for (text, proposal) in [(gc, "gc"), (shared, "threads")] {
        let bytes = seamgate_tests::text(text);
        let error = error(bytes);
        assert!(
            error.starts_with("policy `guest`: the component is not valid: "),
            "{error}"
        );
        assert!(error.contains(proposal), "{proposal}: {error}");
    }
}

#[test]
fn a_file_that_is_missing_is_named() {
    let mut spec = spec("guest", Vec::new());
    spec.component = ComponentSource::File("/nonexistent/policy.wasm".into());
    let error = load(&spec).err().expect("it does not load");
    assert_eq!(
        error.to_string(),
        "policy `guest`: cannot read /nonexistent/policy.wasm"
    );
    assert!(matches!(error, LoadError::Read { .. }));
}
