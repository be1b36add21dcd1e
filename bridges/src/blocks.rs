//! Content blocks in what tools answer: a JSON list of objects tagged by `type`, as models read them.

use seamgate::Json;
use seamgate::seams::Outcome;
use serde_json::Value;

/// The outcome of a call that succeeded with this value, in the shapes that tools of any origin answer with: a string, a
/// list of blocks, an object with such a list as its `content` (MCP), or any other JSON, which reads as its own text.
pub(crate) fn outcome_of(response: &Json) -> Outcome {
    let plain = |text: String| Outcome {
        result: Ok(response.clone()),
        text,
        blocks: None,
    };
    match response.read::<Value>() {
        Ok(Value::String(text)) => plain(text),
        Ok(Value::Array(list)) if is_blocks(&list) => of_blocks(response, &list, None),
        Ok(Value::Object(object)) => match object.get("content") {
            Some(Value::Array(list)) if is_blocks(list) => {
                of_blocks(response, list, object.get("structuredContent"))
            }
            _ => plain(response.text().to_owned()),
        },
        _ => plain(response.text().to_owned()),
    }
}

/// The text of blocks that are all text, or nothing where one of them is something else.
pub(crate) fn text_alone(blocks: &Json) -> Option<String> {
    let list: Vec<Value> = blocks.read().ok()?;
    list.iter().map(text_of).collect()
}

fn of_blocks(response: &Json, list: &[Value], structured: Option<&Value>) -> Outcome {
    let mut text: String = list.iter().filter_map(text_of).collect();
    // Models read the structured part of an MCP result as its JSON text.
    if let Some(structured) = structured.filter(|structured| !structured.is_null()) {
        text.push('\n');
        text.push_str(&structured.to_string());
    }
    let one_text = matches!(list, [block] if text_of(block).is_some());
    Outcome {
        result: Ok(response.clone()),
        text,
        // The whole response stands in for blocks that can't be written down: more to judge, not less.
        blocks: (!one_text)
            .then(|| Json::of(&Value::Array(list.to_vec())).unwrap_or_else(|_| response.clone())),
    }
}

/// Whether a list is one of blocks. An empty one says nothing either way, and reads as JSON.
fn is_blocks(list: &[Value]) -> bool {
    !list.is_empty() && list.iter().all(|block| block["type"].is_string())
}

fn text_of(block: &Value) -> Option<&str> {
    match block["type"].as_str() {
        Some("text") => block["text"].as_str(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(text: &str) -> Outcome {
        outcome_of(&Json::parse(text).unwrap())
    }

    #[test]
    fn what_a_model_would_read() {
        for (response, expected) in [
            (r#""plain\ntext""#, "plain\ntext"),
            (
                r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#,
                "ab",
            ),
            (r#"{"content":[{"type":"text","text":"made"}]}"#, "made"),
            (
                r#"{"content":[{"type":"text","text":"made"}],"structuredContent":{"id":"7"}}"#,
                "made\n{\"id\":\"7\"}",
            ),
            (r#"{"content":"inline"}"#, r#"{"content":"inline"}"#),
            ("[1,2]", "[1,2]"),
            ("[]", "[]"),
            ("null", "null"),
        ] {
            assert_eq!(outcome(response).text, expected, "{response}");
        }
    }

    #[test]
    fn blocks_are_kept_where_there_is_more_than_one_text() {
        assert_eq!(outcome(r#"[{"type":"text","text":"a"}]"#).blocks, None);
        let image = r#"[{"type":"image","data":"x"}]"#;
        assert_eq!(outcome(image).blocks.unwrap().text(), image);
        assert_eq!(outcome(image).text, "");
    }

    #[test]
    fn only_text_is_text_alone() {
        let alone = |text: &str| text_alone(&Json::parse(text).unwrap());
        assert_eq!(
            alone(r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#),
            Some("ab".to_owned())
        );
        assert_eq!(
            alone(r#"[{"type":"text","text":"a"},{"type":"image"}]"#),
            None
        );
        assert_eq!(alone("42"), None);
        assert_eq!(alone("[]"), Some(String::new()));
    }
}
