//! The drive against the conformance body, its own determinism, and arithmetic done by hand.

mod buffered;
mod cells;
mod cleaning;
mod energy;
mod greedy;
mod large_units;
mod lifetime;
mod link;
mod map_cache;
mod parity;
mod queues;
mod random_drives;
mod replication;
mod slc;
mod time_split;
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

fn counter(drive: &Drive, name: &str) -> u64 {
    drive.counters().get(name).unwrap_or_else(|| panic!("no counter {name}"))
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
    let capacity = drive.info().capacity_bytes;
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
    let run_again = PINNED.map(|(pacing, _)| {
        let mut drive = Drive::new(&everything(pacing), Seed(7));
        let (_, hash) = run(&mut drive, 5_000, 3);
        assert!(drive.counters().get("blocks_erased") > Some(50), "the pinned trace has cleaning in it");
        (pacing, hash)
    });
    assert_eq!(run_again, PINNED, "{run_again:#018x?}");
}

const PINNED: [(&str, u64); 2] =
    [("watermark", 0x7da7_dd22_112b_6829), ("proportional", 0xa37b_f6c7_c029_dbf1)];

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
fn read_of_a_flash_page_senses_it_once() {
    // Sixteen kilobytes of one chunk are one flash page and four mapping units, which cross bus and link one by one;
    // the command goes along with the first.
    let settings =
        [("capacity", "64MiB"), ("flash.channels", "2"), ("flash.blocks", "24"), ("flash.pages", "16")];
    let (transfer, link) = (4096 * 10_u64.pow(9) / 1_200_000_000, 4096 * 10_u64.pow(9) / 7_000_000_000 + 1);
    for state in ["full", "fresh"] {
        let mut drive =
            Drive::new(&config("nvme-tlc", &[&settings[..], &[("initial.state", state)]].concat()), Seed(1));
        if state == "fresh" {
            latency_ns(&mut drive, Request::write(0, 0, 1 << 20));
            latency_ns(&mut drive, Request::flush(1));
        }
        let latency = latency_ns(&mut drive, Request::read(2, 3 * 16384, 16384));
        assert_eq!(latency, 5_000 + 60_000 + 4 * transfer + link, "{state}");
        // Half of one and half of the next: on two dies at once.
        let across = latency_ns(&mut drive, Request::read(3, 3 * 16384 + 8192, 16384));
        assert_eq!(across, 5_000 + 60_000 + 2 * transfer + 2 * link, "{state}");
    }
}

#[test]
fn flash_page_that_a_flush_cuts_short_takes_no_more_units() {
    let settings = [
        ("capacity", "64MiB"),
        ("flash.channels", "2"),
        ("flash.blocks", "24"),
        ("flash.pages", "16"),
        ("initial.state", "fresh"),
    ];
    let durable = |id, unit: u64| Request { durable: true, ..Request::write(id, unit * 4096, 4096) };
    let mut drive = Drive::new(&config("nvme-tlc", &settings), Seed(1));
    let mut id = 0;
    let mut next = |drive: &mut Drive, request: Request| {
        id += 1;
        latency_ns(drive, Request { id: RequestId(id), ..request })
    };
    // A unit that must be on flash at once, one that a flush waits for, in the same page, and then a whole chunk.
    next(&mut drive, durable(0, 1000));
    next(&mut drive, Request::write(0, 2000 * 4096, 4096));
    next(&mut drive, Request::flush(0));
    next(&mut drive, Request::write(0, 0, 16384));
    next(&mut drive, Request::flush(0));
    assert_eq!(drive.counters().get("pages_left_empty"), Some(2));
    assert_eq!(drive.counters().get("flash_pages_programmed"), Some(1 + 1 + 2 + 4));
    let (transfer, link) = (4096 * 10_u64.pow(9) / 1_200_000_000, 4096 * 10_u64.pow(9) / 7_000_000_000 + 1);
    let latency = next(&mut drive, Request::read(0, 0, 16384));
    assert_eq!(latency, 5_000 + 60_000 + 4 * transfer + link, "the chunk is one flash page");
    // Nothing is left open, so that nothing is padded twice.
    next(&mut drive, Request::flush(0));
    assert_eq!(drive.counters().get("pages_left_empty"), Some(2));
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

#[test]
fn reads_of_units_read_ahead_are_not_starved() {
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
fn readahead_left_by_a_scan_does_not_block_the_next_one() {
    let settings =
        [("capacity", "2GiB"), ("flash.blocks", "40"), ("flash.pages", "96"), ("initial.state", "full")];
    let mut drive = Drive::new(&config("nvme-tlc", &settings), Seed(1));
    let (depth, bytes, mut out) = (8, 256 << 10, Vec::new());
    let mut scan = || {
        let before = drive.counters().get("readahead_pages_fetched").unwrap();
        let (mut submitted, mut done) = (0, 0);
        while done < 1000 {
            while submitted < 1000 && submitted - done < depth {
                drive.submit(Request::read(submitted, submitted * bytes, bytes)).unwrap();
                submitted += 1;
            }
            drive.reap(Instant::FAR, &mut out);
            done += out.drain(..).count() as u64;
        }
        drive.counters().get("readahead_pages_fetched").unwrap() - before
    };
    let (first, second) = (scan(), scan());
    assert!(second * 100 > first * 99, "{first} units are read ahead, then {second}");
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

/// A drive of 4 MiB whose blocks can be erased five times.
fn short_lived(settings: &[(&str, &str)]) -> Drive {
    let mut all = vec![
        ("capacity", "4MiB"),
        ("flash.channels", "1"),
        ("flash.planes", "1"),
        ("flash.blocks", "24"),
        ("flash.endurance", "5"),
    ];
    all.extend_from_slice(settings);
    Drive::new(&config("msr-32g", &all), Seed(1))
}

#[test]
fn a_worn_out_drive_fails_writes_and_goes_on_reading() {
    let mut drive = short_lived(&[("buffer.size", "64KiB")]);
    let (all, _) = run(&mut drive, 20_000, 5);
    assert_eq!(all.len(), 20_000, "every request completes");
    assert!(all.iter().any(|c| c.outcome.is_err()));
    assert!(drive.counters().get("blocks_worn_out").unwrap() > 0);
    assert!(latency_ns(&mut drive, Request::read(0, 0, 4096)) > 0);
}

#[test]
fn pages_that_a_worn_out_drive_cannot_program_are_not_settled() {
    for buffer in [Some("64KiB"), None] {
        let size = buffer.map(|size| ("buffer.size", size));
        let mut drive = short_lived(size.as_slice());
        let mut out = Vec::new();
        // In order, so that no page is replaced in the buffer.
        for id in 0..40_000 {
            drive.submit(Request::write(id, id % 1024 * 4096, 4096)).unwrap();
            drive.reap(Instant::FAR, &mut out);
        }
        drive.submit(Request::flush(40_000)).unwrap();
        drive.reap(Instant::FAR, &mut out);
        let counters = drive.counters();
        let refused = out.iter().filter(|completion| completion.outcome.is_err()).count() as u64;
        let [written, settled, lost, programmed] =
            ["host_pages_written", "host_pages_settled", "pages_lost", "flash_pages_programmed"]
                .map(|name| counters.get(name).unwrap());
        assert!(refused + lost > 10_000, "{buffer:?}: {refused} refused, {lost} lost");
        assert_eq!(counters.pages_left_in_buffer(), 0, "{buffer:?}");
        assert_eq!(settled, written - lost, "{buffer:?}");
        assert!(settled <= programmed, "{buffer:?}: {settled} settled, {programmed} programmed");
        assert!(counters.write_amplification().unwrap() >= 1.0, "{buffer:?}");
    }
}

#[test]
fn nearly_empty_drives_can_be_fragmented() {
    for capacity in ["512B", "4KiB", "64KiB", "1MiB", "4MiB"] {
        let config = config("msr-32g", &[("capacity", capacity), ("initial.state", "fragmented")]);
        let mut drive = Drive::new(&config, Seed(1));
        assert!(latency_ns(&mut drive, Request::read(0, 0, 512)) > 25_000, "{capacity}: it holds data");
    }
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
fn dies_that_serve_in_order_do_what_they_would_do_step_by_step() {
    let completions = |settings: &[(&str, &str)], preemptible| {
        let mut all = vec![
            ("cleaning.low", "10%"),
            ("flash.blocks", "40"),
            ("flash.planes", "2"),
            ("capacity", "120MiB"),
        ];
        all.extend_from_slice(settings);
        let mut config = config("msr-32g", &all);
        // As a setting it is refused, since it has no effect.
        config.cleaning.preemptible = preemptible;
        let mut drive = Drive::new(&config, Seed(1));
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
    // Units are written whole: how long one that is written in part collects the rest depends on what ends first.
    let buffered = [
        ("buffer.size", "64KiB"),
        ("buffer.placement", "below"),
        ("mapping.unit", "512B"),
        ("mapping.chunk", "512B"),
        ("link.bandwidth", "0"),
        ("compat.disksim.completions_wait", "false"),
    ];
    for settings in [
        &[("cleaning.defer", "no"), ("compat.disksim.whole_reads", "false")][..],
        &[("cleaning.defer", "until-next-operation"), ("compat.disksim.whole_reads", "true")],
        &background,
        &buffered,
    ] {
        let sorted = |preemptible| {
            let mut completions = completions(settings, preemptible);
            // What ends at one time ends in no particular order.
            completions.sort_unstable_by_key(|completion| (completion.completed, completion.id));
            completions
        };
        // Where all ranks are alike nothing preempts a cleaning, but its steps are gone through one by one.
        assert!(sorted(false) == sorted(true), "{settings:?}");
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
