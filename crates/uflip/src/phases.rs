//! The length of runs: the start-up and period of each baseline, from a long run of it, and the lengths that follow
//! (uflip09, section 4.2).

use crate::experiment::Length;
use flashlane_measure::statistics::phases::{PhaseDoubt, Phases, counts, plot};
use flashlane_result::uflip::{Baseline, BaselinePhases};
use flashlane_result::{Figure, Warning};

/// The length of runs of each baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths([Length; Baseline::ALL.len()]);

impl Default for Lengths {
    /// The paper's lengths for solid-state drives (section 5.1).
    fn default() -> Self {
        let ios = |count| Length { ignored: 0, count };
        Self([ios(1024), ios(1024), ios(1024), ios(5120)])
    }
}

impl Lengths {
    pub(crate) fn of(&self, baseline: Baseline) -> Length {
        self.0[baseline as usize]
    }

    pub(crate) fn set(&mut self, baseline: Baseline, ignored: u64, count: u64) {
        self.0[baseline as usize] = Length { ignored, count };
    }
}

/// Result of a long run.
pub(crate) struct Analysis {
    pub(crate) phases: BaselinePhases,
    pub(crate) figure: Figure,
    pub(crate) warnings: Vec<Warning>,
    /// Whether a longer run would hardly change the result.
    pub(crate) is_enough: bool,
}

/// First I/Os of a sequential write run, which never count: they pay for the erase units that the previous run left
/// half written.
const LEFT_OVER: usize = 64;

/// Finds the phases of a baseline in the response times of a long run, and the length of runs whose means are precise
/// to within `bound`.
pub(crate) fn analyse(baseline: Baseline, latencies_ns: &[u64], bound: f64) -> Analysis {
    let left_over = if baseline == Baseline::Sw { LEFT_OVER.min(latencies_ns.len()) } else { 0 };
    let found = Phases::of(&latencies_ns[left_over..]);
    let counts = counts(&latencies_ns[left_over..], &found, bound);
    let figure = format!("phases-{}", baseline.name().to_lowercase());
    let title = format!("{}: start-up and running phase", baseline.name());
    let mean =
        |latencies_ns: &[u64]| latencies_ns.iter().sum::<u64>() as f64 / latencies_ns.len().max(1) as f64;
    let open = found.doubts.iter().any(|doubt| {
        matches!(doubt, PhaseDoubt::StartupOpen | PhaseDoubt::FewPeriods { .. } | PhaseDoubt::TooFew { .. })
    });
    let warnings = found.doubts.iter().map(|doubt| {
        let warning = Warning::from(doubt);
        Warning { message: format!("{}: {}", baseline.name(), warning.message), ..warning }
    });
    Analysis {
        is_enough: counts.reached && !open,
        warnings: warnings.collect(),
        figure: plot(&figure, &title, &latencies_ns[left_over..], &found),
        phases: BaselinePhases {
            baseline,
            ios: latencies_ns.len() as u64,
            startup: match found.startup.requests {
                0 => 0,
                startup => (left_over + startup) as u64,
            },
            period: found.period.map(|period| period.requests as u64),
            ignored: (left_over + counts.io_ignore) as u64,
            count: (counts.io_count - counts.io_ignore) as u64,
            confidence: counts.relative_half_width,
            steady_from: found.snia.map(|steady| (left_over + steady.from) as u64),
            mean_all_ns: mean(latencies_ns),
            mean_running_ns: found.running_mean_ns,
            figure,
        },
    }
}
