//! The paper's method: the same transactions on the same drive in several forms, one after another.
//!
//! Where the paper leaves a choice, it is made once for all figures:
//! - Capacity. 10% of the flash is reserved for GC in all forms, with copies or without (table 2). Copies take the
//!   place of data: a drive that replicates offers 9% less, which the databases leave free. Today's remedies offer as
//!   little, so that GC has the space that copies would take.
//! - Chunk. A database page lies on one chip, as the page of the paper's algorithms does. Spread over all chips, each
//!   write would wait for the GC of any of them, and all would fill and garbage-collect in step: no chip would be free
//!   to help.
//! - Restored. The drive holds the database, written once in order, and nothing else, so that no run needs GC; the
//!   warm-up only fills the pool.
//! - Fragmented. The drive is full, and the workload itself fragments it: the paper's databases ran for half an hour
//!   before and three hours in all. The warm-up overwrites several times what GC keeps free, until write amplification
//!   is steady. Random writes all over the drive beforehand would mix pages of the database with those that are never
//!   written again.
//! - Load. Ten clients without think time run the recorded transactions in a closed loop, with page locks to the end of
//!   each transaction. The paper recorded ten such clients and replays the time stamps (section 5.1). The recordings
//!   here are of a machine that is faster than this drive in any form, so that at recorded times, too, a transaction
//!   begins when a client is free: throughput is the same (`load`), and the closed loop keeps the backlog out of the
//!   response times.
//! - Busy. The chips are busy while they handle requests (section 5.2), copies included. The paper's simulator counts
//!   the time of cleaning apart from that of requests.

use crate::FigureError;
use crate::lab::Lab;
use flashlane_base::Operation;
use flashlane_transactions::{Recording, Repeated, Run, Setup};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The drive.
const PROFILE: &str = "he-4g";
const CHIPS: f64 = 4.0;
/// Times of a page's read and program, which include its transfer.
const READ_NS: f64 = 120e3;
const PROGRAM_NS: f64 = 400e3;
/// All but the 10% that are reserved.
const WHOLE: (&str, &str) = ("capacity", "3686MiB");
/// The database only, for a restored drive: the rest of it was never written.
const DATABASE: (&str, &str) = ("capacity", "2437MiB");
/// The quick form has a twentieth of the transactions.
const QUICK: u64 = 20;
/// A twentieth of the warm-up fills the pool, and leaves blocks of a restored drive free.
const FILLS_POOL: u64 = 20;
/// All but the 10% that are reserved and the copies, a tenth of this.
const LESS: (&str, &str) = ("capacity", "3351MiB");
/// In the quick form, whose warm-up is too short to fragment the full drive.
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
const PAGE_CHUNK: (&str, &str) = ("mapping.chunk", "2KiB");
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
    /// Transactions that are measured, and those before, which fragment the drive.
    transactions: (u64, u64),
}

impl Workload {
    /// The recording in the folder of traces, which is longer, or else the excerpt; it begins anew at its end.
    pub(super) fn recording(&self, lab: &Lab<'_>) -> Result<Repeated, FigureError> {
        let Self { file, excerpt, .. } = *self;
        Ok(match lab.recording(file) {
            Some(path) => Repeated::new(move || Recording::open(&path, || false)),
            None => Repeated::new(move || Recording::from_reader(excerpt, file)),
        }?)
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

pub(super) static TPC_C: Workload = workload!("TPC-C", "runs-tpc-c", "tpc-c.pages", (4_000, 16_000));
pub(super) static TPC_B: Workload = workload!("TPC-B", "runs-tpc-b", "tpc-b.pages", (30_000, 200_000));
pub(super) static TM_1: Workload = workload!("TM-1", "runs-tm-1", "tatp.pages", (60_000, 340_000));
/// In the paper's order.
pub(super) static WORKLOADS: [&Workload; 3] = [&TPC_C, &TPC_B, &TM_1];

/// A form of the drive.
pub(super) struct Form {
    pub(super) name: &'static str,
    settings: &'static [(&'static str, &'static str)],
}

const fn form(name: &'static str, settings: &'static [(&'static str, &'static str)]) -> Form {
    Form { name, settings }
}

pub(super) const RESTORED: &str = "restored";
pub(super) const WITHOUT: &str = "without replication";
pub(super) const PBLRU: &str = "replication";
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

const FORMS: [Form; 12] = [
    form(RESTORED, &[DATABASE]),
    form(WITHOUT, &[WHOLE]),
    form(PBLRU, &[LESS, REPLICATED]),
    form(SPACE, &[LESS]),
    form(PREEMPTED, &[LESS, READ_FIRST, PREEMPTIBLE]),
    form(SUSPENDED, &[LESS, READ_FIRST, SUSPEND]),
    form(WITH_PACED, &[LESS, PACED]),
    form(PACED_SUSPENDED, &[LESS, PACED, READ_FIRST, SUSPEND]),
    form(WITH_PARITY, &[OF_ROWS, PARITY, PAGE_CHUNK, IN_ORDER, OVER_BUS]),
    form(REBUILT, &[OF_ROWS, PARITY, PAGE_CHUNK, IN_ORDER, OVER_BUS, REBUILD, ROTATE]),
    form(PACED_PBLRU, &[LESS, PACED, REPLICATED]),
    form(SUSPENDED_PBLRU, &[LESS, READ_FIRST, SUSPEND, REPLICATED]),
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
        assert!(elapsed_ns > 0.0, "a run measures transactions");
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
            capacity_bytes: run.info.capacity_bytes,
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
        runs.insert(form.name, one(lab, workload, form.settings)?);
        lab.advance(1.0)?;
    }
    Ok(serde_json::to_value(runs).expect("numbers with names are a value"))
}

/// Runs a workload on one drive.
fn one(lab: &mut Lab<'_>, workload: &Workload, settings: &[(&str, &str)]) -> Result<Measured, FigureError> {
    let (transactions, warmup) = workload.transactions;
    let (share, is_restored) = (lab.either(1, QUICK), settings.contains(&DATABASE));
    let warmup = warmup / if is_restored { FILLS_POOL } else { share };
    let setup = Setup { transactions: Some(transactions / share), warmup, ..Setup::default() };
    let mut recording = workload.recording(lab)?;
    let mut settings = settings.to_vec();
    if lab.either(false, true) && !is_restored {
        settings.push(FRAGMENTED);
    }
    Ok(Measured::of(&lab.transactions(PROFILE, &settings, None, &mut recording, &setup)?).with_busy(CHIPS))
}

/// The capacities of a drive without copies and of one with them, which both reserve 10% for GC.
pub(super) const CAPACITIES: [&str; 2] = [WHOLE.1, LESS.1];

/// Runs TPC-C on fragmented drives with these capacities and settings, without replication and with it.
pub(super) fn pair(
    lab: &mut Lab<'_>,
    capacities: [&'static str; 2],
    settings: &[(&'static str, &'static str)],
    replication: &[(&'static str, &'static str)],
) -> Result<[Measured; 2], FigureError> {
    let runs = Runs::of(lab, &TPC_C);
    let is_usual = capacities == CAPACITIES && settings.is_empty();
    let [without, with] = capacities.map(|capacity| {
        let mut all = vec![("capacity", capacity)];
        all.extend(settings);
        all
    });
    let without = if is_usual { runs.get(WITHOUT).clone() } else { one(lab, &TPC_C, &without)? };
    let with = if is_usual && replication.is_empty() {
        runs.get(PBLRU).clone()
    } else {
        one(lab, &TPC_C, &[&with[..], &[REPLICATED], replication].concat())?
    };
    Ok([without, with])
}

/// The change from `before` to `after` in percent.
pub(super) fn change_percent(before: f64, after: f64) -> f64 {
    100.0 * (after / before - 1.0)
}
