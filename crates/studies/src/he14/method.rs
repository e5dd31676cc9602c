//! The paper's method: the same transactions on the same drive in several forms, one after another.
//!
//! Where the paper leaves a choice, it is made once for all figures:
//! - Capacity. 10% of the flash is reserved for GC in all forms, with copies or without (table 2). Copies take the place of
//!   data: a drive that replicates offers 9% less, which the databases leave free. Today's remedies offer as little, so that
//!   GC has the space that copies would take.
//! - Chunk. A database page is spread over the chips by flash pages of 2 KB. On one chip its four programs would take 1.6 ms,
//!   longer than the delay D of two programs: each write would count as blocked by itself.
//! - Restored. The drive holds the database, written once in order, and nothing else, so that no run needs GC.
//! - Load. Ten clients without think time run the recorded transactions in a closed loop, with page locks to the end of
//!   each transaction. The paper recorded ten such clients and replays the time stamps (section 5.1). The recordings here
//!   are of a machine that is faster than this drive in any form, so that at recorded times, too, a transaction begins when
//!   a client is free: throughput is the same (`load`), and the closed loop keeps the backlog out of the response times.
//! - Busy. The chips are busy while they handle requests (section 5.2), copies included. The paper's simulator counts the
//!   time of cleaning apart from that of requests.

use crate::FigureError;
use crate::lab::Lab;
use flashlane_base::Operation;
use flashlane_transactions::{Recording, Run, Setup};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The drive.
const PROFILE: &str = "he-4g";
const CHIPS: f64 = 4.0;
/// Times of a page's read and program, which include its transfer.
const READ_NS: f64 = 120e3;
const PROGRAM_NS: f64 = 400e3;
/// Settings of all forms.
const COMMON: [(&str, &str); 1] = [("mapping.chunk", "2KiB")];
/// All but the 10% that are reserved.
const WHOLE: (&str, &str) = ("capacity", "3686MiB");
/// The database only, for a restored drive: the rest of it was never written.
const DATABASE: (&str, &str) = ("capacity", "2437MiB");
/// All but the 10% that are reserved and the copies, a tenth of this.
const LESS: (&str, &str) = ("capacity", "3351MiB");
const FRAGMENTED: (&str, &str) = ("initial.state", "fragmented");
const REPLICATED: (&str, &str) = ("replication.policy", "pblru");
const PACED: (&str, &str) = ("cleaning.pacing", "proportional");
const READ_FIRST: (&str, &str) = ("scheduling.policy", "read-first");
const PREEMPTIBLE: (&str, &str) = ("cleaning.preemptible", "true");
/// Time that suspending and resuming costs, as in the profiles of today's drives.
const SUSPEND: (&str, &str) = ("flash.suspend", "20us");

/// Three pages and one with their parity in each row over the chips, and all but the 10% of the rows that are reserved.
const PARITY: (&str, &str) = ("mapping.parity", "3");
const OF_ROWS: (&str, &str) = ("capacity", "2764MiB");
/// What parity requires.
const IN_ORDER: (&str, &str) = ("mapping.policy", "write-order");
const OVER_BUS: (&str, &str) = ("flash.copyback", "false");
/// Chips of a row garbage-collect in turns, and pages of the one that does are rebuilt from the others.
const REBUILD: (&str, &str) = ("mapping.rebuild", "blocked");
const ROTATE: (&str, &str) = ("cleaning.rotate", "true");

/// The recorded transactions of a benchmark.
pub(super) struct Workload {
    /// Its name in the paper.
    pub(super) name: &'static str,
    /// The shared measurement of its runs.
    runs: &'static str,
    file: &'static str,
    excerpt: &'static [u8],
    /// Transactions that are measured, and those before; in the quick form a twentieth.
    transactions: (u64, u64),
}

impl Workload {
    /// Opens the recording in the folder of traces, which is longer, or else the excerpt.
    pub(super) fn recording(&self, lab: &Lab<'_>) -> Result<Recording, FigureError> {
        Ok(match lab.recording(self.file) {
            Some(path) => Recording::open(&path, || false)?,
            None => Recording::from_reader(self.excerpt, self.file)?,
        })
    }
}

macro_rules! workload {
    ($name:literal, $runs:literal, $file:literal, $transactions:expr) => {
        Workload {
            name: $name,
            runs: $runs,
            file: $file,
            excerpt: include_bytes!(concat!("../../../../traces/", $file, ".xz")),
            transactions: $transactions,
        }
    };
}

pub(super) const TPC_C: Workload = workload!("TPC-C", "runs-tpc-c", "tpc-c.pages", (8_000, 2_000));
pub(super) const TPC_B: Workload = workload!("TPC-B", "runs-tpc-b", "tpc-b.pages", (40_000, 10_000));
pub(super) const TM_1: Workload = workload!("TM-1", "runs-tm-1", "tatp.pages", (100_000, 20_000));
/// In the paper's order.
pub(super) const WORKLOADS: [&Workload; 3] = [&TPC_C, &TPC_B, &TM_1];

/// A form of the drive, and the buffer pool above it.
pub(super) struct Form {
    pub(super) name: &'static str,
    settings: &'static [(&'static str, &'static str)],
    pool: &'static str,
}

const fn form(name: &'static str, settings: &'static [(&'static str, &'static str)]) -> Form {
    Form { name, settings, pool: "lru" }
}

pub(super) const RESTORED: &str = "restored";
pub(super) const WITHOUT: &str = "without replication";
pub(super) const PBLRU: &str = "replication";
pub(super) const LRU: &str = "replication by lru";
pub(super) const CFLRU_E: &str = "CFLRU/E";
pub(super) const BOTH: &str = "CFLRU/E and replication";
pub(super) const SPACE: &str = "more over-provisioning";
pub(super) const PREEMPTED: &str = "preemptible GC";
pub(super) const SUSPENDED: &str = "suspend";
pub(super) const WITH_PACED: &str = "paced GC";
pub(super) const PACED_SUSPENDED: &str = "paced GC and suspend";
pub(super) const PACED_PBLRU: &str = "paced GC and replication";
pub(super) const WITH_PARITY: &str = "parity";
pub(super) const REBUILT: &str = "reads rebuilt from parity";
pub(super) const SUSPENDED_PBLRU: &str = "suspend and replication";

/// The weight of a workload's runs among a study's measurements.
pub(super) const WEIGHT: u32 = FORMS.len() as u32;

const FORMS: [Form; 15] = [
    form(RESTORED, &[DATABASE, ("initial.state", "full")]),
    form(WITHOUT, &[WHOLE, FRAGMENTED]),
    form(PBLRU, &[LESS, FRAGMENTED, REPLICATED]),
    form(LRU, &[LESS, FRAGMENTED, ("replication.policy", "lru")]),
    Form { pool: "cflru-e", ..form(CFLRU_E, &[WHOLE, FRAGMENTED]) },
    Form { pool: "cflru-e", ..form(BOTH, &[LESS, FRAGMENTED, REPLICATED]) },
    form(SPACE, &[LESS, FRAGMENTED]),
    form(PREEMPTED, &[LESS, FRAGMENTED, READ_FIRST, PREEMPTIBLE]),
    form(SUSPENDED, &[LESS, FRAGMENTED, READ_FIRST, SUSPEND]),
    form(WITH_PACED, &[LESS, FRAGMENTED, PACED]),
    form(PACED_SUSPENDED, &[LESS, FRAGMENTED, PACED, READ_FIRST, SUSPEND]),
    form(WITH_PARITY, &[OF_ROWS, FRAGMENTED, PARITY, IN_ORDER, OVER_BUS]),
    form(REBUILT, &[OF_ROWS, FRAGMENTED, PARITY, IN_ORDER, OVER_BUS, REBUILD, ROTATE]),
    form(PACED_PBLRU, &[LESS, FRAGMENTED, PACED, REPLICATED]),
    form(SUSPENDED_PBLRU, &[LESS, FRAGMENTED, READ_FIRST, SUSPEND, REPLICATED]),
];

/// What a run measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Measured {
    pub(super) transactions_per_s: f64,
    pub(super) mean_ms: f64,
    /// Mean of the slowest hundredth.
    pub(super) worst_ms: f64,
    /// Response times at 50%, 99% and 99.9%.
    pub(super) quantiles_ms: [f64; 3],
    pub(super) restarts: u64,
    pub(super) transactions: u64,
    /// The chips' share of time in which they handle requests and copies, in percent.
    pub(super) busy_percent: f64,
    /// The chips' share of time in which they garbage-collect, in percent.
    pub(super) collecting_percent: f64,
    /// Requests for pages that the pool wrote.
    pub(super) pool_writes: u64,
    pub(super) elapsed_ns: f64,
    pub(super) capacity_bytes: u64,
    counters: BTreeMap<String, u64>,
}

impl Measured {
    pub(super) fn of(run: &Run) -> Self {
        let counters: BTreeMap<String, u64> =
            run.counters.0.iter().map(|&(name, count)| (name.to_owned(), count)).collect();
        let elapsed_ns = run.elapsed.as_ns() as f64;
        Self {
            transactions_per_s: run.transactions_per_s(),
            mean_ms: run.responses.mean_ns() / 1e6,
            worst_ms: run.responses.mean_of_longest_ns(0.01) / 1e6,
            quantiles_ms: [0.5, 0.99, 0.999].map(|q| run.responses.quantile_ns(q) / 1e6),
            restarts: run.restarts.iter().sum(),
            transactions: run.transactions,
            busy_percent: 0.0,
            collecting_percent: 0.0,
            pool_writes: run.requests.of(Operation::Write).map_or(0, |latencies| latencies.len()),
            elapsed_ns,
            capacity_bytes: run.profile.capacity_bytes,
            counters,
        }
    }

    /// With the shares of time of the chips of `he-4g`.
    fn with_busy(self, chips: f64) -> Self {
        let moved = self.counted("pages_moved_by_cleaning");
        let requests_ns = READ_NS * (self.counted("flash_pages_read") - moved)
            + PROGRAM_NS * (self.counted("flash_pages_programmed") - moved);
        let percent = |ns: f64| 100.0 * ns / (chips * self.elapsed_ns);
        let busy_percent = percent(requests_ns);
        Self {
            busy_percent,
            collecting_percent: percent(self.counted("array_busy_ns")) - busy_percent,
            ..self
        }
    }

    /// Returns a counter of the drive.
    pub(super) fn counted(&self, counter: &str) -> f64 {
        self.counters.get(counter).copied().unwrap_or_default() as f64
    }

    /// Restarts in percent of the transactions.
    pub(super) fn restarts_percent(&self) -> f64 {
        100.0 * self.restarts as f64 / self.transactions as f64
    }

    /// Pages that the flash programmed for each that the host wrote and that left the write buffer.
    pub(super) fn write_amplification(&self) -> f64 {
        self.counted("flash_pages_programmed") / self.counted("host_pages_settled")
    }

    /// Copies in percent of the pages that the host wrote.
    pub(super) fn extra_percent(&self) -> f64 {
        100.0 * self.counted("copies_written") / self.counted("host_pages_written")
    }

    /// Time in which copies were written while other accesses waited, in percent of the chips' time.
    pub(super) fn interference_percent(&self) -> f64 {
        100.0 * self.counted("copies_interference_ns") / (CHIPS * self.elapsed_ns)
    }
}

/// The runs of a workload, by form.
pub(super) struct Runs(BTreeMap<String, Measured>);

impl Runs {
    /// The shared runs of a workload.
    pub(super) fn of(lab: &Lab<'_>, workload: &Workload) -> Self {
        Self(lab.shared(workload.runs))
    }

    pub(super) fn get(&self, form: &str) -> &Measured {
        &self.0[form]
    }
}

/// Runs a workload on all forms.
pub(super) fn all(lab: &mut Lab<'_>, workload: &Workload) -> Result<serde_json::Value, FigureError> {
    let mut runs = BTreeMap::new();
    for form in &FORMS {
        let lab = lab.part(1);
        runs.insert(form.name, one(lab, workload, form.settings, form.pool)?);
        lab.advance(1.0)?;
    }
    Ok(serde_json::to_value(runs).expect("numbers with names are a value"))
}

/// Runs a workload on one drive.
fn one(
    lab: &mut Lab<'_>,
    workload: &Workload,
    settings: &[(&str, &str)],
    pool: &str,
) -> Result<Measured, FigureError> {
    let (transactions, warmup) = workload.transactions;
    let share = lab.either(1, 20);
    let setup = Setup {
        buffer: pool.into(),
        transactions: Some(transactions / share),
        warmup: warmup / share,
        ..Setup::default()
    };
    let settings: Vec<_> = COMMON.iter().chain(settings).copied().collect();
    let mut recording = workload.recording(lab)?;
    Ok(Measured::of(&lab.transactions(PROFILE, &settings, None, &mut recording, &setup)?).with_busy(CHIPS))
}

/// The capacities of a drive without copies and of one with them, which both reserve as much for GC.
pub(super) const CAPACITIES: [&str; 2] = [WHOLE.1, LESS.1];

/// Runs TPC-C on a fragmented drive of this number of chips with these settings, without replication and with it.
pub(super) fn pair(
    lab: &mut Lab<'_>,
    chips: u32,
    capacities: [&str; 2],
    settings: &[(&str, &str)],
    replication: &[(&str, &str)],
) -> Result<[Measured; 2], FigureError> {
    let [without, with] = capacities.map(|capacity| [("capacity", capacity), FRAGMENTED]);
    let without: Vec<_> = without.iter().chain(settings).copied().collect();
    let with: Vec<_> = with.iter().chain(settings).chain(&[REPLICATED]).chain(replication).copied().collect();
    let without = one(lab, &TPC_C, &without, "lru")?;
    let with = one(lab, &TPC_C, &with, "lru")?;
    Ok([without, with].map(|of| of.with_busy(chips.into())))
}

/// The change from `before` to `after` in percent.
pub(super) fn change_percent(before: f64, after: f64) -> f64 {
    100.0 * (after / before - 1.0)
}
