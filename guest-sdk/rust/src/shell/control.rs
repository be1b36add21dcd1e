//! Walks compound commands and functions.

use std::rc::Rc;

use super::environment::Value;
use super::syntax::{List, Node, Piece, RawRedirection, RawWord, Stage};
use super::walk::{Context, Function, Walker};
use super::{COMMAND_LIMIT, Incomplete, Part, Word};

/// How often the body of a loop is listed at most, for known words.
const ROUNDS: usize = 16;
/// More functions than this are not followed.
const FUNCTION_LIMIT: usize = 256;

impl Walker {
    /// Lists what is in a compound command.
    pub fn compound(&mut self, node: &Node, redirections: &[RawRedirection], context: &Context) {
        let mut context = context.clone();
        if !redirections.is_empty() {
            let index = self.reserve(&context);
            let redirections = self.redirections(redirections);
            self.commands[index].redirections = redirections;
            if super::output::document(&self.commands[index]).is_some() {
                context.fed_by = index..index + 1;
            }
        }
        let context = &context;
        match node {
            Node::Simple { .. } => {}
            Node::Group(list) => self.list(list, context),
            Node::Subshell(list) => {
                let outside = self.environment.clone();
                self.list(list, context);
                self.environment = outside;
            }
            Node::If(lists) => {
                for (index, list) in lists.iter().enumerate() {
                    match index {
                        0 => self.list(list, context),
                        _ => self.maybe(|walker| walker.list(list, context)),
                    }
                }
            }
            Node::Loop(list) => {
                self.forget_assigned(list);
                self.maybe(|walker| walker.list(list, context));
                self.forget_assigned(list);
            }
            Node::For { name, words, body } => self.for_loop(name, words.as_deref(), body, context),
            Node::Case { words, arms } => {
                for word in words {
                    self.single(word);
                }
                for arm in arms {
                    self.maybe(|walker| walker.list(arm, context));
                }
            }
            Node::Function { name, body } => self.define(name, body),
            Node::Arithmetic(pieces) => {
                for piece in pieces {
                    if let Piece::Quoted(text) = piece {
                        self.forget_mentioned(text);
                    }
                }
                let word = RawWord {
                    source: String::new(),
                    pieces: pieces.clone(),
                };
                self.single(&word);
            }
        }
    }

    fn for_loop(&mut self, name: &str, words: Option<&[RawWord]>, body: &List, context: &Context) {
        let values: Option<Vec<Word>> =
            words.map(|words| words.iter().flat_map(|word| self.fields(word)).collect());
        self.forget_assigned(body);
        // Each word is one round. A glob stays one: it is any of the files that match.
        let known = values.filter(|values| {
            let literal = |part: &Part| *part != Part::Unknown;
            values.len() <= ROUNDS && values.iter().all(|word| word.parts.iter().all(literal))
        });
        let rounds: Vec<Value> = match known {
            Some(values) => values
                .into_iter()
                .map(|word| Value::Text(word.parts))
                .collect(),
            None => vec![Value::Unknown],
        };
        for value in rounds {
            if self.commands.len() >= COMMAND_LIMIT {
                return self.fail(Incomplete::TooMuch);
            }
            // Rounds multiply where loops nest, and each looks through the whole body.
            if !self.charge(256) {
                return;
            }
            self.environment.set(name, value);
            self.maybe(|walker| walker.list(body, context));
        }
        self.environment.forget(name);
        self.forget_assigned(body);
    }

    fn define(&mut self, name: &str, body: &Rc<Stage>) {
        let known = self.functions.iter_mut().find(|each| each.name == name);
        if let Some(function) = known {
            function.bodies.push(Rc::clone(body));
        } else if self.functions.len() < FUNCTION_LIMIT {
            self.functions.push(Function {
                name: name.into(),
                bodies: vec![Rc::clone(body)],
                called: false,
            });
        } else {
            self.fail(Incomplete::TooMuch);
        }
    }

    /// The bodies of all functions that the line has defined so far.
    pub fn function_bodies(&self) -> Vec<Rc<Stage>> {
        let bodies = self.functions.iter().flat_map(|each| &each.bodies);
        bodies.cloned().collect()
    }

    /// Walks the body of a function that the line defines. False where there is no such function.
    pub fn call(&mut self, name: &str, arguments: &[Word], context: &Context) -> bool {
        let known = self.functions.iter_mut().find(|each| each.name == name);
        let Some(function) = known else {
            return false;
        };
        function.called = true;
        let bodies = function.bodies.clone();
        // One that calls itself says nothing new the second time.
        if self.calling.iter().any(|each| each == name) {
            return true;
        }
        self.calling.push(name.into());
        let before = self.environment.get("@");
        let arguments = arguments.iter().map(|word| word.parts.clone()).collect();
        self.environment.set("@", Value::List(arguments));
        let context = Context {
            function: Some(name.into()),
            ..context.clone()
        };
        for body in &bodies {
            match bodies.len() {
                1 => self.stage(body, &context),
                _ => self.maybe(|walker| walker.stage(body, &context)),
            }
        }
        let before = before.map_or(Value::Unknown, |value| (*value).clone());
        self.environment.set("@", before);
        self.calling.pop();
        true
    }
}
