//! Mapping by the order of writes: the i-th page written has position i (chen11, section 4.4).

use super::Mapping;
use crate::{OptionError, Options};

struct WriteOrder {
    next: u64,
}

impl Mapping for WriteOrder {
    fn position(&mut self, _: u64) -> u64 {
        let position = self.next;
        self.next += 1;
        position
    }

    fn is_free(&self) -> bool {
        true
    }

    fn skip_to_chunk(&mut self, chunk: u64) {
        self.next = self.next.next_multiple_of(chunk);
    }

    fn advance(&mut self, writes: u64) -> bool {
        debug_assert_eq!(self.next, 0, "the drive is new");
        self.next += writes;
        true
    }
}

pub(super) fn build(_: &Options) -> Result<Box<dyn Mapping>, OptionError> {
    Ok(Box::new(WriteOrder { next: 0 }))
}
