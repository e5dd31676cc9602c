//! Bytes for devices that carry them.
//!
//! Most of Flashlane asks only *when* something happens; simulated drives therefore model time alone. Where bytes
//! matter, ownership of a buffer moves with its request: into the device on submission, back on completion, so
//! that the kernel or a layer may use it in between without a copy.

use crate::{Device, Request, RequestId, SubmitError};
use memmap2::{Advice, MmapMut};
use std::fmt;

/// Bytes that travel with a request, aligned for direct I/O.
///
/// Backed by 4 KiB-aligned units, the strictest alignment that drives ask of O_DIRECT buffers; from 2 MiB
/// on by huge pages where the system has them.
#[derive(Default)]
pub struct Buffer {
    memory: Memory,
    length_bytes: usize,
}

/// A huge page. For direct I/O the kernel looks up each page of a buffer, and a drive's request lists each piece that
/// does not follow the one before in memory: in small pages, 8 MiB are 2048 lookups and more requests than the drive
/// would need.
const HUGE_BYTES: usize = 2 << 20;

enum Memory {
    Small(Vec<Block>),
    /// Its bytes begin at `start`, the first multiple of a huge page.
    Huge {
        map: MmapMut,
        start: usize,
    },
}

impl Default for Memory {
    fn default() -> Self {
        Self::Small(Vec::new())
    }
}

#[derive(Clone, Copy, Debug)]
#[repr(C, align(4096))]
struct Block([u8; 4096]);

impl Memory {
    /// Zeros, in memory that is there already: a page costs its first user more than a drive takes for it.
    fn zeroed(length_bytes: usize) -> Self {
        let huge = if length_bytes >= HUGE_BYTES { Self::huge(length_bytes) } else { None };
        huge.unwrap_or_else(|| Self::Small(vec![Block([0; 4096]); length_bytes.div_ceil(4096)]))
    }

    /// Nothing where the system refuses.
    fn huge(length_bytes: usize) -> Option<Self> {
        let mut map = MmapMut::map_anon(length_bytes + HUGE_BYTES).ok()?;
        let start = map.as_ptr().align_offset(HUGE_BYTES);
        map.advise_range(Advice::HugePage, start, length_bytes).ok()?;
        // They are zeros already; what is missing is that somebody touches them.
        map[start..][..length_bytes].iter_mut().step_by(4096).for_each(|byte| *byte = 0);
        Some(Self::Huge { map, start })
    }
}

impl Buffer {
    /// A buffer of zeros.
    pub fn zeroed(length_bytes: usize) -> Self {
        Self { memory: Memory::zeroed(length_bytes), length_bytes }
    }

    /// A copy of `bytes`.
    pub fn from_slice(bytes: &[u8]) -> Self {
        let mut buffer = Self::zeroed(bytes.len());
        buffer.as_mut_slice().copy_from_slice(bytes);
        buffer
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        match &self.memory {
            // SAFETY: `blocks` holds at least `length_bytes` initialised bytes in one allocation, and `Block` is a
            // plain byte array without padding.
            Memory::Small(blocks) => unsafe {
                std::slice::from_raw_parts(blocks.as_ptr().cast::<u8>(), self.length_bytes)
            },
            Memory::Huge { map, start } => &map[*start..][..self.length_bytes],
        }
    }

    /// The bytes, to change.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        match &mut self.memory {
            // SAFETY: as in `as_slice`; `&mut self` makes the access exclusive.
            Memory::Small(blocks) => unsafe {
                std::slice::from_raw_parts_mut(blocks.as_mut_ptr().cast::<u8>(), self.length_bytes)
            },
            Memory::Huge { map, start } => &mut map[*start..][..self.length_bytes],
        }
    }

    /// How many bytes.
    pub fn len(&self) -> usize {
        self.length_bytes
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length_bytes == 0
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        Self::from_slice(self.as_slice())
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("length_bytes", &self.length_bytes).finish_non_exhaustive()
    }
}

/// A device that keeps the bytes written to it.
pub trait DataDevice: Device {
    /// Like [`Device::submit`], with the bytes: those to write, or room for those to read. A write or read
    /// submitted without a buffer (through [`Device::submit`]) moves unspecified bytes.
    ///
    /// # Errors
    /// The refusal, and the buffer back.
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)>;

    /// The buffer of a completed request, once; for a read that succeeded it holds the bytes.
    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer>;
}

impl<D: DataDevice + ?Sized> DataDevice for Box<D> {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        (**self).submit_with(request, buffer)
    }
    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        (**self).take_buffer(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_zeroed_aligned_and_copied_whole() {
        for length_bytes in
            [0, 1, 512, 4097, HUGE_BYTES - 1, HUGE_BYTES, HUGE_BYTES + 1, 5 * HUGE_BYTES - 512]
        {
            let mut buffer = Buffer::zeroed(length_bytes);
            assert_eq!(buffer.len(), length_bytes);
            assert!(
                buffer.as_slice().len() == length_bytes && buffer.as_slice().iter().all(|&byte| byte == 0)
            );
            assert!(length_bytes == 0 || buffer.as_slice().as_ptr().align_offset(4096) == 0);
            if let [first, .., last] = buffer.as_mut_slice() {
                (*first, *last) = (1, 2);
            }
            let copy = buffer.clone();
            buffer.as_mut_slice().fill(3);
            assert_eq!(copy.len(), length_bytes);
            assert!(length_bytes < 2 || (copy.as_slice()[0], copy.as_slice()[length_bytes - 1]) == (1, 2));
        }
    }
}
