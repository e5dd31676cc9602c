//! The parts of a recording: a tag, a length, a checksum, and that many bytes.

/// The first bytes of a recording.
pub const MAGIC: &[u8; 16] = b"flashlane pages\0";
/// The version written and read.
pub const VERSION: u32 = 1;
/// Most bytes of a part.
pub const FRAME_BYTES_MOST: usize = 16 << 20;

/// Bytes of the magic and the version.
pub(super) const BEGIN_BYTES: usize = MAGIC.len() + 4;
/// Bytes of a part before its content.
pub(super) const HEAD_BYTES: usize = 9;

/// The part with the header: the first one.
pub(super) const HEADER: u8 = b'H';
/// A part with transactions.
pub(super) const TRANSACTIONS: u8 = b'T';
/// The part with the totals: the last one.
pub(super) const END: u8 = b'E';

/// Returns the checksum of a part: CRC-32C of its tag and content.
pub(super) fn checksum(tag: u8, content: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&[tag]), content)
}

/// Appends a part with a valid checksum. Requires: at most [`FRAME_BYTES_MOST`] bytes.
pub fn seal(tag: u8, content: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend((content.len() as u32).to_le_bytes());
    out.extend(checksum(tag, content).to_le_bytes());
    out.extend(content);
}
