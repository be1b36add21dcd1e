//! The allocator of a policy.
//!
//! A policy's instance lives for one decision, and asking the host for memory is slow next to what such a decision takes:
//! memory that grows is a system call that all threads of the host wait for, and made two threads no faster than one. So
//! the memory of an ordinary decision is part of the component from its start, and only a big one (a megabyte of arguments,
//! say) asks for more. The allocator itself is a fifth of the size of std's.
//!
//! The `unsafe` below is what handing memory to an allocator takes; nothing else in this crate has any.

use core::alloc::Layout;
use core::arch::wasm32::memory_grow;
use core::mem::MaybeUninit;

use talc::base::Talc;
use talc::base::binning::Binning;
use talc::cell::TalcSyncCell;
use talc::source::Source;
use talc::wasm::WasmBinning;

/// Enough for the arguments of almost every call, read into a type.
const ARENA_BYTES: usize = 128 << 10;

/// Memory grows by this much or more, so that a buffer that grows step by step asks the host a few times only.
const LEAST_GROWTH_BYTES: usize = 512 << 10;

const PAGE_BYTES: usize = 64 << 10;

#[global_allocator]
static ALLOCATOR: TalcSyncCell<ArenaThenGrowth, WasmBinning> =
    TalcSyncCell::new_wasm(ArenaThenGrowth {
        arena_is_used: false,
    });

static mut ARENA: [MaybeUninit<u8>; ARENA_BYTES] = [MaybeUninit::uninit(); ARENA_BYTES];

/// Gives the allocator the arena first, and memory of the host after that.
#[derive(Debug)]
struct ArenaThenGrowth {
    arena_is_used: bool,
}

// SAFETY: `acquire` allocates nothing and touches the allocator through its parameter only.
unsafe impl Source for ArenaThenGrowth {
    fn acquire<B: Binning>(talc: &mut Talc<Self, B>, layout: Layout) -> Result<(), ()> {
        if !talc.source.arena_is_used {
            talc.source.arena_is_used = true;
            // SAFETY: the arena is named nowhere else, and is claimed this once.
            return unsafe { talc.claim((&raw mut ARENA).cast(), ARENA_BYTES) }
                .map(drop)
                .ok_or(());
        }
        // The allocator's own records and the alignment need some room beside the allocation.
        let wanted = layout
            .size()
            .saturating_add(layout.align())
            .saturating_add(1 << 10)
            .max(LEAST_GROWTH_BYTES);
        let pages = wanted.div_ceil(PAGE_BYTES);
        match memory_grow::<0>(pages) {
            usize::MAX => Err(()),
            // SAFETY: the host just added these pages, and nobody else knows of them.
            end => unsafe { talc.claim((end * PAGE_BYTES) as *mut u8, pages * PAGE_BYTES) }
                .map(drop)
                .ok_or(()),
        }
    }
}
