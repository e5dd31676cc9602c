//! The SLC cache: its speed, what comes after it, and its folding.

use super::*;

/// A drive of eight planes on eight dies, of 64 MiB each, whose pages program in 600 us, and in 100 in the cache.
fn drive(settings: &[(&str, &str)]) -> Drive {
    Drive::new(&small(settings), Seed(1))
}

fn small(settings: &[(&str, &str)]) -> DriveConfig {
    let mut all = vec![
        ("flash.dies", "1"),
        ("flash.planes", "1"),
        ("flash.blocks", "256"),
        ("flash.pages", "16"),
        ("flash.page", "16KiB"),
        ("flash.bus", "0"),
        ("flash.factory_bad", "0%"),
        ("flash.suspend", "0us"),
        ("link.bandwidth", "0"),
        ("link.write_command", "0us"),
        ("link.read_command", "0us"),
        ("host.submission", "0us"),
        ("mapping.unit", "16KiB"),
        ("buffer.size", "1MiB"),
        ("readahead.window", "16KiB"),
        ("wear.policy", "dynamic"),
        ("capacity", "420MiB"),
        ("slc.read", "20us"),
        ("slc.program", "100us"),
    ];
    all.extend(settings);
    config("nvme-tlc", &all)
}

const CHUNK: u64 = 1 << 20;

/// Writes `count` MiB from the `first` on, in order. Returns the rate in MB/s.
fn write(drive: &mut Drive, first: u64, count: u64) -> f64 {
    let (begin, mut out) = (drive.now(), Vec::new());
    for id in 0..count {
        while drive.in_flight() >= 4 {
            drive.reap(Instant::FAR, &mut out);
        }
        drive.submit(Request::write(id, (first + id) * CHUNK, CHUNK)).unwrap();
    }
    while drive.in_flight() > 0 {
        drive.reap(Instant::FAR, &mut out);
    }
    (count * CHUNK) as f64 / drive.now().since(begin).as_ns() as f64 * 1000.0
}

fn wait(drive: &mut Drive, time: Duration) {
    let until = drive.now() + time;
    let mut out = Vec::new();
    while drive.now() < until {
        drive.reap(until, &mut out);
    }
}

/// The rate of eight planes that program a page of 16 KiB in so many microseconds, in MB/s.
fn of_planes(us: f64) -> f64 {
    8.0 * 16384.0 / us
}

fn assert_within(measured: f64, expected: f64, share: f64, what: &str) {
    let off = measured / expected - 1.0;
    assert!(off.abs() < share, "{what}: {measured:.0} MB/s, expected {expected:.0}");
}

#[test]
fn drive_with_an_slc_cache_conforms() {
    for fold in ["idle", "at-once"] {
        let config = small(&[("slc.size", "1MiB"), ("slc.free_blocks", "50%"), ("slc.fold", fold)]);
        conformance::check(&mut || Box::new(Drive::new(&config, Seed(1))));
    }
}

#[test]
fn writes_are_fast_until_the_cache_is_full() {
    // A block of the cache holds 5 pages: 50 of them on each plane.
    let mut drive = drive(&[("slc.size", "32000KiB"), ("cleaning.idle", "10ms"), ("capacity", "380MiB")]);
    let cached = write(&mut drive, 0, 31);
    let past = write(&mut drive, 40, 100);
    // What the buffer holds at the end is not waited for.
    assert_within(cached, of_planes(100.0), 0.05, "in the cache");
    assert_within(past, of_planes(600.0), 0.05, "past it");
    assert_eq!(counter(&drive, "slc_pages_written"), 2000);
    assert_eq!(counter(&drive, "slc_pages_folded"), 0, "the drive was never idle");
    // Once idle it folds all that is closed, and is fast again.
    wait(&mut drive, Duration::from_s(3));
    let folded = counter(&drive, "slc_pages_folded");
    assert!((1900..=2000).contains(&folded), "{folded} pages folded");
    assert_within(write(&mut drive, 200, 29), of_planes(100.0), 0.05, "after a rest");
}

#[test]
fn cache_of_all_free_blocks_is_folded_when_they_are_needed() {
    let mut drive = drive(&[("slc.free_blocks", "100%"), ("slc.fold", "when-needed"), ("slc.bits", "4")]);
    // A quarter of the flash is 128 MiB, but for the blocks that GC needs.
    let cached = write(&mut drive, 0, 120);
    assert_eq!(counter(&drive, "slc_pages_folded"), 0);
    assert_within(cached, of_planes(100.0), 0.05, "in the cache");
    write(&mut drive, 120, 20);
    let folding = write(&mut drive, 140, 200);
    assert!(counter(&drive, "slc_pages_folded") > 1000);
    // Each page written leads to a third of another to be moved, or more, with the erases.
    assert!(folding < of_planes(600.0) * 0.8, "{folding:.0} MB/s while folding");
    assert!(folding > of_planes(600.0) * 0.2, "{folding:.0} MB/s while folding");
}

/// A drive whose program groups of three pages are programmed at once, and whose cache is a third of its flash.
fn folding(when_full: &str, pacing: &str) -> Drive {
    drive(&[
        ("slc.free_blocks", "100%"),
        ("slc.fold", "when-needed"),
        ("slc.when_full", when_full),
        ("cleaning.pacing", pacing),
        ("flash.cell", "tlc"),
        ("flash.programming", "one-shot"),
        ("flash.program", "1500us"),
        ("flash.erase", "3ms"),
        ("flash.blocks", "64"),
        ("flash.pages", "192"),
        ("flash.copyback", "false"),
        ("buffer.size", "2MiB"),
        ("capacity", "1200MiB"),
    ])
}

#[test]
fn writes_through_a_full_cache_cost_half_as_much_again_to_fold() {
    for pacing in ["watermark", "proportional"] {
        let mut drive = folding("fold", pacing);
        write(&mut drive, 0, 600);
        let before = counter(&drive, "slc_pages_folded");
        let rate = write(&mut drive, 600, 500);
        // Folding three blocks of the cache frees two, since they become one of the others. An erase is for 64 pages.
        let fold = 20.0 + 1500.0 / 3.0 + 3000.0 / 64.0;
        assert_within(rate, of_planes(100.0 + 1.5 * fold), 0.05, pacing);
        let folded = (counter(&drive, "slc_pages_folded") - before) as f64 / (500.0 * 64.0);
        assert!((folded - 1.5).abs() < 0.05, "{folded:.2} pages folded for each written, {pacing}");
        assert_eq!(counter(&drive, "slc_pages_written"), 1100 * 64);
    }
}

#[test]
fn writes_past_a_full_cache_cost_half_a_page_to_fold() {
    for pacing in ["watermark", "proportional"] {
        let mut drive = folding("direct", pacing);
        write(&mut drive, 0, 600);
        let before = counter(&drive, "slc_pages_folded");
        let rate = write(&mut drive, 600, 500);
        let fold = 20.0 + 1500.0 / 3.0 + 3000.0 / 64.0;
        assert_within(rate, of_planes(500.0 + 0.5 * fold), 0.05, pacing);
        let folded = (counter(&drive, "slc_pages_folded") - before) as f64 / (500.0 * 64.0);
        assert!((folded - 0.5).abs() < 0.03, "{folded:.2} pages folded for each written, {pacing}");
    }
}

#[test]
fn block_that_is_folded_last_at_once_is_not_slower_than_those_before() {
    // The first block of each plane, of 64 pages, is folded while the second is written: none that is closed waits.
    let mut drive = drive(&[
        ("slc.size", "20MiB"),
        ("slc.fold", "at-once"),
        ("flash.pages", "192"),
        ("cleaning.idle", "10s"),
        ("capacity", "1GiB"),
    ]);
    write(&mut drive, 0, 16);
    // The buffer still holds a part of what was written.
    let second = counter(&drive, "slc_pages_written") - 8 * 64;
    let folded = counter(&drive, "slc_pages_folded");
    assert!(folded > second * 9 / 10, "{folded} pages folded while {second} were written");
}

#[test]
fn folding_at_once_keeps_up_with_slow_writes() {
    let mut drive = drive(&[("slc.size", "8MiB"), ("slc.fold", "at-once"), ("cleaning.idle", "1s")]);
    let mut out = Vec::new();
    for id in 0..200 {
        drive.submit(Request::write(id, id * CHUNK, CHUNK)).unwrap();
        let until = drive.now() + Duration::from_ms(40);
        while drive.now() < until {
            drive.reap(until, &mut out);
        }
    }
    let (written, folded) = (counter(&drive, "slc_pages_written"), counter(&drive, "slc_pages_folded"));
    assert!(written > 200 * 64 * 9 / 10, "{written} of 12,800 pages went to the cache");
    assert!(folded > written * 8 / 10, "{folded} of {written} pages folded");
}

#[test]
fn cache_is_not_folded_while_the_host_sends_requests() {
    for fold in ["idle", "at-once"] {
        for (idle, between) in [("0us", Duration::ZERO), ("20ms", Duration::from_ms(10))] {
            let mut drive = drive(&[
                ("slc.size", "16MiB"),
                ("slc.fold", fold),
                ("cleaning.idle", idle),
                ("flash.cell", "tlc"),
                ("flash.pages", "192"),
                ("capacity", "1GiB"),
            ]);
            write(&mut drive, 0, 15);
            let mut reads = |count: u64| {
                let mut out = Vec::new();
                for id in 0..count {
                    drive.submit(Request::read(id, 800 * CHUNK, CHUNK)).unwrap();
                    while drive.in_flight() > 0 {
                        drive.reap(Instant::FAR, &mut out);
                    }
                    let until = drive.now() + between;
                    while drive.now() < until {
                        drive.reap(until, &mut out);
                    }
                }
                counter(&drive, "slc_pages_folded")
            };
            // They reach no die, since nothing was written there.
            let beside_writes = reads(10);
            assert_eq!(reads(100), beside_writes, "{fold}, {idle}: folded beside reads");
            wait(&mut drive, Duration::from_s(2));
            let folded = counter(&drive, "slc_pages_folded");
            assert!(folded > beside_writes && folded >= 7 * 64, "{fold}, {idle}: {folded} pages folded");
        }
    }
}

#[test]
fn reads_of_the_cache_take_its_time() {
    let mut drive =
        drive(&[("slc.size", "8MiB"), ("buffer.policy", "none"), ("readahead.policy", "streams")]);
    write(&mut drive, 0, 1);
    write(&mut drive, 1, 20);
    let mut read = |at: u64| {
        let mut out = Vec::new();
        drive.submit(Request::read(0, at * CHUNK, 16384)).unwrap();
        while out.is_empty() {
            drive.reap(Instant::FAR, &mut out);
        }
        out[0].latency()
    };
    assert_eq!([read(0), read(20)], [20, 60].map(Duration::from_us));
}

#[test]
fn cache_is_refused_beside_what_it_cannot_work_with() {
    let refused = |settings: &[(&str, &str)]| {
        let all: Vec<_> = [("slc.read", "20us"), ("slc.program", "100us"), ("slc.size", "6GB")]
            .iter()
            .chain(settings)
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        load("nvme-tlc", &all).expect_err("it is refused").field.expect("a field is named")
    };
    assert_eq!(refused(&[("slc.size", "0B")]), "slc.size");
    assert_eq!(refused(&[("slc.size", "2TB")]), "slc.size");
    // More than is free beside the data.
    assert_eq!(refused(&[("slc.size", "100GB")]), "slc.size");
    assert_eq!(refused(&[("slc.fold", "when-needed")]), "slc.fold");
    assert_eq!(refused(&[("slc.bits", "1")]), "slc.bits");
    assert_eq!(refused(&[("replication.policy", "lru")]), "replication.policy");
    assert_eq!(
        refused(&[("cleaning.defer", "behind-host"), ("cleaning.pacing", "watermark")]),
        "cleaning.defer"
    );
}
