//! Records the completions of a replay.

use crate::recorder::{KINDS, kind};
use crate::statistics::{BatchMeans, OverTime, Sample, Samples, TimeParts};
use flashlane_base::{Duration, Histogram, Instant, Operation, Random};
use flashlane_device::{Completion, TimeSplit};
use flashlane_workload::Access;

/// Latencies by operation, in the order of [`Operation`]; allocated on first use, because one takes a third of a
/// megabyte.
#[derive(Clone, Debug, Default)]
pub struct ByOperation([Option<Box<Histogram>>; OPERATIONS.len()]);

const OPERATIONS: [Operation; 5] =
    [Operation::Read, Operation::Write, Operation::Trim, Operation::Flush, Operation::Erase];

impl ByOperation {
    /// Adds a latency.
    #[inline]
    pub fn record(&mut self, operation: Operation, latency: Duration) {
        self.0[operation as usize].get_or_insert_with(Box::default).record(latency);
    }

    /// Returns the latencies of one operation; `None` where it did not occur.
    pub fn of(&self, operation: Operation) -> Option<&Histogram> {
        self.0[operation as usize].as_deref()
    }

    /// Returns the operations that occurred, with their latencies.
    pub fn iter(&self) -> impl Iterator<Item = (Operation, &Histogram)> {
        OPERATIONS.into_iter().filter_map(|operation| Some((operation, self.of(operation)?)))
    }

    /// Returns the latencies of all operations except flushes.
    pub fn all(&self) -> Histogram {
        let mut all = Histogram::new();
        let accesses = self.iter().filter(|(operation, _)| *operation != Operation::Flush);
        accesses.for_each(|(_, latencies)| all.merge(latencies));
        all
    }
}

/// One of the slowest requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slow {
    /// Time from arrival to completion.
    pub latency: Duration,
    /// Time from submission to completion.
    pub device_latency: Duration,
    /// Arrival, since the replay began.
    pub arrived: Duration,
    /// The request.
    pub access: Access,
}

/// Number of slowest requests kept.
const SLOWEST: usize = 10;

/// A finished request.
pub(super) struct Finished<'a> {
    pub access: &'a Access,
    /// Its arrival.
    pub due: Instant,
    pub completion: &'a Completion,
    /// When it could have been submitted, where the replay's own lateness is measured.
    pub eligible: Option<Instant>,
    /// Recorded duration.
    pub took: Option<Duration>,
    /// Where its time went since its arrival, if the device records it.
    pub split: Option<TimeSplit>,
}

pub(super) struct Recording {
    pub started: Instant,
    pub last: Instant,
    /// Reads, writes and trims.
    pub requests: u64,
    pub flushes: u64,
    pub bytes: u64,
    pub latencies: ByOperation,
    pub device: Histogram,
    pub lateness: Option<Box<Histogram>>,
    pub recorded: Option<Box<Histogram>>,
    pub over_time: OverTime,
    pub batches: BatchMeans,
    pub samples: Samples,
    /// The slowest first; among equals, the first completed.
    pub slowest: Vec<Slow>,
    /// By kind.
    pub time_parts: Box<[TimeParts; KINDS]>,
}

impl Recording {
    pub fn new(started: Instant, samples: usize, random: Random) -> Self {
        Self {
            started,
            last: started,
            requests: 0,
            flushes: 0,
            bytes: 0,
            latencies: ByOperation::default(),
            device: Histogram::new(),
            lateness: None,
            recorded: None,
            over_time: OverTime::new(),
            batches: BatchMeans::new(),
            samples: Samples::new(samples, random),
            slowest: Vec::with_capacity(SLOWEST + 1),
            time_parts: Box::default(),
        }
    }

    #[inline]
    pub fn record(&mut self, finished: &Finished<'_>) {
        let Finished { access, due, completion, .. } = *finished;
        let latency = completion.completed.since(due);
        self.last = self.last.max(completion.completed);
        self.latencies.record(access.operation, latency);
        if access.operation == Operation::Flush {
            self.flushes += 1;
        } else {
            self.record_access(finished, latency);
        }
        if let Some(split) = &finished.split {
            self.time_parts[kind(access.operation)].record(latency, split);
        }
        let started = self.started;
        self.samples.offer(|| Sample {
            submitted_ns: due.since(started).as_ns(),
            latency_ns: latency.as_ns(),
            offset_bytes: access.offset_bytes,
            job: 0,
            operation: access.operation,
            split: finished.split.map(Box::new),
        });
        if self.slowest.len() < SLOWEST || latency > self.slowest[SLOWEST - 1].latency {
            self.keep_slow(Slow {
                latency,
                device_latency: completion.latency(),
                arrived: due.since(started),
                access: *access,
            });
        }
    }

    /// Counts a read, write or trim. Flushes have only latencies, as in a run.
    #[inline]
    fn record_access(&mut self, finished: &Finished<'_>, latency: Duration) {
        let Finished { access, completion, .. } = *finished;
        let moves = matches!(access.operation, Operation::Read | Operation::Write);
        let bytes = if moves { access.length_bytes } else { 0 };
        self.requests += 1;
        self.bytes += bytes;
        self.device.record(completion.latency());
        self.over_time.record(completion.completed.since(self.started), latency, bytes);
        self.batches.record(latency);
        if let Some(eligible) = finished.eligible {
            self.lateness.get_or_insert_with(Box::default).record(completion.submitted.since(eligible));
        }
        if let Some(took) = finished.took {
            self.recorded.get_or_insert_with(Box::default).record(took);
        }
    }

    #[cold]
    fn keep_slow(&mut self, slow: Slow) {
        let place = self.slowest.partition_point(|other| other.latency >= slow.latency);
        self.slowest.insert(place, slow);
        self.slowest.truncate(SLOWEST);
    }
}
