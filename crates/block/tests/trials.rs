//! The trial body over lanes in memory, within a fixed budget: `cargo xtask sim` goes on from there.

use flashlane_base::Seed;
use flashlane_block::trial::{self, Health, Tally};
use flashlane_device::{MemoryFaults, MemoryLanes};

fn trial_of(seed: u64, health: Health, steps: u32) -> Tally {
    // Shapes from a single lane with hardly a unit to spare to many lanes.
    let (lanes, units) = [(1, 8), (2, 6), (4, 8), (7, 3)][(seed % 4) as usize];
    let device = MemoryLanes::new(lanes, units, 4096, 512, Seed(seed));
    let faults = match health {
        Health::Sound => MemoryFaults::default(),
        Health::Failing => MemoryFaults { unit_fails: 0.01, read_fails: 0.02 },
    };
    let calm = |device: MemoryLanes| device.with_faults(MemoryFaults::default());
    trial::run(device.with_faults(faults), &calm, health, Seed(seed), steps)
}

#[test]
fn no_power_cut_loses_or_halves_a_block() {
    let mut tally = Tally::default();
    for seed in 0..40 {
        tally += trial_of(seed, Health::Sound, 250);
    }
    assert!(tally.cuts > 10_000 && tally.deletes > 500 && tally.restarts > 100, "{tally:?}");
}

#[test]
fn failing_units_and_reads_lose_nothing_either() {
    let mut tally = Tally::default();
    for seed in 0..40 {
        tally += trial_of(seed, Health::Failing, 250);
    }
    assert!(tally.cuts > 10_000 && tally.puts > 1_000, "{tally:?}");
}

#[test]
fn a_trial_repeats() {
    assert_eq!(trial_of(3, Health::Failing, 100), trial_of(3, Health::Failing, 100));
}
