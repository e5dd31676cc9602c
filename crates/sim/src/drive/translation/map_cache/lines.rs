//! The lines of the cache of the map: which parts of the map are in memory, and which of them have changed.
//!
//! A line is one entry or all entries of a translation page, and is known by its number: that of its first mapping unit over
//! the units of a line. The lines hold no entries, since the tables of `ftl` have the map as it is now.
//!
//! Invariant: lines in memory and room reserved for others are never more than the cache has room for.

use crate::config::{DriveConfig, MapCacheConfig};
use flashlane_policy::map_cache::Replacement;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use std::collections::BTreeSet;
use std::ops::Range;

pub(super) struct Lines {
    /// The slot of each line in memory.
    slots: HashMap<u32, u32, FxBuildHasher>,
    /// The line in each slot; stale where a slot is free.
    lines: Vec<u32>,
    free: Vec<u32>,
    /// Lines that have changed since they were loaded or written.
    dirty: BTreeSet<u32>,
    policy: Box<dyn Replacement>,
    /// Lines that there is room for, and those that are being loaded.
    capacity: u32,
    reserved: u32,
}

/// A line that gave up its room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Evicted {
    pub(super) line: u32,
    /// Whether it has to be written.
    pub(super) dirty: bool,
}

/// All room is reserved for lines that are being loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

impl Lines {
    /// An empty cache. Requires: `config` is validated.
    pub(super) fn new(config: &DriveConfig, cache: &MapCacheConfig, unit_bytes: u64) -> Self {
        let capacity = cache.lines(unit_bytes);
        let policy = config.policies.map_cache.build(&cache.policy, capacity, &cache.options.options());
        Self {
            slots: HashMap::default(),
            lines: Vec::new(),
            free: Vec::new(),
            dirty: BTreeSet::new(),
            policy: policy.expect("validation built every policy once"),
            capacity,
            reserved: 0,
        }
    }

    #[inline]
    pub(super) fn contains(&self, line: u32) -> bool {
        self.slots.contains_key(&line)
    }

    /// Whether a line is in memory, where it is used now.
    #[inline]
    pub(super) fn touch(&mut self, line: u32) -> bool {
        let slot = self.slots.get(&line).copied();
        if let Some(slot) = slot {
            self.policy.touch(slot);
        }
        slot.is_some()
    }

    /// An entry of a line changes. Returns whether the line is in memory, where it is then dirty.
    pub(super) fn change(&mut self, line: u32) -> bool {
        let is_there = self.contains(line);
        if is_there {
            self.dirty.insert(line);
        }
        is_there
    }

    /// Reserves room for a line. Returns the line that gave it up, if one had to.
    ///
    /// # Errors
    /// [`Full`] with nothing changed.
    pub(super) fn reserve(&mut self) -> Result<Option<Evicted>, Full> {
        let evicted = if self.slots.len() as u32 + self.reserved < self.capacity {
            None
        } else {
            let slot = self.policy.victim().ok_or(Full)?;
            let line = self.lines[slot as usize];
            self.free_slot(line, slot);
            Some(Evicted { line, dirty: self.dirty.remove(&line) })
        };
        self.reserved += 1;
        debug_assert!(self.slots.len() as u32 + self.reserved <= self.capacity, "no room is given twice");
        Ok(evicted)
    }

    /// A line has been loaded into the room reserved for it.
    pub(super) fn insert(&mut self, line: u32) {
        debug_assert!(self.reserved > 0, "room was reserved for line {line}");
        self.reserved -= 1;
        let slot = self.free.pop().unwrap_or(self.lines.len() as u32);
        if slot as usize == self.lines.len() {
            self.lines.push(line);
        }
        self.lines[slot as usize] = line;
        let before = self.slots.insert(line, slot);
        debug_assert_eq!(before, None, "line {line} is loaded once");
        self.policy.insert(slot);
    }

    fn free_slot(&mut self, line: u32, slot: u32) {
        let removed = self.slots.remove(&line);
        debug_assert_eq!(removed, Some(slot), "a slot in use has its line");
        self.free.push(slot);
    }

    /// The lines of a range have been written.
    pub(super) fn clean(&mut self, lines: Range<u32>) {
        while let Some(&line) = self.dirty.range(lines.clone()).next() {
            self.dirty.remove(&line);
        }
    }

    /// Drops the lines of a range, whether dirty or not.
    pub(super) fn forget(&mut self, lines: Range<u32>) {
        if self.slots.is_empty() {
            return;
        }
        self.clean(lines.clone());
        for line in lines {
            self.drop_line(line);
        }
    }

    fn drop_line(&mut self, line: u32) {
        if let Some(&slot) = self.slots.get(&line) {
            self.policy.remove(slot);
            self.free_slot(line, slot);
        }
    }

    /// Power is cut: recovery finds the entries of dirty lines beside the data; nothing is being loaded.
    pub(super) fn cut_power(&mut self) {
        self.reserved = 0;
        for line in self.lines.clone() {
            if !self.dirty.contains(&line) {
                self.drop_line(line);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn is_dirty(&self, line: u32) -> bool {
        self.dirty.contains(&line)
    }

    /// Panics where the parts disagree.
    #[cfg(test)]
    pub(super) fn check(&self) {
        assert!(self.slots.len() as u32 + self.reserved <= self.capacity);
        assert_eq!(self.slots.len() + self.free.len(), self.lines.len());
        assert!(self.slots.iter().all(|(&line, &slot)| self.lines[slot as usize] == line));
        assert!(self.dirty.iter().all(|&line| self.contains(line)), "only lines in memory are dirty");
    }
}
