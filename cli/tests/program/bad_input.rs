//! Whatever is wrong: nothing on standard output, a status that closes the agent's gate, and a message that says what is
//! wrong, where, and what to do.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use seamgate_tests::{PRELUDE, changed_wit, component_against, pre_tool};

use crate::{Home, Ran, pre_tool_use};

/// Runs the hook, checks that the gate is closed, and gives what it says.
fn closed(home: &Home, arguments: &[&str], stdin: &str) -> String {
    let mut all = vec!["hook"];
    all.extend(arguments);
    let Ran {
        code,
        stdout,
        stderr,
    } = home.run(&all, stdin);
    assert_eq!(
        (code, stdout.as_str()),
        (Some(2), ""),
        "the gate is open: {stderr}"
    );
    stderr
}

/// The same for a policy of this component, with a call that should be decided.
fn closed_by(component: Vec<u8>) -> String {
    let home = Home::new();
    home.policy(component);
    let config = ["claude", "--config", "seamgate.toml"];
    let first = closed(&home, &config, &pre_tool_use("ls"));
    let codex = closed(
        &home,
        &["codex", "--config", "seamgate.toml"],
        &pre_tool_use("ls"),
    );
    assert_eq!(first, codex, "both agents are told the same");
    first
}

#[test]
fn broken_json() {
    let home = Home::new();
    assert_snapshot!(closed(&home, &["claude"], "{\"session_id\": "), @"seamgate: the event is not lossless JSON: the text ends too early at byte 15");
    assert_snapshot!(closed(&home, &["claude"], ""), @"seamgate: the event is not lossless JSON: the text ends too early at byte 0");
    assert_snapshot!(closed(&home, &["codex"], "not json"), @"seamgate: the event is not lossless JSON: unexpected character at byte 1");
}

#[test]
fn json_that_two_readers_could_understand_differently() {
    let home = Home::new();
    let twice = pre_tool_use("ls").replace("\"tool_name\"", "\"tool_name\":\"Read\",\"tool_name\"");
    assert_snapshot!(closed(&home, &["claude"], &twice), @r#"seamgate: the event is not lossless JSON: duplicate key "tool_name" at byte 216"#);
}

#[test]
fn an_unknown_event() {
    let home = Home::new();
    let unknown = pre_tool_use("ls").replace("PreToolUse", "BeforeEverything");
    assert_snapshot!(closed(&home, &["claude"], &unknown), @"seamgate: Claude Code has no event `BeforeEverything`");
}

#[test]
fn an_event_without_what_it_is_about() {
    let home = Home::new();
    let nameless = pre_tool_use("ls").replace("\"tool_name\":\"Bash\",", "");
    assert_snapshot!(closed(&home, &["claude"], &nameless), @"seamgate: the event `PreToolUse` can't be understood: missing field `tool_name` at line 1 column 251");
}

#[test]
fn bytes_that_are_not_utf8() {
    let home = Home::new();
    let file = home.write("event", b"{\"a\": \"\xff\"}");
    let output = home
        .command(&["hook", "claude"])
        .stdin(fs::File::open(file).expect("it opens"))
        .output()
        .expect("it runs");
    assert_eq!((output.status.code(), output.stdout), (Some(2), Vec::new()));
}

#[test]
fn an_unknown_dialect_and_unknown_arguments() {
    let home = Home::new();
    assert_snapshot!(closed(&home, &["cloude"], ""), @"
    error: invalid value 'cloude' for '<DIALECT>': no agent protocol is called `cloude`; there are `claude`, `codex`

    For more information, try '--help'.
    ");
    assert!(!closed(&home, &["claude", "--verbos"], "").is_empty());
    assert!(!closed(&home, &[], "").is_empty());
}

#[test]
fn a_component_that_is_not_one() {
    assert_snapshot!(closed_by(b"#!/bin/sh\nexit 0\n".to_vec()), @"
    seamgate: error: policy `guest`: this is something else, not a WebAssembly component
      hint: give the `.wasm` file of a component
    ");
}

#[test]
fn a_component_of_a_foreign_world() {
    let wit = tempfile::tempdir().expect("a folder");
    let changed = changed_wit(
        wit.path(),
        "package seamgate:policy@0.1.0",
        "package other:hooks@2.0.0",
    );
    let module = format!(
        r#"(module {PRELUDE}
            (func (export "other:hooks/pre-tool@2.0.0#decide") (param i32) (result i32) (i32.const 64)))"#
    );
    assert_snapshot!(closed_by(component_against(&changed, &module, "only-pre-tool")), @"
    seamgate: error: policy `guest`: the component exports no interface of seamgate:policy (it exports: other:hooks/pre-tool@2.0.0)
      hint: build it against one of the worlds of seamgate:policy, for instance `only-pre-tool`
    ");
}

#[test]
fn a_policy_that_traps() {
    assert_snapshot!(closed_by(pre_tool("unreachable")), @"seamgate: hook `guest` could not decide (TRAP): it panicked (it ran into an unreachable instruction). So this is refused, which says nothing about the request itself. Tell the user, who can see all that the hook said with `seamgate replay`");
}

#[test]
fn a_policy_that_loops() {
    assert_snapshot!(closed_by(pre_tool("(loop $again (br $again))")), @"seamgate: hook `guest` could not decide (CPU): it computed for more than 200 ms, its limit `cpu-ms`. So this is refused, which says nothing about the request itself. Tell the user, who can see all that the hook said with `seamgate replay`");
}

#[test]
fn a_policy_that_eats_memory() {
    let body = "(loop $again (drop (memory.grow (i32.const 16))) (br $again))";
    assert_snapshot!(closed_by(pre_tool(body)), @"seamgate: hook `guest` could not decide (MEMORY): it wanted 67239936 bytes of memory, and its limit `memory-bytes` is 67108864. So this is refused, which says nothing about the request itself. Tell the user, who can see all that the hook said with `seamgate replay`");
}

#[test]
fn what_a_policy_wrote_about_its_failure_is_not_shown_to_the_model() {
    // err("oh")
    let body = "(i32.store16 (i32.const 4096) (i32.const 0x686f))
                (i32.store8 (i32.const 64) (i32.const 1))
                (i32.store (i32.const 68) (i32.const 4096))
                (i32.store (i32.const 72) (i32.const 2))";
    assert_snapshot!(closed_by(pre_tool(body)), @"seamgate: hook `guest` could not decide (REPORTED). So this is refused, which says nothing about the request itself. Tell the user, who can see all that the hook said with `seamgate replay`");
}

#[test]
fn a_component_that_is_missing() {
    let home = Home::new();
    home.write(
        "seamgate.toml",
        "[[policy]]\nname = \"guest\"\ncomponent = \"nowhere.wasm\"\n",
    );
    assert_snapshot!(closed(&home, &["claude", "--config", "seamgate.toml"], &pre_tool_use("ls")), @"
    seamgate: error: policy `guest`: cannot read nowhere.wasm
      cause: No such file or directory (os error 2)
      hint: check the path of the component in the configuration
    ");
}

#[test]
fn a_configuration_that_is_missing_or_wrong() {
    let home = Home::new();
    assert_snapshot!(closed(&home, &["claude", "--config", "nowhere.toml"], &pre_tool_use("ls")), @"seamgate: error: nowhere.toml: cannot read the configuration: No such file or directory (os error 2)");
    home.write(
        ".config/seamgate/seamgate.toml",
        "[[policy]]\nname = \"secrets\"\n\n[[policy]]\nname = \"secrts\"\n",
    );
    assert_snapshot!(closed(&home, &["claude"], &pre_tool_use("ls")), @r#"
    seamgate: error: [HOME]/.config/seamgate/seamgate.toml:5:8: `secrts` is not a standard policy
      hint: for a policy of your own add `component = "path/to/policy.wasm"`
    "#);
}

#[test]
fn a_configuration_that_is_there_and_cannot_be_read_is_not_done_without() {
    let home = Home::new();
    home.write(".config/seamgate/other.toml", "");
    let file = home.path().join(".config/seamgate/seamgate.toml");
    std::os::unix::fs::symlink(home.path().join("nowhere.toml"), &file).expect("it can be linked");
    let dangling = closed(&home, &["claude"], &pre_tool_use("ls"));
    assert!(
        dangling.contains("cannot read the configuration"),
        "{dangling}"
    );
    fs::remove_file(&file).expect("it can be removed");
    fs::create_dir(&file).expect("it can be made");
    let folder = closed(&home, &["claude"], &pre_tool_use("ls"));
    assert!(folder.contains("cannot read the configuration"), "{folder}");
    // Something else in place of the folder is no reason either.
    fs::remove_dir_all(home.path().join(".config")).expect("it can be removed");
    home.write(".config", "");
    let file = closed(&home, &["claude"], &pre_tool_use("ls"));
    assert!(file.contains("cannot read the configuration"), "{file}");
}

#[test]
fn a_policy_around_tools_which_an_agent_runs_itself() {
    let home = Home::new();
    home.policy(include_bytes!("../../../policies/prebuilt/retry.wasm"));
    home.write(
        "seamgate.toml",
        "[[policy]]\nname = \"guest\"\ncomponent = \"policy.wasm\"\ntier = \"trusted\"\n",
    );
    let config = ["claude", "--config", "seamgate.toml"];
    // Once with nothing at hand, and once with what it exports being known.
    let first = closed(&home, &config, &pre_tool_use("ls"));
    let prompt = r#"{"session_id":"s","transcript_path":"/t","cwd":"/p","hook_event_name":"UserPromptSubmit","prompt":"hi"}"#;
    assert_eq!(closed(&home, &config, prompt), first);
    assert_snapshot!(first, @"
    seamgate: error: policy `guest`: it exports `around-tool`, and this program asks no policy there
      hint: an agent that calls its hooks runs its tools itself, so nothing can be put around them; take the policy out of the configuration, or build it without this export
    ");
    home.write("session.jsonl", pre_tool_use("ls"));
    let replayed = home.run(
        &["replay", "session.jsonl", "--config", "seamgate.toml"],
        "",
    );
    assert_eq!((replayed.code, replayed.stdout.as_str()), (Some(1), ""));
}

#[test]
fn a_policy_that_would_forget_what_it_keeps() {
    let home = Home::new();
    home.policy(pre_tool(""));
    home.write(
        "seamgate.toml",
        "[[policy]]\nname = \"guest\"\ncomponent = \"policy.wasm\"\ngrants = { state = \"memory\" }\n",
    );
    let config = ["claude", "--config", "seamgate.toml"];
    assert_snapshot!(closed(&home, &config, &pre_tool_use("ls")), @"
    seamgate: error: policy `guest`: what it keeps is kept in memory, and this program runs anew for every event, so that the policy would have forgotten everything each time
      hint: take the policy out of the configuration of this program; a program that embeds the runtime, and lives longer than one event, can use it
    ");
}

#[test]
fn a_cache_folder_that_cannot_be_written() {
    let home = Home::new();
    home.write("file", "");
    home.policy(pre_tool(""));
    let ran = home.finish(
        home.command(&["hook", "claude", "--config", "seamgate.toml"])
            .env("SEAMGATE_CACHE_DIR", home.path().join("file/below")),
        &pre_tool_use("ls"),
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    insta::with_settings!({ filters => vec![(r"[0-9a-f]{64}-\S+", "[CODE]")] }, {
        assert_snapshot!(ran.stderr, @"
        seamgate: error: policy `guest`: its compiled code could not be kept
          cause: cannot use [HOME]/file/below/compiled/[CODE]
          cause: Not a directory (os error 20)
          hint: make the folder writable for you alone, or name another in SEAMGATE_CACHE_DIR
        ");
    });
}

#[test]
fn a_cache_folder_that_others_can_write() {
    let home = Home::new();
    home.policy(pre_tool(""));
    let folder = home.path().join("cache/compiled");
    fs::create_dir_all(&folder).expect("it can be made");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).expect("it can be opened up");
    let ran = home.finish(
        home.command(&["hook", "claude", "--config", "seamgate.toml"])
            .env("SEAMGATE_CACHE_DIR", home.path().join("cache")),
        &pre_tool_use("ls"),
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert_snapshot!(ran.stderr, @"
    seamgate: error: policy `guest`: its compiled code could not be kept
      cause: [HOME]/cache/compiled is not safe to load code from: others can write it
      hint: make the folder writable for you alone, or name another in SEAMGATE_CACHE_DIR
    ");
}

#[test]
fn no_home_folder() {
    let home = Home::new();
    let ran = home.finish(
        home.command(&["hook", "claude"]).env_remove("HOME"),
        &pre_tool_use("ls"),
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert_snapshot!(ran.stderr, @"seamgate: error: there is no folder for compiled code: HOME is not set; name one in SEAMGATE_CACHE_DIR");
}

#[test]
fn compiled_code_that_was_tampered_with_is_not_run() {
    let home = Home::new();
    home.policy(pre_tool(""));
    let config = ["hook", "claude", "--config", "seamgate.toml"];
    let good = home.run(&config, &pre_tool_use("ls"));
    assert_eq!((good.code, good.stdout.as_str()), (Some(0), ""));
    let folder = home.path().join(".cache/seamgate/compiled");
    let kept = || {
        fs::read_dir(&folder)
            .expect("it is there")
            .map(|entry| entry.expect("it can be read").path())
            .filter(|path| path.extension().is_some_and(|end| end == "cwasm"))
            .collect::<Vec<_>>()
    };
    let code = kept().pop().expect("compiled code was kept");
    // Cut short: as good as not there, and made anew.
    let whole = fs::read(&code).expect("it can be read");
    fs::write(&code, &whole[..whole.len() / 2]).expect("it can be written");
    let again = home.run(&config, &pre_tool_use("ls"));
    assert_eq!((again.code, again.stderr.as_str()), (Some(0), ""));
    assert_eq!(fs::read(&code).expect("it can be read").len(), whole.len());
    // Writable by others, or a link: refused.
    fs::set_permissions(&code, fs::Permissions::from_mode(0o666)).expect("it can be opened up");
    let others = home.run(&config, &pre_tool_use("ls"));
    assert_eq!(others.code, Some(2));
    assert!(
        others.stderr.contains("others can write it"),
        "{}",
        others.stderr
    );
    let elsewhere = home.path().join("elsewhere");
    fs::rename(&code, &elsewhere).expect("it can be moved");
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o600)).expect("it can be closed");
    std::os::unix::fs::symlink(&elsewhere, &code).expect("it can be linked");
    let linked = home.run(&config, &pre_tool_use("ls"));
    assert_eq!(linked.code, Some(2));
    assert!(
        linked.stderr.contains("it is a symbolic link"),
        "{}",
        linked.stderr
    );
    assert_eq!(kept().len(), 1, "nothing else was left there");
}
