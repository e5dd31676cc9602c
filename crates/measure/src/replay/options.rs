//! How a trace is replayed.

use flashlane_base::Seed;

/// How a trace is replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplayOptions {
    /// What decides when a request is issued.
    pub pace: Pace,
    /// What becomes of requests that reach beyond the device's end.
    pub beyond: Beyond,
    /// What becomes of requests that do not begin and end on the device's units.
    pub unaligned: Unaligned,
    /// The root of the randomness by which samples are drawn.
    pub seed: Seed,
}

/// What decides when a request is issued.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Its time stamp, whatever the device does: the replayed time runs `speed` times as fast as the recorded. What
    /// the device cannot take yet waits in order, and is late since its time stamp.
    Open {
        /// Above zero; 1 is as recorded.
        speed: f64,
    },
    /// The completions before it: so many requests are in flight at a time. Time stamps are not looked at.
    Closed {
        /// Requests in flight, at least 1.
        depth: u32,
    },
    /// Both: a request comes as long after a completion as it came in the recording, after the completion that was
    /// then the last before it. Requests keep their order. One whose duration was not recorded counts as completed
    /// when it was issued, so that the time between two such requests is taken for the second one's pause.
    Think {
        /// Above zero: pauses last so much less.
        speed: f64,
    },
}

/// What becomes of requests that reach beyond the device's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beyond {
    /// They are left out, counted, and the first ones named.
    #[default]
    Refuse,
    /// Their offset is taken modulo the device's capacity; where the request then still reaches beyond the end, it is
    /// moved to end there. One that is longer than the device is left out.
    Fold,
}

/// What becomes of requests that do not begin and end on the device's units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unaligned {
    /// They are widened to whole units, as an operating system would, except that what a write adds is not read
    /// first.
    #[default]
    Widen,
    /// They are left out, counted, and the first ones named.
    Refuse,
}

/// Why a pace cannot be.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum PaceError {
    /// The speed is none.
    #[error("a speed of {given} cannot be had: it is a number above 0, and 1 is as recorded")]
    Speed {
        /// What was given.
        given: f64,
    },
    /// The depth is none.
    #[error(
        "a depth of {given} cannot be had: 1 to {MOST_IN_FLIGHT} requests are in flight in a closed loop"
    )]
    Depth {
        /// What was given.
        given: u32,
    },
}

/// The most requests in flight, as many as the deepest queue of NVMe holds. A device that takes more is not given
/// more.
pub const MOST_IN_FLIGHT: u32 = 1 << 16;

impl Default for ReplayOptions {
    /// At the time stamps as recorded; what lies beyond the end is left out, what is unaligned is widened.
    fn default() -> Self {
        Self {
            pace: Pace::Open { speed: 1.0 },
            beyond: Beyond::default(),
            unaligned: Unaligned::default(),
            seed: Seed(0),
        }
    }
}

impl Pace {
    /// A short, stable name for programs and command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open { .. } => "open",
            Self::Closed { .. } => "closed",
            Self::Think { .. } => "think",
        }
    }

    /// Whether there is such a pace.
    ///
    /// # Errors
    /// [`PaceError`] names the number that cannot be.
    pub fn check(self) -> Result<(), PaceError> {
        match self {
            Self::Open { speed } | Self::Think { speed } if !(speed.is_finite() && speed > 0.0) => {
                Err(PaceError::Speed { given: speed })
            }
            Self::Closed { depth } if !(1..=MOST_IN_FLIGHT).contains(&depth) => {
                Err(PaceError::Depth { given: depth })
            }
            _ => Ok(()),
        }
    }
}

impl Beyond {
    /// A short, stable name for programs and command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Fold => "fold",
        }
    }
}

impl Unaligned {
    /// A short, stable name for programs and command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Widen => "widen",
            Self::Refuse => "refuse",
        }
    }
}
