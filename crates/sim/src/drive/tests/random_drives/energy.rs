//! Laws of energy that hold for every drive.

use super::profile::from;
use super::*;
use crate::config::{Power, PowerConfig};

/// Powers drawn at random: of half of all drives the arrays take the same for all that they do.
pub(super) fn power(seed: u64) -> PowerConfig {
    let mut random = Seed(seed).derive("power").source();
    let mut mw = || Power(from(&mut random, 0, 500));
    let (read, bus, link, active, idle) = (mw(), mw(), mw(), mw(), mw());
    let (program, erase) = if seed.is_multiple_of(2) { (read, read) } else { (mw(), mw()) };
    PowerConfig { read, program, erase, bus, link, active, idle }
}

/// The energy of each use is its power times its time, and all of it is in the sum and in the curve.
pub(super) fn is_accounted_for(drive: &Drive, config: &DriveConfig) {
    let power = config.power.expect("the drive is metered");
    let counters = drive.counters();
    let of = |name: &str| counters.get(name).unwrap_or_else(|| panic!("no counter {name}"));
    let parts: u64 =
        counters.0.iter().filter(|(name, _)| name.starts_with(Counters::ENERGY_OF)).map(|(_, nj)| nj).sum();
    assert_eq!(of(Counters::ENERGY), parts);
    assert_eq!(of("energy_of_buses_nj"), power.bus.0 * of("bus_busy_ns") / 1000);
    assert_eq!(of("energy_of_link_nj"), power.link.0 * of("link_busy_ns") / 1000);
    assert_eq!(of("energy_of_idle_nj"), power.idle.0 * drive.now().as_ns() / 1000);
    assert!(of("energy_of_controller_nj") <= power.active.0 * drive.now().as_ns() / 1000);
    let arrays = of("energy_of_reads_nj") + of("energy_of_programs_nj") + of("energy_of_erases_nj");
    if power.program == power.read && power.erase == power.read {
        let one_plane = power.read.0 * of("array_busy_ns") / 1000;
        // Each of the three is rounded down.
        assert!(arrays + 2 >= one_plane, "{arrays} nJ of arrays that work for {one_plane}");
        assert!(arrays <= one_plane * u64::from(config.flash.planes) + u64::from(config.flash.planes));
    }
    let curve = drive.power_curve().expect("the drive is metered");
    let in_curve: u64 = curve.energy_pj.iter().sum();
    assert!((parts * 1000..parts * 1000 + 7000).contains(&in_curve), "{in_curve} pJ of {parts} nJ");
}
