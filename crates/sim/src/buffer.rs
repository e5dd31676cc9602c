//! The write-back buffer: pages that the host has written and flash has not.
//!
//! A page is *dirty* until it is chosen to be drained, then *leaving* until its program is done; its slot is free
//! only then. A page that is written again while it leaves gets a slot of its own.

use crate::config::BufferConfig;
use flashlane_policy::buffer::{self, Replacement};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use std::collections::VecDeque;

/// A buffered page.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    /// The logical page.
    pub(crate) page: u32,
    /// Which 64ths of the page are here, one bit each.
    pub(crate) present: u64,
    /// The flush period in which it was first written.
    period: u64,
    leaving: bool,
}

/// How a page was taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Into a free slot.
    New,
    /// Over the copy that was there.
    Absorbed,
    /// Not at all: every slot is taken.
    Full,
}

/// The buffer.
pub(crate) struct WriteBuffer {
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// The newest copy of each buffered page.
    newest: HashMap<u32, u32, FxBuildHasher>,
    policy: Box<dyn Replacement>,
    dirty: usize,
    leaving: usize,
    most_leaving: usize,
    high: usize,
    /// Flush periods with pages still here, oldest first: period and pages.
    periods: VecDeque<(u64, usize)>,
    period: u64,
}

impl WriteBuffer {
    pub(crate) fn new(config: &BufferConfig, page_bytes: u64, dies: u32) -> Self {
        let slots = (config.size.0 / page_bytes) as u32;
        Self {
            entries: vec![Entry::default(); slots as usize],
            free: (0..slots).rev().collect(),
            newest: HashMap::default(),
            policy: buffer::build(&config.policy, slots, &config.options.options())
                .expect("validation built every policy once"),
            dirty: 0,
            leaving: 0,
            most_leaving: (dies * config.drain_per_die) as usize,
            high: (config.high.0 * f64::from(slots)) as usize,
            periods: VecDeque::new(),
            period: 0,
        }
    }

    /// Takes in the parts `present` of `page`.
    pub(crate) fn admit(&mut self, page: u32, present: u64) -> Admission {
        if let Some(&slot) = self.newest.get(&page)
            && !self.entries[slot as usize].leaving
        {
            let entry = &mut self.entries[slot as usize];
            entry.present |= present;
            // A flush waits for the pages of older periods: rewriting one must not put its turn off again and again.
            if entry.period == self.period {
                self.policy.touch(slot);
            }
            return Admission::Absorbed;
        }
        let Some(slot) = self.free.pop() else { return Admission::Full };
        // A copy on its way to flash completes what is missing here only once it is there.
        let before = self.newest.insert(page, slot).map_or(0, |old| self.entries[old as usize].present);
        self.entries[slot as usize] =
            Entry { page, present: present | before, period: self.period, leaving: false };
        match self.periods.back_mut() {
            Some((period, pages)) if *period == self.period => *pages += 1,
            _ => self.periods.push_back((self.period, 1)),
        }
        self.policy.insert(slot);
        self.dirty += 1;
        Admission::New
    }

    /// The parts of `page` that are here, dirty or leaving; none where it is not.
    pub(crate) fn present(&self, page: u32) -> u64 {
        self.newest.get(&page).map_or(0, |&slot| self.entries[slot as usize].present)
    }

    /// Whether any part of `page` is to be kept: written, and neither trimmed nor written past the buffer since.
    pub(crate) fn holds(&self, page: u32) -> bool {
        self.newest.contains_key(&page)
    }

    /// Chooses the next page to drain, if one should be: above the high mark, or `forced`.
    pub(crate) fn drain(&mut self, forced: bool) -> Option<(u32, Entry)> {
        let wanted = self.dirty > 0 && (forced || self.dirty + self.leaving > self.high);
        if !wanted || self.leaving >= self.most_leaving {
            return None;
        }
        let slot = self.policy.victim().expect("a dirty page is in the policy's order");
        self.entries[slot as usize].leaving = true;
        self.dirty -= 1;
        self.leaving += 1;
        Some((slot, self.entries[slot as usize]))
    }

    /// The page in `slot` is on flash.
    pub(crate) fn drained(&mut self, slot: u32) {
        debug_assert!(self.entries[slot as usize].leaving, "slot {slot} was not leaving");
        self.leaving -= 1;
        self.release(slot);
    }

    /// Drops what is buffered of `page` and not yet leaving: it was trimmed or written past the buffer.
    pub(crate) fn forget(&mut self, page: u32) {
        let Some(slot) = self.newest.remove(&page) else { return };
        if !self.entries[slot as usize].leaving {
            self.policy.remove(slot);
            self.dirty -= 1;
            self.release(slot);
        }
    }

    /// Closes the flush period: what was written so far is waited for, what comes later is not.
    pub(crate) fn begin_flush(&mut self) -> u64 {
        let period = self.period;
        self.period += 1;
        period
    }

    /// Whether every page of `period` and before is on flash.
    pub(crate) fn is_flushed(&self, period: u64) -> bool {
        self.periods.front().is_none_or(|(oldest, _)| *oldest > period)
    }

    fn release(&mut self, slot: u32) {
        let entry = self.entries[slot as usize];
        if self.newest.get(&entry.page) == Some(&slot) {
            self.newest.remove(&entry.page);
        }
        self.free.push(slot);
        let (_, pages) = self
            .periods
            .iter_mut()
            .find(|(period, _)| *period == entry.period)
            .expect("a page's period is kept while the page is here");
        *pages -= 1;
        while self.periods.front().is_some_and(|(_, pages)| *pages == 0) {
            self.periods.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;

    #[test]
    fn rewriting_a_page_does_not_put_off_the_flush_that_waits_for_it() {
        let settings = [("buffer.policy", "lru"), ("buffer.size", "32KiB"), ("buffer.drain_per_die", "1")];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let config = load("ssd-s", &settings).unwrap();
        let mut buffer = WriteBuffer::new(config.buffer.as_ref().unwrap(), 4096, 1);
        (0..4).for_each(|page| assert_eq!(buffer.admit(page, u64::MAX), Admission::New));
        let period = buffer.begin_flush();
        for new in 4..12 {
            buffer.admit(0, u64::MAX);
            let (slot, _) = buffer.drain(true).unwrap();
            buffer.drained(slot);
            if buffer.is_flushed(period) {
                return;
            }
            buffer.admit(new, u64::MAX);
        }
        panic!("the flush still waits");
    }
}
