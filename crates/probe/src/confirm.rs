//! The measurement that a recommendation reports: the recommended point as `run` measures it, with the same loop and
//! warm-up and long enough, so that the same line gives the same rates on the same drive.

use crate::area::Area;
use crate::bench::Bench;
use crate::error::Interruption;
use crate::grid::Cell;
use crate::load::Load;
use crate::measured::{Measured, line};
use crate::options::Budget;
use flashlane_base::Seed;
use flashlane_workload::{Job, Stop, Workload};

/// Bytes of a confirming run, within limits on its number of requests.
const READ_BYTES: u64 = 1 << 30;
const FEWEST: u64 = 4096;
const MOST: u64 = 20_000;
/// Warm-up of a scan, so that data of an earlier scan in the drive's cache does not count.
const PASSED_BYTES: u64 = 128 << 20;

/// Further measurements of a recommended point, which show whether its rate holds.
const AGAIN: u64 = 5;
/// Limits on the requests of each.
const FEWEST_AGAIN: u64 = 1024;
const BYTES_AGAIN: u64 = 128 << 20;

/// Measures reads at one point, in `area` or on the whole device.
pub(crate) fn reads(
    bench: &mut Bench<'_>,
    load: Load,
    area: Option<Area>,
    budget: Budget,
    cell: &Cell,
) -> Result<Measured, Interruption> {
    let mut job = load.job(cell.size, cell.depth);
    if let Some(Area { offset_bytes, length_bytes }) = area {
        job = job.area(offset_bytes, length_bytes / cell.size * cell.size);
    }
    // Another seed each time, so that data left in a cache by one measurement does not serve the next.
    let seed = Seed(bench.random().bits());
    let requests = (READ_BYTES / cell.size).clamp(FEWEST, MOST);
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
    cell: &Cell,
) -> Result<Vec<Measured>, Interruption> {
    let count = (BYTES_AGAIN / cell.size).clamp(FEWEST_AGAIN, FEWEST);
    let one = |nth| {
        // From a source of its own, so that the experiments that follow draw what they would without these.
        let seed = Seed(nth).derive("range");
        let requests = area.length_bytes / cell.size;
        let skipped = if load == Load::Scan { seed.source().below((requests / 4).max(1)) } else { 0 };
        let offset_bytes = area.offset_bytes + skipped * cell.size;
        let job = load.job(cell.size, cell.depth).area(offset_bytes, (requests - skipped) * cell.size);
        measure(bench, load, job, count, budget, cell, seed)
    };
    (0..AGAIN).map(one).collect()
}

fn measure(
    bench: &mut Bench<'_>,
    load: Load,
    job: Job,
    requests: u64,
    budget: Budget,
    cell: &Cell,
    seed: Seed,
) -> Result<Measured, Interruption> {
    let mut stop = Stop::after(requests);
    let mut warmup_bytes = if load == Load::Scan { PASSED_BYTES } else { 0 };
    if bench.is_real() {
        stop.time = Some(budget.run);
        warmup_bytes = warmup_bytes.min((cell.rate * budget.run.as_s_f64()) as u64);
    }
    let workload = Workload::new(vec![job], stop).warmup(warmup_bytes / cell.size);
    let run = bench.run(&workload.clone().seed(seed))?;
    Ok(Measured { workload: line(&workload), ..Measured::from(&run) })
}
