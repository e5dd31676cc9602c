//! The longest time and the slowest rate that a setting may give: far beyond any drive, and too short or too fast for
//! sums to reach the end of the clock.

use super::refusal::{Refusal, require};
use super::{Rate, Time};
use flashlane_base::Duration;

const LONGEST: Duration = Duration::from_s(10);

const SLOWEST_BYTES_PER_S: u64 = 1_000_000;

pub(super) fn time(field: &'static str, given: Time) -> Result<(), Refusal> {
    require(given.0 <= LONGEST, field, || format!("it is {:#}; allowed: at most {LONGEST:#}", given.0))
}

pub(super) fn rate(field: &'static str, given: Rate) -> Result<(), Refusal> {
    require(given.0 == 0 || given.0 >= SLOWEST_BYTES_PER_S, field, || {
        format!("it is {} B/s; allowed: at least 1MB/s, or 0 for no limit", given.0)
    })
}
