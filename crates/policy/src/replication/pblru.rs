//! Priority-based least recently used (he14, section 4.2.1): the recently used groups are kept; of the others the one
//! with the lowest blocking probability gives way, and of several the one accessed longest ago.
//!
//! The recency region holds the youngest groups, the priority region all others. A group's blocking probability changes
//! only with an access, which puts it at the head of the recency region: in the priority region it is constant, and an
//! ordered set finds the lowest.
//!
//! A read is replicated only above a threshold. A probability of 5% can be told from 20 accesses or more: of fewer, one
//! blocked access is no more than 5% of 20, and a page is replicated from the second on. Otherwise each blocked read of
//! a page that is read for the first time would be: its probability is 1 then.
//!
//! Options: `recency`, the recency region's share of all groups, 0 to 1 without its ends, default 0.5; `threshold`, the
//! blocking probability above which a blocked read is replicated, 0 to 1, default 0.05. Cost: logarithmic in the number
//! of groups.

use super::{Blocking, Replication};
use crate::slot_lists::SlotLists;
use crate::{OptionError, Options};
use std::collections::BTreeSet;

/// The lists of the two regions.
const RECENCY: u32 = 0;
const PRIORITY: u32 = 1;

struct Pblru {
    threshold: f64,
    /// Groups that the recency region holds at most, and holds.
    most_recent: u32,
    recent: u32,
    /// Both regions, each from the group accessed longest ago to the last: together the queue.
    regions: SlotLists,
    /// The priority region again: the bits of the blocking probability, which order as it does, then the time of entry.
    priority: BTreeSet<(u64, u64, u32)>,
    places: Vec<Place>,
    /// Entries into the priority region so far, which are its times.
    entries: u64,
}

/// Where a group is.
#[derive(Clone, Copy, Default)]
struct Place {
    blocking: f64,
    /// When it entered the priority region; 0 where it is not there.
    entered: u64,
}

impl Pblru {
    fn key(&self, group: u32) -> (u64, u64, u32) {
        let Place { blocking, entered } = self.places[group as usize];
        (blocking.to_bits(), entered, group)
    }

    /// Takes a group out of its region, if it is in one.
    fn take(&mut self, group: u32) -> bool {
        if !self.regions.contains(group) {
            return false;
        }
        self.regions.remove(group);
        if self.places[group as usize].entered == 0 {
            self.recent -= 1;
        } else {
            let was_there = self.priority.remove(&self.key(group));
            debug_assert!(was_there, "the set has what the list has");
            self.places[group as usize].entered = 0;
        }
        true
    }

    /// Moves groups over the border of the regions until the recency region is full, or the other empty.
    fn balance(&mut self) {
        if self.recent > self.most_recent {
            let oldest = self.regions.pop_oldest(RECENCY).expect("it holds too many");
            self.recent -= 1;
            self.entries += 1;
            self.places[oldest as usize].entered = self.entries;
            self.regions.push_youngest(PRIORITY, oldest);
            self.priority.insert(self.key(oldest));
        } else if self.recent < self.most_recent
            && let Some(youngest) = self.regions.youngest(PRIORITY)
        {
            self.take(youngest);
            self.recent += 1;
            self.regions.push_oldest(RECENCY, youngest);
        }
    }
}

impl Replication for Pblru {
    fn replicates_read(&self, blocking: Blocking) -> bool {
        let least = if self.threshold > 0.0 { 1.0 } else { 0.0 };
        f64::from(blocking.blocked) > (self.threshold * blocking.accesses as f64).max(least)
    }

    fn touch(&mut self, group: u32, blocking: f64) {
        debug_assert!(blocking >= 0.0, "a probability is not negative");
        self.take(group);
        self.places[group as usize].blocking = blocking;
        self.regions.push_youngest(RECENCY, group);
        self.recent += 1;
        self.balance();
    }

    fn remove(&mut self, group: u32) {
        let was_there = self.take(group);
        debug_assert!(was_there, "group {group} was never touched");
        self.balance();
    }

    fn victim(&mut self) -> Option<u32> {
        let victim = match self.priority.first() {
            Some(&(_, _, group)) => group,
            None => self.regions.oldest(RECENCY)?,
        };
        self.take(victim);
        Some(victim)
    }
}

pub(super) fn build(groups: u32, options: &Options) -> Result<Box<dyn Replication>, OptionError> {
    let share = |share: f64| share > 0.0 && share < 1.0;
    let recency: f64 =
        options.get("recency", 0.5, "a share of the groups between 0 and 1, like 0.5", share)?;
    let allowed = "a probability from 0 to 1, like 0.05";
    let threshold = options.get("threshold", 0.05, allowed, |p: f64| (0.0..=1.0).contains(&p))?;
    Ok(Box::new(Pblru {
        threshold,
        most_recent: ((f64::from(groups) * recency).round() as u32).max(1),
        recent: 0,
        regions: SlotLists::new(groups, 2),
        priority: BTreeSet::new(),
        places: vec![Place::default(); groups as usize],
        entries: 0,
    }))
}
