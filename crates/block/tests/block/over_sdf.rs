//! The trial body over the simulated SDF with its bytes: the same code as on a real device, in virtual time, with torn
//! units as its flash leaves them.

use flashlane_base::Seed;
use flashlane_block_trial::{Health, Tally, run_trial};
use flashlane_layer::Backed;
use flashlane_sim::Sdf;
use flashlane_sim::profile;

/// A device of four channels with nine units of 16 KiB.
const SETTINGS: &[(&str, &str)] = &[
    ("flash.channels", "4"),
    ("flash.blocks", "10"),
    ("flash.pages", "8"),
    ("flash.page", "512B"),
    ("flash.spare", "28B"),
    ("flash.factory_bad", "0%"),
    ("lanes.stripe", "4KiB"),
    ("lanes.read_unit", "512B"),
    ("lanes.window", "4KiB"),
    ("lanes.erase_failures", "0%"),
    ("lanes.write_failures", "0%"),
    ("capacity", "576KiB"),
];

#[test]
fn power_cuts_over_simulated_flash() {
    let settings: Vec<(String, String)> =
        SETTINGS.iter().map(|&(key, value)| (key.into(), value.into())).collect();
    let config = profile::load("sdf", &settings).unwrap_or_else(|error| panic!("{error}"));
    let mut tally = Tally::default();
    for seed in 0..12 {
        let device = Backed::new(Sdf::new(&config, Seed(seed))).seeded(Seed(seed));
        tally += run_trial(device, &|device| device, Health::Sound, Seed(seed), 200);
    }
    assert!(tally.damaged > 10 && tally.discarded > 10, "{tally:?}");
    assert!(tally.cuts > 2_000 && tally.puts > 300 && tally.restarts > 30, "{tally:?}");
}
