//! Lengths of later runs, from the phases of a long one: uFLIP's `IOIgnore` and `IOCount` (section 4.2).

use super::Phases;
use crate::statistics::BatchMeans;
use flashlane_base::Duration;

/// Number of I/Os of a run, and how many of these its summary ignores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counts {
    /// I/Os ignored at the beginning: the start-up plus a tenth and a period; 0 without a start-up.
    pub io_ignore: usize,
    /// All I/Os of the run; those not ignored are a whole number of periods.
    pub io_count: usize,
    /// Half the width of the 95% confidence interval of the mean over the I/Os counted, as a share of that mean;
    /// `None` where the run is too short for one.
    pub relative_half_width: Option<f64>,
    /// Whether that is within the bound. If not, `io_count` is an estimate from how the interval shrinks.
    pub reached: bool,
}

/// Fewest periods counted.
const LEAST_PERIODS: usize = 10;
/// Fewest I/Os counted: fewer give no interval.
const LEAST_COUNTED: usize = 512;
/// Assumed limit of the factor by which the interval of correlated batches is too narrow.
const CORRELATED: f64 = 4.0;
/// Added share of the start-up to ignore: its end is known this closely.
const MARGIN: f64 = 0.1;

/// Returns counts for runs like the one in which `phases` was found, so that the confidence interval of their mean is
/// within `bound` (a share of the mean, above 0) to either side.
///
/// Takes the first ten periods (at least 512 I/Os) of the running phase of `latencies_ns`, then twice as many, and so
/// on until the interval is narrow enough and its batches are independent, or so narrow that they need not be. With
/// doubling there are so few checks that an interval narrow by chance hardly ever ends the search.
pub fn counts(latencies_ns: &[u64], phases: &Phases, bound: f64) -> Counts {
    let period = phases.period.map_or(1, |period| period.requests);
    let whole = |counted: usize| counted.div_ceil(period).saturating_mul(period);
    let io_ignore = match phases.startup.requests {
        0 => 0,
        startup => startup + (startup as f64 * MARGIN).ceil() as usize + if period > 1 { period } else { 0 },
    };
    let running = latencies_ns.get(io_ignore..).unwrap_or_default();
    let mut batches = BatchMeans::new();
    let mut wanted = whole(LEAST_COUNTED.max(LEAST_PERIODS * period));
    let mut recorded = 0;
    let mut last = None;
    while let Some(more) = running.get(recorded..wanted) {
        more.iter().for_each(|&ns| {
            batches.record(Duration::from_ns(ns));
        });
        recorded = wanted;
        if let Some(confidence) = batches.confidence() {
            let relative = confidence.relative();
            if relative <= bound && !confidence.correlated || relative <= bound / CORRELATED {
                let io_count = io_ignore + recorded;
                return Counts { io_ignore, io_count, relative_half_width: Some(relative), reached: true };
            }
            last = Some(relative);
        }
        wanted = wanted.saturating_mul(2);
    }
    // The interval shrinks with the square root of the number of I/Os; correlated batches must first become longer, at
    // least twice as long.
    let factor = last.map_or(1.0, |relative| (relative / bound).powi(2).max(2.0));
    let estimate = (recorded as f64 * factor).min(usize::MAX as f64 / 4.0) as usize;
    let io_count =
        io_ignore.saturating_add(whole(estimate.max(whole(LEAST_COUNTED.max(LEAST_PERIODS * period)))));
    Counts { io_ignore, io_count, relative_half_width: last, reached: false }
}
