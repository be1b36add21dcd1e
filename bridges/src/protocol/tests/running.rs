//! What goes into a hook, and what comes out.

use std::ffi::OsString;
use std::sync::Mutex;
use std::time::Duration;

use super::super::*;
use super::*;

#[test]
fn b166_the_input_is_compact_json_with_a_newline_where_the_dialect_has_one() {
    let event = serde_json::json!({ "hook_event_name": "Stop", "n": [1, 2] });
    for (newline, expected) in [
        (true, "{\"hook_event_name\":\"Stop\",\"n\":[1,2]}\n"),
        (false, "{\"hook_event_name\":\"Stop\",\"n\":[1,2]}"),
    ] {
        let mut hook = bash("cat");
        hook.stdin = payload(&event, newline).unwrap();
        assert_eq!(run_now(hook).stdout.text, expected);
    }
}

#[test]
fn b167_a_hook_sees_its_environment_and_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let mut hook = bash("echo \"$GREETING\"; pwd -P");
    hook.environment.set("GREETING", "hé  there");
    hook.folders = vec![folder.join("gone"), folder.clone()];
    assert_eq!(
        run_now(hook).stdout.text,
        format!("hé  there\n{}\n", folder.display())
    );
}

#[test]
fn b168_a_secret_of_ours_is_seen_only_if_it_was_given() {
    let ours = |name: &str| (OsString::from(name), OsString::from("s3cret"));
    let mut names = Vec::from([ours("MY_TOKEN"), ours("api_key"), ours("SEAMGATE_X")]);
    names.extend([ours("DB_PASSWORD"), ours("Secrets"), ours("HARMLESS")]);
    names.extend(std::env::var_os("PATH").map(|path| (OsString::from("PATH"), path)));
    let environment = Environment::scrubbed(names);

    let mut hook = HookCommand::new("env", [""; 0]);
    hook.environment = environment.clone();
    let seen = run_now(hook).stdout.text;
    let seen: Vec<&str> = seen
        .lines()
        .filter(|line| !line.starts_with("PATH="))
        .collect();
    let quiet = ["GIT_PAGER=cat", "HARMLESS=s3cret", "NO_COLOR=1"];
    assert_eq!(seen, [&quiet[..], &["PAGER=cat", "TERM=dumb"]].concat());

    let mut hook = HookCommand::bash("echo $MY_TOKEN");
    hook.environment = environment;
    hook.environment.set("MY_TOKEN", "given");
    assert_eq!(run_now(hook).stdout.text, "given\n");
}

#[test]
fn b169_a_timeout_is_in_seconds() {
    let of = |seconds| timeout_of(seconds, TIMEOUT);
    assert_eq!(of(Some(3.0)), Ok(Duration::from_millis(3_000)));
    assert_eq!(of(Some(0.25)), Ok(Duration::from_millis(250)));
    assert_eq!(of(None), Ok(Duration::from_millis(600_000)));
    assert_eq!(of(Some(1e300)), Ok(Duration::MAX));
    for bad in [0.0, -1.0, f64::INFINITY] {
        assert_eq!(of(Some(bad)), Err(BadTimeout(bad)));
    }
    assert!(of(Some(f64::NAN)).is_err());
}

#[test]
fn b170_a_hook_need_not_read() {
    let payload: Vec<u8> = vec![b'x'; 1_000_000];
    for line in [
        "exit 0",
        "exec <&-; echo closed; sleep 0.1",
        "head -c 10 >/dev/null",
        // What was left behind still could read.
        "sleep 60 >/dev/null 2>&1 & exit 0",
    ] {
        let mut hook = bash(line);
        hook.stdin = payload.as_slice().into();
        assert_eq!(run_now(hook).end, HookEnd::Exited(0), "{line}");
    }
}

#[test]
fn a_payload_larger_than_a_pipe_and_as_large_an_answer_go_through() {
    let payload: String = (0..200_000).map(|number| format!("{number},")).collect();
    let mut hook = bash("cat; cat <&0 >&2");
    hook.stdin = payload.as_bytes().into();
    hook.output_bytes = payload.len();
    let run = run_now(hook);
    assert_eq!(run.stdout.text, payload);
    assert!(!run.stdout.truncated);
}

#[test]
fn b172_a_hook_that_a_signal_ended_has_no_exit_code() {
    let run = run_now(bash("echo no >&2; kill -9 $$"));
    assert_eq!(run.end, HookEnd::Killed(9));
    let output = decode(&run, &Decoding::of("PreToolUse"));
    assert_eq!(output.exit_code, None);
    assert_eq!(output.problem, Some(HookProblem::Killed(9)));
    assert_neutral(&output);
}

#[test]
fn b173_what_can_not_be_run_says_so_on_standard_error() {
    let missing = HookCommand::new("/nowhere/to/be/found", [""; 0]);
    let mut homeless = bash("exit 2");
    homeless.folders = vec!["/nowhere/to/be".into(), "/etc/passwd".into()];
    let mut torn = bash("exit 2");
    torn.environment.set("A", "nul\0byte");
    for (hook, expected) in [
        (missing, "`/nowhere/to/be/found` can't be started: "),
        (homeless, "no folder to run in, /nowhere/to/be is none"),
        (torn, "`bash` can't be started: "),
    ] {
        let run = run_now(hook);
        assert!(matches!(run.end, HookEnd::Failed(_)), "{run:?}");
        let output = decode(&run, &Decoding::of("PreToolUse"));
        assert!(output.stderr.contains(expected), "{}", output.stderr);
        assert!(matches!(output.problem, Some(HookProblem::Failed(_))));
        assert_eq!(output.exit_code, None);
        assert_neutral(&output);
    }
}

#[test]
fn b176_the_duration_is_read_from_the_clock_that_was_given() {
    let time = Mutex::new(Duration::ZERO);
    let clock = Clock::from_fn(move || {
        let mut time = time.lock().unwrap();
        *time += Duration::from_millis(5);
        *time
    });
    let run = block_on(run(bash("exit 0"), Cancel::new().cancelled(), &clock));
    assert_eq!(run.duration, Duration::from_millis(5));
}

#[test]
fn b178_output_beyond_the_limit_is_not_used() {
    let mut decoding = Decoding::of("SessionStart");
    decoding.text_is_context = true;
    for line in [
        // Its end is an object, if one looks at nothing else.
        "head -c 200000 /dev/zero | tr '\\0' ' '; echo; echo '{\"decision\":\"block\"}'",
        "yes text | head -c 200000",
    ] {
        let run = run_now(bash(line));
        assert!(run.stdout.truncated && run.stdout.text.len() <= OUTPUT_BYTES);
        let output = decode(&run, &decoding);
        assert_eq!(output.stdout_kind, StdoutKind::Truncated);
        assert_eq!(output.problem, Some(HookProblem::Truncated));
        assert_neutral(&output);
    }
}

/// Both streams have to be read at once, and each has its own limit.
#[test]
fn a_megabyte_on_standard_error_does_not_hide_the_answer() {
    let run = run_now(bash(
        "yes noise | head -c 1200000 >&2; echo last >&2; echo '{\"decision\":\"block\"}'",
    ));
    let output = decode(&run, &Decoding::of("PreToolUse"));
    assert_eq!(output.decision, Some(HookDecision::Block));
    assert!(run.stderr.truncated && output.stderr.ends_with("noise\nlast"));
}

#[test]
fn what_is_no_text_is_replaced() {
    let run = run_now(bash("printf 'refus\\351: no\\n' >&2; exit 2"));
    let output = decode(&run, &Decoding::of("PreToolUse"));
    assert_eq!(output.decision, Some(HookDecision::Block));
    assert_eq!(output.reason.as_deref(), Some("refus\u{fffd}: no"));
}

#[test]
fn a_hook_has_a_session_and_a_group_of_its_own_and_no_terminal() {
    let run = run_now(bash(
        "read -ra of </proc/$$/stat; echo $$ ${of[4]} ${of[5]}; (exec 3<>/dev/tty) 2>/dev/null && echo terminal",
    ));
    let numbers: Vec<&str> = run.stdout.text.split_whitespace().collect();
    let [process, group, session] = numbers[..] else {
        panic!("{}", run.stdout.text);
    };
    assert_eq!((process, process), (group, session));
}

#[test]
fn the_environment_is_exactly_the_one_given() {
    let mut hook = HookCommand::new("/usr/bin/env", [""; 0]);
    assert_eq!(run_now(hook.clone()).stdout.text, "");
    hook.environment.set("B", "2");
    hook.environment.set("A", "");
    assert_eq!(run_now(hook).stdout.text, "A=\nB=2\n");
}

/// A shell gets the line as it stands.
#[test]
fn a_line_is_expanded_by_the_shell_and_by_nobody_else() {
    let mut hook = bash("printf '%s|' \"${X:-y}\" $((1+1)) '$X' \"$0\" \"$#\"");
    hook.environment.set("X", "a  b");
    assert_eq!(run_now(hook).stdout.text, "a  b|2|$X|bash|0|");
}
