//! A doubly linked list over slot numbers: constant time, no allocation after it is made.

const NONE: u32 = u32::MAX;

/// Slots from oldest to youngest.
pub(super) struct SlotList {
    /// For each slot the one before and after it; the last entry is the list's head and tail.
    links: Vec<(u32, u32)>,
}

impl SlotList {
    pub(super) fn new(slots: u32) -> Self {
        let mut links = vec![(NONE, NONE); slots as usize + 1];
        links[slots as usize] = (slots, slots);
        Self { links }
    }

    fn end(&self) -> u32 {
        (self.links.len() - 1) as u32
    }

    pub(super) fn push_youngest(&mut self, slot: u32) {
        debug_assert_eq!(self.links[slot as usize], (NONE, NONE), "slot {slot} is in the list already");
        let end = self.end();
        let last = self.links[end as usize].0;
        self.links[slot as usize] = (last, end);
        self.links[last as usize].1 = slot;
        self.links[end as usize].0 = slot;
    }

    pub(super) fn remove(&mut self, slot: u32) {
        let (before, after) = self.links[slot as usize];
        debug_assert_ne!(before, NONE, "slot {slot} is not in the list");
        self.links[before as usize].1 = after;
        self.links[after as usize].0 = before;
        self.links[slot as usize] = (NONE, NONE);
    }

    pub(super) fn pop_oldest(&mut self) -> Option<u32> {
        let first = self.links[self.end() as usize].1;
        (first != self.end()).then(|| {
            self.remove(first);
            first
        })
    }
}
