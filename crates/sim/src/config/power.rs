//! `[power]`: the power of each operation and state, from which the energy of a run follows.

use super::Power;
use super::refusal::{Refusal, refusals, require};
use super::section::{Facts, Section};
use serde::Deserialize;

/// The power of each operation and state. What a profile leaves away takes none.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PowerConfig {
    /// Of a plane while it reads a page into the register.
    pub read: Power,
    /// Of a plane while it programs.
    pub program: Power,
    /// Of a plane while it erases.
    pub erase: Power,
    /// Of a channel's bus, with both of its ends, while it transfers.
    pub bus: Power,
    /// Of a direction of the link while it transfers, beyond `idle`.
    pub link: Power,
    /// Of the controller and its memory while a request is in flight, beyond `idle`.
    pub active: Power,
    /// Of the drive at all times.
    pub idle: Power,
}

/// Far beyond any part of a drive, and too little for sums to overflow.
const MOST_MW: u64 = 100_000;

impl Section for PowerConfig {
    fn facts() -> Facts {
        Facts::of("power")
    }

    fn ranges(&self) -> Vec<Refusal> {
        let in_range = |field: &'static str, given: Power| {
            require(given.0 <= MOST_MW, field, || format!("it is {} mW; allowed: at most 100 W", given.0))
        };
        refusals([
            in_range("power.read", self.read),
            in_range("power.program", self.program),
            in_range("power.erase", self.erase),
            in_range("power.bus", self.bus),
            in_range("power.link", self.link),
            in_range("power.active", self.active),
            in_range("power.idle", self.idle),
        ])
    }
}
