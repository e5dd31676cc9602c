//! What there is to doubt about phases that were found, or not found.

use super::change::Beginning;
use super::periodicity::{LEAST_CYCLES, Search};
use flashlane_result::Warning;

/// A doubt about [`super::Phases`].
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum PhaseDoubt {
    /// Too few I/Os to tell anything.
    #[error("{requests} I/Os tell nothing about start-up and period; at least {needed} are needed")]
    TooFew {
        /// I/Os of the run.
        requests: usize,
        /// The least that is looked at.
        needed: usize,
    },
    /// The run began otherwise than it went on, and did so until about its middle or longer.
    #[error(
        "the start-up takes about half of the run or longer: it is not known when it ends, and was taken for none; a \
         longer run shows it"
    )]
    StartupOpen,
    /// The run began otherwise than it went on, but changed little by little.
    #[error("response times drift instead of changing at one place: no end of a start-up can be named")]
    Gradual,
    /// Something seems to come round again that is too long for this run.
    #[error(
        "every {requests} I/Os or so the running phase seems to repeat itself, but the run holds less than {needed} \
         such periods, and none was taken for found; a longer run shows it"
    )]
    FewPeriods {
        /// I/Os after which it seems to.
        requests: usize,
        /// Periods that a run must hold.
        needed: usize,
    },
    /// A period that was found is not strictly kept.
    #[error("the period is kept only roughly: two rounds later {:.0}% of the likeness are left", coherence * 100.0)]
    Loose {
        /// The share of the likeness that is left.
        coherence: f64,
    },
}

impl PhaseDoubt {
    /// A short, stable name for programs.
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

/// Below this coherence a period is called loose.
const LOOSE: f64 = 0.9;

/// What there is to doubt, gravest first.
pub(super) fn about(beginning: Beginning, search: Search) -> Vec<PhaseDoubt> {
    let of_startup = match beginning {
        Beginning::Open => Some(PhaseDoubt::StartupOpen),
        Beginning::Gradual => Some(PhaseDoubt::Gradual),
        Beginning::Alike | Beginning::Until { .. } => None,
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
