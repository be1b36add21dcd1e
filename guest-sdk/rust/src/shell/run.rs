//! What a listed command runs in its turn.

use super::environment::Value;
use super::expand::script_text;
use super::walk::{Context, Walker};
use super::wrappers::{self, Unwrapped, Wrapper, skip_options};
use super::{Assignment, Command, Origin, Part, Runs, Word, output};

impl Walker {
    /// Lists what the command runs, with these assignments in force for it alone.
    pub fn run_with(
        &mut self,
        index: usize,
        assigned: Vec<(Assignment, Value)>,
        context: &Context,
    ) {
        let name = self.commands[index].name().unwrap_or_default().to_owned();
        let declares = matches!(
            name.as_str(),
            "export" | "declare" | "typeset" | "local" | "readonly"
        );
        if assigned.is_empty() || declares {
            return self.run(index, &assigned, context);
        }
        let mut outside = Vec::new();
        for (assignment, value) in &assigned {
            outside.push((
                assignment.name.clone(),
                self.environment.get(&assignment.name),
            ));
            self.environment.set(&assignment.name, value.clone());
            self.environment.export(&assignment.name);
        }
        self.run(index, &[], context);
        for (name, value) in outside {
            let value = value.map_or(Value::Unknown, |value| (*value).clone());
            self.environment.set(&name, value);
        }
    }

    fn run(&mut self, index: usize, assigned: &[(Assignment, Value)], context: &Context) {
        let words = self.commands[index].words.clone();
        let Some(first) = words.first() else {
            return;
        };
        let inner = Context {
            origin: Origin::Wrapped { by: index },
            ..context.clone()
        };
        let Some(name) = self.commands[index].name().map(str::to_owned) else {
            // `$SUDO rm x`: the variable may hold a wrapper, or nothing.
            let rest = &words[1..];
            let names_a_command = rest
                .first()
                .is_some_and(|word| !word.prefix().starts_with('-') && !word.parts.is_empty());
            if first.is_opaque() && names_a_command {
                self.commands[index].runs = Runs::Unknown;
                self.words(Vec::new(), rest.to_vec(), &inner);
            }
            return;
        };
        if !self.charge(words.iter().map(|word| word.source.len()).sum()) {
            return;
        }
        // A path names a program, not a function or a builtin.
        let is_path = first.text().is_some_and(|text| text.contains('/'));
        if !is_path && self.call(&name, &words[1..], context) {
            return;
        }
        if let Some(wrapper) = wrappers::find(&name) {
            return self.wrapped(wrapper, index, &words, &inner);
        }
        if !is_path && self.is_in_shell(index) {
            self.builtin(&name, &words, assigned);
        }
        match name.as_str() {
            "xargs" => self.xargs(index, &words, &inner),
            "find" | "gfind" | "fd" | "fdfind" => self.find(index, &words, &inner),
            "parallel" => self.parallel(index, &words, context),
            _ => self.shell(&name, index, &words, context),
        }
    }

    /// Whether the command runs in the shell itself, so that it can change the shell's state.
    fn is_in_shell(&self, index: usize) -> bool {
        match self.commands[index].origin {
            Origin::Wrapped { by } => {
                matches!(
                    self.commands[by].name(),
                    Some("builtin" | "command" | "exec")
                )
            }
            _ => true,
        }
    }

    fn wrapped(&mut self, wrapper: &Wrapper, index: usize, words: &[Word], inner: &Context) {
        let name = self.commands[index].name().unwrap_or_default().to_owned();
        let Unwrapped {
            options,
            rest,
            assignments,
        } = wrapper.unwrap(words);
        let flag = |flag: char| {
            options.iter().any(|word| {
                let text = word.prefix();
                text.starts_with('-') && !text.starts_with("--") && text.contains(flag)
            })
        };
        if name == "command" && (flag('v') || flag('V')) {
            return;
        }
        let outside = self.environment.clone();
        let cleared = wrapper.clears || name == "env" && !options.is_empty();
        if cleared {
            self.environment = self.environment.without_variables();
        }
        if name == "sudo" && rest.is_empty() && (flag('s') || flag('i')) {
            let shell = Word::new("sh", vec![Part::Literal("sh".into())]);
            self.commands[index].runs = Runs::Listed;
            self.words(Vec::new(), vec![shell], inner);
        } else if let Some((split, after)) = split_string(&name, &words[1..]) {
            // The words of the string are `env`'s own arguments, and what follows goes on after them.
            let words = [&split].into_iter().chain(after).map(script_text);
            let text = words.fold("env".to_owned(), |text, word| text + " " + &word);
            self.script_of(index, &text, Origin::Script { by: index }, inner);
        } else if !rest.is_empty() {
            self.commands[index].runs = Runs::Listed;
            let assigned = assignments.iter().filter_map(assignment).collect();
            self.words(assigned, rest.to_vec(), inner);
        }
        let in_shell = matches!(name.as_str(), "command" | "builtin" | "exec" | "noglob");
        if cleared || !in_shell {
            self.environment = outside;
        }
    }

    fn xargs(&mut self, index: usize, words: &[Word], inner: &Context) {
        let arguments = &words[1..];
        let long = [
            "--arg-file",
            "--delimiter",
            "--max-args",
            "--max-procs",
            "--max-chars",
            "--max-lines",
            "--process-slot-var",
        ];
        let options = skip_options(arguments, "aEILnPsdRJS", &long);
        let (options, rest) = arguments.split_at(options);
        if rest.is_empty() {
            return;
        }
        let placeholder = options.iter().enumerate().find_map(|(at, word)| {
            let text = word.text()?;
            let attached = text
                .strip_prefix("-I")
                .or_else(|| text.strip_prefix("-J"))?;
            match attached {
                "" => options.get(at + 1)?.text().map(str::to_owned),
                _ => Some(attached.to_owned()),
            }
        });
        let replaces =
            |word: &Word| word.prefix().starts_with("--replace") || word.prefix() == "-i";
        let placeholder = match options.iter().any(replaces) {
            true => Some("{}".to_owned()),
            false => placeholder,
        };
        let mut run = match &placeholder {
            Some(placeholder) => fill(rest, placeholder),
            None => rest.to_vec(),
        };
        if placeholder.is_none() {
            let plain = options.is_empty();
            let known = output::input(&self.commands, index)
                .filter(|text| plain && !text.contains(['"', '\'', '\\']));
            match known {
                Some(text) => run.extend(
                    text.split_whitespace()
                        .map(|item| Word::new(item, vec![Part::Literal(item.into())])),
                ),
                None => run.push(Word::new("", vec![Part::Unknown])),
            }
        }
        self.commands[index].runs = Runs::Listed;
        self.words(Vec::new(), run, inner);
    }

    fn find(&mut self, index: usize, words: &[Word], inner: &Context) {
        let mut at = 1;
        while let Some(word) = words.get(at) {
            at += 1;
            let starts = matches!(
                word.text(),
                Some(
                    "-exec"
                        | "-execdir"
                        | "-ok"
                        | "-okdir"
                        | "-x"
                        | "-X"
                        | "--exec"
                        | "--exec-batch"
                )
            );
            if !starts {
                continue;
            }
            let rest = &words[at..];
            let length = rest
                .iter()
                .enumerate()
                .position(|(place, word)| match word.text() {
                    Some(";") => true,
                    Some("+") => place > 0 && rest[place - 1].text() == Some("{}"),
                    _ => false,
                })
                .unwrap_or(rest.len());
            if length > 0 {
                self.commands[index].runs = Runs::Listed;
                let run = fill(&rest[..length], "{}");
                self.maybe(|walker| walker.words(Vec::new(), run, inner));
            }
            at += length;
        }
    }

    fn parallel(&mut self, index: usize, words: &[Word], context: &Context) {
        let rest = &words[1 + skip_options(&words[1..], "jNnIasSLP", &["--jobs", "--delay"])..];
        let template = rest
            .iter()
            .take_while(|word| !matches!(word.text(), Some(":::" | "::::" | ":::+")));
        let filled = fill(&template.cloned().collect::<Vec<_>>(), "{}");
        if filled.is_empty() {
            self.commands[index].runs = Runs::Input;
            return;
        }
        let mut text = filled.iter().map(script_text).collect::<Vec<_>>().join(" ");
        text.push_str(" $((0))");
        self.script_of(index, &text, Origin::Script { by: index }, context);
    }
}

/// The value of `env -S`, and the words after it.
fn split_string<'words>(name: &str, arguments: &'words [Word]) -> Option<(Word, &'words [Word])> {
    if name != "env" {
        return None;
    }
    let mut at = 0;
    loop {
        let word = arguments.get(at)?;
        let prefix = word.prefix();
        let attached = match prefix.strip_prefix("--split-string") {
            Some(after) => Some(after.strip_prefix('=').unwrap_or(after)),
            None => prefix
                .strip_prefix('-')
                .filter(|flags| !flags.starts_with('-'))
                .and_then(|flags| flags.split_once('S'))
                .map(|(_, after)| after),
        };
        match attached {
            Some("") if word.text().is_some() => {
                let value = arguments.get(at + 1)?.clone();
                return Some((value, arguments.get(at + 2..).unwrap_or_default()));
            }
            Some(attached) => {
                let mut parts = vec![Part::Literal(attached.into())];
                parts.extend(
                    word.parts
                        .iter()
                        .filter(|part| part.text().is_none())
                        .cloned(),
                );
                return Some((Word::new(&word.source, parts), &arguments[at + 1..]));
            }
            None if prefix.starts_with('-') && prefix != "--" => {
                let takes_next = matches!(prefix.as_str(), "-u" | "-C" | "--unset" | "--chdir");
                at += if takes_next { 2 } else { 1 };
            }
            None => return None,
        }
    }
}

fn assignment(word: &Word) -> Option<(Assignment, Value)> {
    let prefix = word.prefix();
    let (name, start) = prefix.split_once('=')?;
    let value = match word.text() {
        Some(_) => vec![Part::Literal(start.into())],
        None => vec![Part::Unknown],
    };
    let shown = Assignment {
        name: name.into(),
        values: vec![Word::new(&word.source, value.clone())],
    };
    Some((shown, Value::Text(value)))
}

/// The words with the placeholder replaced by something unknown.
fn fill(words: &[Word], placeholder: &str) -> Vec<Word> {
    let replace = |word: &Word| {
        let mut parts = Vec::new();
        for part in &word.parts {
            match part {
                Part::Literal(text) if text.contains(placeholder) => {
                    for (index, piece) in text.split(placeholder).enumerate() {
                        if index > 0 {
                            parts.push(Part::Unknown);
                        }
                        if !piece.is_empty() {
                            parts.push(Part::Literal(piece.into()));
                        }
                    }
                }
                other => parts.push(other.clone()),
            }
        }
        Word::new(&word.source, parts)
    };
    match placeholder {
        "" => words.to_vec(),
        _ => words.iter().map(replace).collect(),
    }
}

/// Whether something gives the command its standard input: a pipe or a redirection, its own or its wrapper's.
pub(super) fn has_input(commands: &[Command], index: usize) -> bool {
    let mut at = Some(index);
    while let Some(command) = at.and_then(|at| commands.get(at)) {
        if !command.fed_by.is_empty() || output::document(command).is_some() {
            return true;
        }
        at = command.origin.by();
    }
    false
}
