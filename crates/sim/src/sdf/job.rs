//! Where a request to a lane stands: which of its pages are requested, in flight and done.

/// The pages of a read, the rows of a write, or the operations of an erase. Invariant: `under_way <= left`, and a request
/// with nothing left is complete.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Job {
    pub(super) unit: u32,
    /// Of the unit, the page of a read or the row of a write that is requested next, and the end of them.
    pub(super) next: u32,
    pub(super) end: u32,
    /// The next row of a write whose data cross the link.
    pub(super) next_received: u32,
    /// Pages on their way, and pages that are not done: operations, of an erase.
    pub(super) under_way: u32,
    pub(super) left: u32,
    /// The row and plane of a write of which the program will fail.
    pub(super) fails: Option<(u32, u32)>,
}

impl Job {
    /// Pages are done. Returns whether they were the last.
    #[inline]
    pub(super) fn done(&mut self, pages: u32) -> bool {
        debug_assert!(pages <= self.under_way && self.under_way <= self.left, "{self:?}: {pages} are done");
        self.under_way -= pages;
        self.left -= pages;
        self.left == 0
    }
}
