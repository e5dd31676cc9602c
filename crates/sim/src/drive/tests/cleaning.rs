//! What cleaning costs those who write.

use super::*;

/// Writes single pages at random places at this depth. Returns the total time in ms and the longest latency in us.
fn writes(drive: &mut Drive, count: u64, depth: u64, pause: Duration) -> (f64, f64) {
    let (ms, sorted_us) = writes_latencies(drive, count, depth, pause);
    (ms, sorted_us.last().copied().unwrap_or(0.0))
}

/// Does the same, and returns the total time in ms and all latencies in us, the shortest first.
fn writes_latencies(drive: &mut Drive, count: u64, depth: u64, pause: Duration) -> (f64, Vec<f64>) {
    let pages = drive.info().capacity_bytes / drive.geometry().unit_bytes;
    let bytes = drive.geometry().unit_bytes;
    let (mut random, mut out, mut latencies) = (Seed(2).source(), Vec::new(), Vec::new());
    for id in 0..count {
        drive.submit(Request::write(id, random.below(pages) * bytes, bytes)).unwrap();
        while u64::from(drive.in_flight()) >= depth {
            drive.reap(Instant::FAR, &mut out);
        }
        latencies.extend(out.drain(..).map(|completion: Completion| completion.latency().as_us_f64()));
        let until = drive.now() + pause;
        if !pause.is_zero() {
            drive.reap(until, &mut out);
        }
    }
    latencies.sort_by(f64::total_cmp);
    (drive.now().as_ns() as f64 / 1e6, latencies)
}

/// The mean latency of random writes at depth 8, and the one that a hundredth of them exceeds, in us.
fn write_latencies(drive: &mut Drive, count: u64, seed: u64) -> (f64, f64) {
    let bytes = drive.geometry().unit_bytes;
    let units = drive.info().capacity_bytes / bytes;
    let (mut random, mut out) = (Seed(seed).derive("latencies").source(), Vec::new());
    let mut latencies = Vec::new();
    for id in 0..count {
        drive.submit(Request::write(id, random.below(units) * bytes, bytes)).unwrap();
        while drive.in_flight() >= 8 {
            drive.reap(Instant::FAR, &mut out);
        }
        latencies.extend(out.drain(..).map(|completion| completion.latency().as_ns()));
    }
    latencies.sort_unstable();
    let sum: u64 = latencies.iter().sum();
    (sum as f64 / latencies.len() as f64 / 1e3, latencies[latencies.len() * 99 / 100] as f64 / 1e3)
}

#[test]
fn fragmented_drive_is_as_fast_as_one_that_was_overwritten() {
    for (profile, pacing) in [("msr-32g", "watermark"), ("nvme-tlc", "proportional")] {
        let drive = |state, seed| {
            let settings = [
                ("flash.channels", "2"),
                ("flash.planes", "2"),
                ("flash.blocks", "128"),
                ("flash.pages", "16"),
                ("flash.page", "4KiB"),
                ("mapping.chunk", "4KiB"),
                ("over_provisioning", "20%"),
                ("cleaning.low", "2%"),
                ("cleaning.pacing", pacing),
                ("cleaning.defer", "no"),
                ("compat.disksim.pool", "plane"),
                // It would begin empty.
                ("buffer.policy", "none"),
                ("initial.state", state),
            ];
            Drive::new(&config(profile, &settings), Seed(seed))
        };
        const SEEDS: u64 = 4;
        let (mut prepared, mut written) = ((0.0, 0.0), (0.0, 0.0));
        for seed in 0..SEEDS {
            let add = |sum: &mut (f64, f64), drive: &mut Drive, seed| {
                let units = drive.info().capacity_bytes / drive.geometry().unit_bytes;
                let (mean, slowest) = write_latencies(drive, units / 2, seed);
                *sum = (sum.0 + mean, sum.1 + slowest);
            };
            add(&mut prepared, &mut drive("fragmented", seed), seed);
            let mut overwritten = drive("full", seed);
            let units = overwritten.info().capacity_bytes / overwritten.geometry().unit_bytes;
            write_latencies(&mut overwritten, 4 * units, seed + SEEDS);
            add(&mut written, &mut overwritten, seed);
        }
        let (mean, slowest) = (prepared.0 / written.0, prepared.1 / written.1);
        assert!((mean - 1.0).abs() < 0.03, "{profile}: mean of {} us, written {}", prepared.0, written.0);
        assert!((slowest - 1.0).abs() < 0.10, "{profile}: p99 of {} us, written {}", prepared.1, written.1);
    }
}

#[test]
fn gc_deferred_behind_the_host_lets_writes_pass_and_completes() {
    let measured = |defer, pause| {
        let settings = [
            ("flash.channels", "1"),
            ("flash.planes", "1"),
            ("flash.blocks", "64"),
            ("capacity", "13MiB"),
            ("cleaning.low", "3%"),
            ("cleaning.defer", defer),
            ("initial.state", "fragmented"),
        ];
        writes(&mut Drive::new(&config("msr-32g", &settings), Seed(1)), 4000, 1, pause)
    };
    // A write takes 308 us. One move takes 225 us and an erase 1.5 ms: nothing else can come before it, where the host
    // leaves time enough for all of it before the next block is opened.
    let pause = Duration::from_ms(2);
    let (at_once, deferred) = (measured("no", pause), measured("behind-host", pause));
    assert!(at_once.1 > 10_000.0, "the longest write took {} us", at_once.1);
    assert!(deferred.1 < 308.0 + 1_510.0, "the longest write took {} us", deferred.1);
    // A host that leaves none waits as long as ever.
    let (at_once, deferred) = (measured("no", Duration::ZERO), measured("behind-host", Duration::ZERO));
    assert!((deferred.0 / at_once.0 - 1.0).abs() < 0.02, "{} instead of {} ms", deferred.0, at_once.0);
}

#[test]
fn second_register_overlaps_bus_and_array_of_gc() {
    let took = |cache_mode| {
        let settings = [
            ("flash.channels", "11"),
            ("flash.packages", "1"),
            ("flash.blocks", "64"),
            ("flash.pages", "32"),
            ("capacity", "250MiB"),
            ("flash.cache_mode", cache_mode),
            ("buffer.size", "1MiB"),
            ("initial.state", "fragmented"),
        ];
        let mut drive = Drive::new(&config("huawei-gen3", &settings), Seed(1));
        let took = writes(&mut drive, 20_000, 32, Duration::ZERO).0;
        assert!(drive.counters().get("pages_moved_by_cleaning") > Some(40_000));
        took
    };
    // Of a page on two planes: 75 us read and 1427 us program, and 216 us over the bus for each of two pages. A moved
    // one takes 75 + 4 * 216 + 1427 us one after the other, 2 * 216 + 1427 us where the array waits for nothing but
    // what it reads.
    let share = took("true") / took("false");
    assert!((0.75..0.82).contains(&share), "{share}");
}

/// A fragmented drive in the proportions of `nvme-tlc`, of four dies and 6 GiB.
fn small_tlc(settings: &[(&str, &str)]) -> Drive {
    let mut all = vec![
        ("flash.channels", "2"),
        ("flash.blocks", "128"),
        ("flash.pages", "192"),
        ("capacity", "5500MiB"),
        ("buffer.size", "1MiB"),
        ("initial.state", "fragmented"),
    ];
    all.extend_from_slice(settings);
    Drive::new(&config("nvme-tlc", &all), Seed(1))
}

#[test]
fn paced_cleaning_bounds_the_longest_write() {
    let measured = |pacing| {
        let mut drive = small_tlc(&[("cleaning.pacing", pacing)]);
        let (ms, sorted_us) = writes_latencies(&mut drive, 60_000, 8, Duration::ZERO);
        let longest_us = *sorted_us.last().unwrap();
        let p999_us = sorted_us[sorted_us.len() * 999 / 1000];
        (ms, longest_us, drive.counters().write_amplification().unwrap(), p999_us)
    };
    let (whole, paced) = (measured("watermark"), measured("proportional"));
    assert!(whole.1 > 300_000.0, "the longest write took {} us while whole victims were cleaned", whole.1);
    assert!(paced.1 < 20_000.0, "the longest write took {} us", paced.1);
    assert!(paced.3 < 10_000.0 && whole.3 > 10_000.0, "p99.9 {} instead of {} us", paced.3, whole.3);
    assert!(paced.2 <= whole.2 * 1.01, "write amplification {} instead of {}", paced.2, whole.2);
    assert!(paced.0 <= whole.0, "{} instead of {} ms", paced.0, whole.0);
}

#[test]
fn pacing_without_room_for_free_blocks_is_counted() {
    let short_share = |blocks, capacity| {
        let mut drive = small_tlc(&[("flash.blocks", blocks), ("capacity", capacity)]);
        writes(&mut drive, 5000, 8, Duration::ZERO);
        let counters = drive.counters();
        let pages = |name| counters.get(name).unwrap() as f64;
        pages("pages_moved_below_target") / pages("pages_moved_by_cleaning")
    };
    // A plane may start between two steps, just before the end of its victim, and be short of a page until then.
    let short = short_share("128", "5500MiB");
    assert!(short < 0.001, "{short}");
    // Of 24 blocks a plane five are not for data, one of them bad: less than four free blocks and the two open ones.
    assert!(short_share("24", "930MiB") > 0.5);
}

#[test]
fn fragmented_drive_collects_as_much_as_writes_take() {
    for pacing in ["watermark", "proportional"] {
        let mut drive = small_tlc(&[("cleaning.pacing", pacing)]);
        writes(&mut drive, 60_000, 8, Duration::ZERO);
        let counters = drive.counters();
        let pages = |name| counters.get(name).unwrap() as f64;
        let (taken, collected) = (pages(Counters::FLASH_PAGES_PROGRAMMED), pages(Counters::PAGES_COLLECTED));
        let share = (taken - collected) / pages(Counters::HOST_PAGES_SETTLED);
        assert!(share.abs() < 0.1, "{pacing}: {taken} pages taken, {collected} collected");
    }
}

#[test]
fn cleaning_steps_of_a_die_share_array_time_over_its_planes() {
    let measured = |multi_plane| {
        let mut drive = small_tlc(&[("flash.multi_plane", multi_plane)]);
        let ms = writes(&mut drive, 20_000, 32, Duration::ZERO).0;
        (ms, drive.counters().get("pages_moved_by_cleaning").unwrap())
    };
    let (alone, shared) = (measured("false"), measured("true"));
    assert!(shared.1.abs_diff(alone.1) < alone.1 / 20, "the same is moved: {shared:?}, {alone:?}");
    // Four planes at best.
    let share = shared.0 / alone.0;
    assert!((0.25..0.5).contains(&share), "{share} of the time");
}

#[test]
fn reads_go_between_the_steps_of_paced_cleaning() {
    // The profile suspends programs and erases for reads (`flash.suspend`): a read waits for parts of one step at most.
    let mut drive = small_tlc(&[("scheduling.policy", "read-first")]);
    let pages = drive.info().capacity_bytes / 4096;
    let (mut random, mut out, mut writes, mut reading, mut longest) =
        (Seed(3).source(), Vec::new(), 0, false, 0);
    for id in 0..40_000 {
        while writes < 31 {
            drive.submit(Request::write(2 * id, random.below(pages) * 4096, 4096)).unwrap();
            writes += 1;
        }
        if !std::mem::replace(&mut reading, true) {
            drive.submit(Request::read(2 * id + 1, random.below(pages) * 4096, 4096)).unwrap();
        }
        drive.reap(Instant::FAR, &mut out);
        for completion in out.drain(..) {
            if completion.id.0 % 2 == 0 {
                writes -= 1;
            } else {
                reading = false;
                longest = longest.max(completion.latency().as_ns());
            }
        }
    }
    assert!(longest < 1_000_000, "the longest read took {longest} ns");
}

/// Reads and writes of 8 KiB come at times of their own, as those of a database under TPC-C: 164 MB of writes in 400
/// ms, four of five to a fifth of the space, and a read after each.
#[test]
fn reads_of_a_database_go_before_writes_and_cleaning() {
    let longest_read = |settings: &[(&str, &str)]| {
        let mut drive = small_tlc(settings);
        let blocks = drive.info().capacity_bytes / 8192;
        let (mut random, mut out) = (Seed(5).source(), Vec::new());
        let begin = drive.now();
        for nth in 0..20_000 {
            drive.reap(begin + Duration::from_us(20 * nth), &mut out);
            for id in [2 * nth, 2 * nth + 1] {
                let among = if random.below(5) < 4 { blocks / 5 } else { blocks };
                let offset = random.below(among) * 8192;
                let is_write = id % 2 == 0;
                let request =
                    if is_write { Request::write(id, offset, 8192) } else { Request::read(id, offset, 8192) };
                while drive.in_flight() >= drive.info().depth {
                    drive.reap(Instant::FAR, &mut out);
                }
                drive.submit(request).unwrap();
            }
        }
        while drive.in_flight() > 0 {
            drive.reap(Instant::FAR, &mut out);
        }
        assert!(drive.counters().get("blocks_erased") > Some(0), "nothing was cleaned");
        let reads = out.iter().filter(|completion| completion.id.0 % 2 == 1);
        reads.map(|completion| completion.latency().as_ns()).max().unwrap()
    };
    let (paced, in_order) = (longest_read(&[]), longest_read(&[("scheduling.policy", "fifo")]));
    assert!(paced < 5_000_000, "the longest read took {paced} ns");
    assert!(
        in_order > 2 * paced,
        "the longest read took {in_order} instead of {paced} ns in order of arrival"
    );
}

#[test]
fn paced_drive_goes_on_after_power_cuts() {
    for pacing in ["proportional", "fixed"] {
        let run = || {
            let mut drive = small_tlc(&[("cleaning.pacing", pacing), ("cleaning.high", "6%")]);
            let pages = drive.info().capacity_bytes / 4096;
            let (mut random, mut out) = (Seed(4).source(), Vec::new());
            for cut in 0..40 {
                for id in 0..500 {
                    let offset = random.below(pages) * 4096;
                    let request = match random.below(10) {
                        0 => Request::trim(id, offset, 4096),
                        1 => Request::flush(id),
                        _ => Request::write(id, offset, 4096),
                    };
                    drive.submit(request).unwrap();
                    while drive.in_flight() > 8 {
                        drive.reap(Instant::FAR, &mut out);
                    }
                }
                let until = drive.now() + Duration::from_us(random.below(20_000));
                drive.reap(until, &mut out);
                drive.cut_power().expect("a simulated drive can lose its power");
                if cut % 8 == 7 {
                    drive.check_tables();
                }
                assert!(drive.counters().get("blocks_erased") > Some(0) || cut < 20, "{pacing}");
            }
            drive.trace_hash()
        };
        assert_eq!(run(), run(), "{pacing}");
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
        let capacity = drive.info().capacity_bytes;
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
        let pages = drive.info().capacity_bytes / 4096;
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
    let steps = [("cleaning.preemptible", "true"), ("scheduling.policy", "read-first")];
    let step_by_step = busy(&[&parts[..], &steps].concat());
    assert!((step_by_step / at_once - 1.0).abs() < 0.02, "{step_by_step} {at_once}");
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
