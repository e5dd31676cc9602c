//! The paper's method (chen11, section 3.2): a raw drive, the space used first filled with sequential writes of
//! 256 KB, then a pause; requests without think time; bandwidth in millions of bytes a second.

use flashlane_measure::Run;
use flashlane_probe::EarlyEnd;
use flashlane_probe::area::{Area, Chunk};
use flashlane_probe::bench::Bench;
use flashlane_workload::{Job, Stop, Workload};

pub(super) const KIB: u64 = 1024;
/// The space of workloads "unless otherwise noted": the first 1024 MB.
pub(super) const AREA: Area = Area { offset_bytes: 0, length_bytes: 1 << 30 };
/// Flash page and chunk of both drives (sections 3.1 and 4.2).
pub(super) const CHUNK_BYTES: u64 = 4 * KIB;
/// Channels of both drives (section 4.3).
pub(super) const DOMAINS: u64 = 10;
/// The finding of figure 2, for experiments that depend on it.
pub(super) const CHUNKS: Chunk =
    Chunk { size_bytes: CHUNK_BYTES, phase_bytes: 0, clarity: 1.0, contrast_us: 0.0, seen: 0 };

/// Fills the first `length_bytes` of a drive, then pauses.
pub(super) fn fill(bench: &mut Bench<'_>, length_bytes: u64) -> Result<(), EarlyEnd> {
    bench.fill(0, length_bytes, 256 * KIB)
}

/// Runs `jobs` concurrently after a pause, with a warm-up of a tenth of `requests`.
pub(super) fn run(bench: &mut Bench<'_>, jobs: Vec<Job>, requests: u64) -> Result<Run, EarlyEnd> {
    bench.flush_and_pause()?;
    let seed = flashlane_base::Seed(bench.random().bits());
    bench.run(&Workload::new(jobs, Stop::after(requests)).warmup(requests / 10).seed(seed))
}

/// Bandwidth in MB/s.
pub(super) fn mb_per_s(run: &Run) -> f64 {
    run.bandwidth_bytes_per_s() / 1e6
}

/// Bandwidth of one of the jobs in MB/s.
pub(super) fn job_mb_per_s(run: &Run, job: usize) -> f64 {
    run.jobs[job].bytes() as f64 / 1e6 / run.elapsed.as_s_f64()
}
