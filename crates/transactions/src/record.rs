//! Counts and times of the measured part of a run.

use crate::Restart;
use flashlane_base::{Duration, Histogram, Instant, Operation};
use flashlane_device::Counters;
use flashlane_measure::ByOperation;
use flashlane_measure::statistics::{BatchMeans, OverTime};

pub(crate) struct Record {
    /// Whether the warm-up is over; nothing is counted before.
    pub measures: bool,
    pub started: Instant,
    pub last: Instant,
    /// The device's counters when measuring began.
    pub before: Counters,
    pub transactions: u64,
    pub accesses: u64,
    /// Accesses whose page was read from the device.
    pub misses: u64,
    /// Frames of the pool that were free when measuring began.
    pub free_at_begin: u32,
    /// Transactions that began after they were to, and by how much at most.
    pub late: u64,
    pub longest_delay: Duration,
    pub lock_waits: u64,
    pub restarts: [u64; Restart::ALL.len()],
    pub responses: Histogram,
    /// By kind of transaction; allocated on first use, because one takes a third of a megabyte.
    pub kinds: Vec<Option<Box<Histogram>>>,
    pub batches: BatchMeans,
    pub over_time: OverTime,
    pub requests: ByOperation,
}

impl Record {
    pub fn new(kinds: usize) -> Self {
        Self {
            measures: false,
            started: Instant::ZERO,
            last: Instant::ZERO,
            before: Counters::default(),
            transactions: 0,
            accesses: 0,
            misses: 0,
            free_at_begin: 0,
            late: 0,
            longest_delay: Duration::ZERO,
            lock_waits: 0,
            restarts: Default::default(),
            responses: Histogram::new(),
            kinds: vec![None; kinds],
            batches: BatchMeans::new(),
            over_time: OverTime::new(),
            requests: ByOperation::default(),
        }
    }

    #[cold]
    pub fn begin(&mut self, now: Instant, before: Counters, free_frames: u32) {
        self.free_at_begin = free_frames;
        (self.measures, self.started, self.last, self.before) = (true, now, now, before);
    }

    pub fn elapsed(&self) -> Duration {
        self.last.since(self.started)
    }

    /// A transaction begins that was to begin at a time.
    #[inline]
    pub fn begun(&mut self, scheduled: Instant, now: Instant) {
        if self.measures && now > scheduled {
            self.late += 1;
            self.longest_delay = self.longest_delay.max(now.since(scheduled));
        }
    }

    #[inline]
    pub fn used(&mut self) {
        self.accesses += u64::from(self.measures);
    }

    #[inline]
    pub fn missed(&mut self) {
        self.misses += u64::from(self.measures);
    }

    pub fn waited(&mut self) {
        self.lock_waits += u64::from(self.measures);
    }

    pub fn restarted(&mut self, reason: Restart) {
        self.restarts[reason as usize] += u64::from(self.measures);
    }

    #[inline]
    pub fn requested(&mut self, operation: Operation, took: Duration) {
        if self.measures {
            self.requests.record(operation, took);
        }
    }

    #[inline]
    pub fn committed(&mut self, kind: usize, began: Instant, now: Instant) {
        let response = now.since(began);
        self.last = now;
        self.transactions += 1;
        self.responses.record(response);
        self.kinds[kind].get_or_insert_with(Box::default).record(response);
        self.batches.record(response);
        self.over_time.record(now.since(self.started), response, 0);
    }
}
