//! First in, first out: a rewrite replaces the page where it stands.

use super::{Page, PageUse, Replacement, Shape};
use crate::slot_lists::SlotLists;
use crate::{OptionError, Options};

struct Fifo(SlotLists);

impl Replacement for Fifo {
    fn insert(&mut self, slot: u32, _: Page) {
        self.0.push_youngest(0, slot);
    }

    fn touch(&mut self, _: u32, _: PageUse) {}

    fn victim(&mut self) -> Option<u32> {
        self.0.pop_oldest(0)
    }

    fn remove(&mut self, slot: u32) {
        self.0.remove(slot);
    }
}

pub(super) fn build(shape: Shape, _: &Options) -> Result<Box<dyn Replacement>, OptionError> {
    Ok(Box::new(Fifo(SlotLists::new(shape.slots, 1))))
}
