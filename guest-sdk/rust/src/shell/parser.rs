//! Reads lists, pipelines and simple commands.

use super::braces;
use super::reader::{Reader, is_meta};
use super::syntax::*;

/// Words that are the shell's own where a command may start.
const OPENING: [&str; 9] = [
    "{", "if", "while", "until", "for", "select", "case", "function", "[[",
];
const CLOSING: [&str; 8] = ["}", "then", "elif", "else", "fi", "do", "done", "esac"];

/// Commands whose arguments may be assignments, lists included.
const DECLARING: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];

impl Reader<'_> {
    /// The whole text as a list.
    pub fn whole(&mut self) -> List {
        let list = self.list();
        if !self.at_end() {
            self.fail_syntax("something is closed that was not opened");
        }
        if !self.documents.is_empty() {
            self.read_documents();
        }
        list
    }

    /// Commands up to the text's end or to something that closes a compound command, which is left for the caller.
    pub fn list(&mut self) -> List {
        let mut list = List::new();
        loop {
            self.skip_lines();
            if self.at_list_end() {
                return list;
            }
            let first = list.len();
            let mut link = Link::Always;
            loop {
                let stages = self.pipeline();
                list.push(Step {
                    link,
                    background: false,
                    stages,
                });
                self.skip_blanks();
                link = match () {
                    () if self.accept("&&") => Link::And,
                    () if self.accept("||") => Link::Or,
                    () => break,
                };
                self.skip_lines();
            }
            if self.looking_at(";;") || self.looking_at(";&") {
                return list;
            }
            if self.accept("&") {
                for step in &mut list[first..] {
                    step.background = true;
                }
            } else if !self.accept(";")
                && !self.at_end()
                && !self.looking_at("\n")
                && !self.looking_at(")")
                // After a compound command a closing word needs no separator.
                && self.keyword(&CLOSING).is_none()
            {
                self.fail_syntax("a command ends in an unexpected way");
            }
        }
    }

    fn at_list_end(&self) -> bool {
        self.at_end()
            || self.looking_at(")")
            || self.looking_at(";;")
            || self.looking_at(";&")
            || self.keyword(&CLOSING).is_some()
    }

    /// Skips blanks, comments and ends of lines. Bodies of here-documents are read where they stand.
    pub fn skip_lines(&mut self) {
        loop {
            self.skip_blanks();
            if !self.accept("\n") {
                return;
            }
            self.read_documents();
        }
    }

    pub fn keyword(&self, words: &[&'static str]) -> Option<&'static str> {
        let rest = self.rest();
        words.iter().copied().find(|word| {
            rest.strip_prefix(word)
                .is_some_and(|after| after.chars().next().is_none_or(is_meta))
        })
    }

    pub fn accept_keyword(&mut self, word: &'static str) -> bool {
        let found = self.keyword(&[word]).is_some();
        if found {
            self.at += word.len();
        }
        found
    }

    pub fn expect_keyword(&mut self, word: &'static str) {
        self.skip_lines();
        if !self.accept_keyword(word) {
            self.fail_syntax("a compound command is not closed");
        }
    }

    fn pipeline(&mut self) -> Vec<Stage> {
        let mut stages = Vec::new();
        loop {
            self.skip_blanks();
            loop {
                if self.accept_keyword("coproc") {
                    self.coprocess_name();
                } else if !(self.accept_keyword("!") || self.accept_keyword("time")) {
                    break;
                }
                self.skip_blanks();
                self.accept_keyword("-p");
                self.skip_blanks();
            }
            self.count_command();
            stages.extend(self.deeper(|reader| Some(reader.stage())));
            self.skip_blanks();
            if self.looking_at("||") || !(self.accept("|&") || self.accept("|")) {
                return stages;
            }
            self.skip_lines();
        }
    }

    /// `coproc NAME { …; }`: before a compound command there may be a name.
    fn coprocess_name(&mut self) {
        self.skip_blanks();
        let start = self.at;
        self.name();
        self.skip_blanks();
        if self.keyword(&OPENING).is_none() && !self.looking_at("(") {
            self.at = start;
        }
    }

    pub fn stage(&mut self) -> Stage {
        let node = if let Some(expansions) = self.arithmetic() {
            Node::Arithmetic(expansions)
        } else if self.accept("(") {
            Node::Subshell(self.enclosed_list("unterminated subshell"))
        } else if let Some(word) = self.keyword(&OPENING) {
            self.at += word.len();
            self.compound(word)
        } else {
            return self.simple();
        };
        let mut redirections = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirection() {
                Some(redirection) => redirections.push(redirection),
                None => return Stage { node, redirections },
            }
        }
    }

    fn simple(&mut self) -> Stage {
        let start = self.at;
        let mut assignments = Vec::new();
        let mut words: Vec<RawWord> = Vec::new();
        let mut redirections = Vec::new();
        loop {
            self.skip_blanks();
            if let Some(redirection) = self.redirection() {
                redirections.push(redirection);
            } else if !self.at_word() {
                break;
            } else if (words.is_empty() || declares(&words))
                && let Some(assignment) = self.assignment()
            {
                if !words.is_empty() {
                    // The declaring command sees it among its arguments too.
                    words.push(RawWord {
                        source: assignment.name.clone(),
                        pieces: vec![Piece::Quoted(assignment.name.clone())],
                    });
                }
                assignments.push(assignment);
            } else {
                let word = self.word();
                self.skip_blanks();
                if words.is_empty() && assignments.is_empty() && self.accept("(") {
                    self.skip_blanks();
                    if self.accept(")") {
                        let node = self.function(word.source);
                        return Stage { node, redirections };
                    }
                    self.fail_syntax("unexpected parenthesis");
                }
                words.extend(braces::expand(word));
            }
        }
        if self.at == start {
            self.fail_syntax("a command is missing");
        }
        let node = Node::Simple { assignments, words };
        Stage { node, redirections }
    }

    /// `name=…`, `name+=…`, `name[…]=…`, if that is what stands here.
    fn assignment(&mut self) -> Option<RawAssignment> {
        let start = self.at;
        let name = self.name().to_owned();
        let item = !name.is_empty() && self.looking_at("[");
        if item {
            let rest = self.rest();
            match rest.find(|each| each == ']' || is_meta(each)) {
                Some(end) if rest[end..].starts_with(']') => self.at += end + 1,
                _ => {}
            }
        }
        let append = self.accept("+");
        if name.is_empty() || !self.accept("=") {
            self.at = start;
            return None;
        }
        let value = if self.accept("(") {
            let mut items = Vec::new();
            loop {
                items.extend(self.words());
                if !self.accept("\n") {
                    break;
                }
            }
            if !self.accept(")") {
                self.fail_syntax("unterminated list");
            }
            RawValue::List(items)
        } else {
            RawValue::Word(braces::leave(self.word()))
        };
        Some(RawAssignment {
            name,
            append,
            item,
            value,
        })
    }
}

fn declares(words: &[RawWord]) -> bool {
    DECLARING.contains(&words[0].source.as_str())
}
