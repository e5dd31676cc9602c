//! The energy of a drive: the power of each operation and state times how long it lasts.
//!
//! A flash operation is charged when it begins (on dies that serve in order, when it is queued), for the time that it
//! takes, on each plane that works; GC for its reads, programs and erases apart. What a power cut ends early has been
//! charged in full. Suspending and resuming takes no energy of its own. EnergySim (Cho and others, an extension of
//! DiskSim) counts likewise: currents of the data sheet times the supply voltage, for as long as a part is busy.
//!
//! Invariants:
//! - energy is a whole number of picojoules, a milliwatt for a nanosecond: no sum depends on an order;
//! - what was charged is in the sum of its use and in the curve, so that both have the same total.

use crate::config::{DriveConfig, PowerConfig};
use flashlane_base::{Duration, Instant};
use flashlane_device::{Counters, PowerCurve};

/// An operation or state that takes energy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Read,
    Program,
    Erase,
    Bus,
    Link,
    Active,
    Idle,
}

impl Use {
    /// The counter of each, in order.
    const COUNTERS: [&'static str; 7] = [
        "energy_of_reads_nj",
        "energy_of_programs_nj",
        "energy_of_erases_nj",
        "energy_of_buses_nj",
        "energy_of_link_nj",
        "energy_of_controller_nj",
        "energy_of_idle_nj",
    ];
}

/// An energy meter: the flash array has one, for its arrays and buses, and the kernel one, for the rest.
#[derive(Clone, Debug)]
pub(crate) struct EnergyMeter {
    power_mw: [u64; Use::COUNTERS.len()],
    energy_pj: [u128; Use::COUNTERS.len()],
    curve: PowerCurve,
    /// Since when a request has been in flight.
    active_since: Option<Instant>,
}

impl EnergyMeter {
    /// `None` for a drive whose profile states no power.
    pub(crate) fn new(config: &DriveConfig) -> Option<Box<Self>> {
        let PowerConfig { read, program, erase, bus, link, active, idle } = config.power?;
        Some(Box::new(Self {
            power_mw: [read.0, program.0, erase.0, bus.0, link.0, active.0, idle.0],
            energy_pj: [0; Use::COUNTERS.len()],
            curve: PowerCurve::default(),
            active_since: None,
        }))
    }

    /// Charges a use that lasts for `time` on each of `count` parts of the drive, within these two times.
    pub(crate) fn charge(&mut self, of: Use, count: u64, time: Duration, (from, to): (Instant, Instant)) {
        let energy_pj = u128::from(self.power_mw[of as usize] * count) * u128::from(time.as_ns());
        self.energy_pj[of as usize] += energy_pj;
        if energy_pj > 0 {
            self.curve.add(from, to, energy_pj);
        }
    }

    /// Charges the whole of a time.
    pub(crate) fn charge_all(&mut self, of: Use, from: Instant, to: Instant) {
        self.charge(of, 1, to.since(from), (from, to));
    }

    /// The first request is in flight.
    pub(crate) fn becomes_active(&mut self, now: Instant) {
        self.active_since = Some(now);
    }

    /// No request is in flight.
    pub(crate) fn becomes_inactive(&mut self, now: Instant) {
        if let Some(since) = self.active_since.take() {
            self.charge_all(Use::Active, since, now);
        }
    }

    /// What this meter and that of the flash array have counted until now, with the states that last.
    pub(crate) fn until(&self, now: Instant, of_flash: &Self) -> Self {
        let mut sum = self.clone();
        sum.becomes_inactive(now);
        sum.charge_all(Use::Idle, Instant::ZERO, now);
        sum.energy_pj.iter_mut().zip(of_flash.energy_pj).for_each(|(sum, energy)| *sum += energy);
        sum.curve.add_curve(of_flash.curve.clone());
        sum
    }

    /// The counters, under the names that results have. Each is rounded down, and their sum is that of the rounded
    /// ones.
    pub(crate) fn list(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let each = self.energy_pj.map(|energy_pj| (energy_pj / 1000) as u64);
        let total = (Counters::ENERGY, each.iter().sum());
        std::iter::once(total).chain(Use::COUNTERS.into_iter().zip(each))
    }

    pub(crate) fn into_curve(self) -> PowerCurve {
        self.curve
    }
}
