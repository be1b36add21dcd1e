//! Reads compound commands: groups, conditions, loops, functions, tests.

use std::rc::Rc;

use super::braces;
use super::reader::Reader;
use super::syntax::{Link, List, Node, Piece, RawWord, Step};

impl Reader<'_> {
    pub fn compound(&mut self, opening: &'static str) -> Node {
        match opening {
            "{" => {
                let list = self.list();
                self.expect_keyword("}");
                Node::Group(list)
            }
            "if" => {
                let mut lists = Vec::new();
                loop {
                    lists.push(self.list());
                    self.expect_keyword("then");
                    lists.push(self.list());
                    if !self.accept_keyword("elif") {
                        break;
                    }
                }
                if self.accept_keyword("else") {
                    lists.push(self.list());
                }
                self.expect_keyword("fi");
                Node::If(lists)
            }
            "for" | "select" => self.for_loop(),
            "case" => self.case(),
            "function" => {
                self.skip_blanks();
                let name = self.word().source;
                self.skip_blanks();
                if self.accept("(") {
                    self.skip_blanks();
                    self.accept(")");
                }
                self.function(name)
            }
            "[[" => self.test(),
            _ => {
                let mut list = self.list();
                self.expect_keyword("do");
                list.extend(self.list());
                self.expect_keyword("done");
                Node::Loop(list)
            }
        }
    }

    fn for_loop(&mut self) -> Node {
        self.skip_blanks();
        if self.looking_at("((") {
            let header = self.stage();
            self.skip_blanks();
            self.accept(";");
            let body = self.loop_body();
            let step = Step {
                link: Link::Always,
                background: false,
                stages: vec![header],
            };
            return Node::Loop([step].into_iter().chain(body).collect());
        }
        let name = self.name().to_owned();
        self.skip_lines();
        let mut words = None;
        if self.accept_keyword("in") {
            words = Some(self.words());
        }
        self.skip_blanks();
        self.accept(";");
        let body = self.loop_body();
        Node::For { name, words, body }
    }

    fn loop_body(&mut self) -> List {
        self.skip_lines();
        let closing = if self.accept_keyword("{") {
            "}"
        } else {
            "done"
        };
        if closing == "done" {
            self.expect_keyword("do");
        }
        let body = self.list();
        self.expect_keyword(closing);
        body
    }

    /// Words up to something else.
    pub fn words(&mut self) -> Vec<RawWord> {
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            if !self.at_word() {
                return words;
            }
            words.extend(braces::expand(self.word()));
        }
    }

    fn case(&mut self) -> Node {
        let mut words = self.words_of_case_header();
        let mut arms = Vec::new();
        loop {
            self.skip_lines();
            if self.accept_keyword("esac") || self.at_end() {
                break;
            }
            self.accept("(");
            loop {
                self.skip_blanks();
                words.push(braces::leave(self.word()));
                self.skip_blanks();
                if !self.accept("|") {
                    break;
                }
            }
            if !self.accept(")") {
                self.fail_syntax("unterminated pattern");
            }
            arms.push(self.list());
            self.skip_lines();
            if !(self.accept(";;&") || self.accept(";;") || self.accept(";&"))
                && self.keyword(&["esac"]).is_none()
            {
                self.fail_syntax("a compound command is not closed");
            }
        }
        if self.at_end() && !self.text.ends_with("esac") {
            self.fail_syntax("a compound command is not closed");
        }
        Node::Case { words, arms }
    }

    fn words_of_case_header(&mut self) -> Vec<RawWord> {
        self.skip_blanks();
        let word = braces::leave(self.word());
        self.expect_keyword("in");
        vec![word]
    }

    /// `[[ … ]]`, in which `<`, `&&` and parentheses are operators of its own.
    fn test(&mut self) -> Node {
        let mut words = vec![RawWord {
            source: "[[".into(),
            pieces: vec![Piece::Plain("[[".into())],
        }];
        loop {
            self.skip_lines();
            if self.at_word() {
                let word = braces::leave(self.word());
                let last = word.source == "]]";
                words.push(word);
                if last {
                    break;
                }
            } else if self.next().is_none() {
                self.fail_syntax("unterminated test");
                break;
            }
        }
        Node::Simple {
            assignments: Vec::new(),
            words,
        }
    }

    pub fn function(&mut self, name: String) -> Node {
        self.skip_lines();
        let body = self.deeper(|reader| Some(reader.stage()));
        match body {
            Some(body) => Node::Function {
                name,
                body: Rc::new(body),
            },
            None => Node::Group(List::new()),
        }
    }
}
