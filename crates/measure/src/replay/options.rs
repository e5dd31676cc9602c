//! How a trace is replayed.

use flashlane_base::Seed;

/// How a trace is replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplayOptions {
    /// When requests are issued.
    pub pace: Pace,
    /// Handling of requests beyond the device's end.
    pub beyond: Beyond,
    /// Handling of requests that are not aligned to the device's units.
    pub unaligned: Unaligned,
    /// Seed for drawing samples.
    pub seed: Seed,
}

/// When requests are issued.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// At their time stamps, `speed` times as fast as recorded. Requests that the full device cannot take wait in
    /// order, and their latency counts from their time stamp.
    Open {
        /// Above zero; 1 is as recorded.
        speed: f64,
    },
    /// On completions: `depth` requests are in flight, and time stamps are ignored.
    Closed {
        /// Requests in flight, at least 1.
        depth: u32,
    },
    /// A recorded pause after a completion: the last one recorded before the request. Requests keep their order. A
    /// request without a recorded duration counts as completed when it was issued, so that the time between two such
    /// requests counts as the second one's pause.
    Think {
        /// Above zero: pauses are divided by it.
        speed: f64,
    },
}

/// Handling of requests beyond the device's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beyond {
    /// They are left out and counted, and the first ones listed.
    #[default]
    Refuse,
    /// Their offset is taken modulo the device's capacity; a request that still exceeds the end is moved to end there.
    /// One longer than the device is left out.
    Fold,
}

/// Handling of requests that are not aligned to the device's units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unaligned {
    /// They are widened to whole units, as by an operating system, but without reading the bytes added to a write
    /// first.
    #[default]
    Widen,
    /// They are left out and counted, and the first ones listed.
    Refuse,
}

/// Error of an invalid pace.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum PaceError {
    /// The speed is invalid.
    #[error("a speed of {given} is invalid: allowed are numbers above 0, where 1 is as recorded")]
    Speed {
        /// The value given.
        given: f64,
    },
    /// The depth is invalid.
    #[error("a depth of {given} is invalid: allowed are 1 to {MOST_IN_FLIGHT} requests in flight")]
    Depth {
        /// The value given.
        given: u32,
    },
}

/// Most requests in flight, also on deeper devices: the depth of the deepest NVMe queue.
pub const MOST_IN_FLIGHT: u32 = 1 << 16;

impl Default for ReplayOptions {
    /// At recorded speed; requests beyond the end are left out, unaligned ones widened.
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
    /// Returns a short, stable name for programs and command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open { .. } => "open",
            Self::Closed { .. } => "closed",
            Self::Think { .. } => "think",
        }
    }

    /// Checks the pace.
    ///
    /// # Errors
    /// [`PaceError`] contains the invalid number.
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
    /// Returns a short, stable name for programs and command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Fold => "fold",
        }
    }
}

impl Unaligned {
    /// Returns a short, stable name for programs and command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Widen => "widen",
            Self::Refuse => "refuse",
        }
    }
}
