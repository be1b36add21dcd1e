//! What the shell's own commands do to its state.

use super::environment::Value;
use super::syntax::{List, Node, Piece, RawValue, RawWord};
use super::walk::Walker;
use super::{Assignment, Part, Word};

impl Walker {
    /// Does what the builtin does to variables, arguments and the folder.
    pub fn builtin(&mut self, name: &str, words: &[Word], assigned: &[(Assignment, Value)]) {
        let arguments = words.get(1..).unwrap_or_default();
        match name {
            "cd" | "pushd" | "chdir" => self.change_folder(arguments),
            "popd" => self.environment.change_folder(None),
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                self.declare(name, arguments, assigned)
            }
            "read" | "mapfile" | "readarray" | "getopts" | "let" => {
                self.environment.forget("REPLY");
                for word in arguments {
                    self.forget_mentioned(&word.literals());
                }
            }
            "printf"
                if arguments
                    .first()
                    .is_some_and(|word| word.text() == Some("-v")) =>
            {
                for word in arguments.iter().skip(1).take(1) {
                    self.forget_mentioned(&word.literals());
                }
            }
            "unset" => {
                for name in arguments.iter().filter_map(Word::text) {
                    self.environment.set(name, Value::Text(Vec::new()));
                }
            }
            "set" => self.set_arguments(arguments),
            "shift" => self.environment.forget("@"),
            "source" | "." => self.environment.forget_all(),
            _ => {}
        }
    }

    fn change_folder(&mut self, arguments: &[Word]) {
        let options = arguments
            .iter()
            .take_while(|word| matches!(word.text(), Some("-L" | "-P" | "-e" | "-@" | "--" | "-n")))
            .count();
        let to = match arguments.get(options..) {
            Some([]) => Some(vec![Part::Tilde("~".into())]),
            Some([to]) if to.text() != Some("-") => Some(to.parts.clone()),
            _ => None,
        };
        // `cd ''` stays where it is.
        if to.as_ref().is_none_or(|parts| !parts.is_empty()) {
            self.environment.change_folder(to);
        }
    }

    fn declare(&mut self, name: &str, arguments: &[Word], assigned: &[(Assignment, Value)]) {
        let flags: String = arguments
            .iter()
            .filter_map(Word::text)
            .filter(|text| text.starts_with('-'))
            .collect();
        let exports = name == "export" && !flags.contains('n') || flags.contains('x');
        // Integers, references and changes of case make another value of it.
        let plain = name == "export" || !flags.contains(['i', 'n', 'u', 'l', 'c']);
        for (assignment, value) in assigned {
            let value = match plain {
                true => value.clone(),
                false => Value::Unknown,
            };
            self.environment.set(&assignment.name, value);
        }
        for name in arguments.iter().filter_map(Word::text) {
            if exports {
                self.environment.export(name);
            }
        }
        // `export $x` may assign anything, and a name that is computed is not followed.
        if arguments.iter().any(|word| word.text().is_none()) {
            self.environment.forget_all();
        }
        for word in arguments.iter().filter_map(Word::text) {
            if let Some((name, _)) = word.split_once('=') {
                self.environment.forget(name);
            }
        }
    }

    /// `set -- a b` makes these the arguments.
    fn set_arguments(&mut self, arguments: &[Word]) {
        let start = match arguments.iter().position(|word| word.text() == Some("--")) {
            Some(dashes) => dashes + 1,
            None => match arguments.first().map(Word::prefix) {
                Some(first) if !first.starts_with(['-', '+']) => 0,
                _ => return,
            },
        };
        let items = arguments[start..].iter().map(|word| word.parts.clone());
        self.environment.set("@", Value::List(items.collect()));
    }

    /// Every name in the text may have been assigned.
    pub fn forget_mentioned(&mut self, text: &str) {
        let names = text.split(|each: char| each != '_' && !each.is_ascii_alphanumeric());
        for name in names.filter(|name| !name.is_empty()) {
            self.environment.forget(name);
        }
    }

    /// Before and after a loop, a variable that its body assigns is not certain.
    pub fn forget_assigned(&mut self, list: &List) {
        let mut names = Vec::new();
        collect(list, &mut names);
        for body in self.function_bodies() {
            collect_node(&body.node, &mut names);
        }
        let changes_folder = names.iter().any(|name| name.is_empty());
        for name in names.iter().filter(|name| !name.is_empty()) {
            self.environment.forget(name);
        }
        if changes_folder {
            self.environment.change_folder(None);
        }
    }
}

/// The names that a list may assign. An empty one stands for the folder.
fn collect(list: &List, names: &mut Vec<String>) {
    for stage in list.iter().flat_map(|step| &step.stages) {
        collect_node(&stage.node, names);
    }
}

fn collect_node(node: &Node, names: &mut Vec<String>) {
    match node {
        Node::Simple { assignments, words } => {
            for assignment in assignments {
                names.push(assignment.name.clone());
                match &assignment.value {
                    RawValue::Word(word) => collect_word(word, names),
                    RawValue::List(words) => {
                        words.iter().for_each(|word| collect_word(word, names))
                    }
                }
            }
            let first = words.first().map_or("", |word| word.source.as_str());
            match first {
                "cd" | "pushd" | "popd" => names.push(String::new()),
                "read" | "mapfile" | "readarray" | "getopts" | "let" | "unset" | "printf"
                | "declare" | "local" | "typeset" | "export" => {
                    let mentioned = words.iter().flat_map(|word| {
                        let other = |each: char| each != '_' && !each.is_ascii_alphanumeric();
                        word.source.split(other).filter(|name| !name.is_empty())
                    });
                    names.extend(mentioned.map(str::to_owned));
                }
                "set" | "shift" => names.push("@".into()),
                _ => {}
            }
            words.iter().for_each(|word| collect_word(word, names));
        }
        Node::Group(list) | Node::Subshell(list) | Node::Loop(list) => collect(list, names),
        Node::If(lists) | Node::Case { arms: lists, .. } => {
            lists.iter().for_each(|list| collect(list, names))
        }
        Node::For { name, body, .. } => {
            names.push(name.clone());
            collect(body, names);
        }
        Node::Function { body, .. } => collect_node(&body.node, names),
        Node::Arithmetic(pieces) => {
            for piece in pieces {
                if let Piece::Quoted(text) = piece {
                    let other = |each: char| each != '_' && !each.is_ascii_alphanumeric();
                    names.extend(
                        text.split(other)
                            .map(str::to_owned)
                            .filter(|n| !n.is_empty()),
                    );
                }
            }
        }
    }
}

/// `${x:=…}` assigns too.
fn collect_word(word: &RawWord, names: &mut Vec<String>) {
    for piece in &word.pieces {
        if let Piece::Variable(parameter) = piece
            && parameter.fallback.is_some()
        {
            names.push(parameter.name.clone());
        }
    }
}
