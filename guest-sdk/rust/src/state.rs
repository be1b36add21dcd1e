//! What a policy keeps from one decision to the next.
//!
//! Every decision is made by a fresh instance, so nothing else survives it. State needs a grant in the configuration; a policy
//! that uses this module is not loaded without:
//!
//! ```toml
//! [[policy]]
//! name = "counting"
//! component = "counting.wasm"
//! grants = { state = "memory" }
//! ```
//!
//! ```
//! use seamgate_sdk::state::{self, StateError};
//!
//! /// How often a tool was called.
//! fn count(tool: &str) -> Result<u32, StateError> {
//!     let key = format!("calls of {tool}");
//!     let known = state::get(&key)?.and_then(|bytes| bytes.try_into().ok());
//!     let count = known.map_or(0, u32::from_le_bytes) + 1;
//!     state::set(&key, &count.to_le_bytes())?;
//!     Ok(count)
//! }
//!
//! assert_eq!(count("Bash"), Ok(1));
//! assert_eq!(count("Bash"), Ok(2));
//! ```
//!
//! All decisions of a policy share its state, also those that are made at the same time: between a `get` and a `set` another
//! decision may set the same key.
//!
//! On other targets than `wasm32` there is a store for each thread, which is what a test of the policy's functions gets;
//! [`testing`](crate::testing) has functions that empty it and make it refuse.

use std::fmt;

/// Why the state could not be read or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateError(String);

impl fmt::Display for StateError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for StateError {}

/// The value of a key, or none where there is no such key.
///
/// # Errors
///
/// The host can't read it.
pub fn get(key: &str) -> Result<Option<Vec<u8>>, StateError> {
    store::get(key)
}

/// Sets the value of a key, in place of the one that it has.
///
/// Key and value cross to the host together, and may have as many bytes as a decision: more than the policy's limit
/// `decision-bytes` ends it.
///
/// # Errors
///
/// The state would go beyond the policy's limits `state-bytes` and `state-keys`. It is then as it was.
pub fn set(key: &str, value: &[u8]) -> Result<(), StateError> {
    store::set(key, value)
}

/// Takes a key away with its value. Where there is no such key it does nothing.
///
/// # Errors
///
/// The host can't change it.
pub fn delete(key: &str) -> Result<(), StateError> {
    store::delete(key)
}

#[cfg(target_arch = "wasm32")]
mod store {
    use super::StateError;
    use crate::bindings::state::store::{self, Bucket, Error};

    fn bucket() -> Result<Bucket, StateError> {
        store::open("default").map_err(error)
    }

    fn error(error: Error) -> StateError {
        StateError(match error {
            Error::NoSuchStore => "the host has no bucket `default`".into(),
            Error::AccessDenied => "the host does not let this policy use its state".into(),
            Error::Other(reason) => reason,
        })
    }

    pub(super) fn get(key: &str) -> Result<Option<Vec<u8>>, StateError> {
        bucket()?.get(key).map_err(error)
    }

    pub(super) fn set(key: &str, value: &[u8]) -> Result<(), StateError> {
        bucket()?.set(key, value).map_err(error)
    }

    pub(super) fn delete(key: &str) -> Result<(), StateError> {
        bucket()?.delete(key).map_err(error)
    }
}

#[cfg(not(target_arch = "wasm32"))]
pub(crate) mod store {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    use super::StateError;

    #[derive(Default)]
    struct Store {
        entries: BTreeMap<String, Vec<u8>>,
        refuses: Option<String>,
    }

    thread_local! {
        static STORE: RefCell<Store> = RefCell::default();
    }

    pub(super) fn get(key: &str) -> Result<Option<Vec<u8>>, StateError> {
        Ok(STORE.with_borrow(|store| store.entries.get(key).cloned()))
    }

    pub(super) fn set(key: &str, value: &[u8]) -> Result<(), StateError> {
        STORE.with_borrow_mut(|store| match &store.refuses {
            Some(reason) => Err(StateError(reason.clone())),
            None => {
                store.entries.insert(key.to_owned(), value.to_owned());
                Ok(())
            }
        })
    }

    pub(super) fn delete(key: &str) -> Result<(), StateError> {
        STORE.with_borrow_mut(|store| store.entries.remove(key));
        Ok(())
    }

    pub(crate) fn clear() {
        STORE.take();
    }

    pub(crate) fn refuse(reason: &str) {
        STORE.with_borrow_mut(|store| store.refuses = Some(reason.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn what_is_set_is_there_until_it_is_deleted() {
        testing::clear_state();
        assert_eq!(get("a"), Ok(None));
        set("a", b"1").unwrap();
        set("a", b"2").unwrap();
        assert_eq!(get("a"), Ok(Some(b"2".to_vec())));
        delete("a").unwrap();
        delete("a").unwrap();
        assert_eq!(get("a"), Ok(None));
    }

    #[test]
    fn a_refused_value_changes_nothing() {
        testing::clear_state();
        set("a", b"1").unwrap();
        testing::refuse_state("full");
        assert_eq!(set("a", b"2").unwrap_err().to_string(), "full");
        assert_eq!(get("a"), Ok(Some(b"1".to_vec())));
        testing::clear_state();
        assert_eq!((get("a"), set("a", b"2")), (Ok(None), Ok(())));
    }
}
