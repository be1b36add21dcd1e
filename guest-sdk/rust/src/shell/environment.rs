//! What is known of the shell's state at one place of the line: variables, arguments, the folder.

use std::rc::Rc;

use super::Part;
use super::expand::push;

/// More variables than this are not followed, which keeps copies cheap.
const VARIABLE_LIMIT: usize = 256;

/// The folder is kept like a variable, under a name that no variable can have, so that it is certain or not by the
/// same rules.
const FOLDER: &str = "/";

/// What a variable holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Text(Vec<Part>),
    List(Vec<Vec<Part>>),
    /// It was assigned, and what is not certain.
    Unknown,
}

#[derive(Debug, Clone)]
struct Variable {
    value: Rc<Value>,
    exported: bool,
}

impl Variable {
    fn same_as(&self, other: &Self) -> bool {
        self.exported == other.exported
            && (Rc::ptr_eq(&self.value, &other.value) || self.value == other.value)
    }
}

/// Variables by name. One that is missing may still come from outside the line, so it is unknown too.
#[derive(Debug, Clone, Default)]
pub(super) struct Environment {
    // Few enough for a list, which is a third of a map in a component's size.
    variables: Vec<(Rc<str>, Variable)>,
}

impl Environment {
    /// A shell that was started with these arguments after its name.
    pub fn with_arguments(arguments: Vec<Vec<Part>>) -> Self {
        let mut environment = Self::default();
        environment.set("@", Value::List(arguments));
        environment.set("IFS", Value::Text(vec![Part::Literal(" \t\n".into())]));
        environment
    }

    fn variable(&self, name: &str) -> Option<&Variable> {
        let found = self.variables.iter().find(|(each, _)| &**each == name);
        found.map(|(_, variable)| variable)
    }

    fn variable_mut(&mut self, name: &str) -> Option<&mut Variable> {
        let found = self.variables.iter_mut().find(|(each, _)| &**each == name);
        found.map(|(_, variable)| variable)
    }

    pub fn get(&self, name: &str) -> Option<Rc<Value>> {
        let name = if name == "*" { "@" } else { name };
        if let Ok(position) = name.parse::<usize>() {
            let all = &self.variable("@")?.value;
            let Value::List(items) = &**all else {
                return None;
            };
            let item = items.get(position.checked_sub(1)?).cloned();
            return Some(Rc::new(Value::Text(item.unwrap_or_default())));
        }
        let value = &self.variable(name)?.value;
        (**value != Value::Unknown).then(|| Rc::clone(value))
    }

    pub fn set(&mut self, name: &str, value: Value) {
        if let Some(variable) = self.variable_mut(name) {
            variable.value = Rc::new(value);
        } else if self.variables.len() < VARIABLE_LIMIT {
            let variable = Variable {
                value: Rc::new(value),
                exported: false,
            };
            self.variables.push((name.into(), variable));
        }
    }

    pub fn export(&mut self, name: &str) {
        if let Some(variable) = self.variable_mut(name) {
            variable.exported = true;
        }
    }

    pub fn forget(&mut self, name: &str) {
        self.set(name, Value::Unknown);
    }

    /// After something that may have assigned any variable, such as a file that was sourced. The folder and the
    /// separators are taken to be what they were: who controls that file needs no such trick.
    pub fn forget_all(&mut self) {
        for (name, variable) in &mut self.variables {
            if &**name != FOLDER && &**name != "IFS" {
                variable.value = Rc::new(Value::Unknown);
            }
        }
    }

    /// What a program started from here gets of it: only what was exported.
    pub fn of_child(&self, arguments: Vec<Vec<Part>>) -> Self {
        let mut child = Self::with_arguments(arguments);
        for (name, variable) in &self.variables {
            if variable.exported || &**name == FOLDER {
                child.put(Rc::clone(name), variable.clone());
            }
        }
        child
    }

    /// The same without any variable of this line: `sudo`, `env -i`.
    pub fn without_variables(&self) -> Self {
        let mut cleared = self.clone();
        cleared.variables.retain(|(name, _)| &**name == FOLDER);
        cleared
    }

    /// After something that ran or did not: only what is the same either way is certain.
    pub fn merge(&mut self, before: &Self) {
        for (name, variable) in &mut self.variables {
            let same = before
                .variable(name)
                .is_some_and(|earlier| earlier.same_as(variable));
            if !same {
                variable.value = Rc::new(Value::Unknown);
            }
        }
    }

    /// The folder, where a `cd` changed it.
    pub fn folder(&self) -> Option<Vec<Part>> {
        let variable = self.variable(FOLDER)?;
        Some(match &*variable.value {
            Value::Text(parts) => parts.clone(),
            _ => vec![Part::Unknown],
        })
    }

    /// Goes to this folder, from the one before where it is relative. None is a folder that is not known.
    pub fn change_folder(&mut self, to: Option<Vec<Part>>) {
        // Above all for a folder that is not known: it must not pass for one that was not changed.
        let to = to.unwrap_or_else(|| vec![Part::Unknown]);
        let absolute = match to.first() {
            Some(Part::Literal(text)) => text.starts_with('/'),
            Some(Part::Glob(_)) | None => false,
            Some(_) => true,
        };
        let mut parts = match absolute {
            true => Vec::new(),
            false => self.folder().unwrap_or_default(),
        };
        if !parts.is_empty() {
            push(&mut parts, Part::Literal("/".into()));
        }
        to.into_iter().for_each(|part| push(&mut parts, part));
        let length: usize = parts
            .iter()
            .map(|each| each.text().map_or(64, str::len))
            .sum();
        let value = match length <= 4096 {
            true => Value::Text(parts),
            false => Value::Unknown,
        };
        let variable = Variable {
            value: Rc::new(value),
            exported: false,
        };
        self.put(FOLDER.into(), variable);
    }

    /// Sets a variable whatever the limit says.
    fn put(&mut self, name: Rc<str>, variable: Variable) {
        match self.variable_mut(&name) {
            Some(earlier) => *earlier = variable,
            None => self.variables.push((name, variable)),
        }
    }
}
