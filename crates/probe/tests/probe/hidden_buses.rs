//! Channels behind a link that hides the wait of reads for a bus, dies that share no bus, and a single die.

use crate::known::{made, made_in_order};
use crate::{assert_right_or_open, drive_of, number, structure_of};
use flashlane_probe::{Feature, ProbeResult, Status};

const RUNS_OF_TWO: &str = r#"["package", "channel", "die", "plane"]"#;
/// A page takes 20 µs on the link and 7 µs on a bus.
const SLOW_LINK: [(&str, &str); 2] = [("link.bandwidth", "200MB/s"), ("bus", "600MB/s")];

fn with<'a>(some: &[(&'a str, &'a str)], more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [some, more].concat()
}

fn assert_found(result: &ProbeResult, degree: u64, sub_domains: Option<u64>) {
    assert_eq!(number(result, Feature::InterleavingDegree), Some(degree), "{:#?}", result.findings);
    assert_eq!(number(result, Feature::SubDomains), sub_domains, "{:#?}", result.findings);
}

/// No array time is long enough for a page to cross the link meanwhile, but for a sector.
#[test]
fn reads_wait_for_the_rest_of_written_parts() {
    let short = with(&SLOW_LINK, &[("flash.read", "8us"), ("link.bandwidth", "100MB/s")]);
    let result = structure_of(made_in_order(RUNS_OF_TWO, &short));
    assert_found(&result, 6, Some(2));
}

/// All wait for one bus, but those on the die of the written page.
#[test]
fn single_bus_is_waited_for_by_all_other_dies() {
    let single = with(&SLOW_LINK, &[("channels", "1"), ("packages", "4"), ("blocks", "800")]);
    let result = structure_of(made(&single));
    assert_right_or_open(&result, Feature::InterleavingDegree, &[1, 4]);
    assert_ne!(result.finding(Feature::InterleavingDegree).unwrap().status, Status::NotDetermined);
}

/// Array time and transfer are not told apart, and programs are suspended for reads.
#[test]
fn pages_of_one_sector_show_their_channels() {
    let sectors = [
        ("sector", "4096B"),
        ("flash.suspend", "5us"),
        ("scheduling.policy", "read-first"),
        ("flash.cache_mode", "true"),
    ];
    let result = structure_of(made(&sectors));
    assert_eq!(number(&result, Feature::InterleavingDegree), Some(6), "{:#?}", result.findings);
}

#[test]
fn single_die_needs_no_chunk() {
    let one =
        [("channels", "1"), ("packages", "1"), ("planes", "1"), ("capacity", "128MiB"), ("blocks", "700")];
    for cache_mode in ["false", "true"] {
        let result = structure_of(made(&with(&one, &[("flash.cache_mode", cache_mode)])));
        assert_found(&result, 1, Some(1));
        assert!(result.finding(Feature::ChunkSize).unwrap().is_hidden());
    }
    let two = structure_of(made(&with(&one, &[("packages", "2"), ("blocks", "350"), ("chunk", "4KiB")])));
    assert_right_or_open(&two, Feature::SubDomains, &[2, 1]);
    assert_ne!(
        number(&two, Feature::InterleavingDegree).zip(number(&two, Feature::SubDomains)),
        Some((1, 1))
    );
}

#[test]
fn dies_of_a_prime_number_share_no_bus_or_one() {
    let prime = with(
        &SLOW_LINK,
        &[("channels", "5"), ("packages", "1"), ("blocks", "700"), ("link.read_command", "16us")],
    );
    assert_found(&structure_of(made(&prime)), 5, Some(1));
}

#[test]
fn one_die_per_channel_is_seen_one_request_at_a_time() {
    let one_each = [("depth", "1"), ("packages", "1"), ("blocks", "600"), ("bus", "60MB/s")];
    assert_found(&structure_of(made(&one_each)), 6, Some(1));
}

/// With cache mode a page takes longer on the bus than its array, so that a shared bus looks like a shared die.
#[test]
fn busy_buses_are_seen_one_request_at_a_time() {
    let busy = [("depth", "1"), ("flash.cache_mode", "true"), ("bus", "40MB/s"), ("flash.read", "5us")];
    for order in [RUNS_OF_TWO, r#"["channel", "package", "die", "plane"]"#] {
        let result = structure_of(made_in_order(order, &busy));
        assert_eq!(number(&result, Feature::InterleavingDegree), Some(6), "{:#?}", result.findings);
        assert_right_or_open(&result, Feature::SubDomains, &[2]);
    }
}

/// The arrays of a die take longer for a chunk than a bus for seven, and its planes are read at once: the one step that
/// reads of 26 chunks show is that of a second plane.
#[test]
fn second_planes_behind_slow_arrays_show_no_channels() {
    let result = structure_of(drive_of(include_str!("drives/planes-behind-slow-arrays.toml"), 1));
    assert_right_or_open(&result, Feature::InterleavingDegree, &[12]);
}

/// Of two dies on a channel a read waits for the transfer to the other one only. By the addresses, which follow their
/// turns at some distance, most of those that wait lie sixteen chunks apart.
#[test]
fn waits_that_a_pattern_leaves_unexplained_refute_it() {
    for seed in [1, 2] {
        let result = structure_of(drive_of(include_str!("drives/two-dies-per-channel.toml"), seed));
        assert_right_or_open(&result, Feature::InterleavingDegree, &[8]);
    }
}

/// A buffer has read the rest of both pages before it programs them, so that one transfer is over when the second page
/// comes.
#[test]
fn pages_that_a_buffer_has_read_refute_no_channels() {
    for seed in [1, 5] {
        let result = structure_of(drive_of(include_str!("drives/dies-behind-a-buffer.toml"), seed));
        assert_right_or_open(&result, Feature::InterleavingDegree, &[12]);
        assert_right_or_open(&result, Feature::SubDomains, &[3, 6]);
    }
}
