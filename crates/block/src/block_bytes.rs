//! The bytes of a block that a get has read, in the buffer of the read.

use flashlane_device::Buffer;
use std::ops::Range;

/// Bytes of a block, as read by a get. Their checksums matched.
///
/// [`Blocks::reuse`](crate::Blocks::reuse) takes them back, so that their buffer serves a later get.
#[derive(Clone, Debug)]
pub struct BlockBytes {
    /// The whole granules that were read.
    buffer: Buffer,
    /// Where the requested bytes lie in it.
    requested: Range<usize>,
}

impl BlockBytes {
    /// Requires: `requested` lies within `buffer`, whose checksums match.
    pub(crate) fn new(buffer: Buffer, requested: Range<usize>) -> Self {
        debug_assert!(requested.end <= buffer.len(), "{requested:?} exceeds the buffer");
        Self { buffer, requested }
    }

    pub(crate) fn into_buffer(self) -> Buffer {
        self.buffer
    }

    /// Returns the bytes that were requested.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        &self.buffer.as_slice()[self.requested.clone()]
    }
}

impl AsRef<[u8]> for BlockBytes {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}
