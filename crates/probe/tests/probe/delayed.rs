//! Drives whose garbage collection delays the writes from which the probe infers.

use crate::{assert_right_or_open, structure_of};
use flashlane_base::Seed;
use flashlane_probe::{Feature, ProbeResult, Status};
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

/// Of 1146 writes of two pages garbage collection delays all but eleven, whose ends recur by address and by turn, and
/// by a part of the chunk.
#[test]
fn few_undelayed_writes_show_no_mapping_and_no_chunk() {
    for seed in [338, 902] {
        let result = probed(include_str!("drives/collecting-beside-most-writes.toml"), seed);
        assert_right_or_open(&result, Feature::ChunkSize, &[131_072]);
        let mapping = result.finding(Feature::MappingPolicy).unwrap();
        let is_right = mapping.word() == Some("lba");
        assert!(is_right || mapping.status == Status::NotDetermined, "{mapping:?}");
    }
}
