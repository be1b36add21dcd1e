//! Commands whose arguments are a command: `sudo`, `env`, `nice`, `timeout` …

use super::Word;

/// How such a command's own options and operands are told from the command it runs.
pub(super) struct Wrapper {
    name: &'static str,
    /// Single-letter options that take a value.
    valued: &'static str,
    /// Long options whose value is the next word where it is not joined with `=`.
    long_valued: &'static [&'static str],
    /// Operands that come before the command.
    operands: usize,
    /// Whether `name=value` may come before the command.
    pub assigns: bool,
    /// Whether the variables of the line do not reach the command.
    pub clears: bool,
}

const fn plain(name: &'static str, valued: &'static str, operands: usize) -> Wrapper {
    Wrapper {
        name,
        valued,
        long_valued: &[],
        operands,
        assigns: false,
        clears: false,
    }
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        name: "sudo",
        valued: "ugpCDhRrtTU",
        long_valued: &[
            "--user",
            "--group",
            "--prompt",
            "--close-from",
            "--chdir",
            "--host",
            "--chroot",
            "--role",
            "--type",
            "--command-timeout",
            "--other-user",
        ],
        operands: 0,
        assigns: true,
        clears: true,
    },
    Wrapper {
        clears: true,
        ..plain("doas", "uC", 0)
    },
    Wrapper {
        name: "env",
        valued: "uCS",
        long_valued: &["--unset", "--chdir", "--split-string"],
        operands: 0,
        assigns: true,
        clears: false,
    },
    Wrapper {
        long_valued: &["--adjustment"],
        ..plain("nice", "n", 0)
    },
    Wrapper {
        long_valued: &["--class", "--classdata"],
        ..plain("ionice", "cnpPu", 0)
    },
    Wrapper {
        long_valued: &["--format", "--output"],
        ..plain("time", "fo", 0)
    },
    Wrapper {
        long_valued: &["--kill-after", "--signal"],
        ..plain("timeout", "ks", 1)
    },
    Wrapper {
        long_valued: &["--input", "--output", "--error"],
        ..plain("stdbuf", "ioe", 0)
    },
    Wrapper {
        long_valued: &["--user"],
        ..plain("pkexec", "", 0)
    },
    Wrapper {
        long_valued: &["--wait", "--timeout", "--conflict-exit-code"],
        ..plain("flock", "wE", 1)
    },
    Wrapper {
        long_valued: &["--userspec", "--groups"],
        ..plain("chroot", "", 1)
    },
    Wrapper {
        long_valued: &[
            "--user",
            "--slice",
            "--unit",
            "--property",
            "--uid",
            "--gid",
            "--setenv",
        ],
        ..plain("systemd-run", "pEu", 0)
    },
    plain("gtimeout", "ks", 1),
    plain("command", "", 0),
    plain("builtin", "", 0),
    plain("exec", "a", 0),
    plain("nohup", "", 0),
    plain("setsid", "", 0),
    plain("chronic", "", 0),
    plain("caffeinate", "tw", 0),
    plain("chrt", "TPD", 1),
    plain("taskset", "", 1),
    plain("strace", "abeEIoOpPsSuUX", 0),
    plain("ltrace", "abDeFlnopsuxX", 0),
    plain("unshare", "SGRw", 0),
    plain("busybox", "", 0),
    plain("toybox", "", 0),
    plain("noglob", "", 0),
    plain("nocorrect", "", 0),
];

/// The wrapper of this name.
pub(super) fn find(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|each| each.name == name)
}

/// A wrapper's words taken apart.
pub(super) struct Unwrapped<'words> {
    /// Its options, values included.
    pub options: &'words [Word],
    /// What comes after options, assignments and operands: the command.
    pub rest: &'words [Word],
    /// `name=value` words before the command.
    pub assignments: &'words [Word],
}

impl Wrapper {
    /// Takes the words apart, of which the first is the wrapper's name.
    pub fn unwrap<'words>(&self, words: &'words [Word]) -> Unwrapped<'words> {
        let arguments = words.get(1..).unwrap_or_default();
        let options = skip_options(arguments, self.valued, self.long_valued);
        let (options, rest) = arguments.split_at(options);
        let assigned = match self.assigns {
            true => rest.iter().take_while(|word| is_assignment(word)).count(),
            false => 0,
        };
        let (assignments, rest) = rest.split_at(assigned);
        Unwrapped {
            options,
            rest: rest.get(self.operands..).unwrap_or_default(),
            assignments,
        }
    }
}

/// How many words the options at the start take, with their values: `valued` has the letters of the short options that
/// take one, `long_valued` the long options (`--name`) whose value may be the next word. The first operand ends them, and
/// so does `--`, which is skipped too, and a word whose start is not known.
pub fn skip_options(words: &[Word], valued: &str, long_valued: &[&str]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let prefix = word.prefix();
        if prefix == "--" && word.text().is_some() {
            return at + 1;
        }
        if prefix.starts_with("--") {
            at += if long_valued.contains(&prefix.as_str()) {
                2
            } else {
                1
            };
        } else if prefix.len() > 1 && prefix.starts_with('-') {
            let takes_next = word.text().is_some()
                && prefix
                    .find(|each| valued.contains(each))
                    .is_some_and(|place| place + 1 == prefix.len());
            at += if takes_next { 2 } else { 1 };
        } else if prefix == "-" && word.text().is_some() {
            at += 1;
        } else {
            break;
        }
    }
    at.min(words.len())
}

fn is_assignment(word: &Word) -> bool {
    let prefix = word.prefix();
    let Some((name, _)) = prefix.split_once('=') else {
        return false;
    };
    !name.is_empty()
        && name
            .chars()
            .all(|each| each == '_' || each.is_ascii_alphanumeric())
}
