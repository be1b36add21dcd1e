//! Guests that were granted state and want more of it.

use seamgate::seams::{PreTool, VerdictRank};
use seamgate::{FailureCode, Limits, Policy, PolicySpec, Runtime, Sandbox, StateGrant};
use seamgate_tests::{PRELUDE, changed_wit, component_against};

use super::{assert_serves, block_on, call, sandboxes, spec};

/// A guest with state at `pre-tool` whose function has this body. It abstains unless the body calls `$deny`.
///
/// From 65536 on there are 65536 times the letter `a`, so that keys of different lengths are different keys.
fn guest(body: &str) -> Vec<u8> {
    let wit = tempfile::tempdir().expect("a folder");
    let changed = changed_wit(
        wit.path(),
        "world only-pre-tool {",
        "world only-pre-tool {\n    include with-state;",
    );
    let module = format!(
        r#"(module
            (import "wasi:keyvalue/store@0.2.0-draft2" "open" (func $open (param i32 i32 i32)))
            (import "wasi:keyvalue/store@0.2.0-draft2" "[resource-drop]bucket" (func $drop (param i32)))
            (import "wasi:keyvalue/store@0.2.0-draft2" "[method]bucket.get" (func $get (param i32 i32 i32 i32)))
            (import "wasi:keyvalue/store@0.2.0-draft2" "[method]bucket.set" (func $set (param i32 i32 i32 i32 i32 i32)))
            (import "wasi:keyvalue/store@0.2.0-draft2" "[method]bucket.list-keys" (func $list (param i32 i32 i32 i32 i32)))
            {PRELUDE}
            (data (i32.const 2048) "defaultother")
            ;; The bucket `default`.
            (func $default (result i32)
                (call $open (i32.const 2048) (i32.const 7) (i32.const 1024))
                (if (i32.load8_u (i32.const 1024)) (then unreachable))
                (i32.load (i32.const 1028)))
            ;; Sets a key of some length to a value of some length. Whether it was refused; why, is at 1036 and 1032.
            (func $put (param $bucket i32) (param $key i32) (param $value i32) (result i32)
                (call $set (local.get $bucket) (i32.const 65536) (local.get $key) (i32.const 65536) (local.get $value) (i32.const 1024))
                (i32.load8_u (i32.const 1024)))
            (func $deny (param $reason i32) (param $length i32)
                (i32.store8 (i32.const 68) (i32.const 2))
                (i32.store (i32.const 72) (local.get $reason))
                (i32.store (i32.const 76) (local.get $length)))
            (func (export "seamgate:policy/pre-tool@0.1.0#decide") (param i32) (result i32)
                (local $bucket i32) (local $i i32)
                (memory.fill (i32.const 65536) (i32.const 97) (i32.const 65536))
                {body}
                (i32.const 64))
        )"#
    );
    component_against(&changed, &module, "only-pre-tool")
}

const FILL: &str = "
    (local.set $bucket (call $default))
    (loop $again
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $again (i32.eqz (call $put (local.get $bucket) (local.get $i) (i32.const LENGTH)))))
    (if (i32.ne (i32.load8_u (i32.const 1028)) (i32.const 2)) (then unreachable))
    (call $deny (i32.load (i32.const 1032)) (i32.load (i32.const 1036)))
    (call $drop (local.get $bucket))";

fn granted(component: Vec<u8>) -> PolicySpec {
    let mut spec = spec("hostile", component);
    spec.grants.state = Some(StateGrant::Memory);
    spec
}

/// A runtime with one policy.
async fn loaded(sandbox: &Sandbox, spec: &PolicySpec) -> Runtime {
    let mut runtime = Runtime::new();
    runtime.policy(Policy::load(sandbox, spec).await.expect("it loads"));
    runtime
}

/// The reason of a denial, none for an abstention, or the failure.
async fn said(runtime: &Runtime) -> Result<Option<String>, (FailureCode, String)> {
    let asked = runtime.ask::<PreTool>(&call("{}")).await;
    match asked.decision {
        Ok(folded) if folded.verdict == VerdictRank::Abstain => Ok(None),
        Ok(folded) => Ok(Some(folded.reasons[0].said.text.clone())),
        Err(failure) => Err((failure.code, failure.message)),
    }
}

/// What a guest says in its first decision, in every profile.
fn says(body: &str) -> Result<Option<String>, (FailureCode, String)> {
    let guest = guest(body);
    let mut all: Vec<_> = sandboxes()
        .iter()
        .map(|sandbox| {
            block_on(async {
                let runtime = loaded(sandbox, &granted(guest.clone())).await;
                let said = said(&runtime).await;
                assert_serves(sandbox).await;
                said
            })
        })
        .collect();
    all.dedup();
    assert_eq!(all.len(), 1, "the profiles differ: {all:?}");
    all.remove(0)
}

#[test]
fn state_is_bounded_in_bytes() {
    let reason = says(&FILL.replace("LENGTH", "65000")).expect("it decides");
    // 17 keys of 1 to 17 bytes with values of 65,000.
    assert_eq!(
        reason.as_deref(),
        Some("the state would have 1105153 bytes, and its limit `state-bytes` is 1048576")
    );
}

#[test]
fn state_is_bounded_in_keys() {
    let reason = says(&FILL.replace("LENGTH", "0")).expect("it decides");
    assert_eq!(
        reason.as_deref(),
        Some("the state has 1000 keys, and its limit `state-keys` is 1000")
    );
}

#[test]
fn a_value_that_is_too_large_to_hand_over_fails_the_decision() {
    let body = "(drop (memory.grow (i32.const 8)))
        (drop (call $put (call $default) (i32.const 1) (i32.const 400000)))";
    assert_eq!(
        says(body),
        Err((
            FailureCode::Oversize,
            "its decision, or what it would keep, is larger than 262144 bytes, its limit `decision-bytes`"
                .to_owned()
        ))
    );
}

#[test]
fn there_is_no_other_bucket() {
    // `other` is denied with its own name, as `no-such-store`; the bucket without a name is there.
    let body = "(call $open (i32.const 2055) (i32.const 5) (i32.const 1024))
        (if (i32.and (i32.load8_u (i32.const 1024)) (i32.eqz (i32.load8_u (i32.const 1028))))
            (then (call $deny (i32.const 2055) (i32.const 5))))
        (call $open (i32.const 2055) (i32.const 0) (i32.const 1024))
        (if (i32.load8_u (i32.const 1024)) (then unreachable))";
    assert_eq!(says(body), Ok(Some("other".to_owned())));
}

#[test]
fn a_guest_holds_no_thousand_buckets() {
    let again = "(local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $again (i32.lt_u (local.get $i) (i32.const 1000)))";
    assert_eq!(
        says(&format!("(loop $again (drop (call $default)) {again})")),
        Err((
            FailureCode::Memory,
            "it held more than 100 handles at once".to_owned()
        ))
    );
    let gives_back = format!("(loop $again (call $drop (call $default)) {again})");
    assert_eq!(says(&gives_back), Ok(None));
}

#[test]
fn a_bucket_that_was_never_opened_is_none() {
    for handle in ["0", "1", "77", "-1"] {
        let body = format!("(drop (call $put (i32.const {handle}) (i32.const 1) (i32.const 1)))");
        let failure = says(&body).expect_err("there is none");
        assert_eq!(failure.0, FailureCode::BadDecision, "{handle}");
    }
    let twice = "(local.set $bucket (call $default)) (call $drop (local.get $bucket)) (call $drop (local.get $bucket))";
    let failure = says(twice).expect_err("it is gone");
    assert_eq!(failure.0, FailureCode::BadDecision);
}

#[test]
fn endless_calls_of_the_store_run_out_of_processor_time() {
    let body = "(local.set $bucket (call $default))
        (loop $again (br_if $again (i32.eqz (call $put (local.get $bucket) (i32.const 1) (i32.const 1)))))";
    assert_eq!(
        says(body),
        Err((
            FailureCode::Cpu,
            "it computed for more than 200 ms, its limit `cpu-ms`".to_owned()
        ))
    );
}

#[test]
fn listing_keys_gets_to_an_end() {
    // Sets 250 keys, and asks for pages until there is no cursor: three of them.
    let body = "(local.set $bucket (call $default))
        (loop $again
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (drop (call $put (local.get $bucket) (local.get $i) (i32.const 0)))
            (br_if $again (i32.lt_u (local.get $i) (i32.const 250))))
        (local.set $i (i32.const 0))
        (i32.store (i32.const 1036) (i32.const 0))
        (loop $pages
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (call $list (local.get $bucket)
                (i32.load8_u (i32.const 1036)) (i32.load (i32.const 1040)) (i32.load (i32.const 1044)) (i32.const 1024))
            (br_if $pages (i32.load8_u (i32.const 1036))))
        (call $deny (i32.const 65536) (local.get $i))";
    assert_eq!(says(body), Ok(Some("aaa".to_owned())));
}

/// Denies where the key is there, and sets it.
const ONCE: &str = "
    (local.set $bucket (call $default))
    (call $get (local.get $bucket) (i32.const 65536) (i32.const 1) (i32.const 1024))
    (if (i32.load8_u (i32.const 1028)) (then (call $deny (i32.const 65536) (i32.const 1))))
    (drop (call $put (local.get $bucket) (i32.const 1) (i32.const 5)))";

#[test]
fn each_policy_has_its_own_state_for_as_long_as_it_is_loaded() {
    let spec = granted(guest(ONCE));
    for sandbox in sandboxes() {
        block_on(async {
            let one = loaded(&sandbox, &spec).await;
            assert_eq!(said(&one).await, Ok(None));
            assert_eq!(said(&one).await, Ok(Some("a".to_owned())));
            // Of the same component, in the same engine.
            let other = loaded(&sandbox, &spec).await;
            assert_eq!(said(&other).await, Ok(None));
        });
    }
}

#[test]
fn what_was_kept_stays_where_the_decision_fails_afterwards() {
    let spec = granted(guest(&format!(
        "{ONCE} (if (i32.eqz (i32.load8_u (i32.const 68))) (then unreachable))"
    )));
    let [sandbox, _] = sandboxes();
    block_on(async {
        let runtime = loaded(&sandbox, &spec).await;
        assert_eq!(said(&runtime).await.unwrap_err().0, FailureCode::Trap);
        assert_eq!(said(&runtime).await, Ok(Some("a".to_owned())));
    });
}

#[test]
fn a_limit_of_nothing_keeps_nothing() {
    let mut spec = granted(guest(ONCE));
    spec.limits = Limits {
        state_bytes: 0,
        ..Limits::default()
    };
    let [sandbox, _] = sandboxes();
    block_on(async {
        let runtime = loaded(&sandbox, &spec).await;
        for _ in 0..2 {
            assert_eq!(said(&runtime).await, Ok(None));
        }
    });
}
