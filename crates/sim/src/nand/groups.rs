//! Programs that wait for their group: what fills up their flash page, which can be programmed once only, and pages
//! beside it on further planes of the die.

use super::operation::FlashOperation;
use crate::ids::DieId;

/// The programs that wait at each die, in the order in which they were queued. Invariant: `count` is the number of all.
#[derive(Clone)]
pub(super) struct PendingGroups {
    dies: Vec<Vec<FlashOperation>>,
    count: usize,
}

impl PendingGroups {
    pub(super) fn new(dies: u32) -> Self {
        Self { dies: vec![Vec::new(); dies as usize], count: 0 }
    }

    /// Whether nothing waits anywhere.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The number of programs that wait at `die`.
    pub(super) fn waiting(&self, die: DieId) -> usize {
        self.dies[die.index()].len()
    }

    pub(super) fn push(&mut self, die: DieId, operation: FlashOperation) {
        self.dies[die.index()].push(operation);
        self.count += 1;
    }

    /// Takes what waits at `die`; [`PendingGroups::recycle`] takes the list back, for its memory.
    pub(super) fn take(&mut self, die: DieId) -> Vec<FlashOperation> {
        let waiting = std::mem::take(&mut self.dies[die.index()]);
        debug_assert!(self.count >= waiting.len(), "all of them are counted");
        self.count -= waiting.len();
        waiting
    }

    pub(super) fn recycle(&mut self, die: DieId, mut list: Vec<FlashOperation>) {
        list.clear();
        self.dies[die.index()] = list;
    }
}
