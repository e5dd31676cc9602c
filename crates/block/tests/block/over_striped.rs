//! Trials of blocks over striped lanes, whose units are torn where their parts differ.

use flashlane_base::Seed;
use flashlane_block_trial::{Health, Tally, run_trial};
use flashlane_device_testing::{MemoryFaults, MemoryLanes};
use flashlane_layer::striped::Settings;
use flashlane_layer::{Bytes, Striped};

fn striped(memory: MemoryLanes) -> Striped<Bytes<MemoryLanes>> {
    let settings = Settings { lanes: 2, stripe_bytes: 1024 };
    Striped::new(Bytes(memory), settings).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn blocks_on_striped_lanes_survive_power_cuts() {
    let mut tally = Tally::default();
    for seed in 0..40 {
        let memory = MemoryLanes::new(4, 8, 4096, 512, Seed(seed));
        tally += run_trial(striped(memory), &|device| device, Health::Sound, Seed(seed), 200);
    }
    assert!(tally.damaged > 10 && tally.cuts > 5_000 && tally.puts > 1_000, "{tally:?}");
}

#[test]
fn blocks_on_striped_lanes_that_fail_are_kept() {
    let faults = MemoryFaults { unit_fails: 0.02, read_fails: 0.05, ..MemoryFaults::default() };
    let sound = |device: Striped<Bytes<MemoryLanes>>| {
        device.map(|Bytes(memory)| Bytes(memory.with_faults(MemoryFaults::default())))
    };
    let mut tally = Tally::default();
    for seed in 0..40 {
        let memory = MemoryLanes::new(8, 8, 4096, 512, Seed(seed)).with_faults(faults);
        tally += run_trial(striped(memory), &sound, Health::Failing, Seed(seed), 200);
    }
    assert!(tally.failures > 20 && tally.cuts > 5_000, "{tally:?}");
}
