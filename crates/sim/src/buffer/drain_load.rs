//! The load of drains: mapping units that drain from the buffer to flash, by package and channel; how long packages are
//! busy with them, and why they drained.

use crate::ids::{ChannelId, PackageId};
use flashlane_base::Instant;
use flashlane_device::Counters;

/// Why a unit drains from the buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum DrainCause {
    /// To make room: the buffer is filled above its high watermark, or a write waits for a slot.
    #[default]
    Room,
    /// The host waits for a flush.
    Flush,
    /// The host has been idle.
    Idle,
    /// The buffer is full, and its policy drains the dirty units in batches.
    Batch,
}

impl DrainCause {
    const COUNT: usize = Self::Batch as usize + 1;
}

/// The counters of drains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DrainCounters {
    /// Units that went to flash.
    units: u64,
    /// Of these, units whose program has ended, or was lost with the power.
    ended_units: u64,
    /// Of these, units that were read only to be written along with their neighbours.
    padded_units: u64,
    /// The units by why they drained.
    by_cause: [u64; DrainCause::COUNT],
    /// Drains: spells in which some unit drained without a break.
    drains: u64,
    /// Drains in which a unit drained to every package at one moment.
    drains_on_all: u64,
    /// Nanoseconds in which some unit drained.
    ns: u64,
    /// Of these, nanoseconds in which one drained to every package.
    ns_on_all: u64,
}

impl DrainCounters {
    /// The counters, under the names that results have: `full` is what was drained to make room.
    pub(crate) fn list(&self) -> [(&'static str, u64); 11] {
        let units_for = |cause: DrainCause| self.by_cause[cause as usize];
        [
            (Counters::BUFFER_PAGES_DRAINED, self.units),
            (Counters::BUFFER_PAGES_PROGRAMMED, self.ended_units),
            ("buffer_pages_drained_full", units_for(DrainCause::Room)),
            ("buffer_pages_drained_flush", units_for(DrainCause::Flush)),
            ("buffer_pages_drained_idle", units_for(DrainCause::Idle)),
            ("buffer_pages_drained_batch", units_for(DrainCause::Batch)),
            ("buffer_pages_padded", self.padded_units),
            ("buffer_drains", self.drains),
            ("buffer_drains_on_all_packages", self.drains_on_all),
            ("buffer_drain_ns", self.ns),
            ("buffer_drain_on_all_packages_ns", self.ns_on_all),
        ]
    }
}

/// The units that drain, by package and channel.
#[derive(Debug)]
pub(super) struct DrainLoad {
    /// Units that drain to each package.
    units_to_package: Vec<u32>,
    /// Units that drain over each channel.
    units_over_channel: Vec<u32>,
    packages_per_channel: u32,
    /// Packages with any.
    busy: usize,
    /// When `busy` last changed.
    since: Instant,
    /// Whether all were busy at once in this drain.
    all: bool,
    counters: DrainCounters,
}

impl DrainLoad {
    /// No drains, and counters that start at `counters`.
    pub(super) fn new(channels: u32, packages_per_channel: u32, counters: DrainCounters) -> Self {
        Self {
            units_to_package: vec![0; (channels * packages_per_channel) as usize],
            units_over_channel: vec![0; channels as usize],
            packages_per_channel,
            busy: 0,
            since: Instant::ZERO,
            all: false,
            counters: DrainCounters { ended_units: counters.units, ..counters },
        }
    }

    fn channel_of(&self, package: PackageId) -> ChannelId {
        ChannelId(package.0 / self.packages_per_channel)
    }

    /// Units that drain to `package`.
    pub(super) fn to(&self, package: PackageId) -> u32 {
        self.units_to_package[package.index()]
    }

    /// Units that drain over the channel of `package`.
    pub(super) fn on_channel_of(&self, package: PackageId) -> u32 {
        self.units_over_channel[self.channel_of(package).index()]
    }

    /// The drain of a unit starts, to `package`.
    pub(super) fn begin(&mut self, package: PackageId, now: Instant) {
        let channel = self.channel_of(package);
        self.units_over_channel[channel.index()] += 1;
        let units = &mut self.units_to_package[package.index()];
        *units += 1;
        if *units > 1 {
            return;
        }
        if self.busy == 0 && (now > self.since || self.counters.drains == 0) {
            // Not where one starts in the moment in which the last one ended.
            self.counters.drains += 1;
            self.all = false;
        }
        self.add_elapsed(now);
        self.busy += 1;
        if self.busy == self.units_to_package.len() && !self.all {
            self.all = true;
            self.counters.drains_on_all += 1;
        }
    }

    /// The drain of a unit to `package` ended.
    pub(super) fn end(&mut self, package: PackageId, now: Instant) {
        let channel = self.channel_of(package);
        self.units_over_channel[channel.index()] -= 1;
        let units = &mut self.units_to_package[package.index()];
        *units -= 1;
        if *units > 0 {
            return;
        }
        self.add_elapsed(now);
        self.busy -= 1;
    }

    /// Counts the end of a program of a unit.
    pub(super) fn count_end(&mut self) {
        self.counters.ended_units += 1;
        debug_assert!(self.counters.ended_units <= self.counters.units, "only what went to flash ends there");
    }

    /// Counts a unit that goes to flash.
    pub(super) fn count(&mut self, pad: bool, cause: DrainCause) {
        self.counters.units += 1;
        self.counters.by_cause[cause as usize] += 1;
        self.counters.padded_units += u64::from(pad);
    }

    /// Adds the time since the busy packages last changed.
    fn add_elapsed(&mut self, now: Instant) {
        let ns = now.since(self.since).as_ns();
        self.since = now;
        self.counters.ns += if self.busy > 0 { ns } else { 0 };
        self.counters.ns_on_all += if self.busy == self.units_to_package.len() { ns } else { 0 };
    }

    /// The counters so far; times up to the last change.
    pub(super) fn counters(&self) -> DrainCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drain_lasts_while_any_unit_drains() {
        let mut load = DrainLoad::new(2, 1, DrainCounters::default());
        let at = Instant::from_ns;
        load.begin(PackageId(0), at(10));
        load.begin(PackageId(0), at(20));
        load.begin(PackageId(1), at(30));
        load.end(PackageId(0), at(50));
        load.end(PackageId(0), at(60));
        load.begin(PackageId(0), at(70));
        load.end(PackageId(1), at(80));
        load.end(PackageId(0), at(90));
        load.begin(PackageId(0), at(90));
        load.end(PackageId(0), at(100));
        load.begin(PackageId(1), at(200));
        load.end(PackageId(1), at(205));
        let counters = load.counters();
        assert_eq!((counters.drains, counters.drains_on_all), (2, 1), "all were busy twice in the first");
        assert_eq!((counters.ns, counters.ns_on_all), (95, 40));
    }
}
