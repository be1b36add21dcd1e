//! Content blocks, as agents and models exchange them: a JSON list of objects tagged by `type`.
//!
//! The set of tags is open. Blocks other than text pass through the seams untouched.

use serde::Deserialize;

use crate::json::Json;

/// The text of every text block, one after another, with nothing between. Anything that is not a list of blocks has no
/// text.
pub fn text_of(blocks: &Json) -> String {
    #[derive(Deserialize)]
    struct Block {
        #[serde(rename = "type")]
        tag: String,
        text: Option<String>,
    }
    blocks
        .read::<Vec<Block>>()
        .unwrap_or_default()
        .into_iter()
        .filter(|block| block.tag == "text")
        .filter_map(|block| block.text)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_blocks_have_text() {
        let blocks = Json::parse(
            r#"[{"type":"text","text":"a"},{"type":"image","attachment":1},{"type":"text","text":"b"},{"type":"x"}]"#,
        )
        .unwrap();
        assert_eq!(text_of(&blocks), "ab");
        assert_eq!(text_of(&Json::parse("42").unwrap()), "");
    }
}
