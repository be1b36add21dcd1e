//! Syntax: which commands there are, and with which arguments.

use super::super::{Incomplete, parse, parse_arguments};
use super::{check, listed};

#[test]
fn quoting_is_undone() {
    check(&[
        ("rm -rf /", &["rm -rf /"]),
        ("r''m -\"r\"f '/'", &["rm -rf /"]),
        ("\\rm -r\\f /", &["rm -rf /"]),
        ("$'rm' $'-r\\x66' $'\\057'", &["rm -rf /"]),
        ("$\"rm\" /", &["rm /"]),
        ("/bin/rm x", &["/bin/rm x"]),
        ("r\\\nm -rf \\\n/", &["rm -rf /"]),
        ("echo \"a\\\"b\\$c\\n\"", &["echo a\"b$c\\n"]),
        ("echo 'a\"b' \"c'd\"", &["echo a\"b c'd"]),
        ("echo a#b # c", &["echo a#b"]),
        ("# only a comment", &[]),
        ("", &[]),
        ("echo $ a$", &["echo $ a$"]),
    ]);
}

#[test]
fn data_is_not_commands() {
    check(&[
        ("git commit -m 'rm -rf /'", &["git commit -m rm -rf /"]),
        ("echo \"rm -rf /; ls\"", &["echo rm -rf /; ls"]),
        ("grep -r 'rm -rf' .", &["grep -r rm -rf ."]),
        (
            "cat > notes.md <<'EOF'\nNever run: rm -rf / $(ls)\nEOF",
            &["cat"],
        ),
        (
            "cat <<EOF && ls\nrm -rf /\nEOF\nmake",
            &["cat", "ls", "make"],
        ),
        ("cat <<-EOF\n\trm x\n\tEOF\nls", &["cat", "ls"]),
        ("cat <<A <<'B'\nrm 1\nA\nrm 2\nB\nls", &["cat", "ls"]),
        ("cat <<< 'rm -rf /'", &["cat"]),
        ("cat <<\\EOF\n$(rm x)\nEOF\nls", &["cat", "ls"]),
    ]);
}

#[test]
fn lists_and_pipelines_are_taken_apart() {
    check(&[
        (
            "a; b & c && d || e | f |& g",
            &["a", "b", "c", "d", "e", "f", "g"],
        ),
        ("a\nb\r\n\n  c", &["a", "b", "c"]),
        ("a &&\n b |\n# why\n c", &["a", "b", "c"]),
        ("! a", &["a"]),
        ("time -p make all", &["make all"]),
        ("a 2>&1 >/dev/null | b &>log", &["a", "b"]),
        ("(a; (b)) && { c; d; }", &["a", "b", "c", "d"]),
    ]);
}

#[test]
fn compound_commands_are_taken_apart() {
    check(&[
        (
            "if a; then b; elif c; then d; else e; fi",
            &["a", "b", "c", "d", "e"],
        ),
        (
            "while a; do b; done; until c; do d; done",
            &["a", "b", "c", "d"],
        ),
        ("for x; do b; done", &["b"]),
        ("for ((i=0;i<3;i++)); do b $i; done", &["b ${i}"]),
        ("for f in a/*; do rm \"$f/b\"; done", &["rm a/*/b"]),
        (
            "for d in a b; do rm -r \"$d\"; done",
            &["rm -r a", "rm -r b"],
        ),
        ("case $1 in a|b) c;; (*) d ;; esac", &["c", "d"]),
        ("case x in x) a; esac; b", &["a", "b"]),
        ("select x in a; do b; done", &["b"]),
        (
            "[[ -f x && $y == (a|b) ]] && rm z",
            &["[[ -f x ${y} == a b ]]", "rm z"],
        ),
        ("(( x = 3 )) && a", &["a"]),
        ("echo $(( 1 + $(b) ))", &["echo …", "b"]),
        ("f() { a; }", &["a"]),
        ("function f { a; }; f", &["f", "a"]),
        (
            "f() ( rm -rf \"$1\" ); f build",
            &["f build", "rm -rf build"],
        ),
        ("coproc a", &["a"]),
        ("{ a; } > x", &["", "a"]),
    ]);
}

#[test]
fn substitutions_are_listed() {
    check(&[
        ("echo $(a `b`)", &["echo $(…)", "a $(…)", "b"]),
        ("echo \"$(a \"$(b)\")\"", &["echo $(…)", "a $(…)", "b"]),
        ("diff <(a) >(b)", &["diff <(…) <(…)", "a", "b"]),
        ("x=$(a) b", &["b", "a"]),
        ("cat <<EOF\n$(a) `b`\nEOF", &["cat", "a", "b"]),
        ("echo ${x:-$(a)} ${y%$(b)}", &["echo ${x} …", "a", "b"]),
        ("echo `echo \\`a\\``", &["echo $(…)", "echo $(…)", "a"]),
        ("echo $( (a) )", &["echo $(…)", "a"]),
        ("$(echo rm) -rf /", &["rm -rf /", "echo rm"]),
        ("[[ -n $(a) ]]", &["[[ -n $(…) ]]", "a"]),
    ]);
}

#[test]
fn wrappers_are_listed_with_what_they_run() {
    let cases = [
        "sudo -u root -n {}",
        "sudo FOO=1 {}",
        "doas {}",
        "env -i -u X A=1 B=2 {}",
        "env -S '{}'",
        "env -u X -S 'A=1 rm' -rf /",
        "env -S env -S '{}'",
        "env -vS'-i {}'",
        "env --split-string='{}'",
        "command -p {}",
        "builtin {}",
        "exec -a name {}",
        "nohup {}",
        "nice -n 5 {}",
        "nice -10 {}",
        "ionice -c 3 {}",
        "/usr/bin/time -f %e {}",
        "timeout -k 5 10s {}",
        "timeout --signal=KILL 10 {}",
        "stdbuf -oL {}",
        "setsid {}",
        "busybox {}",
        "xargs -n 1 {}",
        "find . -name x -exec {} \\;",
        "find . -exec {} {} +",
        "bash -c '{}'",
        "bash -lc '{}'",
        "sh -e -c '{}' name",
        "zsh -o pipefail -c '{}'",
        "eval '{}'",
        "eval {}",
        "ssh -p 22 host {}",
        "ssh host '{}'",
        "su -c '{}' root",
        "trap '{}' EXIT",
        "$SUDO {}",
        "flock /tmp/lock {}",
        "watch -n 1 {}",
        "sudo env A=1 bash -c '{}'",
    ];
    for case in cases {
        let commands = listed(&case.replacen("{}", "rm -rf /", 1));
        let last = commands.last().map(String::as_str);
        assert!(
            matches!(last, Some("rm -rf /" | "rm -rf / …")),
            "{case}: {commands:?}"
        );
    }
    check(&[
        ("command -v rm", &["command -v rm"]),
        ("sudo -l", &["sudo -l"]),
        ("env", &["env"]),
        ("bash build.sh", &["bash build.sh"]),
        ("trap - EXIT", &["trap - EXIT"]),
        ("find . -name x", &["find . -name x"]),
    ]);
}

#[test]
fn a_shell_that_reads_known_text_has_it_listed() {
    check(&[
        ("bash <<'EOF'\nrm -rf /\nEOF", &["bash", "rm -rf /"]),
        ("sudo bash <<EOF\nrm x\nEOF", &["sudo bash", "bash", "rm x"]),
        ("bash <<< 'rm x'", &["bash", "rm x"]),
        ("echo 'rm x' | sh", &["echo rm x", "sh", "rm x"]),
        (
            "printf '%s\\n' 'rm x' | sh -s",
            &["printf %s\\n rm x", "sh -s", "rm x"],
        ),
        (
            "echo -e 'rm\\x20x' | sh",
            &["echo -e rm\\x20x", "sh", "rm x"],
        ),
        ("cat <<E | bash\nrm x\nE", &["cat", "bash", "rm x"]),
        (
            "echo rm x 2>/dev/null | tee log | cat | sh",
            &["echo rm x", "tee log", "cat", "sh", "rm x"],
        ),
        ("echo rm x > log | sh", &["echo rm x", "sh"]),
        ("{ sh; } <<< 'rm x'", &["", "sh", "rm x"]),
        ("ssh host <<E\nrm x\nE", &["ssh host", "rm x"]),
        (
            "echo / | xargs rm -rf",
            &["echo /", "xargs rm -rf", "rm -rf /"],
        ),
        (
            "sh -c 'exec \"$@\"' sh rm -rf /",
            &["sh -c exec \"$@\" sh rm -rf /", "exec rm -rf /", "rm -rf /"],
        ),
    ]);
}

#[test]
fn braces_are_expanded() {
    check(&[
        ("{rm,-rf,/}", &["rm -rf /"]),
        ("rm -rf /{bin,etc/{a,b}}", &["rm -rf /bin /etc/a /etc/b"]),
        ("echo {} {a} a,b '{a,b}'", &["echo {} {a} a,b {a,b}"]),
        ("x={a,b} c", &["c"]),
    ]);
}

#[test]
fn an_argument_list_is_one_command_and_what_it_runs() {
    let script = parse_arguments(&["bash", "-lc", "make && make check"]);
    let commands: Vec<_> = script.commands.iter().map(ToString::to_string).collect();
    assert_eq!(
        commands,
        ["bash -lc make && make check", "make", "make check"]
    );
    let script = parse_arguments(&["echo", "$(rm x)", "a; b"]);
    let commands: Vec<_> = script.commands.iter().map(ToString::to_string).collect();
    assert_eq!(commands, ["echo $(rm x) a; b"]);
}

#[test]
fn what_was_read_before_a_mistake_is_kept() {
    let cases: [(&str, &[&str]); 12] = [
        ("a; b 'c", &["a", "b c"]),
        ("a && ", &["a"]),
        ("a; )", &["a"]),
        ("a; (b", &["a", "b"]),
        ("if a; then b", &["a", "b"]),
        ("a > ", &["a"]),
        ("a; b $(c", &["a", "b $(…)", "c"]),
        ("a `b", &["a"]),
        ("a ${b", &["a …"]),
        ("a; done", &["a"]),
        ("echo (a)", &["echo"]),
        ("cat <<EOF\nrm x", &["cat"]),
    ];
    for (line, expected) in cases {
        let script = parse(line);
        let commands: Vec<_> = script.commands.iter().map(ToString::to_string).collect();
        assert!(
            matches!(script.incomplete, Some(Incomplete::Syntax(_))),
            "{line}: {script:?}"
        );
        assert_eq!(
            commands
                .iter()
                .filter(|each| !each.is_empty())
                .collect::<Vec<_>>(),
            expected,
            "{line}"
        );
    }
}
