//! What a tool's value must look like: the part of JSON Schema that is enforced.
//!
//! A keyword that would not be enforced is refused when the schema is read, so nobody relies on a check that is not made.
//! The depth of a value costs no stack: only what the schema names is looked into, and the schema's own depth is bounded.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use crate::json::{Json, JsonError};

/// A schema that can be enforced, all of it.
///
/// One `type` of `object`, `array`, `string`, `number`, `integer`, `boolean` and `null` for each node, or `oneOf` with two
/// branches or more, or no constraint; `properties`, `required`, boolean `additionalProperties`, `items`; `enum` and
/// `const` with scalars of the node's type. `title`, `description`, `default` and `examples` are for people.
#[derive(Debug, Clone)]
pub struct Schema(Node);

/// Why a schema is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("schema at `{path}`: {problem}")]
pub struct SchemaError {
    /// Where, as a path into the schema. Empty is its root.
    pub path: String,
    /// What is wrong there.
    pub problem: String,
}

#[derive(Debug, Clone)]
enum Node {
    Any,
    OneOf(Vec<Node>),
    Typed {
        kind: Kind,
        allowed: Option<Vec<Value>>,
    },
    Array(Option<Box<Node>>),
    Object {
        properties: BTreeMap<String, Node>,
        required: Vec<String>,
        open: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    String,
    Number,
    Integer,
    Boolean,
    Null,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
            Self::Null => "null",
        }
    }

    fn fits(self, value: &Value) -> bool {
        match (self, value) {
            (Self::String, Value::String(_))
            | (Self::Number, Value::Number(_))
            | (Self::Boolean, Value::Bool(_))
            | (Self::Null, Value::Null) => true,
            (Self::Integer, Value::Number(number)) => is_integer(number),
            _ => false,
        }
    }
}

fn is_integer(number: &Number) -> bool {
    number.is_i64()
        || number.is_u64()
        || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        // 1 and 1.0 are one number. Integers that a float would round are compared as they are.
        (Value::Number(left), Value::Number(right)) if left.is_f64() || right.is_f64() => {
            left.as_f64() == right.as_f64()
        }
        _ => left == right,
    }
}

impl Schema {
    /// The schema that every value fits.
    pub fn any() -> Self {
        Self(Node::Any)
    }

    /// Reads a schema.
    ///
    /// # Errors
    /// It has a keyword that would not be enforced, or is wrong in itself.
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        node(schema, "", 0).map(Self)
    }

    /// Everything that keeps a value from fitting. Empty where it fits.
    pub fn violations(&self, value: &Json) -> Vec<String> {
        let mut found = Vec::new();
        check(&self.0, value.text(), "", &mut found);
        found
    }
}

/// How deep a schema may nest.
const MAX_SCHEMA_DEPTH: usize = 64;

fn node(schema: &Value, path: &str, depth: usize) -> Result<Node, SchemaError> {
    let refuse = |problem: String| SchemaError {
        path: path.to_owned(),
        problem,
    };
    if depth > MAX_SCHEMA_DEPTH {
        return Err(refuse(format!(
            "nested deeper than {MAX_SCHEMA_DEPTH} levels"
        )));
    }
    let schema = schema
        .as_object()
        .ok_or_else(|| refuse("not an object".to_owned()))?;
    let only = |allowed: &[&str]| {
        let notes = ["title", "description", "default", "examples"];
        match schema
            .keys()
            .find(|key| !allowed.contains(&key.as_str()) && !notes.contains(&key.as_str()))
        {
            Some(key) => Err(refuse(format!("`{key}` is not supported here"))),
            None => Ok(()),
        }
    };
    if let Some(branches) = schema.get("oneOf") {
        only(&["oneOf"])?;
        let branches = branches
            .as_array()
            .filter(|branches| branches.len() >= 2)
            .ok_or_else(|| refuse("`oneOf` takes two branches or more".to_owned()))?;
        return branches
            .iter()
            .enumerate()
            .map(|(at, branch)| node(branch, &format!("{path}/oneOf/{at}"), depth + 1))
            .collect::<Result<_, _>>()
            .map(Node::OneOf);
    }
    let Some(kind) = schema.get("type") else {
        only(&[])?;
        return Ok(Node::Any);
    };
    let kind = match kind.as_str() {
        Some("object") => {
            only(&["type", "properties", "required", "additionalProperties"])?;
            return object(schema, path, depth);
        }
        Some("array") => {
            only(&["type", "items"])?;
            return schema
                .get("items")
                .map(|items| node(items, &format!("{path}/items"), depth + 1).map(Box::new))
                .transpose()
                .map(Node::Array);
        }
        Some("string") => Kind::String,
        Some("number") => Kind::Number,
        Some("integer") => Kind::Integer,
        Some("boolean") => Kind::Boolean,
        Some("null") => Kind::Null,
        _ => return Err(refuse("`type` takes the name of one type".to_owned())),
    };
    only(&["type", "enum", "const"])?;
    let mut allowed: Option<Vec<Value>> = None;
    if let Some(listed) = schema.get("enum") {
        let listed = listed.as_array().filter(|listed| !listed.is_empty());
        allowed = Some(
            listed
                .ok_or_else(|| refuse("`enum` takes a list of values".to_owned()))?
                .clone(),
        );
    }
    if let Some(constant) = schema.get("const") {
        if allowed
            .as_ref()
            .is_some_and(|listed| !listed.iter().any(|one| same(one, constant)))
        {
            return Err(refuse("`const` is none of `enum`".to_owned()));
        }
        allowed = Some(vec![constant.clone()]);
    }
    if allowed.iter().flatten().any(|value| !kind.fits(value)) {
        return Err(refuse(format!(
            "a value of `enum` or `const` is no {}",
            kind.as_str()
        )));
    }
    Ok(Node::Typed { kind, allowed })
}

fn object(schema: &Map<String, Value>, path: &str, depth: usize) -> Result<Node, SchemaError> {
    let refuse = |problem: &str| SchemaError {
        path: path.to_owned(),
        problem: problem.to_owned(),
    };
    let mut properties = BTreeMap::new();
    if let Some(listed) = schema.get("properties") {
        let listed = listed
            .as_object()
            .ok_or_else(|| refuse("`properties` takes an object"))?;
        for (name, property) in listed {
            let path = format!("{path}/properties/{name}");
            properties.insert(name.clone(), node(property, &path, depth + 1)?);
        }
    }
    let mut required = Vec::new();
    if let Some(listed) = schema.get("required") {
        let listed = listed
            .as_array()
            .ok_or_else(|| refuse("`required` takes a list of names"))?;
        for name in listed {
            let name = name
                .as_str()
                .filter(|name| properties.contains_key(*name))
                .ok_or_else(|| refuse("`required` names something that is not in `properties`"))?;
            required.push(name.to_owned());
        }
    }
    let open = match schema.get("additionalProperties") {
        None => true,
        Some(open) => open
            .as_bool()
            .ok_or_else(|| refuse("`additionalProperties` takes true or false"))?,
    };
    Ok(Node::Object {
        properties,
        required,
        open,
    })
}

/// Looks at a value's text, which is known to be JSON. What can't be read as the expected kind is another kind.
fn check(node: &Node, text: &str, path: &str, found: &mut Vec<String>) {
    let here = || {
        if path.is_empty() {
            "the value".to_owned()
        } else {
            format!("`{path}`")
        }
    };
    match node {
        Node::Any => {}
        Node::OneOf(branches) => {
            let fitting = branches
                .iter()
                .filter(|branch| {
                    let mut violations = Vec::new();
                    check(branch, text, path, &mut violations);
                    violations.is_empty()
                })
                .count();
            if fitting != 1 {
                found.push(format!(
                    "{} fits {fitting} of {} alternatives, and has to fit one",
                    here(),
                    branches.len()
                ));
            }
        }
        Node::Typed { kind, allowed } => {
            // A container is no scalar; asking first keeps its depth from mattering.
            let scalar = (!text.trim_start().starts_with(['{', '[']))
                .then(|| serde_json::from_str::<Value>(text).ok())
                .flatten();
            match scalar {
                Some(value) if kind.fits(&value) => {
                    if allowed
                        .as_ref()
                        .is_some_and(|allowed| !allowed.iter().any(|one| same(one, &value)))
                    {
                        found.push(format!("{} is none of the allowed values", here()));
                    }
                }
                _ => found.push(format!("{} is no {}", here(), kind.as_str())),
            }
        }
        Node::Array(items) => match serde_json::from_str::<Vec<&RawValue>>(text) {
            Ok(values) => {
                let Some(items) = items else { return };
                for (at, value) in values.iter().enumerate() {
                    check(items, value.get(), &format!("{path}/{at}"), found);
                }
            }
            Err(_) => found.push(format!("{} is no array", here())),
        },
        Node::Object {
            properties,
            required,
            open,
        } => match serde_json::from_str::<BTreeMap<String, &RawValue>>(text) {
            Ok(values) => {
                for name in required {
                    if !values.contains_key(name) {
                        found.push(format!("{} has no `{name}`", here()));
                    }
                }
                for (name, value) in &values {
                    match properties.get(name) {
                        Some(property) => {
                            check(property, value.get(), &format!("{path}/{name}"), found)
                        }
                        None if *open => {}
                        None => found.push(format!(
                            "{} has `{name}`, which is not in its schema",
                            here()
                        )),
                    }
                }
            }
            Err(_) => found.push(format!("{} is no object", here())),
        },
    }
}

/// JSON from a program that may have made it any way it likes. It is checked before anything reads it.
#[derive(Debug, Clone)]
pub enum Unchecked {
    /// Checked already.
    Checked(Json),
    /// As a tree.
    Value(Value),
    /// As text. The way for values of any depth.
    Text(String),
}

impl Unchecked {
    /// The JSON, where it is lossless.
    pub(crate) fn check(self) -> Result<Json, JsonError> {
        match self {
            Self::Checked(json) => Ok(json),
            Self::Value(value) => Json::of(&value),
            Self::Text(text) => Json::parse(text),
        }
    }
}

impl From<Json> for Unchecked {
    fn from(json: Json) -> Self {
        Self::Checked(json)
    }
}

impl From<Value> for Unchecked {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn violations(schema: Value, value: &str) -> Vec<String> {
        Schema::new(&schema)
            .unwrap()
            .violations(&Json::parse(value).unwrap())
    }

    #[test]
    fn what_would_not_be_enforced_is_refused() {
        for (schema, path) in [
            (json!({"type": "string", "pattern": "a"}), ""),
            (json!({"type": ["string", "null"]}), ""),
            (
                json!({"type": "object", "properties": {"a": {"minimum": 1}}}),
                "/properties/a",
            ),
            (json!({"type": "object", "required": ["a"]}), ""),
            (json!({"type": "object", "additionalProperties": {}}), ""),
            (json!({"oneOf": [{}]}), ""),
            (
                json!({"oneOf": [{"type": "null"}, {"$ref": "#"}]}),
                "/oneOf/1",
            ),
            (json!({"type": "string", "enum": [1]}), ""),
            (json!({"type": "array", "items": true}), "/items"),
            (json!("string"), ""),
        ] {
            let error = Schema::new(&schema).expect_err(&schema.to_string());
            assert_eq!(error.path, path, "{schema}");
        }
    }

    #[test]
    fn all_violations_are_collected() {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "count": {"type": "integer"},
                "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
            },
            "required": ["name", "count"],
            "additionalProperties": false,
        });
        assert!(violations(schema.clone(), r#"{"name":"x","count":2.0,"tags":["a"]}"#).is_empty());
        assert_eq!(
            violations(schema, r#"{"count":1.5,"tags":["a","c",{}],"more":1}"#),
            [
                "the value has no `name`",
                "`/count` is no integer",
                "the value has `more`, which is not in its schema",
                "`/tags/1` is none of the allowed values",
                "`/tags/2` is no string",
            ]
        );
    }

    #[test]
    fn exactly_one_alternative_has_to_fit() {
        let schema = json!({"oneOf": [{"type": "integer"}, {"type": "number"}, {"type": "null"}]});
        assert!(violations(schema.clone(), "1.5").is_empty());
        assert!(violations(schema.clone(), "null").is_empty());
        assert_eq!(
            violations(schema, "1"),
            ["the value fits 2 of 3 alternatives, and has to fit one"]
        );
    }

    #[test]
    fn large_integers_are_not_rounded() {
        let schema = json!({"type": "integer", "const": 9007199254740993_u64});
        assert!(violations(schema.clone(), "9007199254740993").is_empty());
        assert_eq!(violations(schema, "9007199254740992").len(), 1);
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = "[".repeat(5_000) + &"]".repeat(5_000);
        assert!(violations(json!({"type": "array", "items": {}}), &deep).is_empty());
        assert_eq!(violations(json!({"type": "string"}), &deep).len(), 1);
        assert!(violations(json!({}), &format!(r#"{{"a":{deep}}}"#)).is_empty());
    }
}
