//! The lines of the cache of the map: which parts of the map are in memory, and which of them have changed.
//!
//! A line is one entry or all entries of a translation page, and is known by its number: that of its first mapping unit
//! over the units of a line. The lines hold no entries, since the tables of `ftl` have the map as it is now.
//!
//! Lines are in the drive's memory or, where the drive uses some of it, in the host's: what gives up its room in the
//! drive goes to the host, what gives up its room there is no longer cached, and what is used there comes back.
//!
//! Invariant: lines in a memory and room reserved there for others are never more than it has room for.

use crate::config::{DriveConfig, MapCacheConfig};
use flashlane_policy::map_cache::Replacement;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use std::collections::BTreeSet;
use std::ops::Range;

/// A memory with lines.
struct Memory {
    /// The line in each slot; stale where a slot is free.
    lines: Vec<u32>,
    free: Vec<u32>,
    policy: Box<dyn Replacement>,
    /// Lines that there is room for, and room for lines that are on the way.
    capacity: u32,
    reserved: u32,
}

impl Memory {
    fn in_use(&self) -> u32 {
        (self.lines.len() - self.free.len()) as u32
    }

    fn has_room(&self) -> bool {
        self.in_use() + self.reserved < self.capacity
    }

    /// Puts a line into a free slot. Returns the slot.
    fn insert(&mut self, line: u32) -> u32 {
        let slot = self.free.pop().unwrap_or(self.lines.len() as u32);
        if slot as usize == self.lines.len() {
            self.lines.push(line);
        }
        self.lines[slot as usize] = line;
        self.policy.insert(slot);
        debug_assert!(self.in_use() + self.reserved <= self.capacity, "no room is given twice");
        slot
    }

    /// Takes out the line that the policy chooses, if there is one.
    fn take_victim(&mut self) -> Option<u32> {
        let slot = self.policy.victim()?;
        self.free.push(slot);
        Some(self.lines[slot as usize])
    }

    fn remove(&mut self, slot: u32) {
        self.policy.remove(slot);
        self.free.push(slot);
    }
}

/// Whose memory a line is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    Drive,
    Host,
}

pub(super) struct Lines {
    /// Where each line is, and in which slot.
    places: HashMap<u32, (Holder, u32), FxBuildHasher>,
    /// Lines that have changed since they were loaded or written.
    dirty: BTreeSet<u32>,
    drive: Memory,
    host: Memory,
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
        let [drive, host] = cache.lines(unit_bytes).map(|capacity| {
            let policy = config.policies.map_cache.build(&cache.policy, capacity, &cache.options.options());
            Memory {
                lines: Vec::new(),
                free: Vec::new(),
                policy: policy.expect("validation built every policy once"),
                capacity,
                reserved: 0,
            }
        });
        Self { places: HashMap::default(), dirty: BTreeSet::new(), drive, host }
    }

    #[inline]
    pub(super) fn contains(&self, line: u32) -> bool {
        self.places.contains_key(&line)
    }

    /// Whose memory has a line, where it is used now.
    #[inline]
    pub(super) fn touch(&mut self, line: u32) -> Option<Holder> {
        let &(holder, slot) = self.places.get(&line)?;
        match holder {
            Holder::Drive => self.drive.policy.touch(slot),
            Holder::Host => self.bring_back(line, slot),
        }
        Some(holder)
    }

    /// Moves a line from the host's memory to the drive's, as far as not all of that is reserved: another goes the
    /// other way.
    fn bring_back(&mut self, line: u32, slot: u32) {
        let other = match self.drive.has_room() {
            true => None,
            false => match self.drive.take_victim() {
                None => return self.host.policy.touch(slot),
                other => other,
            },
        };
        self.host.remove(slot);
        self.places.insert(line, (Holder::Drive, self.drive.insert(line)));
        if let Some(other) = other {
            self.places.insert(other, (Holder::Host, self.host.insert(other)));
        }
    }

    /// An entry of a line changes. Returns whether the line is in memory, where it is then dirty.
    pub(super) fn change(&mut self, line: u32) -> bool {
        let is_there = self.contains(line);
        if is_there {
            self.dirty.insert(line);
        }
        is_there
    }

    /// Reserves room for a line. Returns the line that is no longer cached for it, if there is one.
    ///
    /// # Errors
    /// [`Full`] with nothing changed.
    pub(super) fn reserve(&mut self) -> Result<Option<Evicted>, Full> {
        let mut evicted = None;
        if !self.drive.has_room() {
            let line = self.drive.take_victim().ok_or(Full)?;
            evicted = self.send_to_host(line);
        }
        self.drive.reserved += 1;
        Ok(evicted.map(|line| {
            self.places.remove(&line);
            Evicted { line, dirty: self.dirty.remove(&line) }
        }))
    }

    /// Puts a line into the host's memory. Returns the one that gives up its room, or itself where there is no such
    /// memory.
    fn send_to_host(&mut self, line: u32) -> Option<u32> {
        if self.host.capacity == 0 {
            return Some(line);
        }
        let evicted = if self.host.has_room() { None } else { self.host.take_victim() };
        self.places.insert(line, (Holder::Host, self.host.insert(line)));
        evicted
    }

    /// A line has been loaded into the room reserved for it.
    pub(super) fn insert(&mut self, line: u32) {
        debug_assert!(self.drive.reserved > 0, "room was reserved for line {line}");
        self.drive.reserved -= 1;
        let before = self.places.insert(line, (Holder::Drive, self.drive.insert(line)));
        debug_assert_eq!(before, None, "line {line} is loaded once");
    }

    /// The lines of a range have been written.
    pub(super) fn clean(&mut self, lines: Range<u32>) {
        while let Some(&line) = self.dirty.range(lines.clone()).next() {
            self.dirty.remove(&line);
        }
    }

    /// Drops the lines of a range, whether dirty or not.
    pub(super) fn forget(&mut self, lines: Range<u32>) {
        if self.places.is_empty() {
            return;
        }
        self.clean(lines.clone());
        for line in lines {
            self.drop_line(line);
        }
    }

    fn drop_line(&mut self, line: u32) {
        match self.places.remove(&line) {
            Some((Holder::Drive, slot)) => self.drive.remove(slot),
            Some((Holder::Host, slot)) => self.host.remove(slot),
            None => {}
        }
    }

    /// Power is cut: recovery finds the entries of dirty lines beside the data; nothing is being loaded.
    pub(super) fn cut_power(&mut self) {
        self.drive.reserved = 0;
        for line in [&self.drive.lines[..], &self.host.lines].concat() {
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
        let in_use = [&self.drive, &self.host].map(|memory| {
            assert!(memory.in_use() + memory.reserved <= memory.capacity);
            memory.in_use()
        });
        assert_eq!(self.places.len() as u32, in_use[0] + in_use[1]);
        for (&line, &(holder, slot)) in &self.places {
            let memory = if holder == Holder::Drive { &self.drive } else { &self.host };
            assert_eq!(memory.lines[slot as usize], line);
        }
        assert!(self.dirty.iter().all(|&line| self.contains(line)), "only lines in memory are dirty");
    }
}
