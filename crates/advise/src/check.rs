//! Does the same work in two ways in turn on the device, beside the prediction.

use crate::calibrate::{Bench, COMMITS};
use crate::cost::kept_in_flight;
use crate::{AdviseError, Calibration, CostModel, Estimate, Reads};
use flashlane_base::Duration;
use flashlane_device::Device;
use flashlane_measure::Watch;
use std::ops::ControlFlow;

/// Two ways to do the same work.
#[derive(Clone, Debug, PartialEq)]
pub enum Trial {
    /// Reads.
    Reads {
        /// The reads of the first way, in turn.
        first: Vec<Reads>,
        /// The reads of the second.
        second: Vec<Reads>,
    },
    /// A commit of each of many sessions. Those that arrive during a flush wait for the next one, so that each takes
    /// the time of two; with a delay before each flush that all of them reach, of one and the delay.
    Commits {
        /// The delay.
        delay: Duration,
    },
}

impl Trial {
    /// Two ways to read.
    pub fn reads(first: Vec<Reads>, second: Vec<Reads>) -> Self {
        Self::Reads { first, second }
    }

    /// Predicts the times of both ways in nanoseconds.
    pub(crate) fn predict(&self, model: &CostModel) -> (Estimate, Estimate) {
        let time = |reads: &[Reads]| {
            let times = reads.iter().map(|reads| model.time(reads));
            times.reduce(Estimate::plus).expect("a task reads something")
        };
        match self {
            Self::Reads { first, second } => (time(first), time(second)),
            Self::Commits { delay } => {
                let commit = model.commit().expect("commits are predicted where they were measured");
                (commit.times(2.0), commit.plus(Estimate { mean: delay.as_ns() as f64, half_width: 0.0 }))
            }
        }
    }
}

/// Most pages that are read of one pattern; the time of longer ones is scaled. A cache of the map becomes warm
/// meanwhile, so that many are read where that costs no time of a real device.
const MOST_RANDOM: f64 = 4096.0;
const MOST_RANDOM_SIMULATED: f64 = 262_144.0;
/// Of random reads also this many for each in flight.
const RANDOM_EACH: f64 = 32.0;
const MOST_SCANNED: f64 = 16384.0;

/// Does the work of each trial both ways in turn, `calibration.repetitions` times, at places of their own. Returns the
/// elapsed times of the first and second way in nanoseconds.
///
/// # Errors
/// As [`crate::calibrate`].
pub fn check(
    device: &mut dyn Device,
    trials: &[Trial],
    calibration: &Calibration,
    watch: Watch<'_, f64>,
) -> Result<Vec<(Estimate, Estimate)>, AdviseError> {
    let places = Calibration { seed: calibration.seed.derive("check"), ..*calibration };
    let mut bench = Bench::new(device, &places)?;
    let page_bytes = calibration.page_bytes;
    let mut estimates = Vec::new();
    for (i, trial) in trials.iter().enumerate() {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for _ in 0..calibration.repetitions {
            if watch(&(i as f64 / trials.len() as f64)) == ControlFlow::Break(()) {
                return Err(AdviseError::Stopped);
            }
            match trial {
                Trial::Reads { first: one, second: other } => {
                    first.push(time(&mut bench, one, page_bytes)?);
                    second.push(time(&mut bench, other, page_bytes)?);
                }
                Trial::Commits { delay } => {
                    first.push(2.0 * bench.commit_ns(COMMITS, Duration::ZERO)?);
                    second.push(bench.commit_ns(COMMITS, *delay)?);
                }
            }
        }
        estimates.push((Estimate::of(&first), Estimate::of(&second)));
    }
    Ok(estimates)
}

fn time(bench: &mut Bench<'_>, reads: &[Reads], page_bytes: u64) -> Result<f64, AdviseError> {
    let mut sum = 0.0;
    for reads in reads {
        sum += match *reads {
            Reads::Random { pages, band_pages, depth } => {
                let depth = kept_in_flight(pages, depth);
                let most = if bench.is_simulated() { MOST_RANDOM_SIMULATED } else { MOST_RANDOM };
                let most = most.max(RANDOM_EACH * f64::from(depth));
                let count = pages.min(most).max(f64::from(depth)).ceil() as u64;
                pages * bench.random_page_ns(band_pages.ceil() as u64, depth, count)?
            }
            Reads::Scan { pages, request_bytes, depth } => {
                let least = request_bytes * u64::from(depth);
                let length_bytes = (pages.min(MOST_SCANNED) * page_bytes as f64) as u64;
                pages * bench.scanned_page_ns(request_bytes, depth, length_bytes.max(least))?
            }
        };
    }
    Ok(sum)
}
