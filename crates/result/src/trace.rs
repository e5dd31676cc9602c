//! `flashlane.trace/1`: statistics of a recorded trace.

use crate::ordered::Ordered;
use crate::{Common, Kind, Warning};
use flashlane_base::Latency;
use serde::{Deserialize, Serialize};

/// Value of [`TraceResult::schema`].
pub const TRACE_SCHEMA: &str = "flashlane.trace/1";

/// A trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceResult {
    /// Always [`TRACE_SCHEMA`].
    pub schema: String,
    /// File name as given.
    pub trace: String,
    /// Format of the trace.
    pub format: String,
    /// Unit of the time stamps.
    #[serde(default)]
    pub time_unit: Option<String>,
    /// Codes of reads, writes and other operations.
    #[serde(default)]
    pub codes: Option<String>,
    /// `gz`, `xz` or `zst`; `null` if not compressed.
    pub compression: Option<String>,
    /// Lines of text, or events of a binary trace.
    pub lines: u64,
    /// Requests.
    pub requests: u64,
    /// Lines that validly contain no request.
    pub skipped: u64,
    /// Lines that are not valid requests.
    pub refused: u64,
    /// The first of these.
    pub refusals: Vec<RefusalRow>,
    /// Whether the last line has no line end, and may be truncated.
    pub ends_inside_line: bool,
    /// Backward time stamps; `null` if there are none.
    pub backward: Option<BackwardRow>,
    /// Seconds from the first request to the last.
    pub span_s: f64,
    /// Bytes of all requests.
    pub transferred_bytes: u64,
    /// Shares by operation, for operations that occurred.
    pub operations: Ordered<ShareRow>,
    /// Requests by length.
    pub sizes: Vec<SizeRow>,
    /// Share of the requests with data that begin at the end of the device's previous request.
    pub sequential_share: f64,
    /// Highest end of any request.
    pub highest_bytes: u64,
    /// Bytes accessed at least once, in whole granules.
    pub footprint_bytes: u64,
    /// Size of a granule.
    pub granule_bytes: u64,
    /// Times from request to request.
    pub between_ns: Latency,
    /// Recorded durations of requests; `null` where the trace has none.
    pub took_ns: Option<Latency>,
    /// Devices of the trace.
    pub devices: Vec<TraceDeviceRow>,
    /// Doubts about the trace.
    pub warnings: Vec<Warning>,
    /// Why it was not read to its end; `null` if it was.
    pub partial: Option<String>,
}

/// A line that is not a valid request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalRow {
    /// Line number, from 1.
    pub line: u64,
    /// Why it is refused.
    pub message: String,
}

/// Backward time stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackwardRow {
    /// Requests with an earlier time stamp than one before them.
    pub requests: u64,
    /// Line of the first one.
    pub first_line: u64,
    /// The longest step back.
    pub longest_ns: u64,
}

/// One operation's share of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareRow {
    /// Requests.
    pub requests: u64,
    /// Bytes of these requests.
    pub transferred_bytes: u64,
    /// Shortest request.
    pub shortest_bytes: u64,
    /// Longest request.
    pub longest_bytes: u64,
    /// Durable requests.
    pub durable: u64,
}

/// Requests in a range of lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeRow {
    /// Greatest length of the range; the lengths are above half of it.
    pub at_most_bytes: u64,
    /// Reads.
    pub reads: u64,
    /// Writes and trims.
    pub writes: u64,
}

/// A device of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceDeviceRow {
    /// Number in the trace.
    pub number: u32,
    /// Name, if the trace has one.
    pub name: Option<String>,
    /// Number of its requests.
    pub requests: u64,
}

impl Kind for TraceResult {
    const SCHEMA: &'static str = TRACE_SCHEMA;

    fn common(&self) -> Common<'_> {
        Common { warnings: &self.warnings, partial: self.partial.as_deref(), ..Common::default() }
    }
}
