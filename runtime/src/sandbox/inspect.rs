//! What a component exports and imports, read from its type. Nothing of it runs.

use std::fmt;

use serde::{Deserialize, Serialize};
use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;

use super::grants::Grants;
use super::load_error::LoadError;
use super::wire;
use crate::seams::SeamName;

/// How far a policy is trusted. Told by the configuration, never by the component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// May abstain, ask, deny, block, and add bounded contexts. Can't widen what an agent may do.
    #[default]
    Untrusted,
    /// May also allow, rewrite and replace.
    Trusted,
}

impl fmt::Display for Tier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Untrusted => "untrusted",
            Self::Trusted => "trusted",
        })
    }
}

/// An interface of ours that a component exports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// The interface's name: a seam, or its `trusted-` form.
    pub interface: String,
    /// The version that the component was built against.
    pub version: String,
}

impl Export {
    /// The least tier that may export it.
    pub fn tier(&self) -> Tier {
        if self.interface.starts_with("trusted-")
            || matches!(self.interface.as_str(), "rewrite-input" | "around-tool")
        {
            Tier::Trusted
        } else {
            Tier::Untrusted
        }
    }

    /// The seam it subscribes to.
    pub fn seam(&self) -> &str {
        self.interface
            .strip_prefix("trusted-")
            .unwrap_or(&self.interface)
    }
}

/// What a component exports and imports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inspection {
    /// Its seams.
    pub exports: Vec<Export>,
    /// What else it exports. It is never called.
    pub other_exports: Vec<String>,
    /// The interfaces it imports functions or resources from: what it wants rights for.
    pub imports: Vec<String>,
}

impl Inspection {
    /// Reads a component's type.
    pub(crate) fn of(engine: &Engine, component: &Component) -> Self {
        let ty = component.component_type();
        let mut inspection = Self {
            exports: Vec::new(),
            other_exports: Vec::new(),
            imports: Vec::new(),
        };
        for (name, _) in ty.exports(engine) {
            match split(name) {
                Some((package, interface, version)) if package == wire::PACKAGE => {
                    inspection.exports.push(Export {
                        interface: interface.to_owned(),
                        version: version.to_owned(),
                    });
                }
                _ => inspection.other_exports.push(name.to_owned()),
            }
        }
        for (name, item) in ty.imports(engine) {
            // An interface of types only gives no right, whatever its name.
            let types_only = match item.ty {
                ComponentItem::ComponentInstance(instance) => instance
                    .exports(engine)
                    .all(|(_, item)| matches!(item.ty, ComponentItem::Type(_))),
                _ => false,
            };
            if !types_only {
                inspection.imports.push(name.to_owned());
            }
        }
        inspection
    }

    /// Whether it subscribes to a seam.
    pub fn exports(&self, seam: SeamName) -> bool {
        self.exports
            .iter()
            .any(|export| export.seam() == seam.as_str())
    }

    /// The grants without which it is not loaded.
    pub fn needs(&self) -> Grants {
        self.imports
            .iter()
            .filter_map(|import| Grants::needed_for(import))
            .fold(Grants::none(), Grants::and)
    }

    /// Checks it against a tier and what is granted.
    ///
    /// # Errors
    /// Says which export or import keeps it from being loaded.
    pub fn check(&self, policy: &str, tier: Tier, grants: &Grants) -> Result<(), LoadError> {
        if self.exports.is_empty() {
            let exports = if self.other_exports.is_empty() {
                "nothing".to_owned()
            } else {
                self.other_exports.join(", ")
            };
            return Err(LoadError::NoSeam {
                policy: policy.to_owned(),
                exports,
            });
        }
        for export in &self.exports {
            let known = wire::INTERFACES.contains(&export.interface.as_str());
            if !known || export.version != wire::VERSION {
                return Err(LoadError::UnknownInterface {
                    policy: policy.to_owned(),
                    interface: format!("{}/{}", wire::PACKAGE, export.interface),
                    found: export.version.clone(),
                    known: if known {
                        format!("version {}", wire::VERSION)
                    } else {
                        format!("no such seam in version {}", wire::VERSION)
                    },
                });
            }
            if export.tier() == Tier::Trusted && tier == Tier::Untrusted {
                return Err(LoadError::Tier {
                    policy: policy.to_owned(),
                    interface: export.interface.clone(),
                    tier,
                });
            }
            if export.interface != export.seam()
                && self
                    .exports
                    .iter()
                    .any(|other| other.interface == export.seam())
            {
                return Err(LoadError::BothForms {
                    policy: policy.to_owned(),
                    seam: export.seam().to_owned(),
                });
            }
        }
        for import in &self.imports {
            let lent = import == NEXT && self.exports(SeamName::AroundTool);
            if import != SETTINGS && !lent && !grants.cover(import) {
                return Err(LoadError::Import {
                    policy: policy.to_owned(),
                    import: import.clone(),
                });
            }
        }
        Ok(())
    }
}

/// What a policy at `around-tool` is lent. It gives no right beyond that seam.
const NEXT: &str = "seamgate:policy/next@0.1.0";

/// What every policy may import: its own settings.
const SETTINGS: &str = "wasi:config/store@0.2.0-rc.1";

/// `package:name/interface@version` in its parts.
fn split(name: &str) -> Option<(&str, &str, &str)> {
    let (package, rest) = name.split_once('/')?;
    let (interface, version) = rest.split_once('@').unwrap_or((rest, "none"));
    Some((package, interface, version))
}
