//! Numbered slots that are used again: requests and flash operations in flight, without allocation per item.

#[cfg(test)]
std::thread_local! {
    /// Looks at items so far, for tests of what a search costs.
    pub(crate) static LOOKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Items by slot number.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Self { items: Vec::new(), free: Vec::new() }
    }

    #[inline]
    pub(crate) fn insert(&mut self, item: T) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.items[slot as usize] = item;
                slot
            }
            None => {
                self.items.push(item);
                (self.items.len() - 1) as u32
            }
        }
    }

    /// Gives the slot back; its item stays readable until the slot is used again.
    #[inline]
    pub(crate) fn remove(&mut self, slot: u32) {
        debug_assert!(!self.free.contains(&slot), "slot {slot} is free already");
        self.free.push(slot);
    }
}

impl<T: Clone> Slab<T> {
    /// The items whose slots are in use, by slot.
    pub(crate) fn in_use(&self) -> Vec<T> {
        let mut used = vec![true; self.items.len()];
        self.free.iter().for_each(|&slot| used[slot as usize] = false);
        self.items.iter().zip(used).filter(|(_, used)| *used).map(|(item, _)| item.clone()).collect()
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, slot: u32) -> &T {
        #[cfg(test)]
        LOOKS.set(LOOKS.get() + 1);
        &self.items[slot as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut T {
        #[cfg(test)]
        LOOKS.set(LOOKS.get() + 1);
        &mut self.items[slot as usize]
    }
}
