//! Statistics of a trace's requests in constant memory, in one pass.

use crate::Record;
use crate::footprint::Footprint;
use flashlane_base::{Duration, Histogram, Instant, Operation};
use std::collections::BTreeMap;

/// Maximum number of devices whose last end is kept to detect sequential requests.
const DEVICES_MOST: usize = 1 << 16;

/// Statistics of the requests so far.
pub struct TraceStatistics {
    operations: BTreeMap<Operation, Share>,
    sizes: [[u64; 2]; 64],
    between: Histogram,
    took: Histogram,
    first: Option<Instant>,
    earliest: Instant,
    latest: Instant,
    previous: Instant,
    highest_bytes: u64,
    sequential: u64,
    ends: BTreeMap<u32, u64>,
    footprint: Footprint,
}

/// The requests of one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Number of requests.
    pub requests: u64,
    /// Total bytes.
    pub bytes: u64,
    /// Length of the shortest; 0 for flushes.
    pub shortest_bytes: u64,
    /// Length of the longest.
    pub longest_bytes: u64,
    /// Number of durable ones.
    pub durable: u64,
}

/// Requests of about one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeClass {
    /// Upper bound of their lengths; the lower bound is half of it.
    pub at_most_bytes: u64,
    /// Reads.
    pub reads: u64,
    /// Writes and trims.
    pub writes: u64,
}

impl TraceStatistics {
    /// Creates empty statistics.
    pub fn new() -> Self {
        Self {
            operations: BTreeMap::new(),
            sizes: [[0; 2]; 64],
            between: Histogram::new(),
            took: Histogram::new(),
            first: None,
            earliest: Instant::FAR,
            latest: Instant::ZERO,
            previous: Instant::ZERO,
            highest_bytes: 0,
            sequential: 0,
            ends: BTreeMap::new(),
            footprint: Footprint::new(),
        }
    }

    /// Adds a request.
    pub fn add(&mut self, record: &Record) {
        if self.first.is_some() {
            self.between.record(record.at.since(self.previous));
        }
        self.first.get_or_insert(record.at);
        self.previous = record.at;
        self.earliest = self.earliest.min(record.at);
        self.latest = self.latest.max(record.at);
        if let Some(took) = record.took {
            self.took.record(took);
        }
        let share = self
            .operations
            .entry(record.operation)
            .or_insert(Share { shortest_bytes: u64::MAX, ..Share::default() });
        share.requests += 1;
        share.bytes = share.bytes.saturating_add(record.length_bytes);
        share.shortest_bytes = share.shortest_bytes.min(record.length_bytes);
        share.longest_bytes = share.longest_bytes.max(record.length_bytes);
        share.durable += u64::from(record.durable);
        if record.length_bytes == 0 {
            return;
        }
        let is_write = usize::from(record.operation != Operation::Read);
        self.sizes[record.length_bytes.next_power_of_two().trailing_zeros() as usize][is_write] += 1;
        let end = record.offset_bytes + record.length_bytes;
        self.highest_bytes = self.highest_bytes.max(end);
        if let Some(previous) = self.ends.get_mut(&record.device) {
            self.sequential += u64::from(*previous == record.offset_bytes);
            *previous = end;
        } else if self.ends.len() < DEVICES_MOST {
            self.ends.insert(record.device, end);
        }
        self.footprint.touch(record.device, record.offset_bytes, record.length_bytes);
    }

    /// Number of requests.
    pub fn requests(&self) -> u64 {
        self.operations.values().map(|share| share.requests).sum()
    }

    /// Time from the earliest request to the latest.
    pub fn span(&self) -> Duration {
        self.latest.since(self.earliest)
    }

    /// Returns the requests by operation, for operations that occurred.
    pub fn operations(&self) -> impl Iterator<Item = (Operation, Share)> + '_ {
        self.operations.iter().map(|(operation, share)| (*operation, *share))
    }

    /// Returns the requests by size, shortest first, for sizes that occurred.
    pub fn sizes(&self) -> impl Iterator<Item = SizeClass> + '_ {
        let classes = self.sizes.iter().enumerate().filter(|(_, [reads, writes])| reads + writes > 0);
        classes.map(|(power, &[reads, writes])| SizeClass { at_most_bytes: 1 << power, reads, writes })
    }

    /// Returns the share, 0 to 1, of requests that begin at the end of the device's previous request.
    pub fn sequential_share(&self) -> f64 {
        let with_data: u64 = self.sizes().map(|class| class.reads + class.writes).sum();
        if with_data == 0 { 0.0 } else { self.sequential as f64 / with_data as f64 }
    }

    /// Highest end of a request.
    pub fn highest_bytes(&self) -> u64 {
        self.highest_bytes
    }

    /// Distinct bytes touched on all devices, in whole granules.
    pub fn footprint_bytes(&self) -> u64 {
        self.footprint.bytes()
    }

    /// Size of a granule: 4 KiB, and more where very many places are touched.
    pub fn granule_bytes(&self) -> u64 {
        self.footprint.granule_bytes()
    }

    /// Times from request to request; backward steps count as 0.
    pub fn between(&self) -> &Histogram {
        &self.between
    }

    /// Recorded durations of requests; empty where the trace has none.
    pub fn took(&self) -> &Histogram {
        &self.took
    }
}

impl Default for TraceStatistics {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::blank;

    #[test]
    fn statistics_match_hand_calculation() {
        let mut statistics = TraceStatistics::new();
        for (at_ns, operation, offset_bytes, length_bytes) in [
            (1000, Operation::Write, 8192, 4096),
            (2000, Operation::Write, 12288, 8192),
            (2000, Operation::Flush, 0, 0),
            (5000, Operation::Read, 20480, 512),
            (4000, Operation::Read, 8192, 5000),
        ] {
            statistics.add(&Record { offset_bytes, length_bytes, ..blank(at_ns, 3, operation) });
        }
        assert_eq!((statistics.requests(), statistics.span().as_ns()), (5, 4000));
        assert_eq!((statistics.highest_bytes(), statistics.footprint_bytes()), (20992, 4 * 4096));
        assert_eq!(statistics.sequential_share(), 0.5);
        let sizes: Vec<_> = statistics.sizes().map(|c| (c.at_most_bytes, c.reads, c.writes)).collect();
        assert_eq!(sizes, [(512, 1, 0), (4096, 0, 1), (8192, 1, 1)]);
        assert_eq!(statistics.between().latency().max, 3000.0);
        let (operation, writes) = statistics.operations().find(|(o, _)| *o == Operation::Write).unwrap();
        assert_eq!((operation, writes.requests, writes.bytes), (Operation::Write, 2, 12288));
    }
}
