//! What a configuration grants a policy. A policy that was granted nothing has no rights beyond answering.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The rights of one policy. None unless the configuration gives them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Grants {
    /// It may keep state from one decision to the next, through `wasi:keyvalue/store`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<StateGrant>,
}

/// Where a policy's state is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StateGrant {
    /// In memory. It begins empty when the policy is loaded, and is gone with it.
    Memory,
}

/// The interface that the grant `state` is for.
pub(super) const STATE: &str = "wasi:keyvalue/store@0.2.0-draft2";

impl Grants {
    /// None.
    pub fn none() -> Self {
        Self::default()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        *self == Self::none()
    }

    /// Whether they cover an import that needs a grant.
    pub(super) fn cover(&self, import: &str) -> bool {
        import == STATE && self.state.is_some()
    }

    /// The grant that an import needs, where there is one for it.
    pub(super) fn needed_for(import: &str) -> Option<Self> {
        (import == STATE).then_some(Self {
            state: Some(StateGrant::Memory),
        })
    }

    /// These and others.
    pub(super) fn and(self, others: Self) -> Self {
        Self {
            state: self.state.or(others.state),
        }
    }
}

/// As it is written into a policy's entry: `{ state = "memory" }`.
impl fmt::Display for Grants {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.state {
            Some(StateGrant::Memory) => "{ state = \"memory\" }",
            None => "{}",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_what_is_read() {
        #[derive(Deserialize)]
        struct Entry {
            grants: Grants,
        }
        let needed = Grants::needed_for(STATE).unwrap();
        for grants in [Grants::none(), needed] {
            let entry: Entry = toml::from_str(&format!("grants = {grants}")).unwrap();
            assert_eq!(entry.grants, grants);
        }
    }

    #[test]
    fn a_grant_is_for_its_interface_in_its_version() {
        let grants = Grants::needed_for(STATE).unwrap();
        assert!(grants.cover(STATE));
        for other in [
            "wasi:keyvalue/store@0.2.0-draft",
            "wasi:keyvalue/atomics@0.2.0-draft2",
            "wasi:clocks/wall-clock@0.2.0",
        ] {
            assert!(!grants.cover(other), "{other}");
            assert_eq!(Grants::needed_for(other), None, "{other}");
        }
        assert!(!Grants::none().cover(STATE));
    }
}
