//! The reclaim unit on drives whose erases other experiments do not see.

use crate::known::MADE;
use crate::options;
use flashlane_base::Seed;
use flashlane_probe::{Effort, Feature, Options, ProbeResult, probe};
use flashlane_sim::{Drive, profile};

/// Probes a drive with these settings at full effort. `more` are sections of its profile.
fn probed(state: &str, settings: &[(&str, &str)], more: &str) -> ProbeResult {
    let text = format!("sector = \"512B\"\n{MADE}[initial]\nstate = \"{state}\"\n{more}");
    let settings: Vec<(String, String)> =
        settings.iter().map(|&(key, value)| (key.into(), value.into())).collect();
    let mut drive = Drive::new(&profile::parse("made", &text, &settings).unwrap(), Seed(1));
    let options = Options { structure_only: true, ..options(Effort::Full, 1) };
    probe(&mut drive, options).unwrap()
}

fn assert_unit(result: &ProbeResult, bytes: u64) {
    let finding = result.finding(Feature::ReclaimUnit).unwrap();
    assert_eq!(finding.number(), Some(bytes), "{finding:?}");
}

const SUSPEND: &str = "[scheduling]\npolicy = \"read-first\"\n";

/// Whether a write waits for the erase, or it ends before the next operation on the die.
#[test]
fn erases_are_seen_whenever_they_run() {
    let small = [("capacity", "128MiB"), ("chunk", "4KiB"), ("channels", "4"), ("planes", "1")];
    for (state, defer) in [("fresh", "until-next-operation"), ("full", "no")] {
        let settings: Vec<_> =
            small.into_iter().chain([("blocks", "84"), ("cleaning.defer", defer)]).collect();
        assert_unit(&probed(state, &settings, ""), 64 * 4096);
    }
}

/// Many dies, of which each has long erased when its turn comes, and reads suspend erases.
#[test]
fn erases_of_many_dies_are_seen() {
    let settings = [
        ("capacity", "160MiB"),
        ("channels", "24"),
        ("packages", "1"),
        ("dies", "3"),
        ("planes", "1"),
        ("flash.pages", "16"),
        ("blocks", "96"),
        ("flash.page", "2KiB"),
        ("mapping.chunk", "4KiB"),
        ("flash.suspend", "5us"),
    ];
    assert_unit(&probed("fresh", &settings, SUSPEND), 16 * 2048);
    // Where the dies are not found.
    let settings: Vec<_> = settings.into_iter().chain([("link.depth", "1")]).collect();
    assert_unit(&probed("fresh", &settings, SUSPEND), 16 * 2048);
}

/// The period of a channel's pauses was that of eight planes.
#[test]
fn planes_of_a_channel_are_not_one_unit() {
    let settings = [
        ("capacity", "128MiB"),
        ("policy", "lba"),
        ("channels", "4"),
        ("packages", "1"),
        ("dies", "4"),
        ("planes", "2"),
        ("flash.pages", "32"),
        ("blocks", "18"),
        ("flash.page", "16KiB"),
        ("mapping.chunk", "64KiB"),
        ("flash.bus", "58MB/s"),
        ("flash.read", "5362ns"),
        ("flash.program", "696us"),
        ("cache_mode", "true"),
        ("multi_plane", "true"),
    ];
    assert_unit(&probed("full", &settings, ""), 32 * 16384);
}

/// Before the trim, GC moves some pages into each block that it erases.
#[test]
fn pages_that_gc_moves_do_not_shorten_the_unit() {
    let settings = [
        ("capacity", "160MiB"),
        ("policy", "lba"),
        ("channels", "2"),
        ("packages", "2"),
        ("planes", "4"),
        ("flash.pages", "16"),
        ("blocks", "200"),
        ("mapping.chunk", "28KiB"),
    ];
    assert_unit(&probed("fragmented", &settings, ""), 16 * 4096);
}
