//! Least recently used: every blocked read is replicated, and the group that was accessed longest ago gives way.
//!
//! Cost: constant.

use super::{Blocking, Replication};
use crate::slot_lists::SlotLists;
use crate::{OptionError, Options};

struct Lru(SlotLists);

impl Replication for Lru {
    fn replicates_read(&self, _: Blocking) -> bool {
        true
    }

    fn touch(&mut self, group: u32, _: f64) {
        if self.0.contains(group) {
            self.0.remove(group);
        }
        self.0.push_youngest(0, group);
    }

    fn remove(&mut self, group: u32) {
        self.0.remove(group);
    }

    fn victim(&mut self) -> Option<u32> {
        self.0.pop_oldest(0)
    }
}

pub(super) fn build(groups: u32, _: &Options) -> Result<Box<dyn Replication>, OptionError> {
    Ok(Box::new(Lru(SlotLists::new(groups, 1))))
}
