//! As much of JSON schema as Codex's schemas use.

use serde_json::Value;

/// What is wrong with a value, or nothing.
pub fn problem(schema: &Value, value: &Value) -> Option<String> {
    check(schema, schema, value).err()
}

fn check(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    for (keyword, rule) in schema.as_object().ok_or("a schema that is no object")? {
        match keyword.as_str() {
            "$ref" => {
                let path = rule.as_str().ok_or("a reference that is no text")?;
                let pointer = path.trim_start_matches('#');
                let target = root.pointer(pointer).ok_or("a reference to nothing")?;
                check(root, target, value)?;
            }
            "allOf" => {
                for part in rule.as_array().ok_or("allOf is no list")? {
                    check(root, part, value)?;
                }
            }
            "type" => {
                let fits = match rule.as_str() {
                    Some("object") => value.is_object(),
                    Some("string") => value.is_string(),
                    Some("boolean") => value.is_boolean(),
                    other => return Err(format!("the type {other:?} is not known here")),
                };
                if !fits {
                    return Err(format!("{value} is no {rule}"));
                }
            }
            "enum" => {
                if !rule.as_array().ok_or("enum is no list")?.contains(value) {
                    return Err(format!("{value} is none of {rule}"));
                }
            }
            "const" => {
                if rule != value {
                    return Err(format!("{value} is not {rule}"));
                }
            }
            "required" => {
                for name in rule.as_array().ok_or("required is no list")? {
                    let name = name.as_str().ok_or("a name that is no text")?;
                    value
                        .get(name)
                        .ok_or_else(|| format!("{name} is missing"))?;
                }
            }
            "properties" => {
                for (name, field) in value.as_object().ok_or("properties of no object")? {
                    match rule.get(name) {
                        Some(schema) => check(root, schema, field)?,
                        None if schema["additionalProperties"] == false => {
                            return Err(format!("{name} is not a key"));
                        }
                        None => {}
                    }
                }
            }
            "$schema"
            | "title"
            | "description"
            | "default"
            | "definitions"
            | "additionalProperties" => {}
            other => return Err(format!("the keyword {other} is not known here")),
        }
    }
    Ok(())
}
