//! The trial body over the simulated zoned drive with its bytes: blocks in zones, with power cuts that tear zones and
//! close them.

use flashlane_base::Seed;
use flashlane_block_trial::{Health, Tally, run_trial};
use flashlane_layer::Backed;
use flashlane_sim::{Zoned, profile};

/// Four lanes of nine zones of 16 KiB, each on all dies; more zones may be active than a power cut tears.
const SETTINGS: &[(&str, &str)] = &[
    ("capacity", "576KiB"),
    ("sector", "512B"),
    ("zones.capacity", "16KiB"),
    ("zones.lanes", "4"),
    ("zones.buffer", "6KiB"),
    ("flash.channels", "4"),
    ("flash.packages", "2"),
    ("flash.blocks", "120"),
    ("flash.pages", "6"),
    ("flash.page", "512B"),
];

#[test]
fn power_cuts_over_a_zoned_drive() {
    let settings: Vec<_> = SETTINGS.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let config = profile::load("zn540-1tb", &settings).unwrap_or_else(|error| panic!("{error}"));
    let mut tally = Tally::default();
    for seed in 0..6 {
        let device = Backed::new(Zoned::new(&config, Seed(seed))).seeded(Seed(seed));
        tally += run_trial(device, &|device| device, Health::Sound, Seed(seed), 150);
    }
    assert!(tally.cuts > 500 && tally.puts > 100 && tally.restarts > 10, "{tally:?}");
}
