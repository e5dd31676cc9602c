//! Extra writes: copies that wait until their chip has been idle for long enough (he14, section 4.2.2).
//!
//! An idle period begins with the end of an access and ends with the next; extra writes within do not end it.
//!
//! Invariant: a slot is in the queue of its chip from [`ExtraWrites::push`] to [`ExtraWrites::take`].

use crate::groups::Slot;
use crate::idle::IdlePeriods;
use flashlane_base::{Duration, Instant};
use std::collections::VecDeque;

#[derive(Clone, Debug)]
struct Chip {
    queue: VecDeque<Slot>,
    periods: IdlePeriods,
    /// Since when the chip has been idle, where it is.
    idle_since: Option<Instant>,
    /// The later of this and the end of the last extra write.
    quiet_since: Instant,
    /// Extra writes of this period.
    done: u32,
}

/// The extra writes of all chips.
#[derive(Clone, Debug)]
pub struct ExtraWrites {
    chips: Vec<Chip>,
    most_queued: usize,
    epoch: Duration,
    epoch_ends: Instant,
}

impl ExtraWrites {
    /// Nothing waits, and all of `chips` chips are idle. A chip queues `most_queued` writes at most; thresholds are
    /// estimated anew every `epoch`, which is positive. `read` and `write` are the times of a chip's operations.
    pub fn new(chips: u32, most_queued: u32, epoch: Duration, read: Duration, write: Duration) -> Self {
        assert!(!epoch.is_zero(), "an epoch takes time");
        let chip = Chip {
            queue: VecDeque::new(),
            periods: IdlePeriods::new(read, write),
            idle_since: Some(Instant::ZERO),
            quiet_since: Instant::ZERO,
            done: 0,
        };
        Self {
            chips: vec![chip; chips as usize],
            most_queued: most_queued as usize,
            epoch,
            epoch_ends: Instant::ZERO + epoch,
        }
    }

    /// Queues the write of a copy. Returns false where the queue is full.
    pub fn push(&mut self, chip: u32, slot: Slot, now: Instant) -> bool {
        self.end_epochs(now);
        let chip = &mut self.chips[chip as usize];
        chip.periods.ask();
        let has_room = chip.queue.len() < self.most_queued;
        if has_room {
            chip.queue.push_back(slot);
        }
        has_room
    }

    /// An access, not an extra write, reaches a chip.
    pub fn access(&mut self, chip: u32, now: Instant) {
        let chip = &mut self.chips[chip as usize];
        if let Some(since) = chip.idle_since.take() {
            chip.periods.record(now.since(since));
            chip.done = 0;
        }
    }

    /// A chip has nothing more to do.
    pub fn idle(&mut self, chip: u32, now: Instant) {
        self.end_epochs(now);
        let chip = &mut self.chips[chip as usize];
        chip.idle_since.get_or_insert(now);
        chip.quiet_since = now;
    }

    /// When the first write that waits for a chip begins, if the chip stays idle until then; `None` where it is busy or
    /// nothing waits.
    pub fn due(&self, chip: u32) -> Option<Instant> {
        let chip = &self.chips[chip as usize];
        let waits = chip.idle_since.is_some() && !chip.queue.is_empty();
        waits.then(|| chip.quiet_since + chip.periods.threshold(chip.done))
    }

    /// Takes the first write that waits for a chip, where it is due.
    pub fn take(&mut self, chip: u32, now: Instant) -> Option<Slot> {
        if self.due(chip).is_none_or(|due| due > now) {
            return None;
        }
        let chip = &mut self.chips[chip as usize];
        chip.done += 1;
        chip.queue.pop_front()
    }

    /// Empties all queues, as a power cut does; the slots that waited are returned.
    pub fn clear(&mut self, now: Instant) -> Vec<Slot> {
        for chip in &mut self.chips {
            (chip.idle_since, chip.quiet_since, chip.done) = (Some(now), now, 0);
        }
        self.chips.iter_mut().flat_map(|chip| chip.queue.drain(..)).collect()
    }

    fn end_epochs(&mut self, now: Instant) {
        if now >= self.epoch_ends {
            self.chips.iter_mut().for_each(|chip| chip.periods.end_epoch());
            let passed = now.since(self.epoch_ends).as_ns() / self.epoch.as_ns();
            self.epoch_ends += self.epoch * (passed + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE: Duration = Duration::from_us(300);

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    #[test]
    fn a_write_waits_until_its_chip_was_idle_for_the_threshold() {
        let mut extra = ExtraWrites::new(2, 2, Duration::from_s(60), Duration::from_us(100), WRITE);
        extra.access(0, at(50));
        assert!(extra.push(0, Slot(1), at(60)) && extra.push(0, Slot(2), at(60)));
        assert!(!extra.push(0, Slot(3), at(60)), "the queue is full");
        assert_eq!(extra.due(0), None, "the chip is busy");
        extra.idle(0, at(100));
        assert_eq!(extra.due(0), Some(at(400)));
        assert_eq!(extra.take(0, at(399)), None);
        assert_eq!(extra.take(0, at(400)), Some(Slot(1)));
        // The next of this period is counted from the end of this one.
        extra.idle(0, at(700));
        assert_eq!(extra.due(0), Some(at(1000)));
        extra.access(0, at(900));
        assert_eq!(extra.due(0), None);
        assert_eq!(extra.clear(at(950)), [Slot(2)]);
    }
}
