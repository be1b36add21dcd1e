//! What a policy's function may return.

use std::fmt::Display;

/// A seam's decision, or a `Result` of it whose error says why the policy could not decide.
#[diagnostic::on_unimplemented(
    message = "this seam wants a `{D}`, or a `Result` of it whose error implements `Display`",
    label = "returns `{Self}`"
)]
pub trait Answer<D> {
    /// The decision, or the reason why there is none as the host's log wants it.
    fn into_result(self) -> Result<D, String>;
}

impl<D> Answer<D> for D {
    fn into_result(self) -> Result<D, String> {
        Ok(self)
    }
}

impl<D, E: Display> Answer<D> for Result<D, E> {
    fn into_result(self) -> Result<D, String> {
        self.map_err(|error| error.to_string())
    }
}

/// Turns what the function returned into what the interface wants.
pub fn answer<D>(answer: impl Answer<D>) -> Result<D, String> {
    answer.into_result()
}
