//! Drives that hide their dies from reads and from two requests at once.

use crate::known::{made, made_of};
use crate::{number, structure_of};
use flashlane_probe::Feature;

const CHANNELS_FIRST: &str = r#"["channel", "package", "die", "plane"]"#;

/// One request at a time, and addresses place pages: reads of many chunks show the channels, writes of many chunks the
/// dies.
#[test]
fn writes_of_many_chunks_show_dies_one_request_at_a_time() {
    for planes in ["1", "2"] {
        let blocks = if planes == "1" { "512" } else { "256" };
        let overrides = [
            ("depth", "1"),
            ("mapping.policy", "lba"),
            ("channels", "3"),
            ("packages", "4"),
            ("planes", planes),
            ("blocks", blocks),
            ("link.bandwidth", "3GB/s"),
            ("bus", "60MB/s"),
        ];
        let result = structure_of(made(&overrides));
        assert_eq!(number(&result, Feature::InterleavingDegree), Some(3), "{:#?}", result.findings);
        assert_eq!(number(&result, Feature::SubDomains), Some(4), "{:#?}", result.findings);
        let evidence = &result.finding(Feature::SubDomains).unwrap().evidence;
        assert!(evidence.contains("writes of several chunks"), "{evidence}");
    }
}

/// The pages that are written in turn begin at the same place of the stripe each time, so that addresses and turns are
/// alike.
#[test]
fn dies_are_found_where_addresses_and_turns_are_alike() {
    let settings = "capacity 2531917824B, sector 512B, initial.state fragmented, host.submission 2454ns, \
     host.jitter 9.57%, link.bandwidth 5048694972B/s, link.read_command 101ns, link.write_command 101ns, \
     link.depth 7, link.duplex false, link.read_write_exclusion false, mapping.policy write-order, \
     mapping.chunk 8192B, cleaning.low 3%, flash.channels 1, flash.packages 2, flash.dies 3, \
     flash.planes 4, flash.blocks 4033, flash.pages 16, flash.page 2048B, flash.read 48275ns, \
     flash.program 798819ns, flash.erase 2ms, flash.bus 150058875B/s, flash.noise 3.53%, \
     flash.cache_mode true, flash.multi_plane true";
    let result = structure_of(made_of(r#"["die", "plane", "channel", "package"]"#, settings, 1));
    assert_eq!(number(&result, Feature::SubDomains).map(|found| [1, 4, 6, 24].contains(&found)), Some(true));
}

/// One request at a time: pairs on a die take 3 µs longer than those on a channel, and these 8 µs longer than others.
#[test]
fn dies_that_add_little_to_a_bus_are_found_one_request_at_a_time() {
    let settings = "capacity 549978112B, sector 512B, initial.state fragmented, host.submission 1402ns, \
     host.jitter 5.99%, link.bandwidth 297880142B/s, link.read_command 3012ns, link.write_command 3012ns, \
     link.depth 1, link.duplex false, link.read_write_exclusion false, mapping.policy write-order, \
     mapping.chunk 32768B, cleaning.low 3%, flash.channels 6, flash.packages 1, flash.dies 3, \
     flash.planes 1, flash.blocks 154, flash.pages 32, flash.page 8192B, flash.read 3254ns, \
     flash.program 551404ns, flash.erase 2ms, flash.bus 40085350B/s, flash.noise 3.59%, \
     flash.cache_mode false, flash.multi_plane true, flash.suspend 5us, scheduling.policy read-first, \
     readahead.window 65536B, readahead.cache 1179648B, buffer.policy cflru, buffer.size 25968640B, \
     buffer.placement above";
    let result = structure_of(made_of(CHANNELS_FIRST, settings, 1));
    assert_eq!(number(&result, Feature::SubDomains), Some(3), "{:#?}", result.findings);
}

/// Fewer chunks than two turns of the dies lie in the area, but the order of writes goes on for any number of turns.
#[test]
fn dies_of_few_turns_are_found_in_the_order_of_writes() {
    let settings = "capacity 167837696B, sector 512B, initial.state fresh, host.submission 14119ns, host.jitter 5.54%, \
     link.bandwidth 886860376B/s, link.read_command 1961ns, link.write_command 1961ns, link.depth 2097, \
     link.duplex true, link.read_write_exclusion false, mapping.policy write-order, mapping.chunk 262144B, \
     cleaning.low 3%, flash.channels 28, flash.packages 8, flash.dies 2, flash.planes 3, flash.blocks 9, \
     flash.pages 256, flash.page 16384B, flash.read 41914ns, flash.program 872581ns, flash.erase 2ms, \
     flash.bus 641285003B/s, flash.noise 1.75%, flash.cache_mode true, flash.multi_plane false, \
     buffer.policy lru, buffer.size 376832B, buffer.placement above";
    let result = structure_of(made_of(CHANNELS_FIRST, settings, 1));
    assert_eq!(number(&result, Feature::SubDomains), Some(16), "{:#?}", result.findings);
}

/// A page is one sector, whose time on a bus is not known.
#[test]
fn channels_of_known_dies_are_found_by_pages_of_one_sector() {
    let settings = "capacity 2701328384B, sector 4096B, initial.state fragmented, host.submission 3735ns, \
     host.jitter 5.42%, link.bandwidth 337587591B/s, link.read_command 1889ns, link.write_command 1889ns, \
     link.depth 360, link.duplex true, link.read_write_exclusion true, mapping.policy lba, \
     mapping.chunk 4096B, cleaning.low 3%, flash.channels 16, flash.packages 1, flash.dies 3, \
     flash.planes 1, flash.blocks 277, flash.pages 64, flash.page 4096B, flash.read 44056ns, \
     flash.program 1480409ns, flash.erase 2ms, flash.bus 283224751B/s, flash.noise 0.47%, \
     flash.cache_mode false, flash.multi_plane false, buffer.policy fifo, buffer.size 48537600B, \
     buffer.placement above";
    let result = structure_of(made_of(CHANNELS_FIRST, settings, 1));
    assert_eq!(number(&result, Feature::InterleavingDegree), Some(16), "{:#?}", result.findings);
    assert_eq!(number(&result, Feature::SubDomains), Some(3), "{:#?}", result.findings);
}

/// Reads suspend programs and wait for none; each delays the program by its array time.
#[test]
fn reads_that_suspend_programs_show_dies() {
    let settings = "capacity 308019200B, sector 512B, initial.state fresh, host.submission 2450ns, host.jitter 4.26%, \
     link.bandwidth 760191948B/s, link.read_command 223ns, link.write_command 223ns, link.depth 5544, \
     link.duplex false, link.read_write_exclusion false, mapping.policy write-order, \
     mapping.chunk 688128B, cleaning.low 3%, flash.channels 24, flash.packages 2, flash.dies 3, \
     flash.planes 2, flash.blocks 9, flash.pages 128, flash.page 16384B, flash.read 25us, \
     flash.program 717613ns, flash.erase 2ms, flash.bus 182243525B/s, flash.noise 3%, \
     flash.cache_mode true, flash.multi_plane false, flash.suspend 5us, scheduling.policy read-first, \
     buffer.policy cflru, buffer.size 262144B, buffer.placement above";
    let result = structure_of(made_of(CHANNELS_FIRST, settings, 1));
    assert_eq!(number(&result, Feature::SubDomains), Some(6), "{:#?}", result.findings);
    let evidence = &result.finding(Feature::SubDomains).unwrap().evidence;
    assert!(evidence.contains("suspend"), "{evidence}");
}
