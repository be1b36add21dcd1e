//! Walks the syntax tree in the order in which the shell would run it, and lists the commands.

use std::ops::Range;
use std::rc::Rc;

use super::environment::{Environment, Value};
use super::reader::Reader;
use super::syntax::*;
use super::{
    Assignment, COMMAND_LIMIT, Command, DEPTH_LIMIT, EXPANSION_LIMIT, Incomplete, LINE_LIMIT,
    Origin, Part, Redirection, Runs, Script, Word,
};

/// What holds for the commands of one list.
#[derive(Clone)]
pub(super) struct Context {
    pub origin: Origin,
    pub fed_by: Range<usize>,
    pub function: Option<Rc<str>>,
}

/// A function that the line defines, each time it does.
pub(super) struct Function {
    pub name: String,
    pub bodies: Vec<Rc<Stage>>,
    pub called: bool,
}

/// The state of the walk.
pub(super) struct Walker {
    pub commands: Vec<Command>,
    pub incomplete: Option<Incomplete>,
    pub environment: Environment,
    pub depth: usize,
    pub functions: Vec<Function>,
    pub calling: Vec<String>,
    text_left: usize,
}

const TOP: Context = Context {
    origin: Origin::Line,
    fed_by: 0..0,
    function: None,
};

/// Lists the commands of a line.
pub(super) fn script(line: &str) -> Script {
    let mut walker = Walker::new();
    if line.len() > LINE_LIMIT {
        walker.fail(Incomplete::TooLong);
    } else {
        // The line itself is no expansion.
        walker.text_left += line.len();
        walker.text(line, &TOP);
    }
    walker.finish()
}

/// Lists the commands of an argument list.
pub(super) fn arguments<T: AsRef<str>>(arguments: &[T]) -> Script {
    let mut walker = Walker::new();
    let length: usize = arguments.iter().map(|each| each.as_ref().len()).sum();
    if length > LINE_LIMIT {
        walker.fail(Incomplete::TooLong);
    } else {
        let words = arguments.iter().map(|each| {
            let text = each.as_ref();
            Word::new(text, vec![Part::Literal(text.into())])
        });
        walker.words(Vec::new(), words.collect(), &TOP);
    }
    walker.finish()
}

impl Walker {
    fn new() -> Self {
        Self {
            commands: Vec::new(),
            incomplete: None,
            environment: Environment::with_arguments(Vec::new()),
            depth: 0,
            functions: Vec::new(),
            calling: Vec::new(),
            text_left: EXPANSION_LIMIT,
        }
    }

    fn finish(mut self) -> Script {
        // A function that the line only defines may be called later, with arguments that are not known.
        let functions = std::mem::take(&mut self.functions);
        self.environment.forget_all();
        for function in functions {
            let context = Context {
                function: Some(function.name.as_str().into()),
                ..TOP
            };
            for body in function.bodies.iter().filter(|_| !function.called) {
                self.stage(body, &context);
            }
        }
        Script {
            commands: self.commands,
            incomplete: self.incomplete,
        }
    }

    pub fn fail(&mut self, why: Incomplete) {
        self.incomplete.get_or_insert(why);
    }

    /// Counts text that is copied. False once it is too much.
    pub fn charge(&mut self, bytes: usize) -> bool {
        match self.text_left.checked_sub(bytes) {
            Some(left) => {
                self.text_left = left;
                true
            }
            None => {
                self.fail(Incomplete::TooMuch);
                false
            }
        }
    }

    /// Goes one level deeper for as long as `walk` takes, unless that is too deep or enough is listed.
    pub fn deeper(&mut self, walk: impl FnOnce(&mut Self)) {
        if self.depth >= DEPTH_LIMIT {
            return self.fail(Incomplete::TooDeep);
        }
        if self.commands.len() >= COMMAND_LIMIT {
            return self.fail(Incomplete::TooMuch);
        }
        // Work that lists nothing counts too: loops in loops.
        if !self.charge(16) {
            return;
        }
        self.depth += 1;
        walk(self);
        self.depth -= 1;
    }

    /// Reads a text as a script and walks it.
    pub fn text(&mut self, text: &str, context: &Context) {
        if !self.charge(text.len()) {
            return;
        }
        let mut reader = Reader::new(text, self.depth);
        let list = reader.whole();
        if let Some(why) = reader.trouble {
            self.fail(why);
        }
        self.list(&list, context);
    }

    /// Walks something that may not run, or runs in a process of its own.
    pub fn maybe(&mut self, walk: impl FnOnce(&mut Self)) {
        let before = self.environment.clone();
        walk(self);
        self.environment.merge(&before);
    }

    pub fn list(&mut self, list: &List, context: &Context) {
        // What held before the part of a `&&` and `||` chain that may not run.
        let mut before: Option<Environment> = None;
        let mut alternatives = false;
        for step in list {
            if self.commands.len() >= COMMAND_LIMIT {
                return self.fail(Incomplete::TooMuch);
            }
            if step.link == Link::Always {
                alternatives = false;
            }
            alternatives |= step.link == Link::Or;
            if (step.link == Link::Always || alternatives)
                && let Some(before) = before.take()
            {
                self.environment.merge(&before);
            }
            if step.link != Link::Always && before.is_none() {
                before = Some(self.environment.clone());
            }
            if step.background {
                let outside = self.environment.clone();
                self.pipeline(&step.stages, context);
                self.environment = outside;
            } else {
                self.pipeline(&step.stages, context);
            }
        }
        if let Some(before) = before {
            self.environment.merge(&before);
        }
    }

    fn pipeline(&mut self, stages: &[Stage], context: &Context) {
        if let [stage] = stages {
            return self.stage(stage, context);
        }
        let mut context = context.clone();
        for stage in stages {
            let start = self.commands.len();
            self.maybe(|walker| walker.stage(stage, &context));
            context.fed_by = start..self.commands.len();
        }
    }

    /// The commands of a substitution, and whether they are one simple command.
    pub fn substitution(&mut self, list: &List) -> (Range<usize>, bool) {
        let context = Context {
            origin: Origin::Substitution,
            ..TOP
        };
        let start = self.commands.len();
        let outside = self.environment.clone();
        self.deeper(|walker| walker.list(list, &context));
        self.environment = outside;
        let plain = matches!(list.as_slice(), [step] if step.stages.len() == 1);
        (start..self.commands.len(), plain)
    }

    pub fn stage(&mut self, stage: &Stage, context: &Context) {
        self.deeper(|walker| match &stage.node {
            Node::Simple { assignments, words } => {
                walker.simple(assignments, words, &stage.redirections, context)
            }
            node => walker.compound(node, &stage.redirections, context),
        });
    }

    /// Lists a command whose words are still to come, so that it stands before those in its substitutions.
    pub fn reserve(&mut self, context: &Context) -> usize {
        let named = context.function.as_deref().map_or(0, str::len);
        let function = match self.charge(named) {
            true => context.function.as_deref().map(str::to_owned),
            false => None,
        };
        let folder = self.environment.folder().map(|parts| Word::new("", parts));
        self.charge(folder.iter().map(|word| word.parts.len() * 8).sum());
        self.charge(folder.iter().map(|word| word.prefix().len()).sum());
        self.commands.push(Command {
            words: Vec::new(),
            assignments: Vec::new(),
            redirections: Vec::new(),
            origin: context.origin,
            fed_by: context.fed_by.clone(),
            runs: Runs::Nothing,
            folder,
            function,
        });
        self.commands.len() - 1
    }

    fn simple(
        &mut self,
        assignments: &[RawAssignment],
        words: &[RawWord],
        redirections: &[RawRedirection],
        context: &Context,
    ) {
        let index = self.reserve(context);
        let words: Vec<Word> = words.iter().flat_map(|word| self.fields(word)).collect();
        let redirections = self.redirections(redirections);
        let alone = words.is_empty();
        let mut assigned = Vec::new();
        for assignment in assignments {
            let done = self.assignment(assignment);
            if alone {
                // One after another, since each may use the one before.
                self.environment.set(&done.0.name, done.1.clone());
            }
            assigned.push(done);
        }
        let command = &mut self.commands[index];
        command.words = words;
        command.redirections = redirections;
        command.assignments = assigned.iter().map(|(shown, _)| shown.clone()).collect();
        if !alone {
            self.run_with(index, assigned, context);
        }
    }

    /// Lists a command of which the words are known already, and what it runs.
    pub fn words(
        &mut self,
        assigned: Vec<(Assignment, Value)>,
        words: Vec<Word>,
        context: &Context,
    ) {
        self.deeper(|walker| {
            let length = words.iter().map(|word| word.source.len() + 8).sum();
            if !walker.charge(length) {
                return;
            }
            let index = walker.reserve(context);
            let command = &mut walker.commands[index];
            command.words = words;
            command.assignments = assigned.iter().map(|(shown, _)| shown.clone()).collect();
            walker.run_with(index, assigned, context);
        });
    }

    fn assignment(&mut self, raw: &RawAssignment) -> (Assignment, Value) {
        let earlier = self.environment.get(&raw.name).filter(|_| raw.append);
        let (mut values, listed) = match &raw.value {
            RawValue::Word(word) => (vec![self.single(word)], false),
            RawValue::List(items) => {
                let words = items.iter().flat_map(|item| self.fields(item)).collect();
                (words, true)
            }
        };
        let mut certain = !raw.item && (!raw.append || earlier.is_some());
        if let Some(earlier) = earlier {
            match (&*earlier, listed) {
                (Value::Text(before), false) => {
                    let before = before.clone();
                    certain &=
                        self.charge(before.iter().map(|p| p.text().map_or(8, str::len)).sum());
                    let source = values[0].source.clone();
                    let parts = before.into_iter().chain(values[0].parts.clone()).collect();
                    values = vec![Word::new(&source, parts)];
                }
                (Value::List(before), true) => {
                    certain &= self.charge(before.len() * 8);
                    let before = before.iter().map(|parts| Word::new("", parts.clone()));
                    values = before.chain(values).collect();
                }
                _ => certain = false,
            }
        }
        let value = match (certain, listed) {
            (false, _) => Value::Unknown,
            (true, true) => Value::List(values.iter().map(|word| word.parts.clone()).collect()),
            (true, false) => Value::Text(values[0].parts.clone()),
        };
        let name = raw.name.clone();
        (Assignment { name, values }, value)
    }

    pub fn redirections(&mut self, raw: &[RawRedirection]) -> Vec<Redirection> {
        raw.iter()
            .map(|each| Redirection {
                descriptor: each.descriptor.clone(),
                operator: each.operator,
                target: match &each.target {
                    Target::Word(word) => self.single(word),
                    Target::Document(body) => match body.get() {
                        Some(word) => self.single(word),
                        None => Word::new("", vec![Part::Unknown]),
                    },
                },
            })
            .collect()
    }
}
