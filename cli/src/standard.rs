//! The standard policies that ship with the program.

use seamgate::{ComponentSource, Digest, Grants, Limits, PolicySpec, Tier};

/// A policy that ships with the program, built from `policies/`.
struct StandardPolicy {
    name: &'static str,
    component: &'static [u8],
    digest: [u8; 32],
}

static STANDARD: &[StandardPolicy] = &include!(concat!(env!("OUT_DIR"), "/standard.rs"));

/// The component of a standard policy.
pub(crate) fn component(name: &str) -> Option<ComponentSource> {
    STANDARD
        .iter()
        .find(|policy| policy.name == name)
        .map(StandardPolicy::source)
}

/// All of them with their default settings, in the order in which they are asked.
pub(crate) fn all() -> Vec<PolicySpec> {
    STANDARD
        .iter()
        .map(|policy| PolicySpec {
            name: policy.name.to_owned(),
            component: policy.source(),
            tier: Tier::Untrusted,
            tools: None,
            settings: Vec::new(),
            grants: Grants::none(),
            limits: Limits::default(),
        })
        .collect()
}

impl StandardPolicy {
    fn source(&self) -> ComponentSource {
        ComponentSource::Bytes {
            bytes: self.component.into(),
            digest: Digest::from_bytes(self.digest),
        }
    }
}
