//! Numbered slots that are used again: requests and flash operations in flight, without allocation per item.

use crate::ids::Slot;
use std::marker::PhantomData;

#[cfg(test)]
std::thread_local! {
    /// Looks at items so far, for tests of what a search costs.
    pub(crate) static LOOKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Items by slot; `K` is what numbers the slots.
#[derive(Clone, Debug)]
pub(crate) struct Slab<K, T> {
    items: Vec<T>,
    free: Vec<u32>,
    /// Whether a slot is free, where debug assertions look: a search of `free` would take most of a simulation.
    #[cfg(debug_assertions)]
    is_free: Vec<bool>,
    slots: PhantomData<K>,
}

impl<K: Slot, T> Slab<K, T> {
    pub(crate) fn new() -> Self {
        Self {
            items: Vec::new(),
            free: Vec::new(),
            #[cfg(debug_assertions)]
            is_free: Vec::new(),
            slots: PhantomData,
        }
    }

    #[inline]
    pub(crate) fn insert(&mut self, item: T) -> K {
        K::of(match self.free.pop() {
            Some(slot) => {
                self.items[slot as usize] = item;
                #[cfg(debug_assertions)]
                assert!(std::mem::replace(&mut self.is_free[slot as usize], false), "slot {slot} is in use");
                slot
            }
            None => {
                self.items.push(item);
                #[cfg(debug_assertions)]
                self.is_free.push(false);
                (self.items.len() - 1) as u32
            }
        })
    }

    /// Gives the slot back; its item stays readable until the slot is used again.
    #[inline]
    pub(crate) fn remove(&mut self, slot: K) {
        let slot = slot.number();
        #[cfg(debug_assertions)]
        assert!(!std::mem::replace(&mut self.is_free[slot as usize], true), "slot {slot} is free already");
        self.free.push(slot);
    }
}

impl<K: Slot, T> Slab<K, T> {
    /// The slots in use, in order.
    pub(crate) fn slots_in_use(&self) -> Vec<K> {
        let mut used = vec![true; self.items.len()];
        self.free.iter().for_each(|&slot| used[slot as usize] = false);
        (0..self.items.len() as u32).filter(|&slot| used[slot as usize]).map(K::of).collect()
    }
}

impl<K: Slot, T> std::ops::Index<K> for Slab<K, T> {
    type Output = T;
    #[inline]
    fn index(&self, slot: K) -> &T {
        #[cfg(test)]
        LOOKS.set(LOOKS.get() + 1);
        &self.items[slot.number() as usize]
    }
}

impl<K: Slot, T> std::ops::IndexMut<K> for Slab<K, T> {
    #[inline]
    fn index_mut(&mut self, slot: K) -> &mut T {
        #[cfg(test)]
        LOOKS.set(LOOKS.get() + 1);
        &mut self.items[slot.number() as usize]
    }
}
