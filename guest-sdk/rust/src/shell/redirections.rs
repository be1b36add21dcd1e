//! Reads redirections and here-documents.

use std::cell::OnceCell;
use std::rc::Rc;

use super::RedirectionOperator as Operator;
use super::braces;
use super::reader::{PendingDocument, Reader};
use super::syntax::{Piece, RawRedirection, RawWord, Target};

impl Reader<'_> {
    /// A redirection, if that is what stands here.
    pub fn redirection(&mut self) -> Option<RawRedirection> {
        let start = self.at;
        let rest = self.rest();
        let mut descriptor = None;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            descriptor = Some(rest[..digits].to_owned());
            self.at += digits;
        } else if rest.starts_with('{') {
            self.at += 1;
            let name = self.name();
            if !name.is_empty() && self.accept("}") {
                descriptor = Some(name.to_owned());
            } else {
                self.at = start;
                return None;
            }
        }
        let operator = self.redirection_operator(descriptor.is_some());
        let Some((operator, strip_tabs)) = operator else {
            self.at = start;
            return None;
        };
        self.skip_blanks();
        if !self.at_word() {
            self.fail_syntax("a redirection has no target");
        }
        let word = braces::leave(self.word());
        let target = if operator == Operator::HereDocument {
            let body = Rc::new(OnceCell::new());
            self.documents.push(PendingDocument {
                delimiter: delimiter(&word),
                quoted: word.source.contains(['\'', '"', '\\']),
                strip_tabs,
                body: Rc::clone(&body),
            });
            Target::Document(body)
        } else {
            Target::Word(word)
        };
        Some(RawRedirection {
            descriptor,
            operator,
            target,
        })
    }

    /// The operator, and whether it is a here-document's that strips tabs.
    fn redirection_operator(&mut self, described: bool) -> Option<(Operator, bool)> {
        // Longer ones first.
        let operators = [
            ("&>>", Operator::Append),
            ("&>", Operator::Write),
            ("<<<", Operator::HereString),
            ("<<-", Operator::HereDocument),
            ("<<", Operator::HereDocument),
            ("<>", Operator::ReadWrite),
            ("<&", Operator::Duplicate),
            ("<", Operator::Read),
            (">>", Operator::Append),
            (">|", Operator::Write),
            (">&", Operator::Duplicate),
            (">", Operator::Write),
        ];
        if !described && (self.looking_at("<(") || self.looking_at(">(")) {
            return None;
        }
        let (text, operator) = operators
            .into_iter()
            .find(|(text, _)| self.looking_at(text))?;
        if described && text.starts_with('&') {
            return None;
        }
        self.at += text.len();
        Some((operator, text == "<<-"))
    }

    /// The bodies of the here-documents whose operators stood on the line that has just ended.
    pub fn read_documents(&mut self) {
        for document in std::mem::take(&mut self.documents) {
            let mut body = String::new();
            let mut closed = false;
            while !self.at_end() {
                let rest = self.rest();
                let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
                self.at = (self.at + line.len() + 1).min(self.text.len());
                let line = match document.strip_tabs {
                    true => line.trim_start_matches('\t'),
                    false => line,
                };
                if line.trim_end_matches('\r') == document.delimiter {
                    closed = true;
                    break;
                }
                body.push_str(line);
                body.push('\n');
            }
            let pieces = match document.quoted {
                true => vec![Piece::Quoted(body.clone())],
                false => self.expansions_in(&body),
            };
            let word = RawWord {
                source: body,
                pieces,
            };
            // A body is set once: each document is taken from the list above.
            document.body.get_or_init(|| word);
            if !closed {
                self.fail_syntax("unterminated here-document");
            }
        }
    }
}

/// A here-document's delimiter: the word without its quotes. Nothing in it is expanded.
fn delimiter(word: &RawWord) -> String {
    let quoted = word.pieces.iter().map(|piece| match piece {
        Piece::Plain(text) | Piece::Quoted(text) | Piece::Glob(text) | Piece::Tilde(text) => {
            text.as_str()
        }
        _ => "",
    });
    match word.source.contains(['\'', '"', '\\']) {
        true => quoted.collect(),
        false => word.source.clone(),
    }
}
