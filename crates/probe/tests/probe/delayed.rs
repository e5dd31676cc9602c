//! Drives whose garbage collection delays the writes from which the probe infers.

use crate::{assert_right_or_open, drive_of, structure_of};
use flashlane_probe::{Feature, Status};

/// Half of the writes wait for garbage collection, for two programs and more: the others tell the time of a program.
#[test]
fn bimodal_writes_give_the_time_of_one_program() {
    for seed in [1, 426] {
        let result = structure_of(drive_of(include_str!("drives/packages-first-fragmented.toml"), seed));
        assert_right_or_open(&result, Feature::InterleavingDegree, &[9]);
        assert_right_or_open(&result, Feature::SubDomains, &[6]);
    }
}

/// Of 1146 writes of two pages garbage collection delays all but eleven, whose ends recur by address and by turn, and
/// by a part of the chunk.
#[test]
fn few_undelayed_writes_show_no_mapping_and_no_chunk() {
    for seed in [338, 902] {
        let result = structure_of(drive_of(include_str!("drives/collecting-beside-most-writes.toml"), seed));
        assert_right_or_open(&result, Feature::ChunkSize, &[131_072]);
        let mapping = result.finding(Feature::MappingPolicy).unwrap();
        let is_right = mapping.word() == Some("lba");
        assert!(is_right || mapping.status == Status::NotDetermined, "{mapping:?}");
    }
}

/// Garbage collection takes turns in the order of writes, so that each write of a chunk is on two dies, and six dies
/// look like three.
#[test]
fn writes_of_two_half_chunks_show_no_dies() {
    for seed in [1, 3] {
        let result = structure_of(drive_of(include_str!("drives/chunks-counted-off-by-half.toml"), seed));
        assert_right_or_open(&result, Feature::InterleavingDegree, &[6]);
        assert_right_or_open(&result, Feature::SubDomains, &[1]);
    }
}

/// Most durable writes wait for five programs. Flash has programmed pages before a buffer is full that fills in less.
#[test]
fn pages_programmed_before_a_delayed_write_are_not_in_the_buffer() {
    for seed in [1, 577] {
        let result = structure_of(drive_of(include_str!("drives/buffer-beside-collection.toml"), seed));
        let found = result.finding(Feature::WriteBuffer).unwrap().number();
        let is_near = |bytes: u64| (bytes as f64 / 395_264.0 - 1.0).abs() < 0.1;
        assert!(found.is_none_or(is_near), "{found:?}");
    }
}
