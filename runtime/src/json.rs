//! JSON as the seams carry it: text that is known to be lossless.
//!
//! Tool arguments and results cross between agents, hooks and sandboxed policies as JSON text. Two readers must never
//! understand one text differently, or a policy would judge something else than what runs. So text with duplicate
//! keys, negative zero, unpaired surrogates or trailing bytes is refused, never repaired.
//!
//! The check walks the text without recursion, so depth costs no stack.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;

/// How many containers may be open at once. Agents produce a few dozen at most.
pub const MAX_DEPTH: usize = 10_000;

/// A piece of lossless JSON, kept as its text.
///
/// Cheap to clone. Two values are equal when their texts are.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Json(Arc<str>);

impl Json {
    /// Takes text that is exactly one lossless JSON value. Blanks and line ends around its tokens are left out; strings and
    /// numbers stay as they are written. So a value is always one line, wherever it is written down.
    ///
    /// # Errors
    /// Says what is wrong with the text, and at which byte.
    pub fn parse(text: impl Into<Arc<str>>) -> Result<Self, JsonError> {
        let text = text.into();
        check(&text)?;
        Ok(Self(compact(&text).map_or(text, Arc::from)))
    }

    /// Writes a value down.
    ///
    /// # Errors
    /// The value has a negative zero in it, or is nested deeper than [`MAX_DEPTH`].
    pub fn of(value: &serde_json::Value) -> Result<Self, JsonError> {
        Self::parse(value.to_string())
    }

    /// Text that was put together from checked pieces, and need not be walked again.
    pub(crate) fn trusted(text: String) -> Self {
        debug_assert_eq!(check(&text), Ok(()));
        Self(text.into())
    }

    /// A JSON string with this text.
    pub fn string(text: &str) -> Self {
        Self(
            serde_json::Value::String(text.to_owned())
                .to_string()
                .into(),
        )
    }

    /// The empty object.
    pub fn empty_object() -> Self {
        Self("{}".into())
    }

    /// `null`.
    pub fn null() -> Self {
        Self("null".into())
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Reads it into a Rust type.
    ///
    /// # Errors
    /// The JSON has another shape, or is nested deeper than serde_json goes (128 levels).
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.0)
    }
}

/// Checked text without what may stand between its tokens. Nothing, where nothing does.
fn compact(text: &str) -> Option<String> {
    let mut compact: Option<String> = None;
    let (mut in_string, mut escaped) = (false, false);
    for (position, byte) in text.bytes().enumerate() {
        let is_blank = !in_string && matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        if is_blank && compact.is_none() {
            compact = Some(text[..position].to_owned());
        }
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else {
            in_string = byte == b'"';
        }
        if let Some(compact) = &mut compact
            && !is_blank
        {
            // Blanks are single bytes, so whole characters are copied from their first byte on.
            if text.is_char_boundary(position) {
                compact.extend(text[position..].chars().next());
            }
        }
    }
    compact
}

impl fmt::Debug for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl serde::Serialize for Json {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &serde_json::value::RawValue =
            serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// Why a text is not lossless JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at byte {offset}")]
pub struct JsonError {
    /// What is wrong.
    pub problem: JsonProblem,
    /// Where, as a byte offset into the text.
    pub offset: usize,
}

/// The kinds of trouble a text can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonProblem {
    /// The text ends inside a value.
    #[error("the text ends too early")]
    End,
    /// Something stands where it may not.
    #[error("unexpected character")]
    Unexpected,
    /// There is more after the value.
    #[error("more text after the value")]
    Trailing,
    /// An object has a key twice.
    #[error("duplicate key \"{0}\"")]
    DuplicateKey(String),
    /// The number `-0`, in one of its spellings.
    #[error("negative zero")]
    NegativeZero,
    /// A number too large to be finite.
    #[error("number out of range")]
    Range,
    /// Half of a surrogate pair.
    #[error("unpaired surrogate")]
    Surrogate,
    /// Nested too deeply.
    #[error("nested deeper than {MAX_DEPTH} levels")]
    Depth,
}

/// What the walk expects next.
#[derive(Clone, Copy, PartialEq)]
enum Expect {
    Value,
    ValueOrClose,
    Key,
    KeyOrClose,
    CommaOrClose,
}

/// An open container: an array, or an object with the keys it has had.
enum Open {
    Array,
    Object(HashSet<String>),
}

/// Walks one value and says the first thing that is wrong with it.
fn check(text: &str) -> Result<(), JsonError> {
    let mut cursor = Cursor {
        bytes: text.as_bytes(),
        text,
        at: 0,
    };
    let mut open: Vec<Open> = Vec::new();
    let mut expect = Expect::Value;
    loop {
        cursor.skip_blanks();
        let start = cursor.at;
        let byte = cursor
            .peek()
            .ok_or_else(|| cursor.error(JsonProblem::End))?;
        match (expect, byte) {
            (Expect::ValueOrClose, b']') | (Expect::KeyOrClose, b'}') => {
                cursor.at += 1;
                open.pop();
            }
            (Expect::CommaOrClose, b',') => {
                cursor.at += 1;
                expect = match open.last() {
                    Some(Open::Object(_)) => Expect::Key,
                    _ => Expect::Value,
                };
                continue;
            }
            (Expect::CommaOrClose, b']') if matches!(open.last(), Some(Open::Array)) => {
                cursor.at += 1;
                open.pop();
            }
            (Expect::CommaOrClose, b'}') if matches!(open.last(), Some(Open::Object(_))) => {
                cursor.at += 1;
                open.pop();
            }
            (Expect::Key | Expect::KeyOrClose, b'"') => {
                let key = cursor.string()?;
                if let Some(Open::Object(keys)) = open.last_mut() {
                    if keys.contains(&key) {
                        return Err(JsonError {
                            problem: JsonProblem::DuplicateKey(key),
                            offset: start,
                        });
                    }
                    keys.insert(key);
                }
                cursor.skip_blanks();
                cursor.literal(b":")?;
                expect = Expect::Value;
                continue;
            }
            (Expect::Value | Expect::ValueOrClose, _) => match byte {
                b'{' | b'[' => {
                    if open.len() == MAX_DEPTH {
                        return Err(cursor.error(JsonProblem::Depth));
                    }
                    cursor.at += 1;
                    if byte == b'{' {
                        open.push(Open::Object(HashSet::new()));
                        expect = Expect::KeyOrClose;
                    } else {
                        open.push(Open::Array);
                        expect = Expect::ValueOrClose;
                    }
                    continue;
                }
                b'"' => {
                    cursor.string()?;
                }
                b't' => cursor.literal(b"true")?,
                b'f' => cursor.literal(b"false")?,
                b'n' => cursor.literal(b"null")?,
                _ => cursor.number()?,
            },
            _ => return Err(cursor.error(JsonProblem::Unexpected)),
        }
        // A value has just ended, or a container closed.
        if open.is_empty() {
            cursor.skip_blanks();
            return match cursor.peek() {
                None => Ok(()),
                Some(_) => Err(cursor.error(JsonProblem::Trailing)),
            };
        }
        expect = Expect::CommaOrClose;
    }
}

/// A place in the text.
struct Cursor<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
}

impl Cursor<'_> {
    fn error(&self, problem: JsonProblem) -> JsonError {
        JsonError {
            problem,
            offset: self.at,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn literal(&mut self, expected: &[u8]) -> Result<(), JsonError> {
        for &byte in expected {
            match self.peek() {
                Some(found) if found == byte => self.at += 1,
                Some(_) => return Err(self.error(JsonProblem::Unexpected)),
                None => return Err(self.error(JsonProblem::End)),
            }
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            Some(b'0'..=b'9') => {}
            Some(_) => return Err(self.error(JsonProblem::Unexpected)),
            None => return Err(self.error(JsonProblem::End)),
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        let mut plain = true;
        if self.peek() == Some(b'.') {
            plain = false;
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            plain = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let number = &self.text[start..self.at];
        // A short integer can only be wrong by being `-0`.
        if plain && number.len() < 16 {
            return if number == "-0" {
                Err(self.fail_at(start, JsonProblem::NegativeZero))
            } else {
                Ok(())
            };
        }
        match number.parse::<f64>() {
            Ok(value) if !value.is_finite() => Err(self.fail_at(start, JsonProblem::Range)),
            Ok(value) if value == 0.0 && value.is_sign_negative() => {
                Err(self.fail_at(start, JsonProblem::NegativeZero))
            }
            Ok(_) => Ok(()),
            Err(_) => Err(self.fail_at(start, JsonProblem::Unexpected)),
        }
    }

    fn fail_at(&self, offset: usize, problem: JsonProblem) -> JsonError {
        JsonError { problem, offset }
    }

    /// Reads a string from its opening quote on, and gives it decoded.
    fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let mut decoded = String::new();
        let mut plain = self.at;
        loop {
            match self.peek() {
                None => return Err(self.error(JsonProblem::End)),
                Some(b'"') => {
                    decoded.push_str(&self.text[plain..self.at]);
                    self.at += 1;
                    return Ok(decoded);
                }
                Some(b'\\') => {
                    decoded.push_str(&self.text[plain..self.at]);
                    self.at += 1;
                    decoded.push(self.escape()?);
                    plain = self.at;
                }
                Some(0..=0x1f) => return Err(self.error(JsonProblem::Unexpected)),
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let byte = self.peek().ok_or_else(|| self.error(JsonProblem::End))?;
        self.at += 1;
        Ok(match byte {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(),
            _ => {
                self.at -= 1;
                return Err(self.error(JsonProblem::Unexpected));
            }
        })
    }

    fn unicode_escape(&mut self) -> Result<char, JsonError> {
        let start = self.at;
        let first = self.four_hex_digits()?;
        if (0xd800..0xdc00).contains(&first) {
            if self.literal(b"\\u").is_ok() {
                let second = self.four_hex_digits()?;
                if (0xdc00..0xe000).contains(&second) {
                    let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                    return char::from_u32(code)
                        .ok_or_else(|| self.fail_at(start, JsonProblem::Surrogate));
                }
            }
            return Err(self.fail_at(start, JsonProblem::Surrogate));
        }
        char::from_u32(first).ok_or_else(|| self.fail_at(start, JsonProblem::Surrogate))
    }

    fn four_hex_digits(&mut self) -> Result<u32, JsonError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = match self.peek() {
                Some(byte) => char::from(byte).to_digit(16),
                None => return Err(self.error(JsonProblem::End)),
            };
            code = code * 16 + digit.ok_or_else(|| self.error(JsonProblem::Unexpected))?;
            self.at += 1;
        }
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> Option<JsonProblem> {
        Json::parse(text).err().map(|error| error.problem)
    }

    #[test]
    fn lossless_texts_pass() {
        for text in [
            "null",
            " true ",
            "0",
            "-1",
            "0.5e-3",
            "12345678901234567890",
            r#""\u00e9\ud83d\ude00\n""#,
            "[]",
            "{}",
            r#"[1,{"a":[],"b":{}}, "x"]"#,
            r#"{"a":{"a":1},"b":[{"a":2}]}"#,
        ] {
            assert_eq!(problem(text), None, "{text}");
        }
    }

    #[test]
    fn lossy_or_broken_texts_are_refused() {
        for (text, expected) in [
            ("", JsonProblem::End),
            ("{\"a\":", JsonProblem::End),
            ("[1,", JsonProblem::End),
            ("\"abc", JsonProblem::End),
            ("[1,]", JsonProblem::Unexpected),
            ("{\"a\":1,}", JsonProblem::Unexpected),
            ("{a:1}", JsonProblem::Unexpected),
            ("[1}", JsonProblem::Unexpected),
            ("{\"a\":1]", JsonProblem::Unexpected),
            ("01", JsonProblem::Trailing),
            ("1 2", JsonProblem::Trailing),
            ("{} x", JsonProblem::Trailing),
            ("NaN", JsonProblem::Unexpected),
            ("+1", JsonProblem::Unexpected),
            ("1.", JsonProblem::End),
            ("-0", JsonProblem::NegativeZero),
            ("[-0.0]", JsonProblem::NegativeZero),
            ("-0e5", JsonProblem::NegativeZero),
            ("1e999", JsonProblem::Range),
            ("\"\u{1}\"", JsonProblem::Unexpected),
            ("\"\\x\"", JsonProblem::Unexpected),
            ("\"\\ud800\"", JsonProblem::Surrogate),
            ("\"\\ud800\\u0041\"", JsonProblem::Surrogate),
            ("\"\\udc00\"", JsonProblem::Surrogate),
            (
                r#"{"a":1,"\u0061":2}"#,
                JsonProblem::DuplicateKey("a".into()),
            ),
        ] {
            assert_eq!(problem(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn five_thousand_levels_are_fine_and_too_many_are_an_error() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert_eq!(problem(&nested(5_000)), None);
        assert_eq!(problem(&nested(MAX_DEPTH)), None);
        assert_eq!(problem(&nested(MAX_DEPTH + 1)), Some(JsonProblem::Depth));
        assert_eq!(problem(&"[".repeat(1_000_000)), Some(JsonProblem::Depth));
    }

    #[test]
    fn an_error_points_at_the_byte() {
        let error = Json::parse(r#"{"a": 1, "a": 2}"#).unwrap_err();
        assert_eq!(error.offset, 9);
        assert_eq!(error.to_string(), "duplicate key \"a\" at byte 9");
    }
}
