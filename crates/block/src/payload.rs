//! The buffer of a block to put.

use crate::header::{Header, granule_checksum};
use crate::layout::Layout;
use flashlane_base::units::bytes_together;
use flashlane_device::Buffer;

/// The bytes of a block to put, in a buffer of a whole erase unit, so that they go to the device without a copy.
///
/// Made by [`Blocks::payload`](crate::Blocks::payload), and returned with the outcome of its put for the next one.
#[derive(Clone, Debug)]
pub struct Payload {
    buffer: Buffer,
    layout: Layout,
    length_bytes: u64,
}

impl Payload {
    pub(crate) fn new(layout: Layout) -> Self {
        let buffer = Buffer::zeroed(layout.unit_bytes as usize);
        Self { buffer, layout, length_bytes: layout.block_bytes() }
    }

    /// Sets the length of the block; bytes behind it are not stored.
    ///
    /// # Panics
    /// If it is longer than a block can be.
    pub fn set_len(&mut self, length_bytes: u64) {
        assert!(
            length_bytes <= self.layout.block_bytes(),
            "{} exceed the {} of a block",
            bytes_together([length_bytes, self.layout.block_bytes()])[0],
            bytes_together([length_bytes, self.layout.block_bytes()])[1]
        );
        self.length_bytes = length_bytes;
    }

    /// Copies `bytes` into the block and sets its length to theirs.
    ///
    /// # Panics
    /// If they are more than a block holds.
    pub fn copy_from(&mut self, bytes: &[u8]) {
        self.set_len(bytes.len() as u64);
        self.as_mut_slice().copy_from_slice(bytes);
    }

    /// Returns the length of the block in bytes.
    pub fn len(&self) -> u64 {
        self.length_bytes
    }

    /// Returns whether the block has no bytes.
    pub fn is_empty(&self) -> bool {
        self.length_bytes == 0
    }

    /// Returns the block's bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        &self.buffer.as_slice()[self.layout.header_bytes as usize..][..self.length_bytes as usize]
    }

    /// Returns the block's bytes, to be filled.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        let (from, length) = (self.layout.header_bytes as usize, self.length_bytes as usize);
        &mut self.buffer.as_mut_slice()[from..][..length]
    }

    /// Returns the layout the buffer was made for.
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Clears the bytes behind the block's end and returns the checksum of each granule.
    pub(crate) fn checksums(&mut self, format_id: u128, sequence: u64) -> Box<[u32]> {
        let (from, length) = (self.layout.header_bytes as usize, self.length_bytes as usize);
        let all = &mut self.buffer.as_mut_slice()[from..self.layout.footer_offset() as usize];
        all[length..].fill(0);
        let granules = all.chunks(self.layout.granule_bytes as usize);
        granules.zip(0..).map(|(bytes, nth)| granule_checksum(format_id, sequence, nth, bytes)).collect()
    }

    /// Writes header and footer, and takes the buffer for the device. [`restore`](Self::restore) returns it.
    pub(crate) fn take_with_header(&mut self, header: &Header) -> Buffer {
        write_header_and_footer(&mut self.buffer, &self.layout, header);
        std::mem::take(&mut self.buffer)
    }

    /// Puts the buffer back that went to the device.
    pub(crate) fn restore(&mut self, buffer: Buffer) {
        debug_assert_eq!(buffer.len() as u64, self.layout.unit_bytes, "the buffer of another payload");
        self.buffer = buffer;
    }
}

/// Writes a header to both ends of a unit's bytes.
pub(crate) fn write_header_and_footer(buffer: &mut Buffer, layout: &Layout, header: &Header) {
    let (length, footer) = (layout.header_bytes as usize, layout.footer_offset() as usize);
    let bytes = buffer.as_mut_slice();
    header.encode(&mut bytes[..length]);
    bytes.copy_within(..length, footer);
}
