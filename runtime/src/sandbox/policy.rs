//! A policy that is loaded, and the way of one decision through it.

use std::borrow::Cow;
use std::sync::Arc;

use wasmtime::component::{Component, InstancePre, ResourceTable};
use wasmtime::{Engine, Store, Trap, UpdateDeadline};

use super::artifact::{ArtifactCache, Digest};
use super::component::{ComponentSource, recognise};
use super::engine::Sandbox;
use super::grants::Grants;
use super::inspect::{Inspection, Tier};
use super::limits::{LimitHit, Limits, Meter};
use super::load_error::LoadError;
use super::state::Memory;
use super::{CallContext, wire};
use crate::failure::{Failure, FailureCode, HookName};
use crate::seams::Seam;

/// How many handles a guest may hold at once: `next`, and buckets of its state.
const MAX_HANDLES: usize = 100;

/// A policy as the configuration describes it.
#[derive(Debug, Clone)]
pub struct PolicySpec {
    /// The name that its decisions are stamped with.
    pub name: String,
    /// Where its component is.
    pub component: ComponentSource,
    /// How far it is trusted.
    pub tier: Tier,
    /// The tools it is asked about. None means all.
    pub tools: Option<Vec<String>>,
    /// Its settings: a string as it is, anything else as JSON text.
    pub settings: Vec<(String, String)>,
    /// What it may import beyond its settings.
    pub grants: Grants,
    /// What one of its decisions may use up, and what it may keep.
    pub limits: Limits,
}

/// A policy that is loaded: compiled, checked against its tier and its grants, linked, and tried once.
///
/// What it keeps where it was granted state is kept here, and lives as long as this.
pub struct Policy {
    name: HookName,
    digest: Digest,
    tier: Tier,
    inspection: Inspection,
    pub(super) limits: Limits,
    settings: Arc<[(String, String)]>,
    memory: Arc<Memory>,
    tools: Option<Vec<String>>,
    pub(super) sandbox: Sandbox,
    pub(super) instance: InstancePre<State>,
    pub(super) exports: wire::Exports,
}

/// What an instance has at hand while it decides.
pub struct State {
    meter: Meter,
    settings: Arc<[(String, String)]>,
    /// What the policy keeps.
    pub(super) memory: Arc<Memory>,
    ticks_left: u64,
    /// It has waited for `next` since the last tick, so the coming one is not all its own.
    pub(super) waited: bool,
    /// The handles it was lent.
    pub(super) table: ResourceTable,
}

impl wire::config::Host for State {
    async fn get(
        &mut self,
        key: String,
    ) -> wasmtime::Result<Result<Option<String>, wire::config::Error>> {
        Ok(Ok(self
            .settings
            .iter()
            .find(|(name, _)| *name == key)
            .map(|(_, value)| value.clone())))
    }

    async fn get_all(
        &mut self,
    ) -> wasmtime::Result<Result<Vec<(String, String)>, wire::config::Error>> {
        Ok(Ok(self.settings.to_vec()))
    }
}

impl PolicySpec {
    /// Reads its component into memory, where it is in a file.
    ///
    /// # Errors
    /// As [`ComponentSource::read`].
    pub fn read(&self) -> Result<Self, LoadError> {
        let (bytes, digest) = self.component.read(&self.name)?;
        let bytes = match bytes {
            // What ships with the program needs no copy.
            Cow::Borrowed(_) => return Ok(self.clone()),
            Cow::Owned(bytes) => Cow::Owned(bytes),
        };
        Ok(Self {
            component: ComponentSource::Bytes { bytes, digest },
            ..self.clone()
        })
    }
}

impl Policy {
    /// Checks a policy against its tier and its grants without loading it, and says what it exports: known from when its
    /// compiled code was kept. None where that was not.
    ///
    /// # Errors
    /// As [`Policy::load`], as far as loading would not run anything.
    pub fn known(sandbox: &Sandbox, spec: &PolicySpec) -> Result<Option<Inspection>, LoadError> {
        let (_, digest) = spec.component.read(&spec.name)?;
        let Some(cache) = &sandbox.0.cache else {
            return Ok(None);
        };
        let known = cache
            .inspection(&digest)
            .map_err(|source| LoadError::Cache {
                policy: spec.name.clone(),
                source,
            })?;
        if let Some(known) = &known {
            known.check(&spec.name, spec.tier, &spec.grants)?;
        }
        Ok(known)
    }

    /// Loads a policy. Compiles its component where no compiled code is at hand.
    ///
    /// # Errors
    /// Says what is wrong with the component, or with the place it should come from.
    pub async fn load(sandbox: &Sandbox, spec: &PolicySpec) -> Result<Self, LoadError> {
        let (bytes, digest) = spec.component.read(&spec.name)?;
        let shared = &sandbox.0;
        if let Some(component) = shared.loaded(&digest) {
            return Self::link(sandbox, spec, digest, &component);
        }
        let kept = match &shared.cache {
            Some(cache) => {
                cache
                    .load(&shared.engine, &digest)
                    .map_err(|source| LoadError::Cache {
                        policy: spec.name.clone(),
                        source,
                    })?
            }
            None => None,
        };
        if let Some(component) = kept {
            // It went through `compile` and its checks before it was kept.
            let policy = Self::link(sandbox, spec, digest, &component)?;
            shared.remember(digest, &component);
            return Ok(policy);
        }
        Self::compile(sandbox, spec, &bytes, digest).await
    }

    async fn compile(
        sandbox: &Sandbox,
        spec: &PolicySpec,
        bytes: &[u8],
        digest: Digest,
    ) -> Result<Self, LoadError> {
        let shared = &sandbox.0;
        recognise(&spec.name, bytes)?;
        let unkept = |source| LoadError::Cache {
            policy: spec.name.clone(),
            source,
        };
        if let Some(cache) = &shared.cache {
            cache.prepare().map_err(unkept)?;
        }
        let compiler = shared.compiler.clone();
        let owned = bytes.to_vec();
        let compiled = tokio::task::spawn_blocking(move || compiler.compile(&owned))
            .await
            .unwrap_or_else(|error| Err(error.to_string()));
        let code = compiled.map_err(|reason| LoadError::Invalid {
            policy: spec.name.clone(),
            reason,
        })?;
        let component = ArtifactCache::load_fresh(&shared.engine, &code).map_err(|error| {
            LoadError::Compile {
                policy: spec.name.clone(),
                reason: format!("{error:#}"),
            }
        })?;
        let policy = Self::link(sandbox, spec, digest, &component)?;
        policy.try_once().await?;
        if let Some(cache) = &shared.cache {
            cache
                .store(&digest, &code, &policy.inspection)
                .map_err(unkept)?;
        }
        shared.remember(digest, &component);
        Ok(policy)
    }

    /// Checks a component against its tier and its grants, and links it. Nothing of it runs.
    fn link(
        sandbox: &Sandbox,
        spec: &PolicySpec,
        digest: Digest,
        component: &Component,
    ) -> Result<Self, LoadError> {
        let shared = &sandbox.0;
        let inspection = Inspection::of(&shared.engine, component);
        inspection.check(&spec.name, spec.tier, &spec.grants)?;
        let mismatch = |error: wasmtime::Error| LoadError::Mismatch {
            policy: spec.name.clone(),
            version: wire::VERSION,
            reason: format!("{error:#}"),
        };
        let instance = shared.linker.instantiate_pre(component).map_err(mismatch)?;
        let exports = wire::Exports::find(&instance, component).map_err(mismatch)?;
        Ok(Self {
            name: spec.name.as_str().into(),
            digest,
            tier: spec.tier,
            inspection,
            limits: spec.limits.clone(),
            settings: spec.settings.clone().into(),
            memory: Arc::new(Memory::new(&spec.limits)),
            tools: spec.tools.clone(),
            sandbox: sandbox.clone(),
            instance,
            exports,
        })
    }

    /// Makes one instance and throws it away. Only this notices that a type has changed under a name that has not.
    async fn try_once(&self) -> Result<(), LoadError> {
        let trial = async {
            let mut store = self.store();
            let instance = self.instance.instantiate_async(&mut store).await?;
            wasmtime::Result::Ok((store, instance))
        };
        let failed = |reason| LoadError::Trial {
            policy: self.name.to_string(),
            reason,
        };
        match tokio::time::timeout(self.limits.wall(), trial).await {
            Err(_) => Err(failed(format!(
                "it took more than {} ms",
                self.limits.wall_ms
            ))),
            Ok(Err(error)) => Err(failed(
                self.failure(&error, FailureCode::Unavailable).message,
            )),
            Ok(Ok((mut store, instance))) => {
                self.exports
                    .check(&mut store, &instance)
                    .map_err(|error| LoadError::Mismatch {
                        policy: self.name.to_string(),
                        version: wire::VERSION,
                        reason: format!("{error:#}"),
                    })
            }
        }
    }

    /// The name that its decisions are stamped with.
    pub fn name(&self) -> &HookName {
        &self.name
    }

    /// The digest of its component.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// How far it is trusted.
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// What its component exports and imports.
    pub fn inspection(&self) -> &Inspection {
        &self.inspection
    }

    /// Whether it has something to say at a seam.
    pub(crate) fn exports(&self, seam: crate::seams::SeamName) -> bool {
        self.inspection.exports(seam)
    }

    /// Whether it is asked about this tool.
    pub(crate) fn wants(&self, tool: &str) -> bool {
        match &self.tools {
            Some(tools) => tools.iter().any(|wanted| wanted == tool),
            None => true,
        }
    }

    /// Asks it, in a fresh instance.
    pub(crate) async fn decide<S: Seam>(&self, event: &S::Wire) -> Result<S::Decision, Failure> {
        // Waiting for others is no fault of this policy, and does not count against its time.
        let Ok(_place) = self.sandbox.0.places.acquire().await else {
            let closed = "the engine is closed".to_owned();
            return Err(self.failed(FailureCode::Unavailable, closed));
        };
        let call = async {
            let mut store = self.store();
            let instance = match self.instance.instantiate_async(&mut store).await {
                Ok(instance) => instance,
                Err(error) => return Err(self.failure(&error, FailureCode::Unavailable)),
            };
            let context = CallContext {
                exports: &self.exports,
                store: &mut store,
                instance: &instance,
            };
            match S::call(context, event).await {
                Ok(Ok(decision)) => Ok(decision),
                Ok(Err(problem)) => Err(self.failed(FailureCode::Reported, problem)),
                // What is neither a trap nor a limit is a value that the engine could not lift.
                Err(error) => Err(self.failure(&error, FailureCode::BadDecision)),
            }
        };
        match tokio::time::timeout(self.limits.wall(), call).await {
            Err(_) => Err(self.too_late()),
            Ok(said) => said,
        }
    }

    pub(super) fn too_late(&self) -> Failure {
        self.failed(
            FailureCode::Timeout,
            format!(
                "it took more than {} ms, its limit `wall-ms`",
                self.limits.wall_ms
            ),
        )
    }

    pub(super) fn failed(&self, code: FailureCode, message: String) -> Failure {
        Failure {
            hook: self.name.clone(),
            code,
            message,
        }
    }

    /// What an error of the engine means. `otherwise` is what it is where it is none of the known ones.
    pub(super) fn failure(&self, error: &wasmtime::Error, otherwise: FailureCode) -> Failure {
        if let Some(hit) = error.downcast_ref::<LimitHit>() {
            return self.failed(hit.code(), hit.to_string());
        }
        let (code, message) = match error.downcast_ref::<Trap>() {
            Some(Trap::StackOverflow) => (FailureCode::Stack, "it ran out of stack".to_owned()),
            Some(Trap::UnreachableCodeReached) => (
                FailureCode::Trap,
                "it panicked (it ran into an unreachable instruction)".to_owned(),
            ),
            Some(trap) => (FailureCode::Trap, format!("it trapped: {trap}")),
            None => {
                let text = format!("{error:#}");
                if text.contains("hostcalls has been exhausted") {
                    let what = if self.inspection.needs().state.is_some() {
                        "its decision, or what it would keep,"
                    } else {
                        "its decision"
                    };
                    (
                        FailureCode::Oversize,
                        format!(
                            "{what} is larger than {} bytes, its limit `decision-bytes`",
                            self.limits.decision_bytes
                        ),
                    )
                } else if text.contains("handle limit exceeded") {
                    (
                        FailureCode::Memory,
                        format!("it held more than {MAX_HANDLES} handles at once"),
                    )
                } else if text.contains("resource limit exceeded") {
                    (FailureCode::Memory, text)
                } else {
                    (otherwise, text)
                }
            }
        };
        self.failed(code, message)
    }

    pub(super) fn store(&self) -> Store<State> {
        let mut store = Store::new(
            self.engine(),
            State {
                meter: Meter::new(&self.limits),
                settings: self.settings.clone(),
                memory: self.memory.clone(),
                ticks_left: self.limits.cpu_ticks(),
                waited: false,
                table: ResourceTable::new(),
            },
        );
        store.limiter(|state| &mut state.meter);
        store.set_hostcall_fuel(self.limits.decision_bytes);
        store.set_max_component_handles(MAX_HANDLES);
        store.set_epoch_deadline(1);
        let cpu_ms = self.limits.cpu_ms;
        store.epoch_deadline_callback(move |mut context| {
            let state = context.data_mut();
            if !std::mem::take(&mut state.waited) {
                state.ticks_left = state.ticks_left.saturating_sub(1);
            }
            if state.ticks_left == 0 {
                return Err(LimitHit::Cpu(cpu_ms).into());
            }
            // The thread goes back to whoever else is waiting for it. Tokio's own way of yielding lets it look at its timers
            // and sockets too, which a task that merely wakes itself keeps it from.
            Ok(UpdateDeadline::YieldCustom(
                1,
                Box::pin(tokio::task::yield_now()),
            ))
        });
        store
    }

    fn engine(&self) -> &Engine {
        &self.sandbox.0.engine
    }
}

impl Sandbox {
    /// Reads what a component exports and imports. It is compiled for that, and nothing of it runs.
    ///
    /// # Errors
    /// It is not a component, or not a valid one.
    pub fn inspect(&self, name: &str, component: &[u8]) -> Result<Inspection, LoadError> {
        recognise(name, component)?;
        let code = self
            .0
            .compiler
            .compile(component)
            .map_err(|reason| LoadError::Invalid {
                policy: name.to_owned(),
                reason,
            })?;
        let component = ArtifactCache::load_fresh(&self.0.engine, &code).map_err(|error| {
            LoadError::Compile {
                policy: name.to_owned(),
                reason: format!("{error:#}"),
            }
        })?;
        Ok(Inspection::of(&self.0.engine, &component))
    }
}
