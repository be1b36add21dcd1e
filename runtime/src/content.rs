//! Content blocks, as agents and models exchange them: a JSON list of objects tagged by `type`.
//!
//! The set of tags is open. Blocks other than text pass through the seams untouched.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::Json;

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type")]
    tag: String,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
}

impl Block<'_> {
    fn text(&self) -> Option<String> {
        if self.tag != "text" {
            return None;
        }
        self.text
            .and_then(|text| serde_json::from_str(text.get()).ok())
    }
}

fn blocks(blocks: &Json) -> Result<Vec<Block<'_>>, serde_json::Error> {
    serde_json::from_str(blocks.text())
}

/// The text of every text block, one after another, with nothing between. Anything that is not a list of blocks has no
/// text.
pub fn text_of(content: &Json) -> String {
    blocks(content)
        .unwrap_or_default()
        .iter()
        .filter_map(Block::text)
        .collect()
}

/// Checks that something is a list of blocks, whose text blocks have text.
pub(crate) fn check(content: &Json) -> Result<(), String> {
    let blocks =
        blocks(content).map_err(|error| format!("it is no list of content blocks: {error}"))?;
    match blocks
        .iter()
        .position(|block| block.tag == "text" && block.text().is_none())
    {
        Some(at) => Err(format!(
            "its content block {at} is a text block without text"
        )),
        None => Ok(()),
    }
}

/// A list of text blocks.
pub(crate) fn of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Json {
    let blocks: Vec<String> = texts
        .into_iter()
        .map(|text| format!(r#"{{"type":"text","text":{}}}"#, Json::string(text)))
        .collect();
    Json::trusted(format!("[{}]", blocks.join(",")))
}

/// All blocks, where the text alone would not bring them back: there is something beside one block of text, or something
/// beside the text in that block.
pub(crate) fn beside_text(content: &Json, text: &str) -> Option<Json> {
    (*content != of_texts([text])).then(|| content.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    #[test]
    fn only_text_blocks_have_text() {
        let blocks = json(
            r#"[{"type":"text","text":"a"},{"type":"image","text":1},{"type":"text","text":"b"},{"type":"x"}]"#,
        );
        assert_eq!(text_of(&blocks), "ab");
        assert_eq!(text_of(&json("42")), "");
    }

    #[test]
    fn what_is_no_list_of_blocks_is_told() {
        assert!(check(&json(r#"[{"type":"text","text":"a"},{"type":"x"}]"#)).is_ok());
        for wrong in [
            r#""text""#,
            r#"[{"text":"a"}]"#,
            r#"[{"type":"text"}]"#,
            r#"[{"type":"text","text":1}]"#,
        ] {
            assert!(check(&json(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn deep_blocks_of_other_kinds_are_fine() {
        let deep = "[".repeat(5_000) + &"]".repeat(5_000);
        let blocks = json(&format!(
            r#"[{{"type":"text","text":"a"}},{{"type":"x","deep":{deep}}}]"#
        ));
        assert!(check(&blocks).is_ok());
        assert_eq!(text_of(&blocks), "a");
    }
}
