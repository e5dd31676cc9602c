//! The allocator, which ends the program where the system has no memory.
//!
//! The standard library aborts then, and with `RUST_BACKTRACE` set it may wait for itself for ever, where the backtrace
//! of a panic finds no memory either. No code here goes on without memory that it asked for, so all failures end the
//! program alike.

use flashlane_host::end_out_of_memory;
use mimalloc::MiMalloc;
use std::alloc::{GlobalAlloc, Layout};

/// Of the time of the store's server, whose values live long and go at random, glibc's allocator took a fifth.
pub struct Allocator;

/// Returns memory that was given, and ends the program otherwise.
#[inline]
fn given(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() { end_out_of_memory(bytes) } else { memory }
}

// SAFETY: each function passes its arguments on to an allocator, and returns what that gives.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is that of the allocator.
        given(unsafe { MiMalloc.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        given(unsafe { MiMalloc.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as above.
        given(unsafe { MiMalloc.realloc(memory, layout, bytes) }, bytes)
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { MiMalloc.dealloc(memory, layout) }
    }
}
