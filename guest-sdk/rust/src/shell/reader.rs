//! Reads words: quoting, globs, and what makes a word end.

use std::cell::OnceCell;
use std::rc::Rc;

use super::syntax::{Piece, RawWord};
use super::{COMMAND_LIMIT, DEPTH_LIMIT, Incomplete};

/// How many words are read. A line of more is no ordinary one, and each costs several allocations.
const WORD_LIMIT: usize = 16 * 1024;

/// A place in the text. On the first trouble it goes to the text's end, so that every loop ends by itself and what was
/// read so far is kept.
pub(super) struct Reader<'text> {
    pub text: &'text str,
    pub at: usize,
    pub depth: usize,
    pub trouble: Option<Incomplete>,
    /// How many words and commands were read.
    words: usize,
    commands: usize,
    /// Here-documents whose operator was read and whose body comes after the next end of line.
    pub documents: Vec<PendingDocument>,
}

/// A here-document whose body is still to come.
pub(super) struct PendingDocument {
    pub delimiter: String,
    pub quoted: bool,
    pub strip_tabs: bool,
    pub body: Rc<OnceCell<RawWord>>,
}

impl<'text> Reader<'text> {
    pub fn new(text: &'text str, depth: usize) -> Self {
        let mut reader = Self {
            text,
            at: 0,
            depth,
            trouble: None,
            words: 0,
            commands: 0,
            documents: Vec::new(),
        };
        if depth > DEPTH_LIMIT {
            reader.fail(Incomplete::TooDeep);
        }
        reader
    }

    /// The first trouble counts; what follows from it does not.
    pub fn fail(&mut self, why: Incomplete) {
        self.trouble.get_or_insert(why);
        self.at = self.text.len();
    }

    pub fn fail_syntax(&mut self, what: &'static str) {
        self.fail(Incomplete::Syntax(what));
    }

    /// Counts a command. More than are listed need not be read.
    pub fn count_command(&mut self) {
        self.commands += 1;
        if self.commands > COMMAND_LIMIT {
            self.fail(Incomplete::TooMuch);
        }
    }

    /// Goes one level deeper for as long as `read` takes, unless that is too deep.
    pub fn deeper<T: Default>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= DEPTH_LIMIT {
            self.fail(Incomplete::TooDeep);
            return T::default();
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    pub fn rest(&self) -> &'text str {
        &self.text[self.at..]
    }

    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    pub fn at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    pub fn looking_at(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    pub fn accept(&mut self, text: &str) -> bool {
        let found = self.looking_at(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Skips blanks, line continuations and a comment, but no end of line.
    pub fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t' | '\r') => self.at += 1,
                Some('\\') if self.looking_at("\\\n") => self.at += 2,
                Some('\\') if self.looking_at("\\\r\n") => self.at += 3,
                Some('#') => {
                    let rest = self.rest();
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    /// A name of letters, digits and underscores, which may be empty.
    pub fn name(&mut self) -> &'text str {
        let rest = self.rest();
        let mut length = 0;
        for (index, byte) in rest.bytes().enumerate() {
            let letter = byte == b'_' || byte.is_ascii_alphabetic();
            if !(letter || index > 0 && byte.is_ascii_digit()) {
                break;
            }
            length = index + 1;
        }
        self.at += length;
        &rest[..length]
    }

    /// Whether a word starts here.
    pub fn at_word(&self) -> bool {
        match self.peek() {
            None => false,
            Some('<') => self.looking_at("<("),
            Some('>') => self.looking_at(">("),
            Some(other) => !is_meta(other),
        }
    }

    /// Reads a word. Where none starts here, it is empty and nothing was read.
    pub fn word(&mut self) -> RawWord {
        self.words += 1;
        if self.words > WORD_LIMIT {
            self.fail(Incomplete::TooMuch);
        }
        let start = self.at;
        let mut pieces = Vec::new();
        self.tilde(&mut pieces);
        while let Some(next) = self.peek() {
            match next {
                '<' | '>' if self.rest()[1..].starts_with('(') => {
                    self.at += 2;
                    let list = self.enclosed_list("unterminated process substitution");
                    pieces.push(Piece::Process(Rc::new(list)));
                }
                '(' if ends_in_extended_glob(&self.text[start..self.at]) => {
                    self.extended_glob(&mut pieces)
                }
                _ if is_meta(next) => break,
                '\'' => {
                    self.at += 1;
                    let text = self.until_quote();
                    pieces.push(Piece::Quoted(text.into()));
                }
                '"' => {
                    self.at += 1;
                    self.double_quoted(&mut pieces);
                }
                '\\' => {
                    self.at += 1;
                    match self.next() {
                        Some('\n') => {}
                        Some(escaped) => pieces.push(Piece::Quoted(escaped.into())),
                        None => push_plain(&mut pieces, '\\'),
                    }
                }
                '$' => self.dollar(&mut pieces, false),
                '`' => self.backquoted(&mut pieces, false),
                '*' | '?' | '[' | ']' => {
                    self.at += 1;
                    push_glob(&mut pieces, next);
                }
                '{' | '}' | ',' => {
                    self.at += 1;
                    pieces.push(Piece::Brace(next));
                }
                _ => {
                    self.at += next.len_utf8();
                    push_plain(&mut pieces, next);
                }
            }
        }
        RawWord {
            source: self.text[start..self.at].into(),
            pieces,
        }
    }

    /// `~` and `~user`, up to the end of the word or a slash.
    fn tilde(&mut self, pieces: &mut Vec<Piece>) {
        let rest = self.rest();
        if !rest.starts_with('~') {
            return;
        }
        let length = rest[1..]
            .find(|each: char| !(each.is_ascii_alphanumeric() || "_-+.".contains(each)))
            .map_or(rest.len(), |length| length + 1);
        let ends = rest[length..]
            .chars()
            .next()
            .is_none_or(|next| next == '/' || next == ':' || is_meta(next));
        if ends {
            pieces.push(Piece::Tilde(rest[..length].into()));
            self.at += length;
        }
    }

    /// The text up to the closing single quote, which is skipped.
    fn until_quote(&mut self) -> &'text str {
        let rest = self.rest();
        match rest.find('\'') {
            Some(length) => {
                self.at += length + 1;
                &rest[..length]
            }
            None => {
                self.fail_syntax("unterminated single quote");
                rest
            }
        }
    }

    /// What stands between double quotes, of which the first was read.
    pub fn double_quoted(&mut self, pieces: &mut Vec<Piece>) {
        pieces.push(Piece::Quoted(String::new()));
        loop {
            match self.peek() {
                None => return self.fail_syntax("unterminated double quote"),
                Some('"') => {
                    self.at += 1;
                    return;
                }
                Some(next) => self.quoted_character(next, pieces, "$`\"\\"),
            }
        }
    }

    /// One character of quoted text in which `$` and backquotes still work, and a backslash counts before `escapable`
    /// characters only.
    pub fn quoted_character(&mut self, next: char, pieces: &mut Vec<Piece>, escapable: &str) {
        match next {
            '$' => self.dollar(pieces, true),
            '`' => self.backquoted(pieces, true),
            '\\' => {
                self.at += 1;
                match self.peek() {
                    Some('\n') => self.at += 1,
                    Some(escaped) if escapable.contains(escaped) => {
                        self.at += 1;
                        push_quoted(pieces, escaped);
                    }
                    _ => push_quoted(pieces, '\\'),
                }
            }
            _ => {
                self.at += next.len_utf8();
                push_quoted(pieces, next);
            }
        }
    }

    /// `?(…)`, `*(…)`, `+(…)`, `@(…)`, `!(…)`, of which the first character was read.
    fn extended_glob(&mut self, pieces: &mut Vec<Piece>) {
        let mut open = 0usize;
        while let Some(next) = self.next() {
            push_glob(pieces, next);
            match next {
                '(' => open += 1,
                ')' if open == 1 => return,
                ')' => open -= 1,
                '\n' | '`' | '$' | '\'' | '"' => {
                    return self.fail_syntax("unsupported pattern");
                }
                _ => {}
            }
        }
        self.fail_syntax("unterminated pattern");
    }

    /// `$'…'`, of which the opening was read.
    pub fn escaped_quote(&mut self, pieces: &mut Vec<Piece>) {
        let start = self.at;
        loop {
            match self.next() {
                None => return self.fail_syntax("unterminated single quote"),
                Some('\'') => break,
                Some('\\') => {
                    self.next();
                }
                Some(_) => {}
            }
        }
        let text = super::output::unescape(&self.text[start..self.at - 1], true);
        pieces.push(Piece::Quoted(text));
    }
}

fn ends_in_extended_glob(before: &str) -> bool {
    before.ends_with(['?', '*', '+', '@', '!'])
}

/// Whether an unquoted character ends a word.
pub(super) fn is_meta(character: char) -> bool {
    matches!(
        character,
        ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')'
    )
}

fn push_plain(pieces: &mut Vec<Piece>, character: char) {
    match pieces.last_mut() {
        Some(Piece::Plain(text)) => text.push(character),
        _ => pieces.push(Piece::Plain(character.into())),
    }
}

fn push_quoted(pieces: &mut Vec<Piece>, character: char) {
    match pieces.last_mut() {
        Some(Piece::Quoted(text)) => text.push(character),
        _ => pieces.push(Piece::Quoted(character.into())),
    }
}

fn push_glob(pieces: &mut Vec<Piece>, character: char) {
    match pieces.last_mut() {
        Some(Piece::Glob(text)) => text.push(character),
        _ => pieces.push(Piece::Glob(character.into())),
    }
}
