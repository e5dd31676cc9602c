//! First in, first out: a rewrite replaces the page where it stands.

use super::Replacement;
use super::list::SlotList;
use crate::{OptionError, Options};

struct Fifo(SlotList);

impl Replacement for Fifo {
    fn insert(&mut self, slot: u32) {
        self.0.push_youngest(slot);
    }

    fn touch(&mut self, _: u32) {}

    fn victim(&mut self) -> Option<u32> {
        self.0.pop_oldest()
    }

    fn remove(&mut self, slot: u32) {
        self.0.remove(slot);
    }
}

pub(super) fn build(slots: u32, _: &Options) -> Result<Box<dyn Replacement>, OptionError> {
    Ok(Box::new(Fifo(SlotList::new(slots))))
}
