//! What is known of a word, and what is not.

use super::super::{Part, parse};
use super::check;

#[test]
fn variables_are_followed_while_they_are_certain() {
    check(&[
        ("x='rm -rf'; $x /", &["", "rm -rf /"]),
        ("x='rm -rf'; \"$x\" /", &["", "rm -rf /"]),
        ("x=rm y=$x; $y /", &["", "rm /"]),
        ("x=r; x+=m; $x /", &["", "", "rm /"]),
        ("x=(rm -rf); \"${x[@]}\" /", &["", "rm -rf /"]),
        ("x=(rm -rf); $x /", &["", "rm /"]),
        (
            "export x=rm; bash -c '$x /'",
            &["export x", "bash -c $x /", "rm /"],
        ),
        ("x=rm; bash -c '$x /'", &["", "bash -c $x /", "${x} /", "/"]),
        ("x=rm bash -c '$x /'", &["bash -c $x /", "rm /"]),
        (
            "x=rm; sudo bash -c '$x a'",
            &["", "sudo bash -c $x a", "bash -c $x a", "${x} a", "a"],
        ),
        ("x=rm; eval '$x /'", &["", "eval $x /", "rm /"]),
        ("rm${IFS}-rf${IFS}/", &["rm -rf /"]),
        ("IFS=,; x=rm,-rf,/; $x", &["", "", "rm -rf /"]),
        ("r$@m -rf / $1 \"$2\"", &["rm -rf / "]),
        ("set -- rm -rf /; \"$@\"", &["set -- rm -rf /", "rm -rf /"]),
        (
            "x=; ${x:-rm} a; ${x:=rm} b; $x c",
            &["", "rm a", "rm b", "rm c"],
        ),
        ("unset x; r${x}m a", &["unset x", "rm a"]),
        ("x=ls && $x a", &["", "ls a"]),
        ("a && x=ls && $x a; $x b", &["a", "", "ls a", "${x} b", "b"]),
        ("f() { $1 -rf /; }; f rm", &["f rm", "rm -rf /"]),
        ("f() { \"$@\"; }; f rm /", &["f rm /", "rm /"]),
        ("eval y=\\$$x a", &["eval y=$${x} a", "a"]),
        ("for x in rm; do $x -rf /; done", &["rm -rf /"]),
    ]);
}

#[test]
fn uncertain_variables_are_unknown() {
    let lines = [
        "x=ls; false || x=rm; $x -a",
        "x='rm'; true || x=ls && $x -a",
        "x=ls; if a; then x=rm; fi; $x -a",
        "x=ls; while a; do x=rm; done; $x -a",
        "while a; do $x -a; x=rm; done; b",
        "x=ls; while a; do $x -a; x=rm; done",
        "x=ls; read x; $x -a",
        "x=ls; source y; $x -a",
        "x=ls; case a in a) x=rm;; esac; $x -a",
        "x=ls; echo rm | read x; $x -a",
        "x=ls; f() { x=rm; }; while a; do $x -a; f; done",
        "declare -n x=y; $x -a",
        "x=ls; printf -v x rm; $x -a",
        "x=ls; eval \"$y\"; $x -a",
        "x[0]=ls; $x -a",
        "$(curl y) -a",
        "${x%y} -a",
        "x=ls; sudo sh -c '$x -a'",
    ];
    for line in lines {
        let script = parse(line);
        assert_eq!(script.incomplete, None, "{line}");
        let mut found = script
            .commands
            .iter()
            .filter(|command| command.words.get(1).and_then(|word| word.text()) == Some("-a"));
        let command = found.next().expect(line);
        assert_eq!(command.name(), None, "{line}: {command}");
        assert!(command.words[0].is_opaque(), "{line}: {command}");
    }
}

#[test]
fn a_subshell_keeps_its_variables_to_itself() {
    check(&[
        ("x=ls; (x=rm); $x", &["", "", "ls"]),
        ("x=ls; y=$(x=rm; a); $x", &["", "", "", "a", "ls"]),
        ("x=ls; x=rm & $x", &["", "", "ls"]),
    ]);
}

#[test]
fn words_keep_their_known_parts() {
    let literal = |text: &str| Part::Literal(text.into());
    let cases: [(&str, Vec<Part>); 11] = [
        ("~/x", vec![Part::Tilde("~".into()), literal("/x")]),
        ("~me", vec![Part::Tilde("~me".into())]),
        ("'~'/x", vec![literal("~/x")]),
        (
            "$HOME/x",
            vec![Part::Variable("HOME".into()), literal("/x")],
        ),
        (
            "\"$HOME\"/*",
            vec![
                Part::Variable("HOME".into()),
                literal("/"),
                Part::Glob("*".into()),
            ],
        ),
        ("'*'", vec![literal("*")]),
        (
            "a$((1+1))b",
            vec![literal("a"), Part::Unknown, literal("b")],
        ),
        ("a$(b)", vec![literal("a"), Part::Substitution(1..2)]),
        ("''", vec![]),
        ("/bin/r?", vec![literal("/bin/r"), Part::Glob("?".into())]),
        (
            "{1..9}",
            vec![
                Part::Glob("{".into()),
                literal("1..9"),
                Part::Glob("}".into()),
            ],
        ),
    ];
    for (word, expected) in cases {
        let script = parse(&format!("rm {word}"));
        assert_eq!(script.commands[0].words[1].parts, expected, "{word}");
    }
    let script = parse("d=$(mktemp -d); rm -rf \"$d/x\"");
    let word = &script.commands[2].words[2];
    assert_eq!(word.parts, [Part::Substitution(1..2), literal("/x")]);
    assert_eq!((word.text(), word.prefix()), (None, String::new()));
    assert_eq!(word.literals(), "/x");
}

#[test]
fn a_name_with_a_glob_is_not_known() {
    for (line, name) in [
        ("/bin/r? x", None),
        ("[ -f x ]", Some("[")),
        ("/bin/rm x", Some("rm")),
    ] {
        assert_eq!(parse(line).commands[0].name(), name, "{line}");
    }
}

#[test]
fn the_folder_is_followed() {
    let cases = [
        ("rm x", None),
        ("cd / && rm x", Some("/")),
        ("cd a; cd b && rm x", Some("a/b")),
        ("cd && rm x", Some("~")),
        ("cd \"$d\" && rm x", Some("${d}")),
        ("(cd /); rm x", None),
        ("cd /; bash -c 'rm x'", Some("/")),
        ("cd - && rm x", Some("…")),
        ("a && cd / ; rm x", Some("…")),
        ("pushd /tmp; popd; rm x", Some("…")),
        ("sudo cd /; rm x", None),
        ("cd $(mktemp -d) && rm x", Some("$(…)")),
    ];
    for (line, expected) in cases {
        let script = parse(line);
        let command = script
            .commands
            .iter()
            .rfind(|each| each.name() == Some("rm"));
        let folder = command
            .expect(line)
            .folder
            .as_ref()
            .map(ToString::to_string);
        assert_eq!(folder.as_deref(), expected, "{line}");
    }
}
