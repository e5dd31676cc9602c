//! Drives that hide their chunk from reads, and from most writes of two pages.

use crate::known::made_in_order;
use crate::{drive_of, number, structure_of};
use flashlane_probe::Feature;

const CHANNELS_FIRST: &str = r#"["channel", "package", "die", "plane"]"#;
const PLANES_FIRST: &str = r#"["plane", "die", "channel", "package"]"#;

/// Planes that cannot work together are one queue, and in the usual length of a row of writes it ends once.
#[test]
fn chunk_of_all_planes_of_a_die_is_found_by_long_rows() {
    let long = [
        ("sector", "4096B"),
        ("flash.page", "8KiB"),
        ("chunk", "1MiB"),
        ("planes", "4"),
        ("multi_plane", "false"),
        ("mapping.policy", "lba"),
        ("pages", "128"),
        ("blocks", "40"),
        ("flash.read", "12us"),
        ("bus", "53MB/s"),
        ("link.read_write_exclusion", "true"),
    ];
    for depth in ["1", "32"] {
        let overrides: Vec<_> = long.into_iter().chain([("depth", depth)]).collect();
        let result = structure_of(made_in_order(PLANES_FIRST, &overrides));
        assert_eq!(number(&result, Feature::ChunkSize), Some(4 << 20), "{depth}: {:#?}", result.findings);
    }
}

/// A page takes nearly as long on its bus as a program, and hides it; but no two neighbours share a bus.
#[test]
fn chunk_of_one_page_is_found_behind_a_slow_bus() {
    let slow = [
        ("depth", "1"),
        ("flash.page", "16KiB"),
        ("chunk", "16KiB"),
        ("flash.cache_mode", "true"),
        ("flash.read", "6us"),
        ("flash.program", "390us"),
        ("bus", "49MB/s"),
        ("noise", "5%"),
    ];
    let result = structure_of(made_in_order(CHANNELS_FIRST, &slow));
    assert_eq!(number(&result, Feature::ChunkSize), Some(16384), "{:#?}", result.findings);
}

/// Garbage collection delays more than one of ten writes.
#[test]
fn chunk_of_one_page_is_found_beside_garbage_collection() {
    let result = structure_of(drive_of(COLLECTING, 1));
    assert_eq!(number(&result, Feature::ChunkSize), Some(2048), "{:#?}", result.findings);
}

/// Garbage collection delays most of the writes of two pages until it has blocks that hold nothing.
#[test]
fn chunk_is_found_once_collection_moves_no_pages() {
    for seed in [1, 254] {
        let text = include_str!("drives/full-and-collecting.toml");
        let result = structure_of(drive_of(text, seed));
        assert_eq!(number(&result, Feature::ChunkSize), Some(131_072), "{:#?}", result.findings);
    }
}

const COLLECTING: &str = r#"
name = "collecting"
capacity = "304283648B"
sector = "512B"
[initial]
state = "fragmented"
[host]
submission = "1085ns"
jitter = "3.64%"
[link]
bandwidth = "382MB/s"
read_command = "132ns"
write_command = "132ns"
depth = 1
[mapping]
policy = "lba"
chunk = "2KiB"
order = ["die", "plane", "channel", "package"]
[cleaning]
low = "3%"
[flash]
channels = 12
packages = 2
dies = 4
planes = 3
blocks = 49
pages = 16
page = "2KiB"
read = "9669ns"
program = "724us"
erase = "2ms"
bus = "539MB/s"
noise = "4.69%"
multi_plane = false
suspend = "5us"
[scheduling]
policy = "read-first"
"#;
