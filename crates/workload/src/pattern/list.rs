//! List: given offsets in the given order, repeated.

use super::Offsets;
use std::sync::Arc;

pub(super) struct List {
    offsets: Arc<[u64]>,
    next: usize,
}

impl List {
    pub(super) fn new(offsets: Arc<[u64]>) -> Self {
        Self { offsets, next: 0 }
    }
}

impl Offsets for List {
    #[inline]
    fn next(&mut self) -> u64 {
        let offset = self.offsets[self.next];
        self.next = if self.next + 1 == self.offsets.len() { 0 } else { self.next + 1 };
        offset
    }
}
