//! Makes the reads of two ways in turn on the device, beside the prediction.

use crate::calibrate::Bench;
use crate::{AdviseError, Calibration, Estimate, Reads};
use flashlane_device::Device;
use flashlane_measure::Watch;
use std::ops::ControlFlow;

/// Two ways to do the same work.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The reads of the first, in turn.
    pub first: Vec<Reads>,
    /// The reads of the second.
    pub second: Vec<Reads>,
}

/// Most pages that are read of one pattern; the time of longer ones is scaled.
const MOST_RANDOM: f64 = 4096.0;
/// Of random reads also this many for each in flight.
const RANDOM_EACH: f64 = 32.0;
const MOST_SCANNED: f64 = 16384.0;

/// Makes the reads of each trial in turn, `calibration.repetitions` times, at places of their own. Returns the elapsed
/// times of the first and second way in nanoseconds.
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
            first.push(time(&mut bench, &trial.first, page_bytes)?);
            second.push(time(&mut bench, &trial.second, page_bytes)?);
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
                let most = MOST_RANDOM.max(RANDOM_EACH * f64::from(depth));
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
