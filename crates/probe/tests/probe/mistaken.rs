//! Drives on which the probe was once wrong, each with the evidence that told the truth.

use crate::known::made_with_seed;
use crate::{assert_right_or_open, number, structure_of};
use flashlane_base::Seed;
use flashlane_probe::Feature;
use flashlane_sim::{Drive, profile};

const CHANNELS_FIRST: &str = r#"["channel", "package", "die", "plane"]"#;

/// Pairs on one of eight channels wait for a sector's transfer, which is longer than an array time. A cache answers reads across the
/// few boundaries of chunks, so that the time of such a pair seems to be longer by both.
#[test]
fn transfers_beside_a_cache_show_no_dies() {
    let overrides = [
        ("sector", "4096B"),
        ("capacity", "894631936B"),
        ("initial.state", "full"),
        ("submission", "6299ns"),
        ("jitter", "6%"),
        ("link.bandwidth", "3920366779B/s"),
        ("read_command", "1802ns"),
        ("write_command", "1802ns"),
        ("depth", "1"),
        ("chunk", "512KiB"),
        ("channels", "8"),
        ("packages", "4"),
        ("dies", "2"),
        ("planes", "1"),
        ("blocks", "42"),
        ("pages", "32"),
        ("flash.page", "16KiB"),
        ("flash.read", "58us"),
        ("flash.program", "801us"),
        ("bus", "58508012B/s"),
        ("noise", "7%"),
        ("flash.cache_mode", "true"),
        ("flash.suspend", "5us"),
        ("scheduling.policy", "read-first"),
        ("buffer.policy", "cflru"),
        ("buffer.size", "65028096B"),
    ];
    for seed in 1..=2 {
        let result = structure_of(made_with_seed(CHANNELS_FIRST, &overrides, seed));
        assert_right_or_open(&result, Feature::SubDomains, &[8]);
    }
}

/// The area ends with the fourth plane of the first dies, so that others behind it are not seen.
#[test]
fn dies_behind_the_area_lower_the_confidence() {
    let overrides = [
        ("mapping.policy", "lba"),
        ("capacity", "93257728B"),
        ("initial.state", "fragmented"),
        ("submission", "5309ns"),
        ("jitter", "2.77%"),
        ("link.bandwidth", "780276458B/s"),
        ("read_command", "246ns"),
        ("write_command", "246ns"),
        ("depth", "8"),
        ("link.duplex", "false"),
        ("chunk", "1MiB"),
        ("channels", "8"),
        ("packages", "2"),
        ("dies", "3"),
        ("planes", "4"),
        ("blocks", "9"),
        ("pages", "256"),
        ("flash.page", "8KiB"),
        ("flash.read", "50771ns"),
        ("flash.program", "100420ns"),
        ("bus", "108705331B/s"),
        ("noise", "9.5%"),
        ("flash.cache_mode", "true"),
    ];
    let order = r#"["channel", "package", "plane", "die"]"#;
    let result = structure_of(made_with_seed(order, &overrides, 1));
    let sub_domains = result.finding(Feature::SubDomains).unwrap();
    assert!(sub_domains.number() == Some(6) || sub_domains.confidence < 0.9, "{sub_domains:?}");
}

/// Garbage collection stops the flow from the buffer for a while, soon after it is full or before that.
#[test]
fn garbage_collection_is_not_taken_for_a_full_buffer() {
    let overrides = [
        ("capacity", "801898496B"),
        ("initial.state", "fragmented"),
        ("submission", "5176ns"),
        ("jitter", "3.6%"),
        ("link.bandwidth", "370482100B/s"),
        ("read_command", "466ns"),
        ("write_command", "466ns"),
        ("depth", "343"),
        ("link.duplex", "false"),
        ("chunk", "12KiB"),
        ("channels", "12"),
        ("packages", "2"),
        ("dies", "1"),
        ("planes", "2"),
        ("blocks", "28"),
        ("pages", "256"),
        ("flash.read", "10107ns"),
        ("flash.program", "826843ns"),
        ("bus", "700865047B/s"),
        ("noise", "7.2%"),
        ("flash.suspend", "5us"),
        ("scheduling.policy", "read-first"),
        ("buffer.policy", "parallel"),
        ("buffer.placement", "below"),
        ("buffer.size", "5894144B"),
    ];
    for seed in 1..=3 {
        let result = structure_of(made_with_seed(CHANNELS_FIRST, &overrides, seed));
        let found = number(&result, Feature::WriteBuffer).map(|bytes| bytes as f64 / 5_894_144.0);
        assert!(found.is_none_or(|share| (share - 1.0).abs() < 0.1), "{:#?}", result.findings);
    }
}

/// The link takes as long for ten chunks as a bus for one, so that reads rise with each chunk as those on ten channels would.
#[test]
fn link_as_fast_as_ten_buses_shows_no_channels() {
    for seed in 1..=3 {
        let result = structure_of(drawn(TWENTY_CHANNELS, seed));
        assert_right_or_open(&result, Feature::InterleavingDegree, &[20]);
    }
}

/// One request at a time, the second of two writes to a buffer begins when most of the first one's transfers are over.
#[test]
fn writes_that_begin_late_refute_no_channels() {
    for seed in 1..=1 {
        let result = structure_of(drawn(TWO_CHANNELS, seed));
        assert_right_or_open(&result, Feature::InterleavingDegree, &[2]);
        assert_right_or_open(&result, Feature::SubDomains, &[3]);
    }
}

fn drawn(text: &str, seed: u64) -> Drive {
    Drive::new(&profile::parse("drawn", text, &[]).unwrap(), Seed(seed))
}

const TWENTY_CHANNELS: &str = r#"
name = "random"
capacity = "133758976B"
sector = "4096B"
[initial]
state = "fresh"
[host]
submission = "23917ns"
jitter = "6.25%"
[link]
bandwidth = "455876649B/s"
read_command = "149ns"
write_command = "149ns"
depth = 1
duplex = true
read_write_exclusion = true
[mapping]
policy = "write-order"
chunk = "8192B"
order = ["channel", "plane", "package", "die"]
[cleaning]
low = "3%"
[flash]
channels = 20
packages = 1
dies = 1
planes = 1
blocks = 12
pages = 256
page = "8192B"
read = "5261ns"
program = "340438ns"
erase = "2ms"
bus = "45575233B/s"
noise = "0.52%"
cache_mode = true
multi_plane = true
suspend = "5us"
[scheduling]
policy = "read-first"
[readahead]
window = "65536B"
cache = "3670016B"
options = { streams = 27, trigger = 2 }
[buffer]
policy = "lru"
size = "14327808B"
placement = "above"
"#;

const TWO_CHANNELS: &str = r#"
name = "random"
capacity = "1074266112B"
sector = "512B"
[initial]
state = "fragmented"
[host]
submission = "15800ns"
jitter = "0.04%"
[link]
bandwidth = "2164764911B/s"
read_command = "165ns"
write_command = "165ns"
depth = 1
duplex = true
read_write_exclusion = false
[mapping]
policy = "lba"
chunk = "4096B"
order = ["package", "plane", "die", "channel"]
[cleaning]
low = "3%"
[flash]
channels = 2
packages = 1
dies = 3
planes = 1
blocks = 3423
pages = 32
page = "2048B"
read = "4549ns"
program = "105237ns"
erase = "2ms"
bus = "216064522B/s"
noise = "8.40%"
cache_mode = false
multi_plane = false
suspend = "5us"
[scheduling]
policy = "read-first"
[readahead]
window = "65536B"
cache = "786432B"
options = { streams = 5, trigger = 2 }
[buffer]
policy = "lru"
size = "32561152B"
placement = "above"
"#;
