//! The trial body over the simulated SDF with its bytes: the same code as on a real device, in virtual time, with torn
//! units as its flash leaves them.

use flashlane_base::{Duration, Instant, Seed};
use flashlane_block::{BlockOptions, Blocks};
use flashlane_block_trial::{Health, Tally, run_trial};
use flashlane_layer::Backed;
use flashlane_sim::profile;
use flashlane_sim::{DriveConfig, Sdf};

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

fn config(settings: &[(&str, &str)]) -> DriveConfig {
    let settings: Vec<_> = settings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    profile::load("sdf", &settings).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn power_cuts_over_simulated_flash() {
    let mut tally = Tally::default();
    for seed in 0..12 {
        let device = Backed::new(Sdf::new(&config(SETTINGS), Seed(seed))).seeded(Seed(seed));
        tally += run_trial(device, &|device| device, Health::Sound, Seed(seed), 200);
    }
    assert!(tally.damaged > 10 && tally.discarded > 10, "{tally:?}");
    assert!(tally.cuts > 2_000 && tally.puts > 300 && tally.restarts > 30, "{tally:?}");
}

#[test]
fn long_reads_of_a_lane_end_one_after_the_other() {
    const GET_BYTES: u64 = 512 << 10;
    let settings =
        [("flash.channels", "1"), ("flash.blocks", "16"), ("capacity", "64MiB"), ("flash.factory_bad", "0%")];
    let device = Backed::new(Sdf::new(&config(&settings), Seed(1)));
    let mut blocks = Blocks::format(device, 1, BlockOptions::default()).expect("a fresh device is formatted");
    let (id, payload) = (blocks.next_id(), blocks.payload());
    let put = blocks.put(id, payload).map_err(|(error, _)| error).expect("there is room");
    blocks.wait(put).expect("a put completes");
    let begun = blocks.now();
    for nth in 0..4 {
        blocks.get(id, nth * GET_BYTES, GET_BYTES).expect("the block is stored");
    }
    let short = blocks.get(id, 4 << 20, 8 << 10).expect("the block is stored");
    let mut out = Vec::new();
    while !blocks.is_idle() {
        blocks.reap(Instant::FAR, &mut out);
    }
    let ends: Vec<Duration> = out.iter().map(|finished| finished.completed.since(begun)).collect();
    assert!(out[0].ticket == short, "a short read does not wait for a long one: {ends:?}");
    // 65 pages of 8,640 bytes at 40 MB/s: 14.04 ms, and 0.22 ms for the page of the short one.
    for (nth, end) in ends[1..].iter().enumerate() {
        let expected = 14_040_000 * (nth as u64 + 1) + 220_000;
        assert!(
            end.as_ns().abs_diff(expected) < 600_000,
            "read {nth} ends after {end}, {expected} ns expected"
        );
    }
}
