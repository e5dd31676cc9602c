//! Counts of what trials did.

use flashlane_device::Counters;
use std::fmt;

/// Counts of what a trial did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Power cuts, each followed by a comparison of all sectors.
    pub cuts: u64,
    /// Requests.
    pub requests: u64,
    /// Sectors compared by reads.
    pub sectors_compared: u64,
    /// Versions that were acknowledged, not durable, and lost by a cut.
    pub lost: u64,
    /// Writes that a copy completed.
    pub by_copy: u64,
    /// Copies that were written.
    pub copies: u64,
    /// Accesses to pages that had a copy.
    pub hits: u64,
    /// Copies that gave way to others.
    pub evicted: u64,
}

impl Tally {
    /// Adds the counters of a layer that is closed.
    pub(crate) fn count(&mut self, counters: &Counters) {
        let get = |name: &str| counters.get(name).unwrap_or(0);
        self.by_copy += get("writes_answered_by_copies");
        self.copies += get("copies_written");
        self.hits += get("accesses_of_replicated_pages");
        self.evicted += get("copies_evicted");
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.cuts += other.cuts;
        self.requests += other.requests;
        self.sectors_compared += other.sectors_compared;
        self.lost += other.lost;
        self.by_copy += other.by_copy;
        self.copies += other.copies;
        self.hits += other.hits;
        self.evicted += other.evicted;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cuts, requests, sectors_compared, lost, by_copy, copies, hits, evicted } = self;
        write!(
            f,
            "{cuts} power cuts: no flushed or durable write lost, none torn\n\
             {requests} requests, {sectors_compared} sectors compared, {lost} volatile versions lost as reported\n\
             {by_copy} writes completed by a copy, {copies} copies written, {evicted} evicted, {hits} hits"
        )
    }
}
