//! Doubly linked lists over slot numbers: constant time, no allocation after creation, 8 bytes per slot for any number
//! of lists. A slot is in one list at most.

const NONE: u32 = u32::MAX;

/// Lists of slots, each from oldest to youngest.
pub(crate) struct SlotLists {
    /// For each slot its predecessor and successor, then for each list its tail and head.
    links: Vec<(u32, u32)>,
    slots: u32,
}

impl SlotLists {
    pub(crate) fn new(slots: u32, lists: u32) -> Self {
        let mut links = vec![(NONE, NONE); slots as usize];
        links.extend((slots..slots + lists).map(|end| (end, end)));
        Self { links, slots }
    }

    pub(crate) fn push_youngest(&mut self, list: u32, slot: u32) {
        debug_assert_eq!(self.links[slot as usize], (NONE, NONE), "slot {slot} is in a list already");
        let end = self.slots + list;
        let last = self.links[end as usize].0;
        self.links[slot as usize] = (last, end);
        self.links[last as usize].1 = slot;
        self.links[end as usize].0 = slot;
    }

    pub(crate) fn push_oldest(&mut self, list: u32, slot: u32) {
        debug_assert_eq!(self.links[slot as usize], (NONE, NONE), "slot {slot} is in a list already");
        let end = self.slots + list;
        let first = self.links[end as usize].1;
        self.links[slot as usize] = (end, first);
        self.links[first as usize].0 = slot;
        self.links[end as usize].1 = slot;
    }

    pub(crate) fn oldest(&self, list: u32) -> Option<u32> {
        Some(self.links[(self.slots + list) as usize].1).filter(|&slot| slot < self.slots)
    }

    pub(crate) fn youngest(&self, list: u32) -> Option<u32> {
        Some(self.links[(self.slots + list) as usize].0).filter(|&slot| slot < self.slots)
    }

    /// The next older slot of the list that `slot` is in.
    pub(crate) fn older(&self, slot: u32) -> Option<u32> {
        Some(self.links[slot as usize].0).filter(|&slot| slot < self.slots)
    }

    /// The next younger slot of the list that `slot` is in.
    pub(crate) fn younger(&self, slot: u32) -> Option<u32> {
        Some(self.links[slot as usize].1).filter(|&slot| slot < self.slots)
    }

    pub(crate) fn contains(&self, slot: u32) -> bool {
        self.links[slot as usize].0 != NONE
    }

    pub(crate) fn remove(&mut self, slot: u32) {
        let (before, after) = self.links[slot as usize];
        debug_assert_ne!(before, NONE, "slot {slot} is in no list");
        self.links[before as usize].1 = after;
        self.links[after as usize].0 = before;
        self.links[slot as usize] = (NONE, NONE);
    }

    pub(crate) fn pop_oldest(&mut self, list: u32) -> Option<u32> {
        let oldest = self.oldest(list)?;
        self.remove(oldest);
        Some(oldest)
    }
}
