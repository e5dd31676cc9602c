//! Buffers for devices that store data.
//!
//! Simulated drives model only *when* requests complete, and store no data. Where data matters, ownership of a buffer
//! moves with its request: into the device on submission, back on completion, so that the kernel or a layer can use it
//! in between without a copy.

use crate::{Device, Request, RequestId, SubmitError};
use memmap2::{Advice, MmapMut};
use std::fmt;

/// Data of a request, aligned for direct I/O.
///
/// Aligned to 4 KiB, the strictest alignment that drives require of O_DIRECT buffers; buffers of 2 MiB and more use
/// huge pages where the system has them.
#[derive(Default)]
pub struct Buffer {
    memory: Memory,
    length_bytes: usize,
}

/// Size of a huge page. For direct I/O the kernel looks up each page of a buffer, and a request to a drive lists each
/// physically contiguous piece: with small pages, 8 MiB take 2048 lookups and more requests than the drive needs.
const HUGE_BYTES: usize = 2 << 20;

enum Memory {
    Small(Vec<Block>),
    /// The data begins at `start`, the first multiple of a huge page.
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
    /// Returns zeros in memory that is already mapped: a page fault can cost more than the drive's transfer of the
    /// page.
    fn zeroed(length_bytes: usize) -> Self {
        let huge = if length_bytes >= HUGE_BYTES { Self::huge(length_bytes) } else { None };
        huge.unwrap_or_else(|| Self::Small(vec![Block([0; 4096]); length_bytes.div_ceil(4096)]))
    }

    /// Returns `None` where the system refuses huge pages.
    fn huge(length_bytes: usize) -> Option<Self> {
        let mut map = MmapMut::map_anon(length_bytes + HUGE_BYTES).ok()?;
        let start = map.as_ptr().align_offset(HUGE_BYTES);
        map.advise_range(Advice::HugePage, start, length_bytes).ok()?;
        // The pages are zero already; touching them maps them.
        map[start..][..length_bytes].iter_mut().step_by(4096).for_each(|byte| *byte = 0);
        Some(Self::Huge { map, start })
    }
}

impl Buffer {
    /// Creates a buffer of zeros.
    pub fn zeroed(length_bytes: usize) -> Self {
        Self { memory: Memory::zeroed(length_bytes), length_bytes }
    }

    /// Creates a buffer with a copy of `bytes`.
    pub fn from_slice(bytes: &[u8]) -> Self {
        let mut buffer = Self::zeroed(bytes.len());
        buffer.as_mut_slice().copy_from_slice(bytes);
        buffer
    }

    /// Returns the greatest length that it can have, in bytes: at least that with which it was created.
    pub fn capacity(&self) -> usize {
        match &self.memory {
            Memory::Small(blocks) => size_of_val(&blocks[..]),
            Memory::Huge { map, start } => map.len() - start,
        }
    }

    /// Sets the length. Bytes behind the old one have any value.
    ///
    /// # Panics
    /// Above its [`capacity`](Self::capacity).
    pub fn set_len(&mut self, length_bytes: usize) {
        let most = self.capacity();
        assert!(length_bytes <= most, "{length_bytes} bytes do not fit into a buffer of {most}");
        self.length_bytes = length_bytes;
    }

    /// The data.
    #[inline]
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

    /// The data, mutable.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        match &mut self.memory {
            // SAFETY: as in `as_slice`; `&mut self` makes the access exclusive.
            Memory::Small(blocks) => unsafe {
                std::slice::from_raw_parts_mut(blocks.as_mut_ptr().cast::<u8>(), self.length_bytes)
            },
            Memory::Huge { map, start } => &mut map[*start..][..self.length_bytes],
        }
    }

    /// Length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.length_bytes
    }

    /// Returns whether the buffer has no bytes.
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

/// A device that stores the data written to it.
pub trait DataDevice: Device {
    /// Like [`Device::submit`], with a buffer that holds the data to write, or receives the data read. A write or read
    /// submitted through [`Device::submit`] transfers unspecified data.
    ///
    /// # Errors
    /// Returns the refusal and the buffer.
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)>;

    /// Returns the buffer of a completed request, once; after a successful read it holds the data.
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
    fn buffer_of_any_length_is_zeroed_aligned_and_copied() {
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
