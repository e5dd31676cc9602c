//! What a profile predicts: each workload is simulated once, and its numbers are read off.

use crate::measurement::{Measurement, Quantity};
use crate::start::StartError;
use flashlane_base::Seed;
use flashlane_measure::{Run, RunOptions, run};
use flashlane_sim::DriveConfig;
use flashlane_workload::{Stop, Workload};

/// Requests of a prediction and of its warm-up, at least, for each in flight.
const REQUESTS_IN_FLIGHT: u64 = 16;
const WARMUP_IN_FLIGHT: u64 = 16;
/// Longer requests are fewer, in proportion.
const WHOLE_BYTES: u64 = 16 << 10;
/// Buffers that a workload with writes fills before it is measured.
const BUFFERS: u64 = 2;

/// The distinct workloads of measurements, as they are predicted, and which of them each measurement is of.
#[derive(Clone)]
pub(crate) struct Workloads {
    all: Vec<Workload>,
    of: Vec<usize>,
}

impl Workloads {
    /// `requests`: those of a prediction, beside a warm-up, on a drive like this one.
    pub(crate) fn of(rows: &[Measurement], requests: u64, config: &DriveConfig) -> Self {
        let buffer_bytes = config.buffer.as_ref().map_or(0, |buffer| buffer.size.0);
        let (mut all, mut of): (Vec<Workload>, Vec<usize>) = (Vec::new(), Vec::new());
        for row in rows {
            let mut workload = row.workload.clone();
            (workload.precondition, workload.verify) = (None, false);
            let longer = largest_bytes(&workload).max(WHOLE_BYTES);
            workload.stop = stop(&workload, requests * WHOLE_BYTES / longer);
            workload.warmup_requests = WARMUP_IN_FLIGHT * workload.depth();
            if workload.changes() {
                // Until the buffer has filled, writes are faster than they stay.
                workload.warmup_requests += (BUFFERS * buffer_bytes).div_ceil(largest_bytes(&workload));
            }
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

    /// The workloads with other numbers of requests: this factor of each. Those with writes have no more, as more would
    /// reach the reserve of the drive that is simulated.
    pub(crate) fn scaled(&self, factors: &[f64]) -> Self {
        let mut scaled = self.clone();
        for (workload, factor) in scaled.all.iter_mut().zip(factors) {
            let factor = if workload.changes() { factor.min(1.0) } else { *factor };
            workload.stop = stop(workload, (requests(workload) * factor) as u64);
        }
        scaled
    }

    /// The largest of numbers that each measurement has, by workload.
    pub(crate) fn largest(&self, of_rows: &[f64]) -> Vec<f64> {
        let mut largest = vec![0.0_f64; self.all.len()];
        self.of.iter().zip(of_rows).for_each(|(&at, number)| largest[at] = largest[at].max(*number));
        largest
    }

    /// The number of workloads.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// The number of requests of a measurement's workload.
    pub(crate) fn requests_of(&self, row: usize) -> f64 {
        requests(&self.all[self.of[row]])
    }

    /// Whether each measurement is kept back: all of every `one_of`th workload, if there are as many; zero keeps none.
    /// The numbers of one workload follow from each other, so that a part of them kept back would prove little.
    pub(crate) fn kept_back(&self, one_of: usize) -> Vec<bool> {
        let is_kept = |workload: &usize| one_of > 0 && workload % one_of == one_of - 1;
        self.of.iter().map(is_kept).collect()
    }

    /// Predicts every measurement; `seed` is that of the offsets, and of what varies in the drive.
    pub(crate) fn predict(
        &self,
        rows: &[Measurement],
        config: &DriveConfig,
        seed: Seed,
    ) -> Result<Vec<f64>, StartError> {
        self.predict_changed(rows, config, seed, &vec![true; self.all.len()], &[])
    }

    /// Predicts the measurements of some workloads; the others have the predictions `before`.
    pub(crate) fn predict_changed(
        &self,
        rows: &[Measurement],
        config: &DriveConfig,
        seed: Seed,
        is_changed: &[bool],
        before: &[f64],
    ) -> Result<Vec<f64>, StartError> {
        let run = |(workload, is_changed): (&Workload, &bool)| {
            if !is_changed {
                return Ok(None);
            }
            let mut drive = flashlane_sim::device(config, seed.derive("drive"), "twin".into());
            let options = RunOptions { samples: 0, ..RunOptions::default() };
            let seed = workload.seed.derive(&format!("twin {}", seed.0));
            let done = run(&mut *drive, &workload.clone().seed(seed), options);
            done.map(Some).map_err(|error| StartError::Workload(error.to_string()))
        };
        let runs: Vec<Option<Run>> = self.all.iter().zip(is_changed).map(run).collect::<Result<_, _>>()?;
        let number = |(index, row): (usize, &Measurement)| {
            let Some(run) = &runs[self.of[index]] else { return before[index] };
            let value = match row.quantity {
                Quantity::Mean => run.latencies().mean_ns(),
                Quantity::Percentile(percent) => run.latencies().quantile_ns(share(percent)),
                Quantity::Rate => run.iops(),
                Quantity::Bandwidth => run.bandwidth_bytes_per_s(),
            };
            value.max(f64::MIN_POSITIVE)
        };
        Ok(rows.iter().enumerate().map(number).collect())
    }
}

/// The end of a prediction of about this number of requests.
fn stop(workload: &Workload, requests: u64) -> Stop {
    Stop::after(requests.max(REQUESTS_IN_FLIGHT * workload.depth()))
}

fn requests(workload: &Workload) -> f64 {
    workload.stop.requests.expect("predictions end by their requests") as f64
}

fn largest_bytes(workload: &Workload) -> u64 {
    workload.jobs.iter().map(|job| job.size_bytes).max().unwrap_or(1).max(1)
}

/// The nearest share to a percentage: 99.9 / 100.0 is more than 0.999, and would count one request further.
fn share(percent: f64) -> f64 {
    (percent * 1e6).round() / 1e8
}
