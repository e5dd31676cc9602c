//! Drives unlike those that the probe was made with: chunks that do not divide the distance of the experiment's places,
//! and stripes in another order than channels first.

use crate::known::{assert_layout, made, made_in_order, made_with_seed};
use crate::{assert_right_or_open, drive_of, number, structure_of};
use flashlane_probe::{Feature, Status};

/// Erase blocks of 1 MiB.
const LARGE_BLOCKS: [(&str, &str); 2] = [("pages", "256"), ("blocks", "80")];

const CHANNELS_FIRST: &str = r#"["channel", "package", "die", "plane"]"#;
const ANY_ORDER: [&str; 4] = [
    r#"["package", "channel", "die", "plane"]"#,
    r#"["package", "plane", "channel", "die"]"#,
    r#"["channel", "plane", "package", "die"]"#,
    r#"["package", "plane", "die", "channel"]"#,
];

#[test]
fn chunks_that_do_not_divide_the_step_are_found() {
    for chunk_kib in [28, 144, 512, 1024] {
        let chunk = format!("{chunk_kib}KiB");
        let overrides: Vec<_> = LARGE_BLOCKS.into_iter().chain([("chunk", chunk.as_str())]).collect();
        let result = structure_of(made(&overrides));
        assert_eq!(number(&result, Feature::ChunkSize), Some(chunk_kib * 1024), "{:#?}", result.findings);
    }
}

#[test]
fn area_of_few_chunks_is_probed() {
    let few = [("capacity", "64MiB"), ("chunk", "1MiB"), ("pages", "256"), ("blocks", "12")];
    let result = structure_of(made(&few));
    assert_eq!(number(&result, Feature::ChunkSize), Some(1 << 20), "{:#?}", result.findings);
}

#[test]
fn channels_and_dies_are_found_in_any_order() {
    for order in ANY_ORDER {
        assert_layout(&structure_of(made_in_order(order, &[])), 16384, 6, 2, "write-order");
    }
    let by_address = made_in_order(ANY_ORDER[0], &[BY_ADDRESS]);
    assert_layout(&structure_of(by_address), 16384, 6, 2, "lba");
}

#[test]
fn more_dies_than_distances_of_the_first_search_are_found() {
    let many = [("packages", "8"), ("dies", "4"), ("planes", "1"), ("blocks", "32"), ("chunk", "4KiB")];
    let result = structure_of(made(&many));
    assert_eq!(number(&result, Feature::InterleavingDegree), Some(6), "{:#?}", result.findings);
    assert_eq!(number(&result, Feature::SubDomains), Some(32), "{:#?}", result.findings);
    assert_ne!(result.finding(Feature::MappingPolicy).unwrap().status, Status::NotDetermined);
}

/// Across two dies of one channel a pair saves an array time only, which is short beside a transfer.
#[test]
fn dies_of_a_channel_are_chunks_on_a_slow_bus() {
    let overrides = [("sector", "4096B"), ("flash.read", "12us"), ("bus", "60MB/s"), ("noise", "1%")];
    let result = structure_of(made_in_order(ANY_ORDER[0], &overrides));
    assert_eq!(number(&result, Feature::ChunkSize), Some(16384), "{:#?}", result.findings);
    assert_right_or_open(&result, Feature::InterleavingDegree, &[6]);
    assert_right_or_open(&result, Feature::SubDomains, &[2]);
}

/// With cache mode a bus slower than the array hides it, so that the dies of a channel are one domain.
#[test]
fn hidden_array_times_show_no_chunk() {
    let overrides = [("flash.cache_mode", "true"), ("flash.read", "5us"), ("bus", "57MB/s"), ("noise", "6%")];
    let result = structure_of(made_in_order(ANY_ORDER[1], &overrides));
    assert_right_or_open(&result, Feature::ChunkSize, &[16384]);
}

#[test]
fn one_request_at_a_time_shows_chunk_page_and_mapping() {
    for (chunk, bytes) in [("16KiB", 16384), ("12KiB", 12288), ("128KiB", 131_072)] {
        let result = structure_of(made(&[("depth", "1"), ("chunk", chunk)]));
        assert_layout(&result, bytes, 6, 2, "write-order");
        assert_eq!(number(&result, Feature::PageSize), Some(4096), "{:#?}", result.findings);
        // Pages cannot be placed at will where their addresses place them.
        let by_address = made(&[("depth", "1"), ("chunk", chunk), ("mapping.policy", "lba")]);
        let result = structure_of(by_address);
        assert_eq!(number(&result, Feature::ChunkSize), Some(bytes), "{:#?}", result.findings);
        assert_right_or_open(&result, Feature::InterleavingDegree, &[6]);
        let sub_domains = result.finding(Feature::SubDomains).unwrap();
        assert_eq!(sub_domains.status, Status::NotDetermined);
    }
    for policy in ["lba", "write-order"] {
        let result = structure_of(made(&[("depth", "1"), ("mapping.policy", policy)]));
        let mapping = result.finding(Feature::MappingPolicy).unwrap();
        assert_eq!(mapping.word(), Some(policy), "{mapping:?}");
    }
    // Each sector is a page: a transfer that overlaps another must not pass for an array time.
    let result = structure_of(made(&[("depth", "1"), ("sector", "4096B"), ("flash.cache_mode", "true")]));
    assert_eq!(number(&result, Feature::ChunkSize), Some(16384), "{:#?}", result.findings);
    assert_eq!(number(&result, Feature::PageSize), Some(4096), "{:#?}", result.findings);
}

/// A command takes longer on the link than the array and the bus, so reads show nothing.
#[test]
fn programs_show_what_the_link_hides_of_reads() {
    let hidden = [("flash.read", "3us"), ("read_command", "9us"), ("bus", "1GB/s"), ("noise", "5%")];
    for policy in ["lba", "write-order"] {
        for (chunk, bytes) in [("8KiB", 8192), ("28KiB", 28672), ("512KiB", 524_288)] {
            let overrides: Vec<_> = hidden
                .into_iter()
                .chain(LARGE_BLOCKS)
                .chain([("chunk", chunk), ("mapping.policy", policy)])
                .collect();
            let result = structure_of(made(&overrides));
            assert_eq!(number(&result, Feature::ChunkSize), Some(bytes), "{:#?}", result.findings);
            assert_eq!(number(&result, Feature::PageSize), Some(4096), "{:#?}", result.findings);
            let mapping = result.finding(Feature::MappingPolicy).unwrap();
            assert_eq!(mapping.word(), Some(policy), "{mapping:?}");
        }
    }
}

/// With cache mode the bus hides array times: pairs of reads on a die take as long as those on its channel.
#[test]
fn dies_that_a_bus_hides_are_found_beside_programs() {
    let hidden =
        [("sector", "4096B"), ("flash.cache_mode", "true"), ("flash.read", "8us"), ("bus", "200MB/s")];
    for policy in ["lba", "write-order"] {
        let overrides: Vec<_> = hidden.into_iter().chain([("mapping.policy", policy)]).collect();
        let result = structure_of(made(&overrides));
        assert_layout(&result, 16384, 6, 2, policy);
        let evidence = &result.finding(Feature::SubDomains).unwrap().evidence;
        assert!(evidence.contains("beside a program"), "{evidence}");
    }
}

/// The second die of a package is reached only after all planes of the first, farther than the first search reaches.
#[test]
fn dies_beyond_the_planes_are_not_missed() {
    let order = r#"["channel", "package", "plane", "die"]"#;
    let overrides = [
        ("dies", "2"),
        ("planes", "4"),
        ("chunk", "512KiB"),
        ("capacity", "216MiB"),
        ("pages", "128"),
        ("blocks", "40"),
    ];
    let result = structure_of(made_in_order(order, &overrides));
    assert_right_or_open(&result, Feature::InterleavingDegree, &[6]);
    assert_right_or_open(&result, Feature::SubDomains, &[4]);
}

#[test]
fn page_of_one_sector_is_found_by_writes() {
    let result = structure_of(made(&[("sector", "4096B")]));
    assert_eq!(number(&result, Feature::PageSize), Some(4096), "{:#?}", result.findings);
    assert_layout(&result, 16384, 6, 2, "write-order");
}

/// No two neighbouring pages share a die, so one request at a time never takes two array times or programs.
#[test]
fn chunk_of_one_page_is_found_one_request_at_a_time() {
    for page in ["4KiB", "8KiB", "16KiB"] {
        let bytes = page.strip_suffix("KiB").unwrap().parse::<u64>().unwrap() * 1024;
        let overrides = [("depth", "1"), ("flash.page", page), ("chunk", page), ("blocks", "320")];
        let result = structure_of(made(&overrides));
        assert_eq!(number(&result, Feature::PageSize), Some(bytes), "{:#?}", result.findings);
        assert_eq!(number(&result, Feature::ChunkSize), Some(bytes), "{:#?}", result.findings);
    }
    let smallest =
        [("sector", "4096B"), ("flash.page", "4KiB"), ("chunk", "4KiB"), ("flash.cache_mode", "true")];
    for order in ANY_ORDER {
        let result = structure_of(made_in_order(order, &smallest));
        assert_right_or_open(&result, Feature::ChunkSize, &[4096]);
        assert_right_or_open(&result, Feature::PageSize, &[4096]);
    }
}

/// With cache mode on a slow bus, reads show the ends of runs of chunks on a channel only.
#[test]
fn programs_refute_a_chunk_of_several_dies() {
    let overrides = [
        ("sector", "4096B"),
        ("flash.cache_mode", "true"),
        ("flash.read", "4us"),
        ("bus", "170MB/s"),
        ("flash.program", "1800us"),
    ];
    for order in ANY_ORDER {
        let result = structure_of(made_in_order(order, &overrides));
        assert_eq!(number(&result, Feature::ChunkSize), Some(16384), "{order}: {:#?}", result.findings);
    }
}

/// With cache mode the transfer of the next page hides a program: the dies of a channel look like one.
#[test]
fn programs_shorter_than_transfers_show_no_chunk() {
    let hidden = [("depth", "1"), ("flash.cache_mode", "true"), ("flash.program", "60us"), ("bus", "60MB/s")];
    let result = structure_of(made_in_order(ANY_ORDER[0], &hidden));
    assert_right_or_open(&result, Feature::ChunkSize, &[16384]);
    let mapping = result.finding(Feature::MappingPolicy).unwrap();
    assert!(mapping.word().is_none_or(|word| word == "write-order"), "{mapping:?}");
}

const BY_ADDRESS: (&str, &str) = ("mapping.policy", "lba");

/// Reads interrupt programs, and their commands take longer than a page on the bus of a channel: only writes show dies
/// and channels.
#[test]
fn writes_show_what_suspend_and_the_link_hide_of_reads() {
    let hidden = [
        ("flash.suspend", "5us"),
        ("scheduling.policy", "read-first"),
        ("flash.cache_mode", "true"),
        ("flash.read", "8us"),
        ("link.bandwidth", "240MB/s"),
        ("link.read_command", "16us"),
        ("bus", "300MB/s"),
        BY_ADDRESS,
    ];
    for order in [ANY_ORDER[0], ANY_ORDER[3]] {
        let result = structure_of(made_in_order(order, &hidden));
        assert_layout(&result, 16384, 6, 2, "lba");
        let evidence = &result.finding(Feature::SubDomains).unwrap().evidence;
        assert!(evidence.contains("pages written beside another"), "{evidence}");
    }
}

/// Two writes to a buffer drain at once, and a flush waits for both.
#[test]
fn buffer_shows_the_layout_one_request_at_a_time() {
    let buffered = [("depth", "1"), ("buffer.policy", "fifo"), ("buffer.size", "256KiB"), BY_ADDRESS];
    for (channels, degree, sub_domains) in [("6", 6, 2), ("1", 2, 1)] {
        let overrides: Vec<_> = buffered
            .into_iter()
            .chain([("channels", channels), ("bus", "40MB/s"), ("blocks", "2048")])
            .collect();
        assert_layout(&structure_of(made(&overrides)), 16384, degree, sub_domains, "lba");
    }
    // Where places follow from the order of writes, both pages are neighbours.
    let by_turn: Vec<_> = buffered.into_iter().chain([("mapping.policy", "write-order")]).collect();
    let result = structure_of(made(&by_turn));
    assert_right_or_open(&result, Feature::InterleavingDegree, &[6]);
    assert_right_or_open(&result, Feature::SubDomains, &[2]);
}

/// With cache mode a transfer hides the next program of two, and an array time.
#[test]
fn chunks_that_transfers_hide_are_found_beside_programs() {
    let hidden =
        [("flash.cache_mode", "true"), ("flash.read", "4us"), ("flash.program", "100us"), ("bus", "40MB/s")];
    for policy in ["lba", "write-order"] {
        for (chunk, bytes) in [("4KiB", 4096), ("28KiB", 28672)] {
            let overrides: Vec<_> =
                hidden.into_iter().chain([("chunk", chunk), ("mapping.policy", policy)]).collect();
            let result = structure_of(made(&overrides));
            assert_eq!(number(&result, Feature::ChunkSize), Some(bytes), "{:#?}", result.findings);
        }
    }
}

/// Single writes to all dies are on flash as soon as they arrive.
#[test]
fn buffer_that_flash_empties_as_fast_is_filled_by_large_writes() {
    for (policy, size_kib) in [("lba", 320), ("lba", 3000), ("write-order", 3000)] {
        let size = format!("{size_kib}KiB");
        let overrides = [
            ("mapping.policy", policy),
            ("depth", "2"),
            ("buffer.policy", "lru"),
            ("buffer.size", &size),
            ("flash.program", "150us"),
        ];
        let result = structure_of(made(&overrides));
        let found = number(&result, Feature::WriteBuffer).map(|bytes| bytes as f64 / 1024.0);
        let is_right = found.is_some_and(|found| (found / f64::from(size_kib) - 1.0).abs() < 0.1);
        assert!(is_right, "{policy}, {size}: {:#?}", result.findings);
    }
}

/// Two programs take longer than a program as it seems without the array time of a read.
#[test]
fn array_times_near_a_program_do_not_hide_dies() {
    let overrides = [
        BY_ADDRESS,
        ("flash.suspend", "5us"),
        ("scheduling.policy", "read-first"),
        ("flash.cache_mode", "true"),
        ("flash.read", "46us"),
        ("flash.program", "140us"),
        ("noise", "8%"),
        ("channels", "4"),
        ("blocks", "512"),
    ];
    let result = structure_of(made_in_order(r#"["plane", "channel", "die", "package"]"#, &overrides));
    assert_right_or_open(&result, Feature::InterleavingDegree, &[4]);
    assert_eq!(number(&result, Feature::SubDomains), Some(2), "{:#?}", result.findings);
}

/// Where the order of writes places pages, pairs of writes show nothing, and are followed by reads of chunks.
#[test]
fn pairs_of_writes_leave_chunks_where_they_were() {
    let overrides = [("flash.suspend", "5us"), ("scheduling.policy", "read-first")];
    assert_layout(&structure_of(made_in_order(ANY_ORDER[0], &overrides)), 16384, 6, 2, "write-order");
}

/// Commands and array times keep transfers of 1.7 µs apart: those on a channel seldom meet, and no wait is no evidence.
#[test]
fn transfers_that_seldom_meet_refute_no_channel() {
    let overrides = [
        BY_ADDRESS,
        ("submission", "5520ns"),
        ("jitter", "9.3%"),
        ("link.bandwidth", "2055MB/s"),
        ("read_command", "5268ns"),
        ("write_command", "5268ns"),
        ("chunk", "64KiB"),
        ("planes", "3"),
        ("flash.page", "2KiB"),
        ("pages", "128"),
        ("blocks", "160"),
        ("flash.read", "28us"),
        ("flash.program", "124us"),
        ("bus", "874MB/s"),
        ("noise", "9%"),
        ("flash.cache_mode", "true"),
        ("flash.suspend", "5us"),
        ("scheduling.policy", "read-first"),
    ];
    for seed in 1..=2 {
        let drive = made_with_seed(r#"["package", "channel", "die", "plane"]"#, &overrides, seed);
        let result = structure_of(drive);
        assert_right_or_open(&result, Feature::InterleavingDegree, &[6]);
        assert_right_or_open(&result, Feature::SubDomains, &[2]);
    }
}

/// Pages of 1, 2, 4 and 8 dies are flushed in the same time, in which the buffer becomes eight times as full.
#[test]
fn buffer_filled_die_by_die_is_not_taken_for_emptied() {
    let overrides = [
        BY_ADDRESS,
        ("capacity", "530MiB"),
        ("sector", "4096B"),
        ("link.depth", "11"),
        ("link.bandwidth", "1431MB/s"),
        ("link.duplex", "false"),
        ("write_command", "243ns"),
        ("channels", "10"),
        ("packages", "8"),
        ("dies", "3"),
        ("blocks", "31"),
        ("pages", "16"),
        ("flash.read", "4600ns"),
        ("flash.program", "1295us"),
        ("bus", "1069MB/s"),
        ("flash.cache_mode", "true"),
        ("flash.multi_plane", "true"),
        ("buffer.policy", "bplru"),
        ("buffer.size", "46MiB"),
    ];
    for seed in 1..=3 {
        let order = r#"["die", "package", "channel", "plane"]"#;
        let result = structure_of(made_with_seed(order, &overrides, seed));
        let found = number(&result, Feature::WriteBuffer).map(|bytes| bytes as f64 / f64::from(46 << 20));
        assert!(found.is_some_and(|share| (share - 1.0).abs() < 0.05), "{:#?}", result.findings);
    }
}

/// Reads interrupt programs, and some of them wait for a transfer of 290 µs: no neighbours wait, and those that do are
/// on no die.
#[test]
fn waits_for_transfers_show_no_chunk_of_one_page() {
    let overrides = [
        ("capacity", "220MiB"),
        ("initial.state", "fragmented"),
        ("submission", "21us"),
        ("jitter", "7%"),
        ("depth", "31"),
        ("link.bandwidth", "1575MB/s"),
        ("chunk", "1MiB"),
        ("channels", "1"),
        ("packages", "1"),
        ("dies", "2"),
        ("planes", "4"),
        ("blocks", "43"),
        ("pages", "64"),
        ("flash.page", "16KiB"),
        ("flash.read", "7604ns"),
        ("flash.program", "184us"),
        ("bus", "56MB/s"),
        ("noise", "4%"),
        ("flash.cache_mode", "true"),
        ("flash.multi_plane", "true"),
        ("flash.suspend", "5us"),
        ("scheduling.policy", "read-first"),
        ("buffer.policy", "bplru"),
        ("buffer.size", "256KiB"),
    ];
    for seed in 1..=4 {
        let result = structure_of(made_with_seed(CHANNELS_FIRST, &overrides, seed));
        assert_right_or_open(&result, Feature::ChunkSize, &[1 << 20]);
    }
}

/// A buffer that keeps what it wrote answers a third of the reads, whatever their dies do.
#[test]
fn reads_from_memory_do_not_hide_dies() {
    let overrides = [
        ("depth", "23"),
        ("read_command", "4400ns"),
        ("channels", "10"),
        ("packages", "2"),
        ("dies", "4"),
        ("planes", "1"),
        ("flash.page", "8KiB"),
        ("flash.read", "7us"),
        ("flash.program", "281us"),
        ("flash.cache_mode", "true"),
        ("buffer.policy", "cflru"),
        ("buffer.size", "52MiB"),
    ];
    assert_layout(&structure_of(made(&overrides)), 16384, 10, 8, "write-order");
}

/// Patterns that differ only by the place of a turn's first chunk predict the same for nearly all pairs.
#[test]
fn place_of_a_turn_does_not_hide_dies() {
    let overrides = [
        BY_ADDRESS,
        ("chunk", "64KiB"),
        ("channels", "10"),
        ("packages", "4"),
        ("dies", "3"),
        ("planes", "4"),
        ("blocks", "32"),
        ("flash.page", "16KiB"),
        ("flash.read", "4us"),
        ("read_command", "3us"),
        ("flash.program", "134us"),
        ("bus", "1200MB/s"),
        ("flash.cache_mode", "true"),
    ];
    let result = structure_of(made_in_order(r#"["die", "package", "plane", "channel"]"#, &overrides));
    assert_eq!(number(&result, Feature::SubDomains), Some(12), "{:#?}", result.findings);
}

/// Neither pairs nor a buffer show anything one request at a time, but reads of several chunks wait for the busiest
/// channel.
#[test]
fn reads_of_many_chunks_show_channels() {
    let at_once = [("capacity", "100MiB"), ("depth", "1"), BY_ADDRESS, ("bus", "60MB/s"), ("blocks", "40")];
    let result = structure_of(made_in_order(ANY_ORDER[0], &at_once));
    assert_eq!(number(&result, Feature::InterleavingDegree), Some(6), "{:#?}", result.findings);
    // The link takes longer for the chunks of all channels than two of them on a bus.
    let slow: Vec<_> = at_once.into_iter().chain([("link.bandwidth", "200MB/s")]).collect();
    let result = structure_of(made(&slow));
    assert_right_or_open(&result, Feature::InterleavingDegree, &[6]);
}

/// Long writes wait for many programs, which hides that they save a read: neither confirms nor refutes a page.
#[test]
fn noise_of_long_writes_hides_no_page() {
    let overrides = [
        ("capacity", "128MiB"),
        ("initial.state", "fragmented"),
        ("read_command", "4700ns"),
        ("write_command", "4700ns"),
        ("chunk", "2KiB"),
        ("channels", "4"),
        ("packages", "4"),
        ("dies", "3"),
        ("planes", "3"),
        ("flash.page", "2KiB"),
        ("pages", "64"),
        ("blocks", "20"),
        ("flash.read", "3200ns"),
        ("flash.program", "1928us"),
        ("bus", "206MB/s"),
        ("noise", "5%"),
        ("flash.cache_mode", "true"),
    ];
    let result = structure_of(made_in_order(CHANNELS_FIRST, &overrides));
    assert_eq!(number(&result, Feature::PageSize), Some(2048), "{:#?}", result.findings);
    assert_eq!(number(&result, Feature::ChunkSize), Some(2048), "{:#?}", result.findings);
    assert_eq!(number(&result, Feature::InterleavingDegree), Some(4), "{:#?}", result.findings);
    assert_eq!(number(&result, Feature::SubDomains), Some(12), "{:#?}", result.findings);
}

/// A cache answers some reads of the few chunks, so that those which wait for the bus of a channel seem to share a die.
#[test]
fn packages_of_a_channel_are_no_die() {
    let overrides = [
        ("sector", "4096B"),
        ("capacity", "109510656B"),
        ("initial.state", "full"),
        ("submission", "1993ns"),
        ("jitter", "4%"),
        ("link.bandwidth", "243855962B/s"),
        ("read_command", "161ns"),
        ("write_command", "161ns"),
        ("depth", "1"),
        ("link.read_write_exclusion", "true"),
        ("chunk", "1MiB"),
        ("channels", "4"),
        ("packages", "2"),
        ("dies", "4"),
        ("planes", "2"),
        ("blocks", "11"),
        ("flash.page", "16KiB"),
        ("flash.read", "14200ns"),
        ("flash.program", "230us"),
        ("bus", "102833059B/s"),
        ("noise", "3.44%"),
        ("readahead.window", "64KiB"),
        ("readahead.cache", "512KiB"),
        ("readahead.options.streams", "3"),
        ("readahead.options.trigger", "4"),
        ("buffer.policy", "cflru"),
        ("buffer.size", "4292608B"),
    ];
    for seed in 1..4 {
        let result =
            structure_of(made_with_seed(r#"["package", "channel", "plane", "die"]"#, &overrides, seed));
        assert_right_or_open(&result, Feature::InterleavingDegree, &[4]);
        assert_right_or_open(&result, Feature::SubDomains, &[8]);
    }
}

/// Pages of three times a power of two begin at multiples of their own size only.
#[test]
fn pages_of_three_times_a_power_of_two_are_found() {
    let text = include_str!("drives/pages-of-12-kib.toml");
    for seed in [0, 1] {
        let result = structure_of(drive_of(text, seed));
        assert_eq!(number(&result, Feature::PageSize), Some(12_288), "{:#?}", result.findings);
    }
}
