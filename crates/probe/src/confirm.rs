//! The measurement that a recommendation reports: the recommended point as `run` measures it, with the same loop and
//! warm-up and long enough, so that the same line gives the same rates on the same drive.

use crate::bench::Bench;
use crate::chunk::Area;
use crate::grid::Cell;
use crate::load::Load;
use crate::measured::{Measured, line};
use crate::options::Budget;
use flashlane_base::Seed;
use flashlane_measure::Interruption;
use flashlane_workload::{Stop, Workload};

/// Bytes of a confirming run, within limits on its number of requests.
const READ_BYTES: u64 = 1 << 30;
const FEWEST: u64 = 4096;
const MOST: u64 = 20_000;
/// Warm-up of a scan, so that data of an earlier scan in the drive's cache does not count.
const PASSED_BYTES: u64 = 128 << 20;

/// Measures reads at one point, in `area` or on the whole device.
pub(crate) fn reads(
    bench: &mut Bench<'_>,
    load: Load,
    area: Option<Area>,
    budget: Budget,
    cell: &Cell,
) -> Result<Measured, Interruption> {
    let (size, depth) = (cell.size, cell.depth);
    let mut job = load.job(size, depth);
    if let Some(Area { offset_bytes, length_bytes }) = area {
        job = job.area(offset_bytes, length_bytes / size * size);
    }
    let mut stop = Stop::after((READ_BYTES / size).clamp(FEWEST, MOST));
    let mut warmup_bytes = if load == Load::Scan { PASSED_BYTES } else { 0 };
    if bench.is_real() {
        stop.time = Some(budget.run);
        warmup_bytes = warmup_bytes.min((cell.rate * budget.run.as_s_f64()) as u64);
    }
    let workload = Workload::new(vec![job], stop).warmup(warmup_bytes / size);
    // Another seed each time, so that data left in a cache by one measurement does not serve the next.
    let seed = Seed(bench.random().bits());
    let run = bench.run(&workload.clone().seed(seed))?;
    Ok(Measured { workload: line(&workload), ..Measured::from(&run) })
}
