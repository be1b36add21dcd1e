//! Expands words: variables, substitutions, and the splitting into several words.

use super::environment::Value;
use super::output;
use super::syntax::{Fallback, Parameter, Piece, RawWord};
use super::walk::Walker;
use super::{Part, Word};

/// The words that one word becomes.
struct Fields {
    done: Vec<Vec<Part>>,
    current: Vec<Part>,
    /// Whether the current word exists although it may be empty.
    started: bool,
}

impl Fields {
    fn push(&mut self, part: Part) {
        self.started = true;
        push(&mut self.current, part);
    }

    fn split(&mut self) {
        if std::mem::take(&mut self.started) {
            self.done.push(std::mem::take(&mut self.current));
        }
    }
}

/// Adds a part. Neighbouring literals become one.
pub(super) fn push(parts: &mut Vec<Part>, part: Part) {
    match (parts.last_mut(), part) {
        (_, Part::Literal(text)) if text.is_empty() => {}
        (Some(Part::Literal(before)), Part::Literal(text)) => before.push_str(&text),
        (_, part) => parts.push(part),
    }
}

impl Walker {
    /// The words that a command's word becomes.
    pub fn fields(&mut self, raw: &RawWord) -> Vec<Word> {
        let mut fields = Fields {
            done: Vec::new(),
            current: Vec::new(),
            started: false,
        };
        for piece in &raw.pieces {
            self.piece(piece, &mut fields, true);
        }
        fields.split();
        let mut words = Vec::new();
        for parts in fields.done {
            if !words.is_empty() && !self.charge(raw.source.len() + 1) {
                break;
            }
            words.push(Word::new(&raw.source, parts));
        }
        words
    }

    /// The one word that an assignment's value or a redirection's target becomes.
    pub fn single(&mut self, raw: &RawWord) -> Word {
        let parts = self.single_parts(&raw.pieces);
        Word::new(&raw.source, parts)
    }

    fn single_parts(&mut self, pieces: &[Piece]) -> Vec<Part> {
        let mut fields = Fields {
            done: Vec::new(),
            current: Vec::new(),
            started: false,
        };
        for piece in pieces {
            self.piece(piece, &mut fields, false);
        }
        fields.split();
        let mut parts = Vec::new();
        for (index, field) in fields.done.into_iter().enumerate() {
            if index > 0 {
                push(&mut parts, Part::Literal(" ".into()));
            }
            field.into_iter().for_each(|part| push(&mut parts, part));
        }
        parts
    }

    fn piece(&mut self, piece: &Piece, fields: &mut Fields, splitting: bool) {
        match piece {
            Piece::Plain(text) | Piece::Quoted(text) => fields.push(Part::Literal(text.clone())),
            Piece::Brace(brace) => fields.push(Part::Literal((*brace).into())),
            Piece::Glob(text) => fields.push(Part::Glob(text.clone())),
            Piece::Tilde(text) => fields.push(Part::Tilde(text.clone())),
            Piece::Variable(parameter) => self.variable(parameter, fields, splitting),
            Piece::Substitution { list, quoted } => {
                let (range, plain) = self.substitution(list);
                match output::of(&self.commands, &range).filter(|_| plain) {
                    Some(text) if self.charge(text.len()) => {
                        let text = text.trim_end_matches('\n').to_owned();
                        self.value(&[Part::Literal(text)], *quoted || !splitting, fields);
                    }
                    _ => fields.push(Part::Substitution(range)),
                }
            }
            Piece::Process(list) => {
                let (range, _) = self.substitution(list);
                fields.push(Part::Process(range));
            }
            Piece::Unknown(inner) => {
                self.single_parts(inner);
                fields.push(Part::Unknown);
            }
        }
    }

    fn variable(&mut self, parameter: &Parameter, fields: &mut Fields, splitting: bool) {
        let whole = parameter.quoted || !splitting;
        let value = self.environment.get(&parameter.name);
        // The commands in the word count whether it is used or not.
        let fallback = parameter
            .fallback
            .as_ref()
            .map(|(kind, pieces)| (*kind, self.single_parts(pieces)));
        let Some(value) = value else {
            return fields.push(Part::Variable(parameter.name.clone()));
        };
        match &*value {
            Value::List(items) if parameter.all && fallback.is_none() => {
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        fields.split();
                    }
                    self.value(item, whole, fields);
                }
                return;
            }
            _ => {}
        }
        let first = match &*value {
            Value::Text(parts) => parts.as_slice(),
            Value::List(items) => items.first().map_or(&[][..], Vec::as_slice),
            Value::Unknown => return fields.push(Part::Variable(parameter.name.clone())),
        };
        match (fallback, first.is_empty()) {
            (Some((Fallback::WhenUnset, parts)), true)
            | (Some((Fallback::WhenSet, parts)), false) => self.value(&parts, whole, fields),
            (Some((Fallback::Assign, parts)), true) => {
                self.value(&parts, whole, fields);
                self.environment.set(&parameter.name, Value::Text(parts));
            }
            (Some((Fallback::WhenSet, _)), true) => fields.started |= parameter.quoted,
            _ => self.value(first, whole, fields),
        }
    }

    /// A known value: as it is within quotes, and otherwise split and open to globs.
    fn value(&mut self, parts: &[Part], whole: bool, fields: &mut Fields) {
        fields.started |= whole;
        let separators = match self.environment.get("IFS") {
            Some(value) => match &*value {
                Value::Text(parts) => parts.iter().map(Part::text).collect::<Option<String>>(),
                _ => None,
            },
            None => None,
        };
        for part in parts {
            if !self.charge(part.text().map_or(8, str::len)) {
                return fields.push(Part::Unknown);
            }
            match (part, &separators) {
                (Part::Literal(text), _) if whole => fields.push(Part::Literal(text.clone())),
                (Part::Literal(text), Some(separators)) => split(text, separators, fields),
                (Part::Literal(_), None) => fields.push(Part::Unknown),
                _ => fields.push(part.clone()),
            }
        }
    }
}

/// Splits a text that came out of a variable unquoted.
fn split(text: &str, separators: &str, fields: &mut Fields) {
    for character in text.chars() {
        if separators.contains(character) {
            fields.split();
        } else if matches!(character, '*' | '?' | '[' | ']') {
            fields.push(Part::Glob(character.into()));
        } else {
            fields.push(Part::Literal(character.into()));
        }
    }
}

/// A text that, read as a script, is this word again: what is not known stays so.
pub(super) fn script_text(word: &Word) -> String {
    let mut text = String::new();
    for part in &word.parts {
        if let Some(known) = part.text() {
            text.push_str(known);
            continue;
        }
        // `eval "\$$x"` uses the variable that `x` names. What the known text would make of the next characters must
        // not happen to our own.
        let joins = text.ends_with(['$', '\\']);
        if joins {
            text.pop();
        }
        match part {
            Part::Variable(name) if !joins => {
                text.extend(["${", name, "}"]);
            }
            _ => text.push_str("$((0))"),
        }
    }
    text
}
