//! The six synthetic workloads, the two long ones with cleaning for most of the run.

use super::NEAR;
use super::synthetic::{Size, Synthetic};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_base::Operation::{Read, Write};
use flashlane_measure::ReplayOptions;

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "synthetic",
    "The extension's synthetic workloads (ruan12, Section III.B): means of 250,000 and 5,000,000 requests in open loop",
    measure,
);

/// Name, operation, whether in order, requests, published mean in ms.
///
/// A sequential run is a few sequences of one request size each, whose sizes determine the mean of the long one: the
/// mean of several runs is compared.
pub(super) const WORKLOADS: [(&str, flashlane_base::Operation, bool, u64, f64); 6] = [
    ("sr250k: sequential reads", Read, true, 250_000, 0.132),
    ("sw250k: sequential writes", Write, true, 250_000, 0.310),
    ("rr250k: random reads", Read, false, 250_000, 0.136),
    ("rw250k: random writes", Write, false, 250_000, 0.329),
    ("sw5m: sequential writes", Write, true, 5_000_000, 0.334_365),
    ("rw5m: random writes", Write, false, 5_000_000, 0.593_438),
];

/// Number of addressed sectors, and the mean size of a request.
const REGION_SECTORS: u64 = 7_018_904;
const MEAN_SECTORS: u64 = 8;

/// Sectors of a page of the drive: requests are of whole pages.
const PAGE_SECTORS: u64 = 8;

/// DiskSim's seed, and others for runs whose mean depends on few draws.
const SEED: u32 = 42;
const LONG_SEQUENTIAL_RUNS: u32 = 4;

/// Returns one of these workloads, on a drive with pages of this number of sectors.
pub(super) fn workload(
    operation: flashlane_base::Operation,
    sequential: bool,
    requests: u64,
    page_sectors: u64,
    run: u32,
) -> Synthetic {
    Synthetic {
        operation,
        sequential,
        requests,
        region_sectors: REGION_SECTORS,
        size: Size::Exponential(MEAN_SECTORS),
        step_sectors: page_sectors,
        seed: SEED + run,
    }
}

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut rows = Vec::new();
    for (name, operation, sequential, requests, published_ms) in WORKLOADS {
        let long = requests > 1_000_000;
        if long && lab.either(false, true) {
            // A shorter run would have less cleaning, and so another mean.
            continue;
        }
        let runs = if long && sequential { LONG_SEQUENTIAL_RUNS } else { 1 };
        let mut sum_ns = 0.0;
        for run in 0..runs {
            let records = workload(operation, sequential, requests, PAGE_SECTORS, run).records();
            let replay = lab.replay("msr-32g", &[], records, &ReplayOptions::default())?;
            sum_ns += replay.device_latencies.mean_ns();
        }
        let measured_ms = sum_ns / f64::from(runs) / 1e6;
        rows.push(row::near(&format!("mean response, {name}"), published_ms, measured_ms, "ms", NEAR));
    }
    Ok(Outcome { rows, ..Outcome::default() })
}
