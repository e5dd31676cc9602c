//! How a trace is replayed: as it is typed, and what that comes to.

use crate::failure::Failure;
use crate::options::positive_count;
use anyhow::anyhow;
use clap::ValueEnum;
use flashlane_base::Seed;
use flashlane_base::units::parse_count;
use flashlane_measure::{Beyond, Pace, ReplayOptions, Unaligned};

/// The options, each of which a sweep may set.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct PlanOptions {
    /// What decides when a request is issued
    #[arg(long, value_enum, default_value_t, value_name = "PACE")]
    pub(super) pace: PaceName,
    /// Replay so many times as fast as recorded: 2 for twice as fast; not with --pace closed
    #[arg(long, value_name = "FACTOR", value_parser = speed)]
    pub(super) speed: Option<f64>,
    /// Requests in flight with --pace closed; unless given 32, or what the device takes if that is less
    #[arg(long, value_name = "N", value_parser = depth)]
    pub(super) depth: Option<u32>,
    /// What becomes of requests beyond the end of the device
    #[arg(long, value_enum, default_value_t, value_name = "WAY")]
    pub(super) beyond: BeyondName,
    /// What becomes of requests that are not on the units of the device
    #[arg(long, value_enum, default_value_t, value_name = "WAY")]
    pub(super) unaligned: UnalignedName,
    /// Replay only the first N requests of the trace
    #[arg(long, value_name = "N", value_parser = positive_count)]
    pub(super) limit: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum PaceName {
    /// Its time stamp, whatever the device does
    #[default]
    Open,
    /// The completion of another: --depth in flight, time stamps not looked at
    Closed,
    /// The completion that was the last before it in the recording, and as long after it as then; where the request
    /// ahead of it in the trace comes later than that, it comes with it, and its latency counts from there
    Think,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum BeyondName {
    /// Left out, counted, and the first ones named
    #[default]
    Refuse,
    /// Moved to their offset modulo the capacity, or to end at it where they would still reach beyond, and counted
    Fold,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum UnalignedName {
    /// Widened to whole units, and counted
    #[default]
    Widen,
    /// Left out, counted, and the first ones named
    Refuse,
}

/// Requests in flight in a closed loop, unless told, of a device that takes so many.
const DEPTH: u32 = 32;

/// A factor, which the replay checks.
pub(super) fn speed(text: &str) -> Result<f64, String> {
    let factor = text.parse().map_err(|_| "a factor is a number above 0, like 10 or 0.5".to_owned())?;
    let pace = Pace::Open { speed: factor };
    pace.check().map(|()| factor).map_err(|error| error.to_string())
}

pub(super) fn depth(text: &str) -> Result<u32, String> {
    let depth = parse_count(text).map_err(|error| error.to_string())?;
    let depth = depth.min(u64::from(u32::MAX)) as u32;
    Pace::Closed { depth }.check().map(|()| depth).map_err(|error| error.to_string())
}

/// What the options come to.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplayPlan {
    pub(super) options: ReplayOptions,
    pub(super) limit: Option<u64>,
    /// Requests in flight in a closed loop, where that was told.
    pub(super) depth: Option<u32>,
}

impl PlanOptions {
    /// What is asked for, checked as far as it can be without the device and the trace.
    pub(super) fn checked(&self, seed: Seed) -> Result<ReplayPlan, Failure> {
        let speed = self.speed.unwrap_or(1.0);
        let pace = match (self.pace, self.speed, self.depth) {
            (PaceName::Closed, Some(speed), _) => {
                return Err(Failure::unusable(anyhow!(
                    "--speed {speed} has no meaning with --pace closed, which does not look at time stamps; leave it \
                     away, or use --pace open or think"
                )));
            }
            (PaceName::Open | PaceName::Think, _, Some(depth)) => {
                return Err(Failure::unusable(anyhow!(
                    "--depth {depth} has no meaning without --pace closed: requests come when the trace says so"
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
    /// The most requests that are taken from the trace.
    pub(super) fn max_requests(&self) -> usize {
        self.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
    }
}
