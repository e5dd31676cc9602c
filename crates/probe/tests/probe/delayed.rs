//! Drives whose garbage collection delays the writes from which the probe infers.

use crate::{assert_right_or_open, structure_of};
use flashlane_base::Seed;
use flashlane_probe::{Feature, ProbeResult};
use flashlane_sim::{Drive, profile};

fn probed(text: &str, seed: u64) -> ProbeResult {
    structure_of(Drive::new(&profile::parse("drawn", text, &[]).unwrap(), Seed(seed)))
}

/// Half of the writes wait for garbage collection, for two programs and more: the others tell the time of a program.
#[test]
fn bimodal_writes_give_the_time_of_one_program() {
    for seed in [1, 426] {
        let result = probed(include_str!("drives/packages-first-fragmented.toml"), seed);
        assert_right_or_open(&result, Feature::InterleavingDegree, &[9]);
        assert_right_or_open(&result, Feature::SubDomains, &[6]);
    }
}
