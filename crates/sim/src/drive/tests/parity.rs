//! Reads that are rebuilt from the rest of their row, and GC of its dies in turns.

use super::*;

/// A small drive of four channels, three of which the fourth protects, that garbage-collects all the time.
fn drive(settings: &[(&str, &str)]) -> DriveConfig {
    let mut all = vec![
        ("flash.blocks", "128"),
        ("flash.copyback", "false"),
        ("mapping.chunk", "2KiB"),
        ("mapping.policy", "write-order"),
        ("mapping.parity", "3"),
        ("over_provisioning", "70%"),
        ("initial.state", "fragmented"),
    ];
    all.extend(settings);
    let mut config = config("he-4g", &all);
    // Of blocks that never wear out, the share of uncorrectable pages is the one that is set.
    config.flash.endurance = None;
    config
}

#[test]
fn drive_with_parity_reads_conforms() {
    let settings = [("mapping.rebuild", "blocked"), ("cleaning.rotate", "true"), ("initial.state", "fresh")];
    let config = drive(&settings);
    conformance::check(&mut || Box::new(Drive::new(&config, Seed(1))));
}

/// Reads and writes single mapping units in turns, `pause` apart. Returns the latencies of reads, and how many failed.
fn load(drive: &mut Drive, count: u64, pause: Duration) -> (Vec<Duration>, u64) {
    let bytes = drive.geometry().unit_bytes;
    let units = drive.info().capacity_bytes / bytes;
    let (mut random, mut out, mut reads, mut failed) = (Seed(9).source(), Vec::new(), Vec::new(), 0);
    for id in 0..count {
        let offset = random.below(units) * bytes;
        let request =
            if id % 2 == 0 { Request::read(id, offset, bytes) } else { Request::write(id, offset, bytes) };
        drive.submit(request).unwrap();
        let until = drive.now() + pause;
        while drive.now() < until {
            drive.reap(until, &mut out);
        }
        while drive.in_flight() >= 16 {
            drive.reap(Instant::FAR, &mut out);
        }
        for completion in out.drain(..) {
            failed += u64::from(completion.outcome.is_err());
            if completion.id.0 % 2 == 0 {
                reads.push(completion.latency());
            }
        }
    }
    (reads, failed)
}

/// The latency that a hundredth of the reads exceed.
fn p99(mut latencies: Vec<Duration>) -> Duration {
    latencies.sort_unstable();
    latencies[latencies.len() * 99 / 100]
}

#[test]
fn reads_of_collecting_dies_are_rebuilt() {
    let measured = |settings: &[(&str, &str)]| {
        let mut drive = Drive::new(&drive(settings), Seed(1));
        let (reads, _) = load(&mut drive, 20_000, Duration::from_ms(2));
        drive.check_tables();
        (p99(reads), drive)
    };
    let (without, _) = measured(&[]);
    let (with, drive) = measured(&[("mapping.rebuild", "blocked"), ("cleaning.rotate", "true")]);
    assert!(with * 4 < without, "p99 of reads {with}, without parity reads {without}");
    let (rebuilt, read) = (counter(&drive, "reads_rebuilt"), counter(&drive, "pages_read_to_rebuild"));
    assert!(rebuilt > 100 && read <= 3 * rebuilt && read > 2 * rebuilt, "{rebuilt} of {read} pages");
    assert_eq!(counter(&drive, "unreadable_pages_rebuilt"), 0);
}

#[test]
fn rows_that_collect_at_once_cannot_be_rebuilt() {
    let mut drive = Drive::new(&drive(&[("mapping.rebuild", "blocked")]), Seed(1));
    load(&mut drive, 10_000, Duration::from_ms(2));
    let with = counter(&drive, "reads_rebuilt");
    let settings = [("mapping.rebuild", "blocked"), ("cleaning.rotate", "true")];
    let mut drive = Drive::new(&self::drive(&settings), Seed(1));
    load(&mut drive, 10_000, Duration::from_ms(2));
    let with_turns = counter(&drive, "reads_rebuilt");
    assert!(with_turns > 3 * with, "{with_turns} reads rebuilt, where all dies collect at once {with}");
}

#[test]
fn uncorrectable_pages_are_rebuilt() {
    let failed = |rebuild| {
        let mut drive =
            Drive::new(&drive(&[("mapping.rebuild", rebuild), ("flash.uncorrectable", "5%")]), Seed(1));
        let (_, failed) = load(&mut drive, 20_000, Duration::from_ms(1));
        assert_eq!(counter(&drive, "pages_unreadable"), failed);
        (failed, drive)
    };
    let (without, drive) = failed("none");
    assert!((400..600).contains(&without), "{without} of 10000 reads failed");
    assert_eq!(drive.counters().get("unreadable_pages_rebuilt"), None);
    for rebuild in ["unreadable", "blocked"] {
        // A page fails only with another of its row: 5% of 14%.
        let (with, drive) = failed(rebuild);
        assert!((40..110).contains(&with), "{rebuild}: {with} of 10000 reads failed");
        let rebuilt = counter(&drive, "unreadable_pages_rebuilt");
        assert!(rebuilt + with > without * 3 / 4, "{rebuild}: {rebuilt} rebuilt, {with} failed of {without}");
    }
}

#[test]
fn power_cuts_end_rebuilds_and_turns() {
    let settings =
        [("mapping.rebuild", "blocked"), ("cleaning.rotate", "true"), ("flash.uncorrectable", "2%")];
    let mut drive = Drive::new(&drive(&settings), Seed(3));
    let bytes = drive.geometry().unit_bytes;
    let units = drive.info().capacity_bytes / bytes;
    let (mut random, mut out, mut id) = (Seed(4).source(), Vec::new(), 0);
    for _ in 0..500 {
        for _ in 0..random.below(60) {
            let offset = random.below(units) * bytes;
            let is_read = random.chance(0.5);
            let request =
                if is_read { Request::read(id, offset, bytes) } else { Request::write(id, offset, bytes) };
            drive.submit(request).unwrap();
            id += 1;
            drive.reap(drive.now() + Duration::from_us(random.below(2000)), &mut out);
            while drive.in_flight() >= 16 {
                drive.reap(Instant::FAR, &mut out);
            }
        }
        drive.cut_power();
        drive.reap(drive.now(), &mut out);
        assert_eq!(out.drain(..).count() as u64, std::mem::take(&mut id), "every request ends once");
        drive.check_tables();
    }
    let (blocked, unreadable) =
        (counter(&drive, "reads_rebuilt"), counter(&drive, "unreadable_pages_rebuilt"));
    assert!(blocked > 50 && unreadable > 50, "{blocked} and {unreadable} rebuilt");
}
