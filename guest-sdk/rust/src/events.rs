//! Reading the JSON that events carry.

use std::fmt;

use serde::de::DeserializeOwned;

use crate::{Outcome, ToolCall, ToolError};

impl ToolCall {
    /// The arguments as a type of yours. The text itself is the field of the same name.
    ///
    /// # Errors
    ///
    /// The arguments don't fit the type. Where that only means that the call is none of this policy's business, look at
    /// `tool` first: an error means "could not decide", and closes the gate.
    pub fn arguments<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.arguments)
    }
}

impl Outcome {
    /// The tool's value as a type of yours.
    ///
    /// # Errors
    ///
    /// The tool failed and so has no value, or the value doesn't fit the type.
    pub fn value<T: DeserializeOwned>(&self) -> Result<T, ValueError> {
        match &self.result {
            Ok(value) => serde_json::from_str(value).map_err(ValueError::Json),
            Err(failure) => Err(ValueError::Failed(failure.clone())),
        }
    }
}

/// Why [`Outcome::value`] has nothing to give.
#[derive(Debug)]
pub enum ValueError {
    /// The tool failed, in this way.
    Failed(ToolError),
    /// The value is not of the type asked for.
    Json(serde_json::Error),
}

impl fmt::Display for ValueError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(failure) => write!(formatter, "the tool failed: {}", failure.message),
            Self::Json(error) => write!(formatter, "the tool's value is not as expected: {error}"),
        }
    }
}

impl std::error::Error for ValueError {}

#[cfg(test)]
mod tests {
    use crate::testing::{failed_outcome, outcome, tool_call};

    #[test]
    fn arguments_are_read_into_a_type() {
        let call = tool_call("Read", serde_json::json!({ "limit": [1, 2] }));
        let read: std::collections::BTreeMap<String, Vec<u8>> = call.arguments().unwrap();
        assert_eq!(read, [("limit".to_owned(), vec![1, 2])].into());
        assert!(call.arguments::<Vec<u8>>().is_err());
    }

    #[test]
    fn a_failed_outcome_has_no_value() {
        assert_eq!(outcome(serde_json::json!(3)).value::<u8>().unwrap(), 3);
        let cases = [
            (
                outcome(serde_json::json!("x")),
                "the tool's value is not as expected: ",
            ),
            (
                failed_outcome("no such file"),
                "the tool failed: no such file",
            ),
        ];
        for (outcome, message) in cases {
            let error = outcome.value::<u8>().unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
