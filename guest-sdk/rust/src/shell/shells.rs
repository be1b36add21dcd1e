//! Commands that take a text and run it as a script: shells, `eval`, `ssh`, `trap`.

use super::environment::Environment;
use super::expand::script_text;
use super::run::has_input;
use super::walk::{Context, Walker};
use super::wrappers::skip_options;
use super::{Origin, Part, Runs, Word, output};

impl Walker {
    /// Lists the commands of a script that the command runs.
    pub fn shell(&mut self, name: &str, index: usize, words: &[Word], context: &Context) {
        let by_script = Origin::Script { by: index };
        let arguments = &words[1..];
        match name {
            "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "rbash" | "mksh" | "fish" => {
                self.start_shell(index, arguments, context)
            }
            "eval" => {
                let start = usize::from(arguments.first().is_some_and(|w| w.text() == Some("--")));
                self.script_words(index, &arguments[start..], by_script, context);
                if self.commands[index].runs == Runs::Unknown {
                    self.environment.forget_all();
                }
            }
            "trap" => {
                let start = usize::from(arguments.first().is_some_and(|w| w.text() == Some("--")));
                let script = arguments.get(start..start + 1).unwrap_or_default();
                let names_signal = arguments.len() > start + 1;
                if names_signal && !matches!(script, [word] if word.text() == Some("-")) {
                    self.maybe(|walker| walker.script_words(index, script, by_script, context));
                }
            }
            "source" | "." => self.commands[index].runs = Runs::File,
            "su" | "runuser" | "script" => {
                let place = arguments.iter().position(|word| {
                    let text = word.prefix();
                    matches!(text.as_str(), "-c" | "--command" | "-qc" | "-lc" | "-qec")
                });
                let outside = self.environment.clone();
                self.environment = self.environment.without_variables();
                if let Some(script) = place.and_then(|place| arguments.get(place + 1)) {
                    self.script_words(index, std::slice::from_ref(script), by_script, context);
                } else if name != "script" {
                    self.read_script(index, by_script, context);
                }
                self.environment = outside;
            }
            "watch" => {
                let rest = &arguments[skip_options(arguments, "nqd", &["--interval"])..];
                self.script_words(index, rest, by_script, context);
            }
            "ssh" => {
                let host = skip_options(arguments, "bBcDEeFIiJLlmOopQRSWw", &[]);
                let after = arguments.get(host + 1..).unwrap_or_default();
                let rest = &after[skip_options(after, "bBcDEeFIiJLlmOopQRSWw", &[])..];
                let outside = self.environment.clone();
                self.environment = Environment::with_arguments(Vec::new());
                let remote = Origin::Remote { by: index };
                if rest.is_empty() {
                    self.read_script(index, remote, context);
                } else {
                    self.script_words(index, rest, remote, context);
                }
                self.environment = outside;
            }
            _ => {}
        }
    }

    fn start_shell(&mut self, index: usize, arguments: &[Word], context: &Context) {
        let origin = Origin::Script { by: index };
        let mut at = 0;
        let (mut takes_text, mut reads_input) = (false, false);
        while let Some(word) = arguments.get(at) {
            let text = word.prefix();
            at += 1;
            match text.as_str() {
                "--" | "-" => break,
                "--rcfile" | "--init-file" => at += 1,
                _ if text.starts_with("--") => {}
                _ if text.len() > 1 && text.starts_with(['-', '+']) => {
                    takes_text |= text.starts_with('-') && text.contains('c');
                    reads_input |= text.starts_with('-') && text.contains('s');
                    if text.ends_with(['o', 'O']) {
                        at += 1;
                    }
                }
                // `bash $flags -c …`: what is not known may be an option.
                _ if word.is_opaque()
                    && arguments[at..]
                        .iter()
                        .any(|w| w.text().is_some_and(is_text_option)) => {}
                _ => {
                    at -= 1;
                    break;
                }
            }
        }
        let rest = arguments.get(at..).unwrap_or_default();
        let outside = self.environment.clone();
        let after = usize::from(takes_text) + usize::from(takes_text && rest.len() > 1);
        let positional = match reads_input {
            true => rest,
            false => rest.get(after..).unwrap_or_default(),
        };
        let positional = positional.iter().map(|word| word.parts.clone()).collect();
        self.environment = self.environment.of_child(positional);
        match rest.first() {
            Some(script) if takes_text => {
                self.script_words(index, std::slice::from_ref(script), origin, context)
            }
            Some(_) if !reads_input => self.commands[index].runs = Runs::File,
            _ => self.read_script(index, origin, context),
        }
        self.environment = outside;
    }

    /// A shell that reads its commands from its standard input.
    fn read_script(&mut self, index: usize, origin: Origin, context: &Context) {
        match output::input(&self.commands, index) {
            Some(text) => {
                let context = Context {
                    fed_by: 0..0,
                    ..context.clone()
                };
                self.script_of(index, &text, origin, &context);
            }
            None if has_input(&self.commands, index) => self.commands[index].runs = Runs::Input,
            None => {}
        }
    }

    /// A script that is these words joined by spaces. Where they are not known it is listed as far as they are.
    fn script_words(&mut self, index: usize, words: &[Word], origin: Origin, context: &Context) {
        if words.is_empty() {
            return;
        }
        let known = words.iter().all(|word| word.text().is_some());
        // In another shell a variable of the same name may have another value.
        for part in words.iter().flat_map(|word| &word.parts) {
            if let Part::Variable(name) = part {
                self.environment.forget(name);
            }
        }
        if words.iter().all(Word::is_opaque) {
            self.commands[index].runs = Runs::Unknown;
            return;
        }
        let texts: Vec<String> = words.iter().map(script_text).collect();
        self.script_of(index, &texts.join(" "), origin, context);
        if !known {
            self.commands[index].runs = Runs::Unknown;
        }
    }

    /// A script whose text is known.
    pub fn script_of(&mut self, index: usize, text: &str, origin: Origin, context: &Context) {
        self.commands[index].runs = Runs::Listed;
        let redirected = output::document(&self.commands[index]).is_some();
        let inner = Context {
            origin,
            fed_by: match redirected && !context.fed_by.is_empty() {
                true => index..index + 1,
                false => context.fed_by.clone(),
            },
            ..context.clone()
        };
        self.deeper(|walker| walker.text(text, &inner));
    }
}

fn is_text_option(text: &str) -> bool {
    text.starts_with('-') && !text.starts_with("--") && text.contains('c')
}
