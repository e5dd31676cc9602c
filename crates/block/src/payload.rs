//! Bytes on their way to and from blocks.

use crate::header::{Header, granule_checksum};
use crate::layout::Layout;
use flashlane_device::Buffer;

/// What a block is to hold: a buffer of a whole erase unit, so that the bytes go to the device without a copy.
///
/// Made by [`Blocks::payload`](crate::Blocks::payload), and given back with the outcome of its put for the next one.
#[derive(Clone, Debug)]
pub struct Payload {
    pub(crate) buffer: Buffer,
    pub(crate) layout: Layout,
    length_bytes: u64,
}

impl Payload {
    pub(crate) fn new(layout: Layout) -> Self {
        let buffer = Buffer::zeroed(layout.unit_bytes as usize);
        Self { buffer, layout, length_bytes: layout.block_bytes() }
    }

    /// Makes the block so long; what is beyond is not stored.
    ///
    /// # Panics
    /// Where it would be longer than a block can be.
    pub fn set_len(&mut self, length_bytes: u64) {
        assert!(
            length_bytes <= self.layout.block_bytes(),
            "a block holds {} bytes",
            self.layout.block_bytes()
        );
        self.length_bytes = length_bytes;
    }

    /// Bytes of the block.
    pub fn len(&self) -> u64 {
        self.length_bytes
    }

    /// Whether the block has no bytes.
    pub fn is_empty(&self) -> bool {
        self.length_bytes == 0
    }

    /// The block's bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.buffer.as_slice()[self.layout.header_bytes as usize..][..self.length_bytes as usize]
    }

    /// The block's bytes, to fill.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        let (from, length) = (self.layout.header_bytes as usize, self.length_bytes as usize);
        &mut self.buffer.as_mut_slice()[from..][..length]
    }

    /// The checksums of all granules, once nothing but the block's bytes stands in them.
    pub(crate) fn seal(&mut self, format: u128, sequence: u64) -> Box<[u32]> {
        let (from, length) = (self.layout.header_bytes as usize, self.length_bytes as usize);
        let all = &mut self.buffer.as_mut_slice()[from..self.layout.footer_offset() as usize];
        all[length..].fill(0);
        let granules = all.chunks(self.layout.granule_bytes as usize);
        granules.zip(0..).map(|(bytes, nth)| granule_checksum(format, sequence, nth, bytes)).collect()
    }

    /// Writes the header to both ends.
    pub(crate) fn label(&mut self, header: &Header) {
        label(&mut self.buffer, &self.layout, header);
    }
}

/// Writes a header to both ends of a unit's bytes.
pub(crate) fn label(buffer: &mut Buffer, layout: &Layout, header: &Header) {
    let (length, footer) = (layout.header_bytes as usize, layout.footer_offset() as usize);
    let bytes = buffer.as_mut_slice();
    header.encode(&mut bytes[..length]);
    bytes.copy_within(..length, footer);
}

/// What was read of a block.
#[derive(Clone, Debug)]
pub struct Data {
    pub(crate) buffer: Buffer,
    pub(crate) from: usize,
    pub(crate) length: usize,
}

impl Data {
    /// The bytes that were asked for.
    pub fn as_slice(&self) -> &[u8] {
        &self.buffer.as_slice()[self.from..][..self.length]
    }
}

impl AsRef<[u8]> for Data {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}
