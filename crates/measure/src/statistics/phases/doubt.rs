//! Doubts about phases that were found, or not found.

use super::change::Beginning;
use super::periodicity::{LEAST_CYCLES, Search};
use flashlane_result::Warning;

/// A doubt about [`super::Phases`].
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum PhaseDoubt {
    /// Too few I/Os to find phases.
    #[error("{requests} I/Os are too few to find start-up and period; at least {needed} are needed")]
    TooFew {
        /// I/Os of the run.
        requests: usize,
        /// I/Os needed.
        needed: usize,
    },
    /// The beginning of the run differs from the rest up to about the middle or beyond.
    #[error(
        "the start-up takes about half of the run or longer: its end is unknown, and the result has no start-up; \
         measure a longer run"
    )]
    StartupOpen,
    /// The beginning of the run differs from the rest, but changes gradually.
    #[error("response times drift instead of changing at one place: the start-up has no definite end")]
    Gradual,
    /// There may be a period that is too long for this run.
    #[error(
        "the running phase seems to repeat itself about every {requests} I/Os, but the run holds less than {needed} \
         such periods, and the result has no period; measure a longer run"
    )]
    FewPeriods {
        /// I/Os of the suspected period.
        requests: usize,
        /// Periods needed.
        needed: usize,
    },
    /// The period found is irregular.
    #[error("the period is irregular: two periods later {:.0}% of the autocorrelation remain", coherence * 100.0)]
    Loose {
        /// Share of the autocorrelation that remains.
        coherence: f64,
    },
}

impl PhaseDoubt {
    /// Returns a short, stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooFew { .. } => "too-few-for-phases",
            Self::StartupOpen => "start-up-open",
            Self::Gradual => "gradual-start-up",
            Self::FewPeriods { .. } => "few-periods",
            Self::Loose { .. } => "loose-period",
        }
    }
}

impl From<&PhaseDoubt> for Warning {
    fn from(doubt: &PhaseDoubt) -> Self {
        Self::new(doubt.code(), doubt.to_string())
    }
}

/// Coherence below which a period is irregular.
const LOOSE: f64 = 0.9;

/// Returns the doubts, gravest first.
pub(super) fn about(beginning: Beginning, search: Search) -> Vec<PhaseDoubt> {
    let of_startup = match beginning {
        Beginning::Open => Some(PhaseDoubt::StartupOpen),
        Beginning::Gradual => Some(PhaseDoubt::Gradual),
        Beginning::Uniform | Beginning::Until { .. } => None,
    };
    let of_period = match search {
        Search::TooShort(requests) => Some(PhaseDoubt::FewPeriods { requests, needed: LEAST_CYCLES }),
        Search::Found(rhythm) if rhythm.coherence < LOOSE => {
            Some(PhaseDoubt::Loose { coherence: rhythm.coherence })
        }
        Search::Found(_) | Search::Nothing => None,
    };
    of_startup.into_iter().chain(of_period).collect()
}
