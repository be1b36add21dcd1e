//! Reads what starts with `$`, and backquotes.

use std::rc::Rc;

use super::reader::Reader;
use super::syntax::{Fallback, List, Parameter, Piece};

impl Reader<'_> {
    /// An expansion, or a `$` that stands for itself.
    pub fn dollar(&mut self, pieces: &mut Vec<Piece>, quoted: bool) {
        self.at += 1;
        match self.peek() {
            Some('(') => {
                if let Some(found) = self.arithmetic() {
                    pieces.push(Piece::Unknown(Rc::new(found)));
                    return;
                }
                self.at += 1;
                let list = Rc::new(self.enclosed_list("unterminated command substitution"));
                pieces.push(Piece::Substitution { list, quoted });
            }
            Some('{') => {
                self.at += 1;
                let piece = self.deeper(|reader| Some(reader.braced(quoted)));
                pieces.extend(piece);
            }
            Some('\'') if !quoted => {
                self.at += 1;
                self.escaped_quote(pieces);
            }
            Some('"') if !quoted => {
                self.at += 1;
                self.double_quoted(pieces);
            }
            Some(next @ ('@' | '*')) => {
                self.at += 1;
                pieces.push(variable(&next.to_string(), quoted, true));
            }
            Some(next @ ('#' | '?' | '$' | '!' | '-' | '0'..='9')) => {
                self.at += 1;
                pieces.push(variable(&next.to_string(), quoted, false));
            }
            _ => {
                let name = self.name();
                pieces.push(match (name, quoted) {
                    ("", true) => Piece::Quoted("$".into()),
                    ("", false) => Piece::Plain("$".into()),
                    _ => variable(name, quoted, false),
                });
            }
        }
    }

    /// A list up to the closing parenthesis, of which the opening one was read.
    pub fn enclosed_list(&mut self, unterminated: &'static str) -> List {
        let list = self.list();
        if !self.accept(")") {
            self.fail_syntax(unterminated);
        }
        list
    }

    /// `((…))`, if that is what stands here, and else nothing: then it is a group within a group.
    pub fn arithmetic(&mut self) -> Option<Vec<Piece>> {
        if !self.looking_at("((") {
            return None;
        }
        let rest = self.rest();
        let mut open = 0usize;
        for (index, byte) in rest.bytes().enumerate() {
            match byte {
                b'(' => open += 1,
                b')' => open = open.checked_sub(1)?,
                _ => {}
            }
            if byte == b')' && open == 1 {
                if !rest[index + 1..].starts_with(')') {
                    return None;
                }
                self.at += index + 2;
                return Some(self.expansions_in(&rest[2..index]));
            }
        }
        None
    }

    /// The expansions in a text that is otherwise of no interest: arithmetic.
    pub fn expansions_in(&mut self, text: &str) -> Vec<Piece> {
        let mut inner = Reader::new(text, self.depth + 1);
        let mut pieces = Vec::new();
        while let Some(next) = inner.peek() {
            inner.quoted_character(next, &mut pieces, "$`\"\\");
        }
        if let Some(why) = inner.trouble {
            self.fail(why);
        }
        pieces
    }

    /// `` `…` ``: the opening stands here. Backslashes within count before a backquote, a backslash and a dollar.
    pub fn backquoted(&mut self, pieces: &mut Vec<Piece>, quoted: bool) {
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.next() {
                None => return self.fail_syntax("unterminated backquote"),
                Some('`') => break,
                Some('\\') => match self.next() {
                    Some(escaped @ ('`' | '\\' | '$')) => text.push(escaped),
                    Some('"') if quoted => text.push('"'),
                    Some(other) => text.extend(['\\', other]),
                    None => {}
                },
                Some(other) => text.push(other),
            }
        }
        let mut inner = Reader::new(&text, self.depth + 1);
        let list = Rc::new(inner.whole());
        pieces.push(Piece::Substitution { list, quoted });
        if let Some(why) = inner.trouble {
            self.fail(why);
        }
    }

    /// `${…}`, of which the opening was read.
    fn braced(&mut self, quoted: bool) -> Piece {
        let name = match self.peek() {
            Some(next @ ('@' | '*' | '?' | '$' | '-')) => {
                self.at += 1;
                next.to_string()
            }
            Some('0'..='9') => {
                let rest = self.rest();
                let length = rest.bytes().take_while(u8::is_ascii_digit).count();
                self.at += length;
                rest[..length].to_owned()
            }
            // `#`, `!` and anything else is a form whose value is not worked out.
            _ => self.name().to_owned(),
        };
        let mut all = name == "@" || name == "*";
        if !name.is_empty() && (self.accept("[@]") || self.accept("[*]")) {
            all = true;
        }
        let start = self.at;
        self.accept(":");
        let kind = match self.peek() {
            Some('-' | '?') => Some(Fallback::WhenUnset),
            Some('=') => Some(Fallback::Assign),
            Some('+') => Some(Fallback::WhenSet),
            _ => None,
        };
        match kind {
            Some(_) => self.at += 1,
            None => self.at = start,
        }
        let plain = self.looking_at("}");
        let body = self.until_brace(quoted);
        if name.is_empty() || !plain && kind.is_none() {
            return Piece::Unknown(Rc::new(body));
        }
        let fallback = kind.map(|kind| (kind, body));
        Piece::Variable(Rc::new(Parameter {
            name,
            quoted,
            all,
            fallback,
        }))
    }

    /// What stands before the closing brace, which is skipped.
    fn until_brace(&mut self, quoted: bool) -> Vec<Piece> {
        let mut pieces = Vec::new();
        loop {
            match self.peek() {
                None => {
                    self.fail_syntax("unterminated parameter expansion");
                    return pieces;
                }
                Some('}') => {
                    self.at += 1;
                    return pieces;
                }
                Some('"') => {
                    self.at += 1;
                    self.double_quoted(&mut pieces);
                }
                Some('\'') if !quoted => {
                    self.at += 1;
                    let rest = self.rest();
                    match rest.find('\'') {
                        Some(length) => {
                            pieces.push(Piece::Quoted(rest[..length].into()));
                            self.at += length + 1;
                        }
                        None => self.fail_syntax("unterminated single quote"),
                    }
                }
                Some(next) => self.quoted_character(next, &mut pieces, "$`\"\\}"),
            }
        }
    }
}

fn variable(name: &str, quoted: bool, all: bool) -> Piece {
    Piece::Variable(Rc::new(Parameter {
        name: name.into(),
        quoted,
        all,
        fallback: None,
    }))
}
