//! The engine: which WebAssembly it accepts, and how it makes instances.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tokio::sync::Semaphore;
use wasmtime::component::{Component, HasSelf, Linker};
use wasmtime::{
    Config, Engine, InstanceAllocationStrategy, ModuleVersionStrategy, OptLevel,
    PoolingAllocationConfig, WasmFeatures,
};

use super::artifact::{ArtifactCache, Digest};
use super::compile::Compiler;
use super::limits::{MAX_MEMORY_BYTES, STACK_BYTES, TICK};
use super::policy::State;
use super::wire;

/// The engine's full version. It is part of the name of compiled code, since the engine itself looks at the major
/// number only and would load code that an older compiler got wrong.
pub const WASMTIME_VERSION: &str = "48.0.8";

/// Raised whenever something changes in how compiled code and the sandbox fit together.
pub const SANDBOX_ABI: u32 = 1;

/// How many instances may be alive at once in the serving profile.
const POOL: u32 = 256;

/// What the engine is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineProfile {
    /// One decision in a short-lived process: instances on demand, which is the fastest way to the first one.
    OneShot,
    /// Many decisions in a long-lived process: instances from a pool that is reserved once.
    Serving,
}

/// An engine with all that policies share: the linker, the compiled code, the slots of the pool.
///
/// Cheap to clone. One per process is the normal case.
#[derive(Clone)]
pub struct Sandbox(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) engine: Engine,
    /// What a policy may import: its settings, at `around-tool` the rest of the way, and what there are grants for. Whether it
    /// has the grant is checked when it is loaded.
    pub(crate) linker: Linker<State>,
    pub(crate) compiler: Compiler,
    pub(crate) cache: Option<ArtifactCache>,
    /// Components that are loaded, so that many policies of one component share its code.
    pub(crate) components: Mutex<HashMap<Digest, Component>>,
    /// As many permits as the pool has places, so that a full pool means waiting and not failing.
    pub(crate) places: Semaphore,
    /// The places of these that policies around tools may hold. They hold them for as long as a tool runs, so some are
    /// always left for gates.
    pub(crate) places_around: Arc<Semaphore>,
}

impl Sandbox {
    /// Makes an engine.
    ///
    /// Without a cache, compiled code lives as long as the process.
    ///
    /// # Errors
    /// The system does not give the address space that instances need.
    pub fn new(
        profile: EngineProfile,
        compiler: Compiler,
        cache: Option<PathBuf>,
    ) -> wasmtime::Result<Self> {
        let mut config = base_config()?;
        config.enable_compiler(false);
        if profile == EngineProfile::Serving {
            config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool()));
        }
        let engine = Engine::new(&config)?;
        start_ticking(&engine)?;
        let mut linker = Linker::new(&engine);
        wire::config::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
        wire::next::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
        wire::keyvalue::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
        Ok(Self(Arc::new(Shared {
            engine,
            linker,
            compiler,
            cache: cache.map(ArtifactCache::new),
            components: Mutex::default(),
            places: Semaphore::new(POOL as usize),
            places_around: Arc::new(Semaphore::new(POOL as usize / 2)),
        })))
    }
}

impl Shared {
    pub(crate) fn loaded(&self, digest: &Digest) -> Option<Component> {
        self.components
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(digest)
            .cloned()
    }

    pub(crate) fn remember(&self, digest: Digest, component: &Component) {
        self.components
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(digest, component.clone());
    }
}

/// An engine that compiles, for code that every profile loads.
pub(crate) fn compiling_engine() -> wasmtime::Result<Engine> {
    let mut config = base_config()?;
    config.enable_compiler(true);
    config.cranelift_opt_level(OptLevel::Speed);
    Engine::new(&config)
}

/// The settings that compiled code depends on. Every engine starts from them.
fn base_config() -> wasmtime::Result<Config> {
    let mut config = Config::new();
    config.epoch_interruption(true);
    config.concurrency_support(false);
    config.max_wasm_stack(STACK_BYTES);
    // Host functions get what the guest's share leaves of it.
    config.async_stack_size(2 << 20);
    // For debuggers and profilers, and unused by the engine itself. Registering it costs more than a decision.
    config.native_unwind_info(false);
    // A trap is told by its kind; where in a stranger's code it happened helps nobody.
    config.wasm_backtrace_max_frames(None);
    config.module_version(ModuleVersionStrategy::Custom(format!(
        "{WASMTIME_VERSION}+{SANDBOX_ABI}"
    )))?;
    // What no policy needs is attack surface. GC and function references can abort an engine built without `gc`;
    // multi-memory has to stay, since components that hold an adapter are compiled with it.
    for proposal in [
        WasmFeatures::GC,
        WasmFeatures::FUNCTION_REFERENCES,
        WasmFeatures::EXCEPTIONS,
        WasmFeatures::THREADS,
        WasmFeatures::MEMORY64,
        WasmFeatures::RELAXED_SIMD,
        WasmFeatures::TAIL_CALL,
        WasmFeatures::WIDE_ARITHMETIC,
    ] {
        config.wasm_features(proposal, false);
    }
    Ok(config)
}

/// The pool of the serving profile.
///
/// Keeping pages resident costs memory and saves the system calls that make two threads slower than one: what an
/// instance touched is cleared in place and not given back. 2 MiB covers the whole memory of a small policy.
fn pool() -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(POOL)
        .total_core_instances(POOL * 4)
        .total_memories(POOL * 2)
        .total_tables(POOL * 4)
        .total_stacks(POOL)
        .max_memories_per_component(16)
        .max_memory_size(MAX_MEMORY_BYTES)
        .linear_memory_keep_resident(2 << 20)
        .table_keep_resident(16 << 10)
        .async_stack_keep_resident(64 << 10);
    pool
}

/// Starts the clock that CPU limits are counted by. It ends with the engine.
///
/// A thread of its own, since a task could be kept from running by the very guest it has to stop.
fn start_ticking(engine: &Engine) -> wasmtime::Result<()> {
    let engine = engine.weak();
    std::thread::Builder::new()
        .name("seamgate-clock".to_owned())
        .stack_size(64 << 10)
        .spawn(move || {
            loop {
                std::thread::sleep(TICK);
                match engine.upgrade() {
                    Some(engine) => engine.increment_epoch(),
                    None => break,
                }
            }
        })?;
    Ok(())
}

/// Everything besides the component itself that shapes compiled code, as part of a file name.
pub(crate) fn artifact_key() -> &'static str {
    static KEY: LazyLock<String> = LazyLock::new(|| {
        format!(
            "{WASMTIME_VERSION}+{SANDBOX_ABI}-{}-{}-{:x}",
            std::env::consts::ARCH,
            std::env::consts::OS,
            cpu_features(),
        )
    });
    &KEY
}

/// The features of this processor that the compiler makes use of, one bit each. Code for more of them than a machine has must not
/// be found there, for instance in a home folder that several machines share.
fn cpu_features() -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        macro_rules! detected {
            ($($feature:tt),*) => {
                [$(is_x86_feature_detected!($feature)),*]
            };
        }
        detected![
            "sse3",
            "ssse3",
            "sse4.1",
            "sse4.2",
            "popcnt",
            "avx",
            "avx2",
            "fma",
            "bmi1",
            "bmi2",
            "avx512bitalg",
            "avx512dq",
            "avx512f",
            "avx512vl",
            "avx512vbmi",
            "lzcnt"
        ]
        .into_iter()
        .fold(0, |features, there| features << 1 | u32::from(there))
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_in_the_key_is_the_one_that_is_built() {
        let lock = include_str!("../../../Cargo.lock");
        let entry = format!("name = \"wasmtime\"\nversion = \"{WASMTIME_VERSION}\"\n");
        assert!(
            lock.contains(&entry),
            "WASMTIME_VERSION has to be the version in Cargo.lock"
        );
    }
}
