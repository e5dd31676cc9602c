//! The drive against the conformance body, its own determinism, and arithmetic done by hand.

mod buffered;
mod cleaning;
mod lifetime;
mod random_drives;
mod replication;
mod uflip_profiles;

use super::*;
use crate::profile::{load, names};
use flashlane_base::Duration;
use flashlane_device_testing::conformance;

pub(super) fn config(name: &str, overrides: &[(&str, &str)]) -> DriveConfig {
    let overrides: Vec<(String, String)> =
        overrides.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    load(name, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// A small drive with every mechanism that can be on at once, paced so.
fn everything(pacing: &str) -> DriveConfig {
    config(
        "nvme-tlc",
        &[
            ("cleaning.pacing", pacing),
            ("capacity", "64MiB"),
            ("initial.state", "full"),
            ("flash.channels", "2"),
            ("flash.blocks", "24"),
            ("flash.pages", "16"),
            ("cleaning.low", "10%"),
            ("cleaning.high", "25%"),
            ("cleaning.idle", "100us"),
            ("cleaning.preemptible", "true"),
            ("flash.copyback", "false"),
            ("flash.cache_mode", "true"),
            ("flash.factory_bad", "4%"),
            ("flash.noise", "3%"),
            ("host.jitter", "10%"),
            ("buffer.size", "256KiB"),
            ("link.read_write_exclusion", "true"),
            ("link.commands_wait", "by-slot"),
            ("wear.options.spread", "8"),
        ],
    )
}

/// Whether [`run`] with this seed makes request `id` a read.
fn is_read(id: u64, seed: u64) -> bool {
    Seed(seed).derive_nth("operation", id).0 % 20 < 9
}

/// Runs a mixed load and gives back the completions and the hash.
fn run(drive: &mut Drive, requests: u64, seed: u64) -> (Vec<Completion>, u64) {
    let all = run_part(drive, 0..requests, seed);
    (all, drive.trace_hash())
}

/// Runs a part of a mixed load to its end.
fn run_part(drive: &mut Drive, requests: std::ops::Range<u64>, seed: u64) -> Vec<Completion> {
    let mut random = Seed(seed).derive_nth("part", requests.start).source();
    let (mut all, mut out) = (Vec::new(), Vec::new());
    let capacity = drive.profile().capacity_bytes;
    let mut in_flight = 0;
    for id in requests {
        let sectors = 1 + random.below(40);
        let offset = random.below(capacity / 512 - sectors) * 512;
        let request = match Seed(seed).derive_nth("operation", id).0 % 20 {
            0..=8 => Request::read(id, offset, sectors * 512),
            9..=17 => Request::write(id, offset, sectors * 512),
            18 => Request::trim(id, offset, sectors * 512),
            _ => Request::flush(id),
        };
        drive.submit(if random.chance(0.1) { request.durable() } else { request }).unwrap();
        in_flight += 1;
        while in_flight >= 16 {
            drive.reap(Instant::FAR, &mut out);
            in_flight -= out.len();
            all.append(&mut out);
        }
    }
    while in_flight > 0 {
        drive.reap(Instant::FAR, &mut out);
        in_flight -= out.len();
        all.append(&mut out);
    }
    all
}

#[test]
fn every_profile_conforms() {
    for name in names() {
        let config = config(name, &[("initial.state", "fresh")]);
        conformance::check(&mut || crate::device(&config, Seed(1), name.into()));
    }
    for pacing in flashlane_policy::pacing::REGISTRY {
        let config = everything(pacing.name);
        conformance::check(&mut || Box::new(Drive::new(&config, Seed(1))));
    }
}

#[test]
fn the_same_seed_gives_the_same_run_and_two_drives_never_meet() {
    let config = everything("proportional");
    let (alone, hash) = run(&mut Drive::new(&config, Seed(7)), 20_000, 3);
    // Two drives in turns, a few requests each: what one does must not reach the other.
    let (mut a, mut b) = (Drive::new(&config, Seed(7)), Drive::new(&config, Seed(8)));
    let mut beside = Vec::new();
    for part in 0..40 {
        beside.extend(run_part(&mut a, part * 500..(part + 1) * 500, 3));
        run_part(&mut b, part * 500..(part + 1) * 500, 4);
    }
    let mut parts = Drive::new(&config, Seed(7));
    let by_itself: Vec<Completion> =
        (0..40).flat_map(|part| run_part(&mut parts, part * 500..(part + 1) * 500, 3)).collect();
    assert_eq!((a.trace_hash(), beside), (parts.trace_hash(), by_itself));
    let (again, hash_again) = run(&mut Drive::new(&config, Seed(7)), 20_000, 3);
    assert_eq!((hash, alone), (hash_again, again));
    assert_ne!(hash, run(&mut Drive::new(&config, Seed(8)), 20_000, 3).1, "the seed reaches the drive");
}

#[test]
fn the_event_trace_is_pinned() {
    // A change of this number means that every saved result changes: it must be meant.
    for (pacing, pinned) in PINNED {
        let mut drive = Drive::new(&everything(pacing), Seed(7));
        let (_, hash) = run(&mut drive, 5_000, 3);
        assert!(drive.counters().get("blocks_erased") > Some(50), "the pinned trace has cleaning in it");
        assert_eq!(hash, pinned, "{pacing}: {hash:#018x}");
    }
}

const PINNED: [(&str, u64); 2] =
    [("watermark", 0x4da2_24da_cab1_fd5f), ("proportional", 0x56e4_e652_588d_d62b)];

/// The latency of one request on an idle drive.
fn latency_ns(drive: &mut Drive, request: Request) -> u64 {
    let mut out = Vec::new();
    drive.submit(request).unwrap();
    drive.reap(Instant::FAR, &mut out);
    assert_eq!(out[0].outcome, Ok(()));
    out[0].latency().as_ns()
}

#[test]
fn a_single_read_takes_what_its_parts_take() {
    let mut drive = Drive::new(&config("ssd-s", &[("host.jitter", "0%")]), Seed(1));
    // Never written: host, command, link.
    let link = (4096 * 1_000_000_000_u64).div_ceil(250_000_000);
    assert_eq!(latency_ns(&mut drive, Request::read(0, 0, 4096)), 38_000 + 11_000 + link);
    let mut out = Vec::new();
    drive.submit(Request::write(1, 0, 65536)).unwrap();
    drive.submit(Request::flush(2)).unwrap();
    while out.len() < 2 {
        drive.reap(Instant::FAR, &mut out);
    }
    // On flash: the array and a channel's bus beside.
    let bus = 113_778;
    assert_eq!(latency_ns(&mut drive, Request::read(3, 0, 4096)), 38_000 + 25_000 + bus + 11_000 + link);
    // Half a page crosses the bus in half the time; across a chunk both halves do so at once.
    let half = (2048 * 1_000_000_000_u64).div_ceil(250_000_000);
    let across = latency_ns(&mut drive, Request::read(4, 8192 + 2048, 4096));
    assert_eq!(across, 38_000 + 25_000 + bus / 2 + 11_000 + 2 * half);
}

#[test]
fn work_takes_its_time_even_where_it_overlaps() {
    // A bound that no schedule can beat: arrays and buses work no faster than they can.
    for config in [config("msr-32g", &[]), everything("watermark")] {
        let mut drive = Drive::new(&config, Seed(1));
        run(&mut drive, 20_000, 5);
        let (counters, elapsed) = (drive.counters(), drive.now().as_ns());
        let (dies, channels) = (u64::from(drive.geometry().dies), u64::from(drive.geometry().channels));
        assert!(counters.get("array_busy_ns").unwrap() <= dies * elapsed + dies * 10_000_000);
        assert!(counters.get("bus_busy_ns").unwrap() <= channels * elapsed + channels * 10_000_000);
        assert!(counters.write_amplification().unwrap() > 0.5);
    }
}

/// Mean latency in ns of the reads, and of everything, of a mixed load on a small drive.
fn means(overrides: &[(&str, &str)]) -> (f64, f64) {
    let mut base = vec![
        ("capacity", "32MiB"),
        ("flash.channels", "2"),
        ("flash.blocks", "40"),
        ("flash.planes", "4"),
        ("cleaning.low", "10%"),
    ];
    base.extend_from_slice(overrides);
    let mut drive = Drive::new(&config("msr-32g", &base), Seed(1));
    let (all, _) = run(&mut drive, 8_000, 5);
    let mean = |latencies: Vec<f64>| latencies.iter().sum::<f64>() / latencies.len() as f64;
    let reads = all.iter().filter(|c| is_read(c.id.0, 5)).map(|c| c.latency().as_ns() as f64).collect();
    (mean(reads), mean(all.iter().map(|c| c.latency().as_ns() as f64).collect()))
}

#[test]
fn mechanisms_do_what_they_are_for() {
    let plain = means(&[]);
    for better in [&[("flash.multi_plane", "true")][..], &[("flash.channels", "4"), ("flash.blocks", "20")]] {
        let with = means(better);
        assert!(with.1 < 0.98 * plain.1, "{better:?}: {with:?} is no better than {plain:?}");
    }
    let buffered = means(&[("buffer.size", "1MiB")]);
    assert!(buffered.0 < 0.9 * plain.0, "reads do not queue behind buffered writes: {buffered:?}, {plain:?}");
    let first = means(&[("scheduling.policy", "read-first")]);
    assert!(first.0 < 0.9 * plain.0, "reads that go first are faster: {first:?}, {plain:?}");
    let suspending = means(&[("flash.suspend", "5us"), ("scheduling.policy", "read-first")]);
    assert!(suspending.0 < 0.9 * first.0, "and faster still where they interrupt: {suspending:?}, {first:?}");
    let preempting = means(&[("cleaning.preemptible", "true"), ("scheduling.policy", "read-first")]);
    assert!(preempting.0 < 0.98 * first.0, "or pass between two moves: {preempting:?}, {first:?}");
    let shared = [("flash.packages", "2"), ("flash.blocks", "20")];
    let cached = |on| means(&[shared[0], shared[1], ("flash.cache_mode", on)]).1;
    assert!(cached("true") < cached("false"));
    assert!(means(&[("flash.copyback", "false")]).1 > plain.1);
}

/// Waits for `count` completions and gives back their ids, in order.
fn ids(drive: &mut Drive, count: usize) -> Vec<u64> {
    let mut out = Vec::new();
    while out.len() < count {
        drive.reap(Instant::FAR, &mut out);
    }
    out.iter().map(|completion| completion.id.0).collect()
}

#[test]
fn commands_waiting_for_the_link_go_by_slot_or_arrival() {
    for (waits, expected) in [("no", [0, 1, 2]), ("by-slot", [0, 2, 1]), ("by-arrival", [0, 1, 2])] {
        let overrides = [("link.commands_wait", waits), ("host.jitter", "0%")];
        let mut drive = Drive::new(&config("ssd-s", &overrides), Seed(1));
        // Three requests leave three free slots, of which the highest is given out first.
        for id in 0..3 {
            drive.submit(Request::read(id, 0, 512)).unwrap();
        }
        ids(&mut drive, 3);
        // Nothing was written, so a read is its command and its transfer: here 262 us, in which two more arrive.
        for id in 0..3 {
            drive.submit(Request::read(id, 0, if id == 0 { 65536 } else { 512 })).unwrap();
            let later = drive.now() + Duration::from_us(20);
            drive.reap(later, &mut Vec::new());
        }
        assert_eq!(ids(&mut drive, 3), expected, "commands wait: {waits}");
    }
}

#[test]
fn fetching_ahead_takes_turns_with_writes() {
    let waits = |overrides: &[(&str, &str)]| {
        let mut drive = Drive::new(&config("ssd-s", overrides), Seed(1));
        for id in 0..2 {
            drive.submit(Request::write(id, id << 20, 1 << 20)).unwrap();
        }
        drive.submit(Request::flush(2)).unwrap();
        ids(&mut drive, 3);
        for i in 0..200 {
            drive.submit(Request::read(i, i * 4096, 4096)).unwrap();
            drive.submit(Request::write(1000 + i, 1 << 24, 4096)).unwrap();
            ids(&mut drive, 2);
        }
        assert!(drive.counters().get("readahead_page_hits").unwrap() > 100);
        drive.counters().get("read_write_exclusion_waits").unwrap()
    };
    let none = waits(&[("link.read_write_exclusion", "false")]);
    let all = waits(&[]);
    assert!(none == 0 && all > 30, "{all} waits, though only the first reads go to flash themselves");
}

#[test]
fn reads_of_prefetched_units_are_not_starved_by_other_reads() {
    let settings = [
        ("capacity", "256MiB"),
        ("flash.channels", "2"),
        ("flash.blocks", "24"),
        ("flash.pages", "64"),
        ("initial.state", "full"),
    ];
    let mut drive = Drive::new(&config("nvme-tlc", &settings), Seed(1));
    let (requests, depth, bytes) = (1500, 32, 256 << 10);
    let (mut submitted, mut latencies, mut out) = (0, Vec::new(), Vec::new());
    while latencies.len() < requests {
        while submitted < requests && submitted - latencies.len() < depth {
            let id = submitted as u64;
            drive.submit(Request::read(id, id * bytes % (256 << 20), bytes)).unwrap();
            submitted += 1;
        }
        drive.reap(Instant::FAR, &mut out);
        latencies.extend(out.drain(..).map(|done| done.latency().as_ns()));
    }
    let (longest, mean) = (latencies.iter().max().unwrap(), latencies.iter().sum::<u64>() / requests as u64);
    assert!(longest / mean < 8, "{longest} of {mean} ns on average");
}

#[test]
fn flush_waits_for_earlier_writes_only() {
    let mut drive = Drive::new(&config("ssd-s", &[("buffer.high_watermark", "100%")]), Seed(1));
    let mut out = Vec::new();
    for id in 0..8 {
        drive.submit(Request::write(id, id * 4096, 4096)).unwrap();
    }
    while out.len() < 8 {
        drive.reap(Instant::FAR, &mut out);
    }
    assert_eq!(drive.counters().get(Counters::FLASH_PAGES_PROGRAMMED), Some(0));
    let flush = latency_ns(&mut drive, Request::flush(9));
    assert!(flush > 250_000, "eight pages were programmed first: {flush} ns");
    assert_eq!(drive.counters().get(Counters::FLASH_PAGES_PROGRAMMED), Some(8));
    assert!(latency_ns(&mut drive, Request::flush(10)) < 100_000);
}

#[test]
fn durable_writes_wait_for_flash() {
    let mut drive = Drive::new(&config("ssd-s", &[]), Seed(1));
    let buffered = latency_ns(&mut drive, Request::write(0, 0, 4096));
    let durable = latency_ns(&mut drive, Request::write(1, 4096, 4096).durable());
    assert!(durable > buffered + 250_000, "{buffered} {durable}");
}

#[test]
fn errors_cost_another_array_read_or_the_data() {
    let reads = |overrides: &[(&str, &str)]| {
        let mut drive = Drive::new(&config("msr-32g", overrides), Seed(1));
        let (mut out, mut slow, mut lost) = (Vec::new(), 0, 0);
        for id in 0..10_000 {
            drive.submit(Request::read(id, id * 4096, 4096)).unwrap();
            drive.reap(Instant::FAR, &mut out);
            let completion = out.pop().unwrap();
            slow += u32::from(completion.latency().as_ns() > 150_000);
            lost += u32::from(completion.outcome == Err(flashlane_device::Failure::Unreadable));
        }
        assert_eq!(drive.counters().get("pages_unreadable"), Some(u64::from(lost)));
        (slow, lost)
    };
    let shares = [("flash.read_retry", "5%"), ("flash.uncorrectable", "1%")];
    assert_eq!(reads(&[]), (0, 0));
    let (slow, lost) = reads(&shares);
    assert!((500..700).contains(&slow) && (70..130).contains(&lost), "{slow} slow, {lost} lost of 10000");
    // A block that was never erased has no wear, and none of its reads fail.
    assert_eq!(reads(&[shares[0], shares[1], ("flash.endurance", "100")]), (0, 0));
}

#[test]
fn a_worn_out_drive_fails_writes_and_goes_on_reading() {
    let config = config(
        "msr-32g",
        &[
            ("capacity", "4MiB"),
            ("flash.channels", "1"),
            ("flash.planes", "1"),
            ("flash.blocks", "24"),
            ("flash.endurance", "5"),
            ("buffer.size", "64KiB"),
        ],
    );
    let mut drive = Drive::new(&config, Seed(1));
    let (all, _) = run(&mut drive, 20_000, 5);
    assert_eq!(all.len(), 20_000, "every request completes");
    assert!(all.iter().any(|c| c.outcome.is_err()));
    assert!(drive.counters().get("blocks_worn_out").unwrap() > 0);
    assert!(latency_ns(&mut drive, Request::read(0, 0, 4096)) > 0);
}

#[test]
fn nearly_empty_drives_can_be_fragmented() {
    for capacity in ["512B", "4KiB", "64KiB", "1MiB", "4MiB"] {
        let config = config("msr-32g", &[("capacity", capacity), ("initial.state", "fragmented")]);
        let mut drive = Drive::new(&config, Seed(1));
        assert!(latency_ns(&mut drive, Request::read(0, 0, 512)) > 25_000, "{capacity}: it holds data");
    }
}

/// What a small drive with `overrides` has counted after a long random load.
fn counted(overrides: &[(&str, &str)], name: &str) -> f64 {
    let mut base =
        vec![("capacity", "32MiB"), ("flash.channels", "2"), ("flash.blocks", "40"), ("flash.planes", "4")];
    base.extend_from_slice(overrides);
    let mut drive = Drive::new(&config("msr-32g", &base), Seed(1));
    run(&mut drive, 10_000, 5);
    drive.counters().get(name).unwrap() as f64
}

#[test]
fn spare_blocks_and_trims_spare_moves() {
    let moved = "pages_moved_by_cleaning";
    let few = counted(&[], moved);
    assert!(
        counted(&[("flash.blocks", "60")], moved) < 0.8 * few,
        "over-provisioning: {few} moved with few spares"
    );
    assert!(
        counted(&[("flash.blocks", "60"), ("flash.factory_bad", "20%")], moved)
            > 0.8 * counted(&[("flash.blocks", "50")], moved)
    );
    let rewritten = |trims: bool| {
        let mut drive = Drive::new(
            &config(
                "msr-32g",
                &[
                    ("capacity", "32MiB"),
                    ("flash.channels", "2"),
                    ("flash.blocks", "40"),
                    ("flash.planes", "4"),
                ],
            ),
            Seed(1),
        );
        let capacity = drive.profile().capacity_bytes;
        if trims {
            latency_ns(&mut drive, Request::trim(0, capacity / 2, capacity / 2));
        }
        let mut random = Seed(3).source();
        for id in 0..20_000 {
            latency_ns(&mut drive, Request::write(id, random.below(capacity / 2 / 4096) * 4096, 4096));
        }
        drive.counters().get(moved).unwrap()
    };
    let (without, with) = (rewritten(false), rewritten(true));
    assert!(with * 2 < without, "{with} pages moved where half the drive was trimmed, {without} where not");
}

#[test]
fn cleaning_in_the_background_spares_the_writes_that_come_later() {
    let slow_writes = |overrides: &[(&str, &str)]| {
        let mut all = vec![
            ("capacity", "64MiB"),
            ("flash.channels", "2"),
            ("flash.blocks", "48"),
            ("flash.planes", "4"),
        ];
        all.extend_from_slice(overrides);
        let mut drive = Drive::new(&config("msr-32g", &all), Seed(1));
        let mut random = Seed(3).source();
        let pages = drive.profile().capacity_bytes / 4096;
        let mut slow = 0;
        for id in 0..20_000 {
            let latency = latency_ns(&mut drive, Request::write(id, random.below(pages) * 4096, 4096));
            slow += u32::from(latency > 1_000_000);
            let later = drive.now() + Duration::from_ms(100);
            while drive.now() < later {
                drive.reap(later, &mut Vec::new());
            }
        }
        slow
    };
    let foreground = slow_writes(&[]);
    let background = slow_writes(&[("cleaning.high", "15%"), ("cleaning.idle", "100us")]);
    assert!(
        foreground > 100 && background * 10 < foreground,
        "{background} instead of {foreground} writes wait for cleaning"
    );
}

#[test]
fn pages_that_are_mapped_in_parts_are_moved_whole() {
    let busy = |overrides: &[(&str, &str)]| counted(overrides, "array_busy_ns");
    let parts = [("mapping.unit", "1KiB"), ("mapping.chunk", "4KiB"), ("initial.state", "full")];
    let at_once = busy(&parts);
    let step_by_step = busy(&[parts[0], parts[1], parts[2], ("cleaning.preemptible", "true")]);
    assert!((step_by_step / at_once - 1.0).abs() < 0.02, "{step_by_step} {at_once}");
}

/// `msr-32g` with one package of one plane.
fn one_plane(settings: &[(&str, &str)]) -> Drive {
    let mut all = vec![
        ("flash.channels", "1"),
        ("flash.planes", "1"),
        ("flash.blocks", "64"),
        ("capacity", "8MiB"),
        ("cleaning.low", "40%"),
    ];
    all.extend_from_slice(settings);
    Drive::new(&config("msr-32g", &all), Seed(1))
}

#[test]
fn a_page_takes_its_spare_bytes_along_and_a_block_its_summary() {
    let mut drive = one_plane(&[("initial.state", "fresh")]);
    let (link, spare) = (1_908, 128);
    let page = link + (4096 + spare) * 25 + 200_000;
    // A sector, with its share of the spare bytes, and a program time.
    let summary = (512 + spare / 8) * 25 + 200_000;
    for id in 0..126 {
        let expected = if id % 63 == 62 { page + summary } else { page };
        assert_eq!(latency_ns(&mut drive, Request::write(id, id * 4096, 4096)), expected, "page {id}");
    }
}

#[test]
fn deferred_gc_goes_before_the_next_operation() {
    let read_ns = |defer| {
        let mut drive = one_plane(&[("cleaning.defer", defer)]);
        let mut id = 0;
        while drive.counters().get("blocks_erased") == Some(0) {
            latency_ns(&mut drive, Request::write(id, id * 4096, 4096));
            id += 1;
        }
        let later = drive.now() + Duration::from_ms(100);
        drive.reap(later, &mut Vec::new());
        latency_ns(&mut drive, Request::read(id, 4096, 4096))
    };
    let read = 25_000 + 105_600 + 1_908;
    // The blocks were filled in order and are overwritten in order: nothing has to be moved.
    assert_eq!((read_ns("no"), read_ns("until-next-operation")), (read, read + 1_500_000));
}

#[test]
fn a_read_crosses_the_link_page_by_page_or_whole() {
    let read_ns = |whole| {
        let mut drive = Drive::new(&config("msr-32g", &[("compat.disksim.whole_reads", whole)]), Seed(1));
        latency_ns(&mut drive, Request::read(0, 0, 32768))
    };
    // Eight packages deliver at the same time: the link is the rest either way, rounded up once or eight times.
    assert_eq!((read_ns("true"), read_ns("false")), (130_600 + 15_258, 130_600 + 8 * 1_908));
    let wide_ns = |whole| {
        let mut drive = Drive::new(&config("msr-32g", &[("compat.disksim.whole_reads", whole)]), Seed(1));
        latency_ns(&mut drive, Request::read(0, 0, 65536))
    };
    // Two pages a package: the first eight cross while the second come.
    assert_eq!((wide_ns("true"), wide_ns("false")), (2 * 130_600 + 30_516, 2 * 130_600 + 8 * 1_908));
}

#[test]
fn read_of_4_gib_from_one_die_transfers_all_bytes() {
    let one_die = [("flash.channels", "1"), ("flash.blocks", "4096"), ("capacity", "5GiB")];
    let mut drive =
        Drive::new(&config("msr-32g", &[&one_die[..], &[("initial.state", "full")]].concat()), Seed(1));
    let length_bytes = 4 << 30;
    latency_ns(&mut drive, Request::read(0, 0, length_bytes));
    let crossing = Duration::of_transfer(length_bytes, 2_147_651_007);
    assert_eq!(drive.counters().get("link_busy_ns"), Some(crossing.as_ns()));
}

#[test]
fn a_completion_waits_for_the_data_on_the_link() {
    let second_ns = |waits| {
        let settings = [("compat.disksim.completions_wait", waits), ("initial.state", "fresh")];
        let mut drive = Drive::new(&config("msr-32g", &settings), Seed(1));
        let mut out = Vec::new();
        drive.submit(Request::write(0, 0, 4096)).unwrap();
        let later = drive.now() + Duration::from_us(300);
        drive.reap(later, &mut out);
        // 64 KiB take 31 us, until after the page is programmed.
        drive.submit(Request::write(1, 1 << 20, 65536)).unwrap();
        drive.reap(Instant::FAR, &mut out);
        out[0].latency().as_ns()
    };
    assert_eq!((second_ns("false"), second_ns("true")), (307_508, 330_516));
}

#[test]
fn dies_that_serve_in_order_do_what_they_would_do_step_by_step() {
    let completions = |settings: &[(&str, &str)], preemptible| {
        let mut all = vec![
            ("cleaning.preemptible", preemptible),
            ("cleaning.low", "10%"),
            ("flash.blocks", "40"),
            ("flash.planes", "2"),
            ("capacity", "120MiB"),
        ];
        all.extend_from_slice(settings);
        let mut drive = Drive::new(&config("msr-32g", &all), Seed(1));
        let (completions, _) = run(&mut drive, 30_000, 5);
        assert!(drive.counters().get("blocks_erased") > Some(100));
        completions
    };
    // Idle dies begin to clean at the same times, and what ends at one time may cross the link in another order.
    let background = [
        ("cleaning.high", "40%"),
        ("cleaning.idle", "1ms"),
        ("link.bandwidth", "0"),
        ("compat.disksim.completions_wait", "false"),
    ];
    for settings in [
        &[("cleaning.defer", "no"), ("compat.disksim.whole_reads", "false")][..],
        &[("cleaning.defer", "until-next-operation"), ("compat.disksim.whole_reads", "true")],
        &background,
        &[
            ("buffer.size", "64KiB"),
            ("buffer.placement", "below"),
            ("link.bandwidth", "0"),
            ("compat.disksim.completions_wait", "false"),
        ],
    ] {
        let sorted = |preemptible| {
            let mut completions = completions(settings, preemptible);
            // What ends at one time ends in no particular order.
            completions.sort_unstable_by_key(|completion| (completion.completed, completion.id));
            completions
        };
        // Where all ranks are alike nothing preempts a cleaning, but its steps are gone through one by one.
        assert!(sorted("false") == sorted("true"), "{settings:?}");
    }
}

#[test]
fn power_cut_does_not_repeat_the_flash_noise() {
    let mut drive = Drive::new(&config("msr-32g", &[("flash.noise", "20%")]), Seed(1));
    let mut latencies_ns = || -> Vec<u64> {
        let all = (0..20).map(|id| latency_ns(&mut drive, Request::read(id, 0, 4096))).collect();
        drive.cut_power();
        all
    };
    assert_ne!(latencies_ns(), latencies_ns());
}
