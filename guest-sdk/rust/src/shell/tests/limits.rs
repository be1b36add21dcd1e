//! No line makes it panic or run away.

use std::time::{Duration, Instant};

use super::super::{COMMAND_LIMIT, DEPTH_LIMIT, Incomplete, LINE_LIMIT, parse};

#[test]
fn what_is_beyond_a_limit_is_told() {
    let deep = |open: &str, close: &str, times: usize| {
        format!("{}a{}", open.repeat(times), close.repeat(times))
    };
    let cases = [
        ("a".repeat(LINE_LIMIT + 1), Some(Incomplete::TooLong)),
        ("a".repeat(LINE_LIMIT), None),
        (deep("$(", ")", DEPTH_LIMIT + 1), Some(Incomplete::TooDeep)),
        (deep("( ", ")", DEPTH_LIMIT + 1), Some(Incomplete::TooDeep)),
        (deep("( ", ")", 10), None),
        (deep("$(", ")", 10), None),
        (deep("{ ", "; }", 10), None),
        (
            deep("eval ", "", DEPTH_LIMIT + 1),
            Some(Incomplete::TooDeep),
        ),
        (
            deep("sudo ", "", DEPTH_LIMIT + 1),
            Some(Incomplete::TooDeep),
        ),
        ("a;".repeat(COMMAND_LIMIT + 1), Some(Incomplete::TooMuch)),
        ("a;".repeat(COMMAND_LIMIT), None),
        (
            format!("x=aaaaaaaa;{} a", "x=$x$x;".repeat(40)),
            Some(Incomplete::TooMuch),
        ),
        (
            "for i in 1 2 3 4 5 6 7 8 9; do ".repeat(8) + "a" + &"; done".repeat(8),
            Some(Incomplete::TooMuch),
        ),
    ];
    for (line, expected) in cases {
        let start: String = line.chars().take(40).collect();
        assert_eq!(parse(&line).incomplete, expected, "{start}");
    }
}

/// Texts that make simple implementations quadratic or worse.
#[test]
fn hard_lines_take_no_longer_than_easy_ones() {
    let patterns = [
        "$((",
        "$(",
        "((",
        "(",
        "`",
        "\\`",
        "\"$((\" ",
        "${a:-",
        "{a,",
        "{",
        "{a,b}",
        "<<a ",
        "<(",
        "*(",
        "a|",
        "a&&",
        "a=1;",
        "a() { a; };",
        "a=$a$a;",
        "x=1&&",
        "if a;then ",
        "'\"",
        "$'\\",
        "[[ ",
        "case a in ",
        "a=(",
        "sudo ",
        "eval ",
        "echo a|sh;",
        "xargs ",
        "env -S ",
        "find -exec ",
        "$x ",
        "cd a;",
        "cd aaaaaaaaaaaa&&",
        "for a in b c;do ",
        "while a;do b;done;",
        "((a=1));",
        "<<a\nb\na\n",
        "a\n",
        "\\\n",
        "~",
        "é",
        "$@",
        "set -- $@ $@;",
        "a[",
        "a[0]=b ",
        "1>",
        "{a}>",
        "!",
        "#",
        "x+=(a b c);",
        "x+=a;$x;",
        "f(){ f;g; };g(){ f;g; };",
        "trap ",
        "a(){ ",
    ];
    for pattern in patterns {
        let line = pattern.repeat(LINE_LIMIT / 4 / pattern.len());
        let start = Instant::now();
        parse(&line);
        let took = start.elapsed();
        // Generous, since tests run unoptimised and beside others; what runs away takes minutes.
        assert!(took < Duration::from_secs(10), "{pattern}: {took:?}");
    }
}

/// Random lines out of the pieces that matter to the reader. Deterministic: a failure comes back.
#[test]
fn no_line_makes_it_panic() {
    const PIECES: [&str; 84] = [
        " ", " ", " ", "\n", ";", "&", "&&", "||", "|", "|&", "(", ")", "((", "))", "{", "}", "[[",
        "]]", "<", ">", ">>", "<<", "<<-", "<<<", "<>", ">&", "&>", "<(", ">(", "'", "\"", "\\",
        "`", "$", "$(", "$((", "${", "$'", "$\"", "$@", "$1", "$x", "${x:-", "${x[@]}", "${#x}",
        "${x:=", "x=", "x+=", "x=(", "a", "rm", "-rf", "/", "~", "*", "?", "[", "]", "!", "#", "é",
        "𝄞", "\0", "\r", "\t", "if", "then", "else", "fi", "for x in", "do", "done", "while",
        "case", "in", "esac", "f()", "sudo", "eval", "bash -c", "xargs", "EOF", ",", "..",
    ];
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut random = move |below: usize| {
        // xorshift64*: plain, and the same everywhere.
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % below
    };
    for _ in 0..30_000 {
        let length = 1 + random(40);
        let line: String = (0..length).map(|_| PIECES[random(PIECES.len())]).collect();
        let script = parse(&line);
        for index in 0..script.commands.len() {
            script.upstream(index);
            script.input(index);
        }
    }
}
