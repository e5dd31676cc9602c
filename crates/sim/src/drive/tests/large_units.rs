//! Mapping units larger than a page against arithmetic done by hand.

use super::*;

const SMALL: [(&str, &str); 9] = [
    ("capacity", "64MiB"),
    ("initial.state", "full"),
    ("buffer.policy", "none"),
    ("flash.channels", "2"),
    ("flash.blocks", "24"),
    ("flash.pages", "64"),
    ("flash.page", "4KiB"),
    ("flash.factory_bad", "0%"),
    ("flash.endurance_spread", "0%"),
];

/// A full drive of pages of 4 KiB without a buffer, whose mapping units have this size; with energy counted, which
/// tells single pages apart: a read takes 3, a program 30 microjoules.
fn drive(unit: &str) -> Drive {
    drive_with(unit, &[])
}

/// The same with these settings.
fn drive_with(unit: &str, settings: &[(&str, &str)]) -> Drive {
    let units =
        [("mapping.unit", unit), ("mapping.chunk", unit), ("power.read", "50mW"), ("power.program", "50mW")];
    Drive::new(&config("nvme-tlc", &[&SMALL[..], &units, settings].concat()), Seed(1))
}

/// Pages that were sensed and programmed for these requests, one at a time.
fn pages_of(drive: &mut Drive, requests: &[Request]) -> (u64, u64) {
    let before = drive.counters();
    let mut completions = Vec::new();
    for &request in requests {
        drive.submit(request).unwrap();
        drive.reap(Instant::FAR, &mut completions);
    }
    let counted = drive.counters().since(&before);
    let of = |name: &str| counted.get(name).unwrap();
    assert_eq!((of("energy_of_reads_nj") % 3_000, of("energy_of_programs_nj") % 30_000), (0, 0));
    (of("energy_of_reads_nj") / 3_000, of("energy_of_programs_nj") / 30_000)
}

#[test]
fn read_of_a_sector_costs_one_page_read() {
    let mut drive = drive("64KiB");
    let k = 1 << 10;
    assert_eq!(pages_of(&mut drive, &[Request::read(0, 300 * k, 4 * k)]), (1, 0));
    // Over an end of pages, and over an end of units.
    assert_eq!(pages_of(&mut drive, &[Request::read(1, 302 * k, 4 * k)]), (2, 0));
    assert_eq!(pages_of(&mut drive, &[Request::read(2, 640 * k - 4 * k, 8 * k)]), (2, 0));
    assert_eq!(pages_of(&mut drive, &[Request::read(3, 640 * k, 64 * k)]), (16, 0));
}

#[test]
fn write_of_a_part_reads_the_rest_and_programs_the_unit() {
    let mut drive = drive("64KiB");
    let k = 1 << 10;
    assert_eq!(pages_of(&mut drive, &[Request::write(0, 320 * k, 4 * k)]), (15, 16));
    // Two pages are written in part.
    assert_eq!(pages_of(&mut drive, &[Request::write(1, 322 * k, 4 * k)]), (16, 16));
    assert_eq!(pages_of(&mut drive, &[Request::write(2, 640 * k, 64 * k)]), (0, 16));
}

#[test]
fn small_random_writes_amplify_by_the_size_of_a_unit() {
    // Of aligned writes a unit is programmed for each, and what GC moves; of writes of 4 KiB as many, for a quarter of
    // the bytes.
    let (k, writes) = (1 << 10, 6_000);
    let programmed = |length: u64| {
        let mut drive = drive("16KiB");
        let units = (64 << 20) / (16 * k);
        let mut random = Seed(7).source();
        let requests: Vec<Request> =
            (0..writes).map(|id| Request::write(id, random.below(units) * 16 * k, length)).collect();
        let (_, pages) = pages_of(&mut drive, &requests);
        assert!(drive.counters().get("pages_moved_by_cleaning") > Some(1_000));
        let amplification = drive.counters().write_amplification().unwrap();
        let by_energy = (pages * 4 * k) as f64 / (writes * length) as f64;
        // GC that the last writes made due is counted when it is queued.
        assert!((amplification / by_energy - 1.0).abs() < 0.01, "{amplification} and {by_energy}");
        amplification
    };
    let (aligned, small) = (programmed(16 * k), programmed(4 * k));
    assert!((small / aligned - 4.0).abs() < 1e-9, "{small} and {aligned}");
}

#[test]
fn row_of_units_has_a_unit_of_parity() {
    let parity = [("mapping.parity", "1"), ("flash.blocks", "48"), ("flash.copyback", "false")];
    let mut drive = drive_with("16KiB", &[&parity[..], &[("cleaning.high", "0%")]].concat());
    let k = 1 << 10;
    // A row is a unit and its parity, four pages each.
    assert_eq!(pages_of(&mut drive, &[Request::write(0, 320 * k, 16 * k)]), (0, 8));
    assert_eq!(pages_of(&mut drive, &[Request::write(1, 640 * k, 4 * k)]), (3, 8));
    assert_eq!(drive.counters().get("parity_pages_programmed"), Some(2));
}

#[test]
fn units_in_the_slc_cache_take_its_times() {
    // Of a page of the cache a program takes twice, and a read three times as long as of others.
    let slc = [
        ("slc.read", "180us"),
        ("slc.program", "1200us"),
        ("slc.size", "2MiB"),
        ("slc.fold", "at-once"),
        ("flash.blocks", "32"),
    ];
    let mut drive = drive_with("64KiB", &slc);
    let k = 1 << 10;
    assert_eq!(pages_of(&mut drive, &[Request::write(0, 320 * k, 64 * k)]), (0, 2 * 16));
    assert_eq!(pages_of(&mut drive, &[Request::read(1, 320 * k, 4 * k)]), (3, 0));
    assert_eq!(drive.counters().get("slc_pages_written"), Some(1));
}

#[test]
fn last_page_completes_the_read_of_a_unit() {
    // Alone on its plane: sixteen senses and transfers of 4 KiB, one after the other.
    let mut drive = drive("64KiB");
    let mut completions = Vec::new();
    drive.submit(Request::read(0, 0, 64 << 10)).unwrap();
    drive.reap(Instant::FAR, &mut completions);
    let us = completions[0].latency().as_ns() / 1000;
    let by_hand = 5.0 + 16.0 * (60.0 + 4096.0 / 1200.0) + 65536.0 / 7000.0 + 0.4;
    assert!((us as f64 - by_hand).abs() < 2.0, "{us} and {by_hand} us");
}
