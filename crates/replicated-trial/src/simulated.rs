//! Trials of a simulated drive that replicates over its dies.
//!
//! The simulator moves no data: the bytes are those of `Backed`, which keeps each acknowledged write that the drive
//! does not report as at risk. The drive itself asserts, at each cut, that flash has them: of each mapping unit
//! recovery finds the newest acknowledged version, at the unit's own place or in a copy.

use crate::{Load, Tally, run_trial};
use flashlane_base::{Random, Seed};
use flashlane_layer::Backed;
use flashlane_sim::{Drive, profile};

/// Runs a trial of a simulated drive that replicates; drive and requests follow from the seed.
///
/// # Panics
/// As [`run_trial`], and where the drive has lost what it acknowledged.
pub fn trial_of_drive(seed: u64) -> Tally {
    let mut random = Seed(seed).derive("shape").source();
    let settings = settings(&mut random);
    let settings: Vec<_> = settings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let config = profile::load("he-4g", &settings).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
    let load = Load { steps: 1000, cuts: 0.04, page_bytes: 2048, in_order: false };
    run_trial(Backed::new(Drive::new(&config, Seed(seed))), None, Seed(seed), load)
}

/// A drive of 1.5 MiB that garbage-collects all the time, with a write buffer or without.
fn settings(random: &mut Random) -> Vec<(&'static str, &'static str)> {
    let mut pick = |values: &[&'static str]| values[random.below(values.len() as u64) as usize];
    let mut settings = vec![
        ("capacity", "1536KiB"),
        ("flash.blocks", "32"),
        ("flash.pages", "16"),
        ("mapping.policy", pick(&["lba", "write-order"])),
        ("mapping.allocation", "striped"),
        ("mapping.chunk", pick(&["2KiB", "8KiB"])),
        ("initial.state", pick(&["fresh", "full", "fragmented"])),
        ("replication.policy", pick(&["lru", "pblru"])),
        ("replication.space", pick(&["3%", "10%", "20%"])),
        ("replication.copies", pick(&["2", "3", "4"])),
        ("replication.delay", pick(&["1us", "300us", "800us"])),
        ("scheduling.policy", pick(&["fifo", "read-first"])),
    ];
    if pick(&["buffered", "direct"]) == "buffered" {
        settings.extend([("buffer.policy", "fifo"), ("buffer.size", "32KiB")]);
    }
    settings
}
