//! Programs that wait for others to be programmed along with them: what fills up their flash page, which can be
//! programmed once only, and pages beside it on further planes of the die.

use super::operation::Operation;

/// What waits at each die, in the order in which it came.
#[derive(Clone)]
pub(super) struct Awaiting {
    dies: Vec<Vec<Operation>>,
    count: usize,
}

impl Awaiting {
    pub(super) fn new(dies: u32) -> Self {
        Self { dies: vec![Vec::new(); dies as usize], count: 0 }
    }

    /// Whether nothing waits anywhere.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn push(&mut self, die: u32, operation: Operation) {
        self.dies[die as usize].push(operation);
        self.count += 1;
    }

    /// Takes what waits at `die`; the list is to be given back, for its memory.
    pub(super) fn take(&mut self, die: u32) -> Vec<Operation> {
        let waiting = std::mem::take(&mut self.dies[die as usize]);
        self.count -= waiting.len();
        waiting
    }

    pub(super) fn give_back(&mut self, die: u32, mut list: Vec<Operation>) {
        list.clear();
        self.dies[die as usize] = list;
    }

    /// Power is cut.
    pub(super) fn clear(&mut self) {
        self.dies.iter_mut().for_each(Vec::clear);
        self.count = 0;
    }
}
