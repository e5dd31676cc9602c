//! Where the time of requests went, in the results of runs and replays on simulated drives.

use serde::{Deserialize, Serialize};

/// The requests of an operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeSplitRow {
    /// The operation: `read`, `write`, `trim`, `flush`.
    pub operation: String,
    /// All requests, then those around percentiles of the latency.
    pub bands: Vec<BandRow>,
}

/// Requests of similar latency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BandRow {
    /// `all`, or the percentile that the band surrounds: `p50`, `p99`, `p999`.
    pub band: String,
    /// Requests in it.
    pub requests: u64,
    /// Their mean latency, in nanoseconds.
    pub mean_ns: f64,
    /// The mean time of each part; they add up to the mean latency.
    pub parts_ns: PartsRow,
}

/// A time in nanoseconds for each part of a drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PartsRow {
    /// The host's own work.
    pub host: f64,
    /// Waiting to be taken or sent.
    pub queue: f64,
    /// Waiting for the link, and crossing it.
    pub link: f64,
    /// Tables of the translation layer.
    pub mapping: f64,
    /// In the write buffer.
    pub buffer: f64,
    /// Waiting for the channel's bus, and crossing it.
    pub bus: f64,
    /// In the flash array.
    pub array: f64,
    /// Waiting for a die that reads for others.
    pub behind_reads: f64,
    /// Waiting for a die that programs for others.
    pub behind_programs: f64,
    /// Waiting for a die that garbage-collects or erases.
    pub behind_gc: f64,
    /// Array reads beyond the first.
    pub retry: f64,
}

impl PartsRow {
    /// The names of the parts, in order.
    pub const NAMES: [&'static str; 11] = [
        "host",
        "queue",
        "link",
        "mapping",
        "buffer",
        "bus",
        "array",
        "behind_reads",
        "behind_programs",
        "behind_gc",
        "retry",
    ];

    /// Creates a row of the times in the order of [`PartsRow::NAMES`].
    pub fn new(times_ns: [f64; 11]) -> Self {
        let [host, queue, link, mapping, buffer, bus, array, behind_reads, behind_programs, behind_gc, retry] =
            times_ns;
        Self {
            host,
            queue,
            link,
            mapping,
            buffer,
            bus,
            array,
            behind_reads,
            behind_programs,
            behind_gc,
            retry,
        }
    }

    /// Returns the times in the order of [`PartsRow::NAMES`].
    pub fn times_ns(&self) -> [f64; 11] {
        [
            self.host,
            self.queue,
            self.link,
            self.mapping,
            self.buffer,
            self.bus,
            self.array,
            self.behind_reads,
            self.behind_programs,
            self.behind_gc,
            self.retry,
        ]
    }
}
