//! How commands are tied to one another: who runs what, what reads from what.

use super::super::{Origin, RedirectionOperator, Runs, parse};

fn index_of(line: &str, text: &str) -> usize {
    let script = parse(line);
    let found = script
        .commands
        .iter()
        .position(|each| each.to_string() == text);
    found.unwrap_or_else(|| panic!("{line}: {script:?}"))
}

#[test]
fn a_command_says_who_runs_it() {
    let line = "sudo bash -c 'rm x' && echo $(ls); ssh h uptime";
    let origins: Vec<_> = parse(line)
        .commands
        .iter()
        .map(|command| (command.to_string(), command.origin, command.runs))
        .collect();
    let expected = [
        ("sudo bash -c rm x", Origin::Line, Runs::Listed),
        ("bash -c rm x", Origin::Wrapped { by: 0 }, Runs::Listed),
        ("rm x", Origin::Script { by: 1 }, Runs::Nothing),
        ("echo $(…)", Origin::Line, Runs::Nothing),
        ("ls", Origin::Substitution, Runs::Nothing),
        ("ssh h uptime", Origin::Line, Runs::Listed),
        ("uptime", Origin::Remote { by: 5 }, Runs::Nothing),
    ]
    .map(|(text, origin, runs)| (text.to_owned(), origin, runs));
    assert_eq!(origins, expected);
}

#[test]
fn what_a_shell_runs_without_its_text_is_told() {
    let cases = [
        ("curl x | sh", "sh", Runs::Input),
        ("curl x | sudo bash", "bash", Runs::Input),
        ("curl x | sh -s -- -y", "sh -s -- -y", Runs::Input),
        ("curl x | bash -", "bash -", Runs::Input),
        ("bash <(curl x)", "bash <(…)", Runs::File),
        ("bash < x", "bash", Runs::Input),
        ("sh -c \"$(curl x)\"", "sh -c $(…)", Runs::Unknown),
        ("eval \"$x\"", "eval ${x}", Runs::Unknown),
        (
            "bash -c \"cd $x && make\"",
            "bash -c cd ${x} && make",
            Runs::Unknown,
        ),
        ("bash x.sh", "bash x.sh", Runs::File),
        (". ./x", ". ./x", Runs::File),
        ("bash", "bash", Runs::Nothing),
        ("bash --version", "bash --version", Runs::Nothing),
        ("curl x | { sh; }", "sh", Runs::Input),
        ("curl x | (cd /; sh)", "sh", Runs::Input),
        ("curl x | ssh host", "ssh host", Runs::Input),
        ("bash <<< \"$(curl x)\"", "bash", Runs::Input),
        ("make", "make", Runs::Nothing),
    ];
    for (line, command, expected) in cases {
        let script = parse(line);
        assert_eq!(
            script.commands[index_of(line, command)].runs,
            expected,
            "{line}"
        );
    }
}

#[test]
fn upstream_is_everything_whose_output_can_arrive() {
    let cases: [(&str, &str, &[&str]); 11] = [
        ("a | b | sh", "sh", &["a", "b"]),
        ("a; b | sh", "sh", &["b"]),
        ("a | sudo sh", "sh", &["a"]),
        ("{ a; b; } | sh", "sh", &["a", "b"]),
        ("sh <(a | b)", "sh <(…)", &["a", "b"]),
        ("sh -c \"$(a)\"", "sh -c $(…)", &["a"]),
        ("sudo sh <<< \"$(a)\"", "sh", &["a"]),
        ("cat <(a) | sh", "sh", &["cat <(…)", "a"]),
        ("x=$(a); eval \"$x\"", "eval $(…)", &["a"]),
        ("a | while b; do c | sh; done", "sh", &["a", "c"]),
        ("while sh; do b; done < <(a)", "sh", &["", "a"]),
    ];
    for (line, command, expected) in cases {
        let script = parse(line);
        let upstream = script.upstream(index_of(line, command));
        let texts: Vec<_> = upstream
            .into_iter()
            .map(|index| script.commands[index].to_string())
            .collect();
        assert_eq!(texts, expected, "{line}");
    }
}

#[test]
fn redirections_and_assignments_are_kept() {
    let script = parse("A=1 B=(2 3) cmd < in 2>> \"$log\" >| /dev/sda {fd}<> x 2>&1 &> y <<< z");
    let command = &script.commands[0];
    let redirections: Vec<_> = command
        .redirections
        .iter()
        .map(|each| {
            (
                each.descriptor.as_deref(),
                each.operator,
                each.target.to_string(),
            )
        })
        .collect();
    let expected = [
        (None, RedirectionOperator::Read, "in"),
        (Some("2"), RedirectionOperator::Append, "${log}"),
        (None, RedirectionOperator::Write, "/dev/sda"),
        (Some("fd"), RedirectionOperator::ReadWrite, "x"),
        (Some("2"), RedirectionOperator::Duplicate, "1"),
        (None, RedirectionOperator::Write, "y"),
        (None, RedirectionOperator::HereString, "z"),
    ]
    .map(|(descriptor, operator, target)| (descriptor, operator, target.to_owned()));
    assert_eq!(redirections, expected);
    let assignments: Vec<_> = command
        .assignments
        .iter()
        .map(|each| {
            let values = each.values.iter().map(ToString::to_string);
            (each.name.as_str(), values.collect::<Vec<_>>().join(" "))
        })
        .collect();
    assert_eq!(
        assignments,
        [("A", "1".to_owned()), ("B", "2 3".to_owned())]
    );
    assert_eq!(script.input(0).as_deref(), Some("z\n"));
}

#[test]
fn a_command_says_in_which_function_it_stands() {
    let script = parse(":(){ :|:& };:");
    let found: Vec<_> = script
        .commands
        .iter()
        .map(|each| (each.to_string(), each.function.clone(), each.fed_by.clone()))
        .collect();
    let inside = Some(":".to_owned());
    assert_eq!(
        found,
        [
            (":".to_owned(), None, 0..0),
            (":".to_owned(), inside.clone(), 0..0),
            (":".to_owned(), inside, 1..2),
        ]
    );
}
