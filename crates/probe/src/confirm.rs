//! The measurement that a recommendation reports: the recommended point as `run` measures it, with the same loop, the
//! same warm-up and long enough, so that whoever runs the same line on the same drive sees the same.

use crate::chunk::Area;
use crate::grid::Cell;
use crate::load::Load;
use crate::options::Effort;
use crate::rig::Rig;
use flashlane_base::Duration;
use flashlane_measure::statistics::steady_state::Window;
use flashlane_measure::{Interruption, Run};
use flashlane_workload::{Stop, Workload};

/// What a run showed of one point.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measured {
    pub(crate) bandwidth_bytes_per_s: f64,
    pub(crate) iops: f64,
    pub(crate) p50_ns: f64,
    pub(crate) p99_ns: f64,
    pub(crate) requests: u64,
    /// Whether the latency was steady over the run, by the rule that `run` applies.
    pub(crate) steady: bool,
    /// Flash pages programmed a page written, where the device counts them.
    pub(crate) write_amplification: Option<f64>,
    /// Whether the device cleaned meanwhile, where it counts that.
    pub(crate) cleaning: Option<bool>,
    /// The line that repeats it.
    pub(crate) workload: String,
}

impl From<&Run> for Measured {
    fn from(run: &Run) -> Self {
        let latency = run.latencies().latency();
        let text = run.workload.to_string();
        Self {
            bandwidth_bytes_per_s: run.bandwidth_bytes_per_s(),
            iops: run.iops(),
            p50_ns: latency.p50,
            p99_ns: latency.p99,
            requests: run.requests,
            steady: run.steadiness.as_ref().is_some_and(Window::is_steady),
            write_amplification: run.counters.write_amplification(),
            cleaning: run.counters.get("blocks_erased").map(|blocks| {
                blocks > 0 || run.counters.get("pages_moved_by_cleaning").is_some_and(|pages| pages > 0)
            }),
            // A seed of 0 is the one that `run` takes by itself.
            workload: text.strip_suffix(",seed=0").unwrap_or(&text).to_owned(),
        }
    }
}

/// Bytes that a confirming run reads, within limits on its requests.
const READ_BYTES: u64 = 1 << 30;
const FEWEST: u64 = 4096;
const MOST: u64 = 20_000;
/// A scan reads this much before it counts, so that nothing that an earlier one left in a drive's cache counts.
const PASSED_BYTES: u64 = 128 << 20;

/// How long a run lasts at most where time is real.
pub(crate) fn longest(effort: Effort) -> Duration {
    Duration::from_ms(match effort {
        Effort::Quick => 250,
        Effort::Normal => 500,
        Effort::Full => 5_000,
    })
}

/// Measures reads at one point; `area` is the part of the device that they keep to, all of it where there is none.
pub(crate) fn reads(
    rig: &mut Rig<'_>,
    load: Load,
    area: Option<Area>,
    effort: Effort,
    cell: &Cell,
) -> Result<Measured, Interruption> {
    let (size, depth) = (cell.size, cell.depth);
    let mut job = load.job(size, depth);
    if let Some(Area { offset_bytes, length_bytes }) = area {
        job = job.area(offset_bytes, length_bytes / size * size);
    }
    let mut stop = Stop::after((READ_BYTES / size).clamp(FEWEST, MOST));
    let mut warmup_bytes = if load == Load::Scan { PASSED_BYTES } else { 0 };
    if !rig.device().profile().simulated {
        let time = longest(effort);
        stop.time = Some(time);
        warmup_bytes = warmup_bytes.min((cell.rate * time.as_s_f64()) as u64);
    }
    let workload = Workload::new(vec![job], stop).warmup(warmup_bytes / size);
    Ok(Measured::from(&rig.run(&workload)?))
}
