//! `flashlane.trace/1`: what a recorded trace holds.

use crate::ordered::Ordered;
use crate::{Common, Kind, Warning};
use flashlane_base::Latency;
use serde::{Deserialize, Serialize};

/// What [`TraceResult::schema`] says.
pub const TRACE_SCHEMA: &str = "flashlane.trace/1";

/// A trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceResult {
    /// Always [`TRACE_SCHEMA`].
    pub schema: String,
    /// The file, as it was named.
    pub trace: String,
    /// Its format.
    pub format: String,
    /// The unit of its time stamps.
    #[serde(default)]
    pub time_unit: Option<String>,
    /// How it writes reads, writes and whatever else it has.
    #[serde(default)]
    pub codes: Option<String>,
    /// `gz`, `xz` or `zst`; `null` where it is plain.
    pub compression: Option<String>,
    /// Lines of text, or events of a binary trace.
    pub lines: u64,
    /// Requests.
    pub requests: u64,
    /// Lines that are no request and need not be.
    pub skipped: u64,
    /// Lines that should be a request and are not.
    pub refused: u64,
    /// The first of these.
    pub refusals: Vec<RefusalRow>,
    /// Whether the last line has no end, and may have been cut.
    pub ends_inside_line: bool,
    /// Where time runs backwards; `null` where it does not.
    pub backward: Option<BackwardRow>,
    /// Seconds from the first request to the last.
    pub span_s: f64,
    /// Bytes of all requests.
    pub transferred_bytes: u64,
    /// By operation, of those that occurred.
    pub operations: Ordered<ShareRow>,
    /// Requests by length.
    pub sizes: Vec<SizeRow>,
    /// Share of the requests with data that begin where the device's request before them ends.
    pub sequential_share: f64,
    /// The end of the request that reaches furthest.
    pub highest_bytes: u64,
    /// Bytes that are touched at all, in whole granules.
    pub footprint_bytes: u64,
    /// The granule.
    pub granule_bytes: u64,
    /// Times from request to request.
    pub between_ns: Latency,
    /// How long requests took when they were recorded; `null` where the trace does not say.
    pub took_ns: Option<Latency>,
    /// The trace's devices.
    pub devices: Vec<TraceDeviceRow>,
    /// Doubts about the trace.
    pub warnings: Vec<Warning>,
    /// Why it was not read to its end; `null` where it was.
    pub partial: Option<String>,
}

/// A line that should be a request and is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalRow {
    /// Its number, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub message: String,
}

/// Where time runs backwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackwardRow {
    /// Requests that are earlier than one that stands before them.
    pub requests: u64,
    /// The first one's line.
    pub first_line: u64,
    /// The longest step back.
    pub longest_ns: u64,
}

/// One operation's share of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareRow {
    /// Requests.
    pub requests: u64,
    /// Their bytes.
    pub transferred_bytes: u64,
    /// The shortest.
    pub shortest_bytes: u64,
    /// The longest.
    pub longest_bytes: u64,
    /// Requests that had to be durable.
    pub durable: u64,
}

/// Requests of about one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeRow {
    /// They are at most this long, and longer than half of it.
    pub at_most_bytes: u64,
    /// Reads.
    pub reads: u64,
    /// Writes and trims.
    pub writes: u64,
}

/// A device of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceDeviceRow {
    /// Its number.
    pub number: u32,
    /// Its name, where the trace has one.
    pub name: Option<String>,
    /// Its requests.
    pub requests: u64,
}

impl Kind for TraceResult {
    const SCHEMA: &'static str = TRACE_SCHEMA;

    fn common(&self) -> Common<'_> {
        Common { warnings: &self.warnings, partial: self.partial.as_deref(), ..Common::default() }
    }
}
