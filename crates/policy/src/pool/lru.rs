//! Least recently used, reads and writes alike.

use super::{Replacement, Shape};
use crate::slot_lists::SlotLists;
use crate::{OptionError, Options};

struct Lru(SlotLists);

impl Replacement for Lru {
    fn insert(&mut self, frame: u32, _page: u32, _dirty: bool) {
        self.0.push_youngest(0, frame);
    }

    fn touch(&mut self, frame: u32, _write: bool) {
        self.0.remove(frame);
        self.0.push_youngest(0, frame);
    }

    fn victim(&mut self) -> Option<u32> {
        self.0.oldest(0)
    }

    fn remove(&mut self, frame: u32) {
        self.0.remove(frame);
    }
}

pub(super) fn build(shape: Shape, _: &Options) -> Result<Box<dyn Replacement>, OptionError> {
    Ok(Box::new(Lru(SlotLists::new(shape.frames, 1))))
}
