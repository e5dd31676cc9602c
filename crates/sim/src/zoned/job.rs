//! Where a request to a zone stands.

/// The pages of a read, the bytes of a write or append, or the operations of a finish or a reset. Invariant:
/// `under_way <= left`, and a read, finish or reset with nothing left is complete.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Job {
    /// Of the zone, the page of a read that is requested next, and the end of them.
    pub(super) next: u32,
    pub(super) end: u32,
    /// Pages or operations on their way, and those that are not done.
    pub(super) under_way: u32,
    pub(super) left: u32,
    /// Of a write or append: bytes whose transfer has not begun.
    pub(super) left_bytes: u64,
    /// Of a write or append: bytes on the link.
    pub(super) sent_bytes: u64,
    /// Of an append: where it begins in its zone.
    pub(super) begins_bytes: u64,
}

impl Job {
    /// Pages or operations are done. Returns whether they were the last.
    #[inline]
    pub(super) fn done(&mut self, count: u32) -> bool {
        debug_assert!(count <= self.under_way && self.under_way <= self.left, "{self:?}: {count} are done");
        self.under_way -= count;
        self.left -= count;
        self.left == 0
    }
}
