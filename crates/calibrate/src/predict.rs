//! What a profile predicts: each workload is simulated once, and its numbers are read off.

use crate::measurement::{Measurement, Quantity};
use crate::start::StartError;
use flashlane_base::Seed;
use flashlane_measure::{Run, RunOptions, run};
use flashlane_sim::DriveConfig;
use flashlane_workload::{Stop, Workload};

/// The distinct workloads of measurements, as they are predicted, and which of them each measurement is of.
pub(crate) struct Workloads {
    all: Vec<Workload>,
    of: Vec<usize>,
}

impl Workloads {
    /// `requests`: those of a prediction, beside a warm-up.
    pub(crate) fn of(rows: &[Measurement], requests: u64) -> Self {
        let (mut all, mut of): (Vec<Workload>, Vec<usize>) = (Vec::new(), Vec::new());
        for row in rows {
            let mut workload = row.workload.clone();
            let depth: u64 = workload.jobs.iter().map(|job| u64::from(job.depth)).sum();
            workload.stop = Stop::after(requests.max(16 * depth));
            workload.warmup_requests = 4 * depth;
            workload.precondition = None;
            for job in &mut workload.jobs {
                // The drive that is simulated is smaller, and alike everywhere.
                (job.area_offset_bytes, job.area_length_bytes) = (0, None);
            }
            let at = all.iter().position(|other| *other == workload).unwrap_or_else(|| {
                all.push(workload);
                all.len() - 1
            });
            of.push(at);
        }
        Self { all, of }
    }

    /// Predicts every measurement.
    pub(crate) fn predict(&self, rows: &[Measurement], config: &DriveConfig) -> Result<Vec<f64>, StartError> {
        let mut runs: Vec<Run> = Vec::new();
        for workload in &self.all {
            let mut drive = flashlane_sim::device(config, Seed(1), "twin".into());
            let options = RunOptions { samples: 0, ..RunOptions::default() };
            let done = run(&mut *drive, workload, options);
            runs.push(done.map_err(|error| StartError::Workload(error.to_string()))?);
        }
        let number = |(row, at): (&Measurement, &usize)| {
            let run = &runs[*at];
            let value = match row.quantity {
                Quantity::Mean => run.latencies().mean_ns(),
                Quantity::Percentile(q) => run.latencies().quantile_ns(q),
                Quantity::Rate => run.iops(),
                Quantity::Bandwidth => run.bandwidth_bytes_per_s(),
            };
            value.max(f64::MIN_POSITIVE)
        };
        Ok(rows.iter().zip(&self.of).map(number).collect())
    }
}
