//! How far a request to an erase unit is: which of its pages, rows or operations are requested, on their way and done.

/// The progress of a request. Invariant: `under_way <= left`, and a request with nothing left is complete.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// Of the unit, the page or row that is requested next, and the end of them.
    pub(crate) next: u32,
    pub(crate) end: u32,
    /// Pages or operations on their way, and those that are not done.
    pub(crate) under_way: u32,
    pub(crate) left: u32,
}

impl Progress {
    /// That of a read of `length_bytes` from `within_bytes` of its unit on, before the first page is requested.
    #[inline]
    pub(crate) fn of_pages(within_bytes: u64, length_bytes: u64, page_bytes: u64) -> Self {
        let next = (within_bytes / page_bytes) as u32;
        let end = (within_bytes + length_bytes).div_ceil(page_bytes) as u32;
        Self { next, end, under_way: 0, left: end - next }
    }

    /// That of operations which are all on their way.
    pub(crate) fn all_under_way(count: usize) -> Self {
        Self { under_way: count as u32, left: count as u32, ..Self::default() }
    }

    /// Pages or operations are done. Returns whether they were the last.
    #[inline]
    pub(crate) fn done(&mut self, count: u32) -> bool {
        debug_assert!(count <= self.under_way && self.under_way <= self.left, "{self:?}: {count} are done");
        self.under_way -= count;
        self.left -= count;
        self.left == 0
    }
}
