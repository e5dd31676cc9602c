//! Drives on which the probe was once wrong, each with the evidence that told the truth.

use crate::known::{made_of, made_with_seed};
use crate::{assert_right_or_open, drive_of, number, structure_of};
use flashlane_probe::{Feature, ProbeResult};

const CHANNELS_FIRST: &str = r#"["channel", "package", "die", "plane"]"#;

/// Pairs on one of eight channels wait for a sector's transfer, which is longer than an array time. A cache answers
/// reads across the few boundaries of chunks, so that the time of such a pair seems to be longer by both.
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

/// The area ends with the fourth plane of the first dies, and others follow behind it.
#[test]
fn dies_behind_the_area_are_looked_for() {
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
    assert_right_or_open(&result, Feature::SubDomains, &[6]);
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

/// The link takes as long for ten chunks as a bus for one, so that reads rise with each chunk as those on ten channels
/// would.
#[test]
fn link_as_fast_as_ten_buses_shows_no_channels() {
    for seed in 1..=3 {
        let result = structure_of(drive_of(TWENTY_CHANNELS, seed));
        assert_right_or_open(&result, Feature::InterleavingDegree, &[20]);
    }
}

/// One request at a time, the second of two writes to a buffer begins when most of the first one's transfers are over.
#[test]
fn writes_that_begin_late_refute_no_channels() {
    let result = structure_of(drive_of(TWO_CHANNELS, 1));
    assert_right_or_open(&result, Feature::InterleavingDegree, &[2]);
    assert_right_or_open(&result, Feature::SubDomains, &[3]);
}

/// A link slower than the bus hides the wait for a channel, of which there are two, in an order that visits packages
/// first: pairs between those on a die differ, at no regular distance.
#[test]
fn channels_between_collisions_are_no_domains_of_one_die() {
    let result = structure_of(drive_of(PACKAGES_BEFORE_CHANNELS, 168));
    assert_right_or_open(&result, Feature::InterleavingDegree, &[2]);
    assert_right_or_open(&result, Feature::SubDomains, &[12]);
}

/// The command of a write takes longer than both transfers of a page, so that no write waits for the one before.
#[test]
fn writes_behind_a_long_command_refute_no_channels() {
    let result = structure_of(drive_of(LONG_WRITE_COMMAND, 273));
    assert_right_or_open(&result, Feature::InterleavingDegree, &[2]);
    assert_right_or_open(&result, Feature::SubDomains, &[10]);
}

/// Reads beside writes differ by the rounding of their times.
#[test]
fn wait_of_no_time_is_no_bus() {
    let result = structure_of(drive_of(SIXTEEN_CHANNELS, 591));
    assert_right_or_open(&result, Feature::InterleavingDegree, &[16]);
    assert_right_or_open(&result, Feature::SubDomains, &[1]);
}

/// Single pages of streams, and whole streams, are in a buffer that keeps what is read: these are fast, and leave
/// others to be followed.
#[test]
fn streams_in_a_buffer_are_not_followed() {
    for seed in [1, 2] {
        let result = structure_of(drive_of(include_str!("drives/streams-beside-cached-pages.toml"), seed));
        assert_right_or_open(&result, Feature::ReadaheadStreams, &[20]);
        let result = structure_of(drive_of(include_str!("drives/streams-beside-cached-streams.toml"), seed));
        assert_right_or_open(&result, Feature::ReadaheadStreams, &[16]);
    }
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

/// Two dies behind the planes of a channel: sectors on one die wait for an array, pages for the bus only, which takes
/// longer.
#[test]
fn pairs_of_two_kinds_show_no_single_die() {
    let settings = "capacity 823525376B, sector 512B, initial.state full, host.submission 17122ns, host.jitter 2.79%, \
     link.bandwidth 4895227483B/s, link.read_command 184ns, link.write_command 184ns, link.depth 16, \
     link.duplex false, link.read_write_exclusion false, mapping.policy lba, mapping.chunk 131072B, \
     cleaning.low 3%, flash.channels 28, flash.packages 2, flash.dies 1, flash.planes 3, flash.blocks 32, \
     flash.pages 16, flash.page 16384B, flash.read 21531ns, flash.program 1219121ns, flash.erase 2ms, \
     flash.bus 171496291B/s, flash.noise 4.18%, flash.cache_mode true, flash.multi_plane false, \
     flash.suspend 5us, scheduling.policy read-first, buffer.policy lru, buffer.size 262144B, \
     buffer.placement above";
    for seed in 1..=3 {
        let result = structure_of(made_of(r#"["channel", "die", "plane", "package"]"#, settings, seed));
        assert_right_or_open(&result, Feature::SubDomains, &[2]);
    }
}

/// Readahead holds the pages that are read for reference, whose time shows no transfer: a bus slower than a program
/// passed for one.
#[test]
fn reads_from_memory_are_no_reference_for_programs() {
    let settings = "capacity 4469489664B, sector 4096B, initial.state full, host.submission 10000ns, host.jitter 0.12%, \
     link.bandwidth 2986124165B/s, link.read_command 993ns, link.write_command 993ns, link.depth 4471, \
     link.duplex true, link.read_write_exclusion false, mapping.policy write-order, mapping.chunk 49152B, \
     cleaning.low 3%, flash.channels 4, flash.packages 2, flash.dies 4, flash.planes 1, flash.blocks 50, \
     flash.pages 256, flash.page 16384B, flash.read 99507ns, flash.program 190044ns, flash.erase 2ms, \
     flash.bus 58955218B/s, flash.noise 5.29%, flash.cache_mode true, flash.multi_plane true, \
     readahead.window 65536B, readahead.cache 4194304B, buffer.policy lru, buffer.size 4292608B, \
     buffer.placement above";
    for seed in 1..=3 {
        let result = structure_of(made_of(r#"["die", "channel", "plane", "package"]"#, settings, seed));
        assert_right_or_open(&result, Feature::ChunkSize, &[49_152]);
        assert_right_or_open(&result, Feature::SubDomains, &[8]);
    }
}

/// Writes reach a second die before the buffer is full, and flash keeps pace with those in order of addresses.
#[test]
fn pages_that_further_dies_take_leave_the_buffer_open() {
    let settings = "capacity 2232745984B, sector 512B, initial.state full, host.submission 32012ns, host.jitter 4.88%, \
     link.bandwidth 4134033072B/s, link.read_command 6541ns, link.write_command 6541ns, link.depth 5, \
     link.duplex true, link.read_write_exclusion false, mapping.policy lba, mapping.chunk 16384B, \
     cleaning.low 3%, flash.channels 10, flash.packages 2, flash.dies 3, flash.planes 4, flash.blocks 11, \
     flash.pages 256, flash.page 16384B, flash.read 5320ns, flash.program 156403ns, flash.erase 2ms, \
     flash.bus 696336172B/s, flash.noise 9.39%, flash.cache_mode true, flash.multi_plane true, \
     buffer.policy cflru, buffer.size 3194880B, buffer.placement above";
    for seed in 1..=3 {
        let result = structure_of(made_of(r#"["plane", "package", "die", "channel"]"#, settings, seed));
        assert_buffer(&result, 3_194_880);
    }
}

/// A full buffer writes to one die at a time, one that fills to many, so that flash took more pages before it was full.
#[test]
fn pages_that_flash_took_faster_leave_the_buffer_open() {
    let settings = "capacity 2391408640B, sector 512B, initial.state full, host.submission 1154ns, host.jitter 9.63%, \
     link.bandwidth 905778564B/s, link.read_command 449ns, link.write_command 449ns, link.depth 5100, \
     link.duplex true, link.read_write_exclusion false, mapping.policy lba, mapping.chunk 458752B, \
     cleaning.low 3%, flash.channels 16, flash.packages 1, flash.dies 4, flash.planes 4, flash.blocks 11, \
     flash.pages 256, flash.page 16384B, flash.read 19223ns, flash.program 638239ns, flash.erase 2ms, \
     flash.bus 213616389B/s, flash.noise 9.04%, flash.cache_mode true, flash.multi_plane false, \
     readahead.window 65536B, readahead.cache 917504B, buffer.policy cflru, buffer.size 59080704B, \
     buffer.placement above";
    for seed in 1..=2 {
        let result = structure_of(made_of(CHANNELS_FIRST, settings, seed));
        assert_buffer(&result, 59_080_704);
    }
}

/// Flash takes pages faster until garbage collection begins, which two measurements at a slower pace differ by.
#[test]
fn noise_of_slower_writes_leaves_the_buffer_open() {
    let settings = "capacity 965083136B, sector 4096B, initial.state fragmented, host.submission 2223ns, \
     host.jitter 7.00%, link.bandwidth 5408524998B/s, link.read_command 6342ns, link.write_command 6342ns, \
     link.depth 5, link.duplex true, link.read_write_exclusion false, mapping.policy write-order, \
     mapping.chunk 16384B, cleaning.low 3%, flash.channels 20, flash.packages 1, flash.dies 1, \
     flash.planes 3, flash.blocks 28, flash.pages 64, flash.page 16384B, flash.read 22718ns, \
     flash.program 588048ns, flash.erase 2ms, flash.bus 483227947B/s, flash.noise 3.33%, \
     flash.cache_mode false, flash.multi_plane false, readahead.window 65536B, readahead.cache 3407872B, \
     buffer.policy fifo, buffer.size 8667136B, buffer.placement above";
    for seed in 1..=3 {
        let result = structure_of(made_of(CHANNELS_FIRST, settings, seed));
        assert_buffer(&result, 8_667_136);
    }
}

/// Programs vary by a thousandth of their time, so that the second sector of a write on the link shows, and passed for
/// a second program.
#[test]
fn sector_on_the_link_is_no_second_program() {
    let settings = "capacity 1353449472B, sector 4096B, initial.state full, host.submission 7633ns, host.jitter 5.35%, \
     link.bandwidth 258095746B/s, link.read_command 1407ns, link.write_command 1407ns, link.depth 8665, \
     link.duplex true, link.read_write_exclusion true, mapping.policy write-order, mapping.chunk 524288B, \
     cleaning.low 3%, flash.channels 3, flash.packages 4, flash.dies 1, flash.planes 1, flash.blocks 277, \
     flash.pages 32, flash.page 16384B, flash.read 4778ns, flash.program 331783ns, flash.erase 2ms, \
     flash.bus 1326726004B/s, flash.noise 0.09%, flash.cache_mode false, flash.multi_plane false, \
     flash.suspend 5us, scheduling.policy read-first, readahead.window 65536B, readahead.cache 3932160B, \
     readahead.options.streams 29, readahead.options.trigger 2";
    let result = structure_of(made_of(r#"["package", "plane", "die", "channel"]"#, settings, 1));
    assert_eq!(number(&result, Feature::PageSize), Some(16_384), "{:#?}", result.findings);
    assert_eq!(number(&result, Feature::ChunkSize), Some(524_288), "{:#?}", result.findings);
}

/// Garbage collection lets flash take two or forty pages in the time in which the buffer fills, and more at first.
#[test]
fn rate_that_varies_leaves_the_buffer_open() {
    let settings = "capacity 6229590016B, sector 4096B, initial.state fragmented, host.submission 10744ns, \
     host.jitter 9.10%, link.bandwidth 541629050B/s, link.read_command 2671ns, link.write_command 2671ns, \
     link.depth 1439, link.duplex false, link.read_write_exclusion true, mapping.policy write-order, \
     mapping.chunk 16384B, cleaning.low 3%, flash.channels 1, flash.packages 4, flash.dies 2, \
     flash.planes 4, flash.blocks 937, flash.pages 32, flash.page 8192B, flash.read 15102ns, \
     flash.program 140070ns, flash.erase 2ms, flash.bus 313696458B/s, flash.noise 7.63%, \
     flash.cache_mode true, flash.multi_plane false, readahead.window 65536B, readahead.cache 393216B, \
     readahead.options.streams 2, readahead.options.trigger 2, buffer.policy lru, buffer.size 1163264B, \
     buffer.placement above";
    for seed in 1..=2 {
        let result = structure_of(made_of(r#"["package", "plane", "die", "channel"]"#, settings, seed));
        assert_buffer(&result, 1_163_264);
    }
}

/// Three writes at a time end together, and the next ones begin only then.
#[test]
fn writes_in_turns_are_not_taken_for_a_full_buffer() {
    let settings = "capacity 1513881600B, sector 512B, initial.state fresh, host.submission 49743ns, host.jitter 0.04%, \
     link.bandwidth 1204822585B/s, link.read_command 942ns, link.write_command 942ns, link.depth 3, \
     link.duplex true, link.read_write_exclusion true, mapping.policy write-order, mapping.chunk 65536B, \
     cleaning.low 3%, flash.channels 10, flash.packages 8, flash.dies 1, flash.planes 1, flash.blocks 369, \
     flash.pages 32, flash.page 2048B, flash.read 24944ns, flash.program 130143ns, flash.erase 2ms, \
     flash.bus 1141955947B/s, flash.noise 0.94%, flash.cache_mode true, flash.multi_plane true, \
     readahead.window 65536B, readahead.cache 3145728B, readahead.options.streams 23, \
     readahead.options.trigger 4, buffer.policy parallel, buffer.size 17264640B, buffer.placement below";
    for seed in 1..=2 {
        let result = structure_of(made_of(r#"["package", "die", "channel", "plane"]"#, settings, seed));
        assert_buffer(&result, 17_264_640);
    }
}

/// The size of a buffer is right within a tenth, or not determined.
fn assert_buffer(result: &ProbeResult, bytes: u64) {
    let found = number(result, Feature::WriteBuffer).map(|found| found as f64 / bytes as f64);
    assert!(found.is_none_or(|share| (share - 1.0).abs() < 0.1), "{:#?}", result.findings);
}

const PACKAGES_BEFORE_CHANNELS: &str = r#"
name = "drawn"
capacity = "772612096B"
sector = "512B"
initial.state = "full"
[host]
submission = "0ns"
[link]
bandwidth = "752360773B/s"
duplex = true
read_command = "218ns"
write_command = "322ns"
depth = 32
[mapping]
policy = "write-order"
chunk = "16384B"
order = ["package", "channel", "die", "plane"]
[cleaning]
policy = "greedy"
low = "3%"
[wear]
policy = "static"
[scheduling]
policy = "read-first"
[flash]
channels = 2
packages = 6
dies = 2
planes = 1
blocks = 75
pages = 128
page = "4096B"
read = "23264ns"
program = "424096ns"
erase = "1146298ns"
bus = "1374069683B/s"
"#;

const LONG_WRITE_COMMAND: &str = r#"
name = "drawn"
capacity = "5303967744B"
sector = "512B"
initial.state = "full"
[host]
submission = "0ns"
[link]
bandwidth = "774258651B/s"
duplex = false
write_bandwidth = "558930830B/s"
read_command = "1848ns"
write_command = "9426ns"
page_command = "385ns"
depth = 32
[readahead]
window = "16384B"
cache = "16384B"
options = { streams = 1, trigger = 10 }
[mapping]
policy = "lba"
chunk = "12288B"
order = ["package", "plane", "die", "channel"]
[cleaning]
policy = "greedy"
pacing = "proportional"
[wear]
policy = "dynamic"
[scheduling]
policy = "read-first"
[flash]
channels = 2
packages = 5
dies = 2
planes = 3
blocks = 134
pages = 256
page = "4096B"
read = "24261ns"
program = "944470ns"
erase = "3537907ns"
bus = "1577336980B/s"
cache_mode = true
"#;

const SIXTEEN_CHANNELS: &str = r#"
name = "drawn"
capacity = "1801244672B"
sector = "4096B"
initial.state = "full"
[host]
submission = "3936ns"
completion = "392ns"
[link]
bandwidth = "856737525B/s"
duplex = true
write_bandwidth = "534148625B/s"
read_command = "289ns"
write_command = "231ns"
depth = 32
[mapping]
policy = "lba"
chunk = "65536B"
order = ["channel", "plane", "package", "die"]
[cleaning]
policy = "greedy"
low = "6%"
pacing = "proportional"
separate = true
[wear]
policy = "static"
[scheduling]
policy = "fifo"
[flash]
channels = 16
packages = 1
dies = 1
planes = 1
blocks = 180
pages = 192
page = "4096B"
read = "53815ns"
program = "730897ns"
erase = "4586211ns"
bus = "158931462B/s"
suspend = "1053ns"
copyback = true
"#;
