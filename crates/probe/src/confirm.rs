//! The measurement that a recommendation reports: the recommended point as `run` measures it, with the same loop and
//! warm-up and long enough, so that the same line gives the same rates on the same drive.

use crate::area::{Area, MeasuredArea};
use crate::bench::Bench;
use crate::error::Interruption;
use crate::grid::GridCell;
use crate::load::Load;
use crate::options::Budget;
use crate::point_measurement::{PointMeasurement, line};
use flashlane_base::Seed;
use flashlane_workload::{Job, Stop, Workload};

/// Bytes of a confirming run, within limits on its number of requests.
const READ_BYTES: u64 = 1 << 30;
const REQUESTS_MIN: u64 = 4096;
const REQUESTS_MAX: u64 = 20_000;
/// Warm-up of a scan, so that data of an earlier scan in the drive's cache does not count.
const SCAN_WARMUP_BYTES: u64 = 128 << 20;

/// Further measurements of a recommended point, which show whether its rate holds.
const REPETITIONS: u64 = 5;
/// Limits on the requests of each.
const REPETITION_REQUESTS_MIN: u64 = 1024;
const REPETITION_BYTES: u64 = 128 << 20;

/// Measures reads at one point.
pub(crate) fn reads(
    bench: &mut Bench<'_>,
    load: Load,
    measured_area: MeasuredArea,
    budget: Budget,
    cell: &GridCell,
) -> Result<PointMeasurement, Interruption> {
    let mut job = load.job(cell.request_bytes, cell.depth);
    if let MeasuredArea::Filled(Area { offset_bytes, length_bytes }) = measured_area {
        job = job.area(offset_bytes, length_bytes / cell.request_bytes * cell.request_bytes);
    }
    // Another seed each time, so that data left in a cache by one measurement does not serve the next.
    let seed = Seed(bench.random().bits());
    let requests = (READ_BYTES / cell.request_bytes).clamp(REQUESTS_MIN, REQUESTS_MAX);
    measure(bench, load, job, requests, budget, cell, seed)
}

/// Measures a recommended point several times again, scans from other places in `area`.
///
/// The rate of a scan can depend on how its first requests meet the drive's lanes and its readahead, and on what earlier
/// scans have left in the cache; the rate of a device that others use on what they do meanwhile.
pub(crate) fn again(
    bench: &mut Bench<'_>,
    load: Load,
    area: Area,
    budget: Budget,
    cell: &GridCell,
) -> Result<Vec<PointMeasurement>, Interruption> {
    let count = (REPETITION_BYTES / cell.request_bytes).clamp(REPETITION_REQUESTS_MIN, REQUESTS_MIN);
    let one = |nth| {
        // From a source of its own, so that the experiments that follow draw what they would without these.
        let seed = Seed(nth).derive("range");
        let requests = area.length_bytes / cell.request_bytes;
        let skipped = if load == Load::Scan { seed.source().below((requests / 4).max(1)) } else { 0 };
        let offset_bytes = area.offset_bytes + skipped * cell.request_bytes;
        let job = load
            .job(cell.request_bytes, cell.depth)
            .area(offset_bytes, (requests - skipped) * cell.request_bytes);
        measure(bench, load, job, count, budget, cell, seed)
    };
    (0..REPETITIONS).map(one).collect()
}

fn measure(
    bench: &mut Bench<'_>,
    load: Load,
    job: Job,
    requests: u64,
    budget: Budget,
    cell: &GridCell,
    seed: Seed,
) -> Result<PointMeasurement, Interruption> {
    let mut stop = Stop::after(requests);
    let mut warmup_bytes = if load == Load::Scan { SCAN_WARMUP_BYTES } else { 0 };
    if bench.is_real() {
        stop.time = Some(budget.run);
        warmup_bytes = warmup_bytes.min((cell.bytes_per_s * budget.run.as_s_f64()) as u64);
    }
    let workload = Workload::new(vec![job], stop).warmup(warmup_bytes / cell.request_bytes);
    let run = bench.run(&workload.clone().seed(seed))?;
    Ok(PointMeasurement { workload: line(&workload), ..PointMeasurement::from(&run) })
}
