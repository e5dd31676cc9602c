//! Second chance: the hand passes the lines in the order of loading, and takes the first that was not used since it
//! last passed. One bit a line, and nothing to do at a hit but to set it. Cost: constant over many calls.

use super::Replacement;
use crate::slot_lists::SlotLists;
use crate::{OptionError, Options};

struct Clock {
    /// From the line that the hand points to, once round.
    ring: SlotLists,
    used: Vec<bool>,
}

impl Replacement for Clock {
    fn insert(&mut self, slot: u32) {
        self.used[slot as usize] = false;
        self.ring.push_youngest(0, slot);
    }

    fn touch(&mut self, slot: u32) {
        self.used[slot as usize] = true;
    }

    fn victim(&mut self) -> Option<u32> {
        loop {
            let slot = self.ring.pop_oldest(0)?;
            if !std::mem::take(&mut self.used[slot as usize]) {
                return Some(slot);
            }
            self.ring.push_youngest(0, slot);
        }
    }

    fn remove(&mut self, slot: u32) {
        self.ring.remove(slot);
    }
}

pub(super) fn build(slots: u32, _: &Options) -> Result<Box<dyn Replacement>, OptionError> {
    Ok(Box::new(Clock { ring: SlotLists::new(slots, 1), used: vec![false; slots as usize] }))
}
