//! Where a request to a zone stands.

use crate::progress::Progress;

/// The pages of a read, the bytes of a write or append, or the operations of a finish or a reset.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Job {
    /// Of a read, finish or reset.
    pub(super) progress: Progress,
    /// Of a write or append: bytes whose transfer has not begun.
    pub(super) left_bytes: u64,
    /// Of a write or append: bytes on the link.
    pub(super) sent_bytes: u64,
    /// Of an append: where it begins in its zone.
    pub(super) begins_bytes: u64,
}
