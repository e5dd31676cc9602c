//! Least recently written: a rewrite moves the page to the young end (ruan12, section III).

use super::Replacement;
use super::list::SlotList;
use crate::{OptionError, Options};

struct Lru(SlotList);

impl Replacement for Lru {
    fn insert(&mut self, slot: u32) {
        self.0.push_youngest(slot);
    }

    fn touch(&mut self, slot: u32) {
        self.0.remove(slot);
        self.0.push_youngest(slot);
    }

    fn victim(&mut self) -> Option<u32> {
        self.0.pop_oldest()
    }

    fn remove(&mut self, slot: u32) {
        self.0.remove(slot);
    }
}

pub(super) fn build(slots: u32, _: &Options) -> Result<Box<dyn Replacement>, OptionError> {
    Ok(Box::new(Lru(SlotList::new(slots))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rewrite_makes_a_page_young_again() {
        let mut lru = build(3, &Options::default()).unwrap();
        (0..3).for_each(|slot| lru.insert(slot));
        lru.touch(0);
        assert_eq!(lru.victim(), Some(1));
    }
}
