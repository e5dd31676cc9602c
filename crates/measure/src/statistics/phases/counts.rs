//! What the phases of a long run mean for those to come: uFLIP's `IOIgnore` and `IOCount` (section 4.2).

use super::Phases;
use crate::statistics::BatchMeans;
use flashlane_base::Duration;

/// How many I/Os to make, and how many of these to leave out of the summary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counts {
    /// I/Os at the beginning that are not counted: the start-up with a tenth and a period more, 0 where there is none.
    pub io_ignore: usize,
    /// I/Os in all, those included; the others are a whole number of periods.
    pub io_count: usize,
    /// Half the width of the 95% confidence interval of the mean over the I/Os counted, as a share of that mean;
    /// `None` where the run is too short for one.
    pub relative_half_width: Option<f64>,
    /// Whether that is within the bound. Where it is not, `io_count` is an estimate from how the interval shrinks.
    pub reached: bool,
}

/// Periods that a run holds at least.
const LEAST_PERIODS: usize = 10;
/// I/Os that it counts at least: fewer give no interval.
const LEAST_COUNTED: usize = 512;
/// Where batches are still correlated their interval is too narrow, though hardly by more than this.
const CORRELATED: f64 = 4.0;
/// A start-up is ignored with this share more, which is how closely it is known.
const MARGIN: f64 = 0.1;

/// The counts for runs like the one that `phases` was found in, so that the confidence interval of their mean is within
/// `bound` (a share of the mean, above 0) to either side.
///
/// The running phase of `latencies_ns` is read as if it were measured: first ten periods (and 512 I/Os), then twice as
/// many, and so on until the interval is narrow enough and its batches are independent, or so narrow that they need not
/// be. Doubling asks so seldom that an interval which is narrow by chance hardly ever ends it.
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
    // The interval shrinks as the square root of the number; correlated batches have to become longer first, at least
    // twice as long.
    let factor = last.map_or(1.0, |relative| (relative / bound).powi(2).max(2.0));
    let estimate = (recorded as f64 * factor).min(usize::MAX as f64 / 4.0) as usize;
    let io_count =
        io_ignore.saturating_add(whole(estimate.max(whole(LEAST_COUNTED.max(LEAST_PERIODS * period)))));
    Counts { io_ignore, io_count, relative_half_width: last, reached: false }
}
