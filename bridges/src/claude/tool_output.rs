//! What Claude Code's own tools answer with: how a model reads it, and how to put other text in its place.
//!
//! A result can only be replaced by one of the same shape. One that lacks a field is dropped without a word, and the model
//! reads the original (measured), so new text is put only where the shape is known.

use seamgate::Json;
use seamgate::seams::{Outcome, ToolCall};
use serde_json::{Map, Value, json};

use crate::blocks;

/// What the call came to, with the text that the model reads.
pub(super) fn outcome(tool: &str, response: &Json) -> Outcome {
    let mut outcome = blocks::outcome_of(response);
    if let Ok(Value::Object(object)) = response.read()
        && let Some(text) = text_of(tool, &object)
    {
        outcome.text = text;
        outcome.blocks = None;
    }
    outcome
}

fn text_of(tool: &str, response: &Map<String, Value>) -> Option<String> {
    let text = |field: &str| response.get(field).and_then(Value::as_str);
    match tool {
        "Bash" | "PowerShell" => Some(lines_of(text("stdout")?, text("stderr")?)),
        "Read" => response.get("file")?["content"].as_str().map(str::to_owned),
        _ => None,
    }
}

/// Standard output, and standard error on lines of its own.
fn lines_of(stdout: &str, stderr: &str) -> String {
    let apart = stdout.is_empty()
        || stderr.is_empty()
        || stdout.ends_with('\n')
        || stderr.starts_with('\n');
    format!("{stdout}{}{stderr}", if apart { "" } else { "\n" })
}

/// A result of this tool that has this text and nothing of what it had before, where the tool's shape is known. All but
/// `PowerShell`, `WebFetch` and MCP tools were measured.
///
/// It is made anew, since the other fields hold the text too: the path of a file with the whole output, for one.
pub(super) fn with_text(call: &ToolCall, response: &Json, text: &str) -> Option<Json> {
    if is_mcp(&call.tool) {
        return Some(Json::string(text));
    }
    let response: Value = response.read().ok()?;
    let lines = text.lines().count();
    let output = match call.tool.as_str() {
        "Bash" | "PowerShell" => json!({
            "stdout": text,
            "stderr": "",
            "interrupted": response["interrupted"].as_bool()?,
            "isImage": false,
        }),
        // An image or a document is replaced by a text: the tool has both shapes.
        "Read" => {
            response["type"].as_str()?;
            let arguments: Value = call.arguments.read().ok()?;
            json!({
                "type": "text",
                "file": {
                    "filePath": arguments["file_path"].as_str()?,
                    "content": text,
                    "numLines": lines,
                    "startLine": 1,
                    "totalLines": lines,
                },
            })
        }
        "Grep" => {
            response["filenames"].as_array()?;
            json!({
                "mode": "content",
                "numFiles": 0,
                "filenames": [],
                "content": text,
                "numLines": lines,
            })
        }
        "Glob" => {
            response["filenames"].as_array()?;
            json!({
                "filenames": [text],
                "durationMs": response["durationMs"].as_u64()?,
                "numFiles": 1,
                "truncated": false,
            })
        }
        "WebFetch" => json!({
            "bytes": response["bytes"].as_u64()?,
            "code": response["code"].as_u64()?,
            "codeText": response["codeText"].as_str()?,
            "result": text,
            "durationMs": response["durationMs"].as_u64()?,
            "url": response["url"].as_str()?,
        }),
        _ => return None,
    };
    Json::of(&output).ok()
}

/// Whether Claude Code takes this value in place of the response, as far as can be told from outside: every field that
/// was there is there, with the same kind of value. What MCP tools answer is not checked.
pub(super) fn takes(tool: &str, response: &Json, value: &Json) -> bool {
    if is_mcp(tool) {
        return true;
    }
    match (response.read(), value.read()) {
        (Ok(old), Ok(new)) => same_shape(&old, &new),
        _ => false,
    }
}

fn same_shape(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => old
            .iter()
            .all(|(field, old)| new.get(field).is_some_and(|new| same_shape(old, new))),
        // Lists differ in length, and their elements have the shape of each other, not of their place.
        (Value::Array(_), Value::Array(_))
        | (Value::String(_), Value::String(_))
        | (Value::Number(_), Value::Number(_))
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Null, Value::Null) => true,
        _ => false,
    }
}

fn is_mcp(tool: &str) -> bool {
    tool.starts_with("mcp__")
}

#[cfg(test)]
mod tests {
    use seamgate::seams::Agent;

    use super::*;

    fn parse(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    fn call(tool: &str) -> ToolCall {
        ToolCall {
            call_id: "1".to_owned(),
            root_call_id: "1".to_owned(),
            tool: tool.to_owned(),
            arguments: parse(r#"{"file_path":"/p/a.png"}"#),
            agent: Agent::default(),
        }
    }

    const BASH: &str = r#"{"stdout":"secret","stderr":"","interrupted":false,"isImage":true,"persistedOutputPath":"/tmp/all"}"#;

    #[test]
    fn the_text_is_what_the_model_reads() {
        for (tool, response, expected) in [
            ("Bash", r#"{"stdout":"a","stderr":"b"}"#, "a\nb"),
            (
                "Bash",
                r#"{"stdout":"/tmp","stderr":"\nShell cwd was reset"}"#,
                "/tmp\nShell cwd was reset",
            ),
            ("Bash", r#"{"stdout":"","stderr":"b"}"#, "b"),
            (
                "Bash",
                r#"{"stdout":7,"stderr":"b"}"#,
                r#"{"stdout":7,"stderr":"b"}"#,
            ),
            ("Read", r#"{"type":"text","file":{"content":"a\n"}}"#, "a\n"),
            (
                "Read",
                r#"{"type":"image","file":{"base64":"x"}}"#,
                r#"{"type":"image","file":{"base64":"x"}}"#,
            ),
            ("mcp__a__b", r#""plain""#, "plain"),
            (
                "mcp__a__b",
                r#"{"stdout":"a","stderr":"b"}"#,
                r#"{"stdout":"a","stderr":"b"}"#,
            ),
        ] {
            assert_eq!(
                outcome(tool, &parse(response)).text,
                expected,
                "{tool} {response}"
            );
        }
    }

    #[test]
    fn nothing_of_the_original_is_left_beside_new_text() {
        for (tool, response, expected) in [
            (
                "Bash",
                BASH,
                r#"{"stdout":"NEW","stderr":"","interrupted":false,"isImage":false}"#,
            ),
            (
                "Read",
                r#"{"type":"text","file":{"filePath":"/p/a","content":"secret","numLines":9,"startLine":1,"totalLines":9}}"#,
                r#"{"type":"text","file":{"filePath":"/p/a.png","content":"NEW","numLines":1,"startLine":1,"totalLines":1}}"#,
            ),
            (
                "Read",
                r#"{"type":"image","file":{"base64":"secret"}}"#,
                r#"{"type":"text","file":{"filePath":"/p/a.png","content":"NEW","numLines":1,"startLine":1,"totalLines":1}}"#,
            ),
            (
                "Grep",
                r#"{"mode":"files_with_matches","filenames":["secret"],"numFiles":1}"#,
                r#"{"mode":"content","numFiles":0,"filenames":[],"content":"NEW","numLines":1}"#,
            ),
            (
                "Glob",
                r#"{"filenames":["secret"],"durationMs":19,"numFiles":1,"truncated":false}"#,
                r#"{"filenames":["NEW"],"durationMs":19,"numFiles":1,"truncated":false}"#,
            ),
            (
                "WebFetch",
                r#"{"bytes":9,"code":200,"codeText":"OK","result":"secret","durationMs":1,"url":"https://example.com"}"#,
                r#"{"bytes":9,"code":200,"codeText":"OK","result":"NEW","durationMs":1,"url":"https://example.com"}"#,
            ),
            (
                "mcp__a__b",
                r#"{"content":[{"type":"text","text":"secret"}]}"#,
                r#""NEW""#,
            ),
        ] {
            let output = with_text(&call(tool), &parse(response), "NEW").unwrap();
            assert_eq!(output.text(), expected, "{tool}");
        }
    }

    #[test]
    fn a_shape_that_is_not_known_is_left_alone() {
        for (tool, response) in [
            ("Write", r#"{"type":"create"}"#),
            ("Bash", r#"{"stdout":"a","stderr":"b"}"#),
            ("Bash", r#""text""#),
            ("Grep", r#"{"content":"a"}"#),
            ("Glob", "null"),
        ] {
            assert_eq!(
                with_text(&call(tool), &parse(response), "NEW"),
                None,
                "{tool}"
            );
        }
    }

    #[test]
    fn a_value_has_to_keep_the_shape() {
        for (tool, value, expected) in [
            (
                "Bash",
                r#"{"stdout":"x","stderr":"","interrupted":true,"isImage":false,"persistedOutputPath":"/x"}"#,
                true,
            ),
            (
                "Bash",
                r#"{"stdout":"x","stderr":"","interrupted":true,"isImage":false}"#,
                false,
            ),
            (
                "Bash",
                r#"{"stdout":1,"stderr":"","interrupted":true,"isImage":false,"persistedOutputPath":"/x"}"#,
                false,
            ),
            ("Bash", r#""text""#, false),
            ("mcp__a__b", r#""text""#, true),
        ] {
            assert_eq!(
                takes(tool, &parse(BASH), &parse(value)),
                expected,
                "{tool} {value}"
            );
        }
    }
}
