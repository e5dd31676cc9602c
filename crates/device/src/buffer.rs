//! Bytes for devices that carry them.
//!
//! Most of Flashlane asks only *when* something happens; simulated drives therefore model time alone. Where bytes
//! matter, ownership of a buffer moves with its request: into the device on submission, back on completion, so
//! that the kernel or a layer may use it in between without a copy.

use crate::{Device, Request, RequestId, SubmitError};

/// Bytes that travel with a request, aligned for direct I/O.
///
/// Backed by 4 KiB-aligned units, the strictest alignment that drives ask of O_DIRECT buffers.
#[derive(Clone, Debug, Default)]
pub struct Buffer {
    blocks: Vec<Block>,
    length_bytes: usize,
}

#[derive(Clone, Copy, Debug)]
#[repr(C, align(4096))]
struct Block([u8; 4096]);

impl Buffer {
    /// A buffer of zeros.
    pub fn zeroed(length_bytes: usize) -> Self {
        Self { blocks: vec![Block([0; 4096]); length_bytes.div_ceil(4096)], length_bytes }
    }

    /// A copy of `bytes`.
    pub fn from_slice(bytes: &[u8]) -> Self {
        let mut buffer = Self::zeroed(bytes.len());
        buffer.as_mut_slice().copy_from_slice(bytes);
        buffer
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `blocks` holds at least `length_bytes` initialised bytes in one allocation, and `Block` is a
        // plain byte array without padding.
        unsafe { std::slice::from_raw_parts(self.blocks.as_ptr().cast::<u8>(), self.length_bytes) }
    }

    /// The bytes, to change.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`; `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.blocks.as_mut_ptr().cast::<u8>(), self.length_bytes) }
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
