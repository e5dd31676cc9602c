//! The baseline patterns as workloads (uflip09, section 3.1).

use flashlane_result::uflip::Baseline;
use flashlane_workload::{Job, Mix, Pattern};

/// Returns a job of a baseline at depth 1 over the whole device.
pub(crate) fn job(baseline: Baseline, io_bytes: u64) -> Job {
    let pattern = if baseline.is_sequential() { Pattern::Sequential } else { Pattern::Random };
    let mix = if baseline.writes() { Mix::WRITE } else { Mix::READ };
    Job::new(baseline.name(), pattern, mix, io_bytes)
}
