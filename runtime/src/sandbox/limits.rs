//! What one decision may use up, and what a policy may keep. Every limit holds for one call of one policy, but for those of its
//! state.

use std::time::Duration;

use serde::Deserialize;
use wasmtime::ResourceLimiter;

use crate::failure::FailureCode;
use crate::json::JsonError;

/// How often the engine's clock ticks. CPU limits are counted in ticks, so they are exact to one of them.
pub(crate) const TICK: Duration = Duration::from_millis(5);

/// The stack of a guest, in bytes. One value for all policies: it is a setting of the engine.
pub(crate) const STACK_BYTES: usize = 512 << 10;

/// The largest memory any policy can be given, in bytes. The pool reserves address space for it.
pub const MAX_MEMORY_BYTES: usize = 256 << 20;

/// The longest time any policy can be given. Nobody waits longer for a gate, and the clock can count it.
const MAX_WALL: Duration = Duration::from_secs(24 * 60 * 60);

/// The limits of one policy.
///
/// The defaults suit a gate that a person waits at. What a policy hits is told by the [failure](FailureCode) of its decision.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limits {
    /// Wall-clock time, in milliseconds, with everything: making the instance, the call, time spent waiting inside the
    /// host. Default 1,000, at most a day. At the limit: `TIMEOUT`.
    pub wall_ms: u64,
    /// Time spent computing inside the guest, in milliseconds, exact to 5. Default 200, which is a thousand times
    /// what a small policy needs. At the limit: `CPU`.
    pub cpu_ms: u64,
    /// All linear memories together, in bytes. Default 64 MiB, at most 256 MiB. At the limit: `MEMORY`.
    pub memory_bytes: usize,
    /// Entries of all tables together. Default 20,000: interpreters compiled to WebAssembly have some thousands.
    /// At the limit: `MEMORY`.
    pub table_elements: usize,
    /// Core instances inside the component. Default 50: a component is made of a handful. At the limit: `MEMORY`.
    pub instances: usize,
    /// Size of the decision with its reasons and contexts, in bytes as it crosses the boundary. Default 256 KiB. At the
    /// limit: `OVERSIZE`.
    pub decision_bytes: usize,
    /// What the policy may keep, in bytes over all keys and values. Default 1 MiB. At the limit: the policy is told that its
    /// value was not kept, and nothing has changed.
    pub state_bytes: usize,
    /// How many keys it may keep. Default 1,000. At the limit: as with `state-bytes`.
    pub state_keys: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall_ms: 1_000,
            cpu_ms: 200,
            memory_bytes: 64 << 20,
            table_elements: 20_000,
            instances: 50,
            decision_bytes: 256 << 10,
            state_bytes: 1 << 20,
            state_keys: 1_000,
        }
    }
}

impl Limits {
    pub(crate) fn wall(&self) -> Duration {
        Duration::from_millis(self.wall_ms).min(MAX_WALL)
    }

    /// The CPU limit in ticks, rounded up, and never none.
    pub(crate) fn cpu_ticks(&self) -> u64 {
        self.cpu_ms.div_ceil(TICK.as_millis() as u64).max(1)
    }
}

/// A limit that was hit, or another rule of ours that a guest broke. It travels through the engine as the error that ended
/// the guest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LimitHit {
    #[error("it computed for more than {0} ms, its limit `cpu-ms`")]
    Cpu(u64),
    #[error("it wanted {wanted} bytes of memory, and its limit `memory-bytes` is {limit}")]
    Memory { wanted: usize, limit: usize },
    #[error("it wanted {wanted} table entries, and its limit `table-elements` is {limit}")]
    Tables { wanted: usize, limit: usize },
    #[error("it returned JSON that is not lossless: {0}")]
    Lossy(JsonError),
}

impl LimitHit {
    pub(crate) fn code(&self) -> FailureCode {
        match self {
            Self::Cpu(_) => FailureCode::Cpu,
            Self::Memory { .. } | Self::Tables { .. } => FailureCode::Memory,
            Self::Lossy(_) => FailureCode::BadDecision,
        }
    }
}

/// Counts what an instance takes, over all its memories and tables.
pub(crate) struct Meter {
    memory_limit: usize,
    memory: usize,
    table_limit: usize,
    tables: usize,
    instances: usize,
}

impl Meter {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            memory_limit: limits.memory_bytes.min(MAX_MEMORY_BYTES),
            memory: 0,
            table_limit: limits.table_elements,
            tables: 0,
            instances: limits.instances,
        }
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let wanted = self.memory.saturating_add(desired.saturating_sub(current));
        if wanted > self.memory_limit {
            return Err(LimitHit::Memory {
                wanted,
                limit: self.memory_limit,
            }
            .into());
        }
        self.memory = wanted;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let wanted = self.tables.saturating_add(desired.saturating_sub(current));
        if wanted > self.table_limit {
            return Err(LimitHit::Tables {
                wanted,
                limit: self.table_limit,
            }
            .into());
        }
        self.tables = wanted;
        Ok(true)
    }

    fn instances(&self) -> usize {
        self.instances
    }

    #[expect(clippy::misnamed_getters, reason = "one limit counts all three")]
    fn tables(&self) -> usize {
        self.instances
    }

    fn memories(&self) -> usize {
        self.instances
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_counted_over_all_memories() {
        let mut meter = Meter::new(&Limits {
            memory_bytes: 100,
            ..Limits::default()
        });
        assert!(meter.memory_growing(0, 60, None).unwrap());
        assert!(meter.memory_growing(0, 40, None).unwrap());
        let error = meter.memory_growing(40, 41, None).unwrap_err();
        assert_eq!(
            error.downcast_ref::<LimitHit>(),
            Some(&LimitHit::Memory {
                wanted: 101,
                limit: 100
            })
        );
    }

    #[test]
    fn a_cpu_limit_is_at_least_one_tick() {
        let ticks = |cpu_ms| {
            Limits {
                cpu_ms,
                ..Limits::default()
            }
            .cpu_ticks()
        };
        assert_eq!((ticks(0), ticks(5), ticks(6), ticks(200)), (1, 1, 2, 40));
    }
}
