//! A simulated drive small enough to fill up and to be cleaned in a short run.

use flashlane_base::Seed;
use flashlane_sim::{Drive, profile};

/// A drive of 4 MiB on two channels, with these settings of its own.
pub fn small(settings: &[(&str, &str)], seed: u64) -> Drive {
    let small = [
        ("capacity", "4MiB"),
        ("flash.channels", "2"),
        ("flash.blocks", "24"),
        ("flash.planes", "2"),
        ("flash.pages", "32"),
    ];
    let all = small.iter().chain(settings);
    let all: Vec<_> = all.map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let config = profile::load("msr-32g", &all).unwrap_or_else(|error| panic!("{error}"));
    Drive::new(&config, Seed(seed))
}
