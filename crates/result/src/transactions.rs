//! `flashlane.transactions/1`: a recording of transactions run on one device.
//!
//! Fields that runs also have are the same here.

use crate::run::{ConfidenceRow, DeviceRow, OperationRow};
use crate::{Figure, Machine, Warning};
use flashlane_base::Latency;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Value of [`TransactionsResult::schema`].
pub const TRANSACTIONS_SCHEMA: &str = "flashlane.transactions/1";

/// Transactions run on a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransactionsResult {
    /// Always [`TRANSACTIONS_SCHEMA`].
    pub schema: String,
    /// The device.
    pub device: DeviceRow,
    /// The recording, set by its reader; `null` if unknown.
    pub recording: Option<RecordingRow>,
    /// Clients, each of which runs one transaction after another.
    pub clients: u32,
    /// When a client begins its next transaction: `closed`, as soon as its last one has committed, or `open`, at its
    /// recorded time.
    #[serde(default = "closed")]
    pub pace: String,
    /// With pace `open`, the factor by which recorded times are shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
    /// Pages of the buffer pool.
    pub pool_pages: u32,
    /// Size of a page.
    pub page_bytes: u32,
    /// Replacement policy of the pool, with its options.
    pub buffer: String,
    /// The largest window of the operating system's readahead; 0 for none.
    #[serde(default)]
    pub readahead_bytes: u64,
    /// Processors that the clients shared; `null` for one each.
    #[serde(default)]
    pub processors: Option<u32>,
    /// Processor time, in times of what was recorded.
    #[serde(default = "as_recorded")]
    pub cpu_factor: f64,
    /// Longest wait for a lock.
    pub lock_wait_ns: u64,
    /// Transactions that were run before those measured.
    pub warmup: u64,
    /// Seed of the device's randomness.
    pub seed: u64,
    /// Transactions measured.
    pub transactions: u64,
    /// Device time, in seconds.
    pub elapsed_s: f64,
    /// Transactions per second of device time.
    pub transactions_per_s: f64,
    /// Times from the beginning of a transaction, or at pace `open` from its recorded time, to its commit, with its
    /// restarts.
    pub response_ns: Latency,
    /// Mean response time of the slowest hundredth of the transactions; `null` without transactions.
    pub worst_percent_ns: Option<f64>,
    /// Confidence interval of the mean response time; `null` for few transactions.
    pub confidence: Option<ConfidenceRow>,
    /// Results by kind of transaction, for kinds that occurred.
    pub kinds: Vec<TransactionKindRow>,
    /// Restarted transactions.
    pub restarts: RestartRow,
    /// Transactions that began after their recorded time, because no client was free.
    #[serde(default)]
    pub late: u64,
    /// The longest of these delays.
    #[serde(default)]
    pub longest_delay_ns: u64,
    /// Waits for locks.
    pub lock_waits: u64,
    /// Page accesses, with those of transactions that were restarted.
    pub accesses: u64,
    /// Share of the accesses that found their page in the pool; `null` without accesses.
    pub hit_share: Option<f64>,
    /// Requests to the device: `read` and `write`, where they occurred.
    pub operations: BTreeMap<String, OperationRow>,
    /// Requests that waited because the device was full.
    pub waited: u64,
    /// Results over time.
    pub over_time: TransactionsOverTimeRow,
    /// Cost of measuring per request, measured with a null device; `null` for a simulated device, in whose time it
    /// costs nothing.
    #[serde(default)]
    pub harness_ns_per_request: Option<f64>,
    /// Doubts about the result.
    pub warnings: Vec<Warning>,
    /// Why the run ended early; `null` if it did not.
    pub partial: Option<String>,
    /// Figures of the report; omitted in printed results.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Drive and system of a real device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// The pace of results written before there was another.
fn closed() -> String {
    "closed".into()
}

/// The processor time of results written before there was another.
fn as_recorded() -> f64 {
    1.0
}

/// The recording that was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordingRow {
    /// Name of the file.
    pub name: String,
    /// What was recorded, and how.
    pub source: String,
    /// Bytes of the database.
    pub database_bytes: u64,
    /// Relations of the database.
    pub relations: u64,
    /// Clients that ran the transactions when they were recorded.
    pub clients: u32,
    /// Transactions in it.
    pub transactions: u64,
    /// Page accesses in it.
    pub accesses: u64,
    /// Share of these that change a page; `null` without accesses.
    pub write_share: Option<f64>,
    /// Processor time of its transactions, in seconds.
    pub cpu_s: f64,
    /// Transactions that the recorder left out because they were rolled back.
    pub aborted: u64,
    /// Transactions that the recorder left out because they had begun before it, or had not ended with it.
    pub cut: u64,
    /// How often it was begun.
    pub passes: u64,
}

/// Results of one kind of transaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransactionKindRow {
    /// Its name.
    pub kind: String,
    /// Transactions measured.
    pub transactions: u64,
    /// Transactions per second.
    pub transactions_per_s: f64,
    /// Their response times.
    pub response_ns: Latency,
}

/// Restarts by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestartRow {
    /// All of them.
    pub all: u64,
    /// The youngest of several transactions that waited for each other.
    pub deadlock: u64,
    /// A transaction that waited too long for a lock.
    pub lock_wait: u64,
}

/// Transactions over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransactionsOverTimeRow {
    /// Width of the slices, in seconds.
    pub slice_s: f64,
    /// The slices in order; transactions belong to the slice of their commit.
    pub slices: Vec<TransactionsSliceRow>,
}

/// Commits in one slice of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransactionsSliceRow {
    /// Begin of the slice, in seconds since the warm-up ended.
    pub from_s: f64,
    /// Transactions.
    pub transactions: u64,
    /// Transactions per second, over the whole width.
    pub transactions_per_s: f64,
    /// Mean response time; `null` without commits.
    pub mean_ns: Option<f64>,
    /// 99th percentile of the response times, at most 6.25% too high; `null` likewise.
    pub p99_ns: Option<f64>,
    /// Longest response time; `null` likewise.
    pub max_ns: Option<f64>,
}

crate::kind!(TransactionsResult, TRANSACTIONS_SCHEMA);
