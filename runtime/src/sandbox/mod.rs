//! The sandbox: policies as WebAssembly components, one fresh instance for each decision, no rights unless granted.
//!
//! The way of a policy: [`artifact`] finds its compiled code or has it made by [`compile`]; [`inspect`] reads from its type
//! what it exports and imports; [`policy`] checks that against its tier and its [`grants`], links it, tries one instance, and
//! from then on makes an instance for each decision, under [`limits`]. What outlives an instance is in [`state`].

mod around;
mod artifact;
mod compile;
mod component;
mod engine;
mod grants;
mod inspect;
mod limits;
mod load_error;
mod policy;
mod state;
pub(crate) mod wire;

use std::future::Future;

pub(crate) use around::{AroundFailure, PolicyAround};
pub use artifact::{CacheError, Digest};
pub use compile::{Compiler, compile_component};
pub use component::ComponentSource;
pub use engine::{EngineProfile, Sandbox, WASMTIME_VERSION};
pub use grants::{Grants, StateGrant};
pub use inspect::{Export, Inspection, Tier};
pub use limits::Limits;
pub use load_error::LoadError;
pub use policy::{Policy, PolicySpec};

use crate::json::Json;
use crate::seams::Seam;
use limits::LimitHit;

/// What a call into a guest comes to: the engine's error, or the guest's own word that it could not decide, or a decision.
pub type Lifted<T> = wasmtime::Result<Result<T, String>>;

/// How a seam's event and decision cross the boundary. Sealed: the set of seams is closed.
pub trait PolicySeam {
    /// The event as the guest gets it.
    type Wire: Send + Sync;

    /// Puts an event into that form.
    fn to_wire(event: &<Self as Seam>::Event) -> Self::Wire
    where
        Self: Seam;

    /// Asks one instance.
    fn call(
        context: CallContext<'_>,
        event: &Self::Wire,
    ) -> impl Future<Output = Lifted<<Self as Seam>::Decision>> + Send
    where
        Self: Seam;
}

/// One instance, about to be asked.
pub struct CallContext<'a> {
    pub(crate) exports: &'a wire::Exports,
    pub(crate) store: &'a mut wasmtime::Store<policy::State>,
    pub(crate) instance: &'a wasmtime::component::Instance,
}

impl<'a> CallContext<'a> {
    /// The export that answers for a seam. A policy is only asked at seams that it exports, so its absence is a defect of
    /// ours, which is reported and never a decision.
    pub(crate) fn seam<T>(
        &self,
        pick: impl FnOnce(&'a wire::Exports) -> &'a Option<T>,
    ) -> wasmtime::Result<&'a T> {
        pick(self.exports)
            .as_ref()
            .ok_or_else(|| wasmtime::format_err!("asked at a seam that the policy does not export"))
    }
}

/// JSON that a policy returned.
pub(crate) fn lossless(text: String) -> wasmtime::Result<Json> {
    Json::parse(text).map_err(|error| wasmtime::Error::from(LimitHit::Lossy(error)))
}
