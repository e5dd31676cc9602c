//! Copies on other dies: what they are for, and that none of them loses a write.

use super::*;

/// A small drive of four dies that garbage-collects all the time.
fn drive(settings: &[(&str, &str)]) -> DriveConfig {
    let mut all = vec![
        ("flash.channels", "4"),
        ("flash.packages", "1"),
        ("flash.dies", "1"),
        ("flash.planes", "1"),
        ("flash.blocks", "128"),
        ("flash.pages", "64"),
        ("cleaning.low", "5%"),
        ("cleaning.defer", "no"),
        ("over_provisioning", "30%"),
        ("initial.state", "fragmented"),
    ];
    all.extend(settings);
    config("msr-32g", &all)
}

/// Reads and writes single mapping units in turns, `pause` apart: reads of a fiftieth of the drive, writes of all of
/// it. Returns the latencies of reads and of writes.
fn load(drive: &mut Drive, count: u64, pause: Duration) -> [Vec<Duration>; 2] {
    let bytes = drive.geometry().unit_bytes;
    let units = drive.info().capacity_bytes / bytes;
    let (mut random, mut out, mut all) = (Seed(9).source(), Vec::new(), [Vec::new(), Vec::new()]);
    for id in 0..count {
        let is_read = id % 2 == 0;
        let unit = random.below(if is_read { units / 50 } else { units });
        let request = match is_read {
            true => Request::read(id, unit * bytes, bytes),
            false => Request::write(id, unit * bytes, bytes),
        };
        drive.submit(request).unwrap();
        let until = drive.now() + pause;
        while drive.now() < until {
            drive.reap(until, &mut out);
        }
        out.drain(..).for_each(|completion| {
            all[(completion.id.0 % 2) as usize].push(completion.latency());
        });
    }
    all
}

/// The mean of the second half in us: the first fills the replication space.
fn mean(latencies: &[Duration]) -> f64 {
    let latencies = &latencies[latencies.len() / 2..];
    let total: Duration = latencies.iter().fold(Duration::ZERO, |sum, &latency| sum + latency);
    total.as_us_f64() / latencies.len() as f64
}

#[test]
fn copies_shorten_reads_and_writes() {
    let measured = |policy| {
        let config = drive(&[("replication.policy", policy)]);
        let mut drive = Drive::new(&config, Seed(1));
        let latencies = load(&mut drive, 40_000, Duration::from_us(700));
        (latencies.map(|of_kind| mean(&of_kind)), drive)
    };
    let (without, _) = measured("none");
    for policy in ["lru", "pblru"] {
        let (with, drive) = measured(policy);
        assert!(
            with[0] < 0.85 * without[0],
            "{policy}: reads {} us, without copies {} us",
            with[0],
            without[0]
        );
        assert!(
            with[1] < 0.9 * without[1],
            "{policy}: writes {} us, without copies {} us",
            with[1],
            without[1]
        );
        assert!(counter(&drive, "reads_answered_by_copies") > 0);
        drive.check_tables();
    }
}

#[test]
fn pblru_writes_fewer_copies_than_lru() {
    let copies = |policy| {
        let mut drive = Drive::new(&drive(&[("replication.policy", policy)]), Seed(1));
        load(&mut drive, 20_000, Duration::from_ms(3));
        counter(&drive, "copies_written")
    };
    let (lru, pblru) = (copies("lru"), copies("pblru"));
    assert!(pblru < lru, "{pblru} copies, with lru {lru}");
}

#[test]
fn write_behind_other_writes_is_not_blocked() {
    // No die garbage-collects; each of these writes waits for up to 255 others.
    let mut drive = Drive::new(
        &drive(&[("initial.state", "fresh"), ("link.depth", "256"), ("replication.policy", "lru")]),
        Seed(1),
    );
    let (bytes, mut out) = (drive.geometry().unit_bytes, Vec::new());
    for id in 0..256 {
        drive.submit(Request::write(id, id * bytes, bytes)).unwrap();
    }
    while drive.in_flight() > 0 {
        drive.reap(Instant::FAR, &mut out);
    }
    let longest = out.iter().map(Completion::latency).max().unwrap();
    assert!(longest > Duration::from_ms(2), "{longest}");
    assert_eq!((counter(&drive, "writes_of_one_copy"), counter(&drive, "copies_expected")), (256, 0));
}

#[test]
fn a_policy_of_none_is_a_drive_without_the_section() {
    let hash = |settings: &[(&str, &str)]| {
        let mut drive = Drive::new(&drive(settings), Seed(1));
        load(&mut drive, 2_000, Duration::from_us(700));
        (drive.trace_hash(), drive.counters().get("copies_written"))
    };
    assert_eq!(hash(&[("replication.policy", "none"), ("replication.copies", "9")]), hash(&[]));
    assert_eq!(hash(&[]).1, None);
}

#[test]
fn power_cuts_lose_no_acknowledged_write() {
    // Without a buffer every write that completes is on flash. `Replicator::cut_power` asserts that the copies which
    // completed writes are still there; here they are what is left.
    let (mut cuts, mut copies) = (0, 0);
    for seed in 0..20 {
        let policy = if seed % 2 == 0 { "lru" } else { "pblru" };
        let config = drive(&[
            ("initial.state", "fresh"),
            ("flash.blocks", "24"),
            ("replication.policy", policy),
            ("replication.space", "3%"),
            ("replication.delay", ["1us", "300us"][seed as usize / 2 % 2]),
        ]);
        let mut drive = Drive::new(&config, Seed(seed));
        let bytes = drive.geometry().unit_bytes;
        let units = drive.info().capacity_bytes / bytes;
        let mut random = Seed(seed).derive("cuts").source();
        let (mut written, mut id, mut out) = (std::collections::BTreeSet::new(), 0, Vec::new());
        let mut of_request = Vec::new();
        for _ in 0..100 {
            for _ in 0..random.below(200) {
                let unit = random.below(units);
                drive.submit(Request::write(id, unit * bytes, bytes)).unwrap();
                of_request.push(unit);
                id += 1;
                let until = drive.now() + Duration::from_us(random.below(500));
                drive.reap(until, &mut out);
                while drive.in_flight() >= 16 {
                    drive.reap(Instant::FAR, &mut out);
                }
                written
                    .extend(out.drain(..).map(|completion: Completion| of_request[completion.id.0 as usize]));
            }
            assert_eq!(drive.cut_power(), Some(Vec::new()), "nothing acknowledged is lost");
            cuts += 1;
            drive.reap(drive.now(), &mut out);
            out.clear();
            drive.check_tables();
            for &unit in &written {
                assert!(drive.plane_of(Lpn(unit as u32)).is_some(), "unit {unit} was written and is gone");
            }
        }
        copies += counter(&drive, "copies_written");
    }
    assert_eq!(cuts, 2_000);
    assert!(copies > 1_000, "{copies} copies");
}

/// A drive whose copies complete writes that wait for GC, with later versions on other dies.
fn drive_of_versions(seed: Seed) -> Drive {
    let config = drive(&[
        ("mapping.policy", "write-order"),
        ("mapping.allocation", "random"),
        ("replication.policy", "lru"),
        ("replication.delay", "1us"),
    ]);
    Drive::new(&config, seed)
}

fn writes_under_way(drive: &Drive, unit: u64) -> Vec<u64> {
    let replicator = drive.translation.replicator().expect("the drive replicates");
    replicator.writes_under_way(Lpn(unit as u32))
}

#[test]
fn cut_keeps_the_newest_of_several_versions() {
    // A copy completes one whose home waits for GC; the next may be on flash before it.
    let mut older = 0;
    for seed in 0..3 {
        let mut drive = drive_of_versions(Seed(seed));
        let bytes = drive.geometry().unit_bytes;
        let units = drive.info().capacity_bytes / bytes;
        let mut random = Seed(seed).derive("versions").source();
        let (mut newest, mut id, mut out) = (std::collections::BTreeMap::new(), 0, Vec::new());
        // Hedged accesses are numbered in the order of the writes: there are no reads. A cut loses those not begun.
        let (mut of_request, mut lost) = (Vec::new(), 0);
        for _ in 0..100 {
            for _ in 0..random.below(200) {
                // Half of the writes are to a few units, all others keep the drive short of free blocks.
                let area = if random.chance(0.5) { 8 } else { units };
                let unit = random.below(area);
                drive.submit(Request::write(id, unit * bytes, bytes)).unwrap();
                of_request.push(unit);
                id += 1;
                let until = drive.now() + Duration::from_us(random.below(1500));
                drive.reap(until, &mut out);
                while drive.in_flight() >= 16 {
                    drive.reap(Instant::FAR, &mut out);
                }
                out.drain(..).for_each(|completion: Completion| {
                    let version = newest.entry(of_request[completion.id.0 as usize]).or_insert(0);
                    *version = (completion.id.0 + 1 - lost).max(*version);
                });
            }
            let places: Vec<_> = (0..8)
                .filter_map(|unit| {
                    let under_way = writes_under_way(&drive, unit);
                    let newest = *newest.get(&unit)?;
                    // The newest acknowledged version is on flash at its home, and no write came after it.
                    let is_programmed = under_way.iter().all(|&number| number < newest);
                    older += u64::from(is_programmed && !under_way.is_empty());
                    let lpn = Lpn(unit as u32);
                    is_programmed.then(|| (lpn, drive.plane_of(lpn)))
                })
                .collect();
            drive.cut_power();
            for (lpn, place) in places {
                assert_eq!(drive.plane_of(lpn), place, "unit {} is an older version", lpn.0);
            }
            lost = id - drive.translation.replicator().expect("the drive replicates").last_version();
            drive.reap(drive.now(), &mut out);
            out.clear();
            drive.check_tables();
        }
    }
    assert!(older > 6, "{older} older versions were still to be programmed");
}

#[test]
fn cut_keeps_a_trim_of_a_write_that_a_copy_completed() {
    let mut drive = drive_of_versions(Seed(1));
    let bytes = drive.geometry().unit_bytes;
    let units = drive.info().capacity_bytes / bytes;
    let (mut random, mut out) = (Seed(2).source(), Vec::new());
    let (mut in_flight, mut trims) = (std::collections::BTreeMap::new(), 0);
    for id in 0..4000 {
        let unit = random.below(units);
        let is_in_flight = in_flight.values().any(|&other| other == unit);
        if is_in_flight {
            continue;
        }
        drive.submit(Request::write(2 * id, unit * bytes, bytes)).unwrap();
        in_flight.insert(RequestId(2 * id), unit);
        let until = drive.now() + Duration::from_us(random.below(1500));
        drive.reap(until, &mut out);
        while drive.in_flight() >= 16 {
            drive.reap(Instant::FAR, &mut out);
        }
        let written: Vec<u64> =
            out.drain(..).filter_map(|completion| in_flight.remove(&completion.id)).collect();
        let by_copy = written.into_iter().find(|&unit| !writes_under_way(&drive, unit).is_empty());
        let Some(unit) = by_copy else { continue };
        drive.submit(Request::trim(2 * id + 1, unit * bytes, bytes)).unwrap();
        while !out.iter().any(|completion: &Completion| completion.id.0 == 2 * id + 1) {
            drive.reap(Instant::FAR, &mut out);
        }
        trims += u64::from(!writes_under_way(&drive, unit).is_empty());
        drive.cut_power();
        assert_eq!(drive.plane_of(Lpn(unit as u32)), None, "unit {unit} was trimmed");
        drive.reap(drive.now(), &mut out);
        out.clear();
        in_flight.clear();
        drive.check_tables();
    }
    assert!(trims > 6, "{trims} writes were still to be programmed");
}
