//! Memory for requests submitted without a buffer: measurements that need no data still read into memory and write from
//! it.
//!
//! Each slot has its own memory, allocated at first use and kept, because file systems that verify checksums on reads
//! fail when two reads share a buffer. Writes send pseudo-random bytes, and each 4 KiB of each write carries a unique
//! number, so that compression and deduplication gain nothing.

use crate::engine::Engine;
use flashlane_base::Seed;
use flashlane_device::Buffer;

pub(crate) struct Memory {
    /// For slot `n`, the read memory at `2 n` and the write memory at `2 n + 1`. The engine registers memory under the
    /// same index.
    slots_memory: Vec<SlotMemory>,
    /// The last unique number written.
    unique: u64,
}

#[derive(Default)]
struct SlotMemory {
    buffer: Buffer,
    registered: bool,
}

impl Memory {
    pub(crate) fn new(slots: u32, start: u64) -> Self {
        Self { slots_memory: (0..2 * slots).map(|_| SlotMemory::default()).collect(), unique: start }
    }

    /// Returns `length_bytes` of memory for slot `slot`, and its index if it is registered.
    #[inline]
    pub(crate) fn get(
        &mut self,
        engine: &mut Engine,
        slot: u32,
        write: bool,
        length_bytes: usize,
    ) -> (*mut u8, Option<u16>) {
        let index = 2 * slot + u32::from(write);
        if self.slots_memory[index as usize].buffer.len() < length_bytes {
            self.grow(engine, index, write, length_bytes);
        }
        let slot_memory = &mut self.slots_memory[index as usize];
        let bytes = &mut slot_memory.buffer.as_mut_slice()[..length_bytes];
        if write {
            for block in bytes.chunks_mut(4096) {
                // The odd step (the golden ratio's) visits every number before it repeats one.
                self.unique = self.unique.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let stamp = self.unique.to_le_bytes();
                let count = stamp.len().min(block.len());
                block[..count].copy_from_slice(&stamp[..count]);
            }
        }
        (bytes.as_mut_ptr(), slot_memory.registered.then_some(index as u16))
    }

    #[cold]
    fn grow(&mut self, engine: &mut Engine, index: u32, write: bool, length_bytes: usize) {
        let mut buffer = Buffer::zeroed(length_bytes.next_power_of_two().max(4096));
        if write {
            fill(buffer.as_mut_slice(), self.unique ^ u64::from(index));
        }
        let (memory, length_bytes) = (buffer.as_mut_slice().as_mut_ptr(), buffer.len());
        // SAFETY: the old memory under this index is kept until the new one has replaced it, and `FileDevice`
        // drops its engine before its memory.
        let registered = unsafe { engine.register(index as u16, memory, length_bytes) };
        let old =
            std::mem::replace(&mut self.slots_memory[index as usize], SlotMemory { buffer, registered });
        if old.registered && !registered {
            // The kernel still has the old memory pinned under this index until the ring ends. Nothing uses it, so
            // freeing would be safe, but leaking it is certain to be.
            std::mem::forget(old);
        }
    }

    /// Leaks the memory: the kernel may still write to it.
    pub(crate) fn leak(&mut self) {
        std::mem::forget(std::mem::take(&mut self.slots_memory));
    }
}

/// Fills `bytes` with pseudo-random data.
pub(crate) fn fill(bytes: &mut [u8], seed: u64) {
    let mut source = Seed(seed).derive("host write data").source();
    let (chunks, rest) = bytes.as_chunks_mut();
    chunks.iter_mut().for_each(|chunk| *chunk = source.bits().to_le_bytes());
    let count = rest.len();
    rest.copy_from_slice(&source.bits().to_le_bytes()[..count]);
}
