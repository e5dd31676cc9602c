//! Least recently written: a rewrite moves the page to the young end (ruan12, section II).

use super::{Page, PageUse, Replacement, Shape};
use crate::slot_lists::SlotLists;
use crate::{OptionError, Options};

struct Lru(SlotLists);

impl Replacement for Lru {
    fn insert(&mut self, slot: u32, _: Page) {
        self.0.push_youngest(0, slot);
    }

    fn touch(&mut self, slot: u32, _: PageUse) {
        self.0.remove(slot);
        self.0.push_youngest(0, slot);
    }

    fn victim(&mut self) -> Option<u32> {
        self.0.pop_oldest(0)
    }

    fn remove(&mut self, slot: u32) {
        self.0.remove(slot);
    }
}

pub(super) fn build(shape: Shape, _: &Options) -> Result<Box<dyn Replacement>, OptionError> {
    Ok(Box::new(Lru(SlotLists::new(shape.slots, 1))))
}
