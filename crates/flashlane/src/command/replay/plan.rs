//! Options of a replay, and the checked plan made from them.

use crate::failure::Failure;
use crate::options::positive_count;
use anyhow::anyhow;
use clap::ValueEnum;
use flashlane_base::Seed;
use flashlane_base::units::parse_count;
use flashlane_measure::{Beyond, Pace, ReplayOptions, Unaligned};

/// The options, each of which can be swept.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct PlanOptions {
    /// When to issue a request
    #[arg(long, value_enum, default_value_t, value_name = "PACE")]
    pub(super) pace: PaceName,
    /// Replay FACTOR times as fast as recorded, like 2 or 0.5; not with --pace closed; default: 1
    #[arg(long, value_name = "FACTOR", value_parser = speed)]
    pub(super) speed: Option<f64>,
    /// Requests in flight with --pace closed; default: 32, or the queue depth of the device if lower
    #[arg(long, value_name = "N", value_parser = depth)]
    pub(super) depth: Option<u32>,
    /// How to handle requests beyond the end of the device
    #[arg(long, value_enum, default_value_t, value_name = "WAY")]
    pub(super) beyond: BeyondName,
    /// How to handle requests that are not aligned to the units of the device
    #[arg(long, value_enum, default_value_t, value_name = "WAY")]
    pub(super) unaligned: UnalignedName,
    /// Replay only the first N requests of the trace
    #[arg(long, value_name = "N", value_parser = positive_count)]
    pub(super) limit: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum PaceName {
    /// At its time stamp, whatever the device does
    #[default]
    Open,
    /// When another completes, with --depth in flight; ignores time stamps
    Closed,
    /// After the completion that preceded it in the recording, with the recorded pause; never before the previous
    /// request of the trace, from which its latency then counts
    Think,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum BeyondName {
    /// Skip and count them, and list the first ones
    #[default]
    Refuse,
    /// Move them to their offset modulo the capacity, or so that they end at it if they still reach beyond, and count
    /// them
    Fold,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum UnalignedName {
    /// Widen them to whole units, and count them
    #[default]
    Widen,
    /// Skip and count them, and list the first ones
    Refuse,
}

/// Default requests in flight in a closed loop, limited to the depth of the device.
const DEPTH: u32 = 32;

/// Parses a speed factor.
pub(super) fn speed(text: &str) -> Result<f64, String> {
    let factor = text.parse().map_err(|_| "allowed: a number above 0, like 10 or 0.5".to_owned())?;
    let pace = Pace::Open { speed: factor };
    pace.check().map(|()| factor).map_err(|error| error.to_string())
}

pub(super) fn depth(text: &str) -> Result<u32, String> {
    let depth = parse_count(text).map_err(|error| error.to_string())?;
    let depth = depth.min(u64::from(u32::MAX)) as u32;
    Pace::Closed { depth }.check().map(|()| depth).map_err(|error| error.to_string())
}

/// Checked options.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplayPlan {
    pub(super) options: ReplayOptions,
    pub(super) limit: Option<u64>,
    /// Requests in flight in a closed loop, if given.
    pub(super) depth: Option<u32>,
}

impl PlanOptions {
    /// Checks the options as far as possible without the device and the trace.
    pub(super) fn checked(&self, seed: Seed) -> Result<ReplayPlan, Failure> {
        let speed = self.speed.unwrap_or(1.0);
        let pace = match (self.pace, self.speed, self.depth) {
            (PaceName::Closed, Some(speed), _) => {
                return Err(Failure::unusable(anyhow!(
                    "--speed {speed} has no effect with --pace closed, which ignores time stamps; omit it, or use --pace \
                     open or think"
                )));
            }
            (PaceName::Open | PaceName::Think, _, Some(depth)) => {
                return Err(Failure::unusable(anyhow!(
                    "--depth {depth} requires --pace closed; otherwise the trace sets the requests in flight"
                )));
            }
            (PaceName::Open, ..) => Pace::Open { speed },
            (PaceName::Think, ..) => Pace::Think { speed },
            (PaceName::Closed, None, depth) => Pace::Closed { depth: depth.unwrap_or(DEPTH) },
        };
        let beyond = match self.beyond {
            BeyondName::Refuse => Beyond::Refuse,
            BeyondName::Fold => Beyond::Fold,
        };
        let unaligned = match self.unaligned {
            UnalignedName::Widen => Unaligned::Widen,
            UnalignedName::Refuse => Unaligned::Refuse,
        };
        let options = ReplayOptions { pace, beyond, unaligned, seed };
        Ok(ReplayPlan { options, limit: self.limit, depth: self.depth })
    }
}

impl ReplayPlan {
    /// Returns the limit on requests from the trace.
    pub(super) fn max_requests(&self) -> usize {
        self.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
    }
}
