//! Where the data of a device that models time only is kept: in memory, or in a file.

use crate::chunks::Chunks;
use crate::file_bytes::FileBytes;
use flashlane_device::Lane;

/// The data of a device's lanes. Zeros until written.
#[derive(Clone, Debug)]
pub(crate) enum Bytes {
    /// In memory, which clones share until one of them writes.
    Memory(Chunks),
    /// In a file, which clones share.
    File(FileBytes),
}

impl Bytes {
    /// Copies the bytes from `offset_bytes` on into `out`.
    pub(crate) fn read(&mut self, lane: Lane, offset_bytes: u64, out: &mut [u8]) {
        match self {
            Self::Memory(chunks) => chunks.read(lane, offset_bytes, out),
            Self::File(file) => file.read(lane, offset_bytes, out),
        }
    }

    /// Stores `bytes` from `offset_bytes` on.
    pub(crate) fn write(&mut self, lane: Lane, offset_bytes: u64, bytes: &[u8]) {
        match self {
            Self::Memory(chunks) => chunks.write(lane, offset_bytes, bytes),
            Self::File(file) => file.write(lane, offset_bytes, bytes),
        }
    }

    /// Clears `length_bytes` from `offset_bytes` on to zeros.
    pub(crate) fn clear(&mut self, lane: Lane, offset_bytes: u64, length_bytes: u64) {
        match self {
            Self::Memory(chunks) => chunks.clear(lane, offset_bytes, length_bytes),
            Self::File(file) => file.clear(lane, offset_bytes, length_bytes),
        }
    }

    /// Takes the error of the last call that failed, as the operating system's number. Its data is undefined.
    pub(crate) fn take_error(&mut self) -> Option<i32> {
        match self {
            Self::Memory(_) => None,
            Self::File(file) => file.take_error(),
        }
    }
}
