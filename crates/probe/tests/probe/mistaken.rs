//! Drives on which the probe was once wrong, each with the evidence that told the truth.

use crate::known::made_with_seed;
use crate::{assert_right_or_open, number, structure_of};
use flashlane_probe::Feature;

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
