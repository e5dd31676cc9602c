//! Energy against arithmetic done by hand.

use super::*;

const POWER: [(&str, &str); 7] = [
    ("power.read", "50mW"),
    ("power.program", "70mW"),
    ("power.erase", "90mW"),
    ("power.bus", "30mW"),
    ("power.link", "200mW"),
    ("power.active", "1W"),
    ("power.idle", "60mW"),
];

/// A drive with these powers, without readahead or buffer; `others` change it further.
fn metered(name: &str, others: &[(&str, &str)]) -> Drive {
    let settings: Vec<_> = POWER.iter().chain(others).copied().collect();
    Drive::new(&config(name, &settings), Seed(1))
}

/// The counters of energy after `requests`, one at a time, and `pause` at the end.
fn energy_of(drive: &mut Drive, requests: impl Iterator<Item = Request>, pause: Duration) -> Counters {
    let mut completions = Vec::new();
    for request in requests {
        drive.submit(request).unwrap();
        drive.reap(Instant::FAR, &mut completions);
    }
    drive.reap(drive.now() + pause, &mut completions);
    drive.counters()
}

#[test]
fn energy_is_power_times_the_time_of_each_use() {
    // Dies that serve in order, and dies with queues.
    for others in [&[("flash.channels", "20"), ("flash.packages", "1")][..], &[]] {
        let quiet = [("buffer.policy", "none"), ("initial.state", "full")];
        let mut drive = metered("ssd-s", &[&quiet, others].concat());
        let (page, pause) = (4096, Duration::from_ms(3));
        let reads = (0..100).map(|id| Request::read(id, id * 37 * page, page));
        let counters = energy_of(&mut drive, reads, pause);
        let of = |name: &str| counters.get(name).unwrap();
        // 25 us of 50 mW each: 1,250 nJ.
        assert_eq!(of("energy_of_reads_nj"), 100 * 1_250);
        assert_eq!((of("energy_of_programs_nj"), of("energy_of_erases_nj")), (0, 0));
        // 113.78 us of the bus, 16.384 + 11 us of the link.
        assert_eq!(of("energy_of_buses_nj"), 100 * 30 * 113_778 / 1000);
        assert_eq!(of("energy_of_link_nj"), 100 * 200 * 27_384 / 1000);
        let active = drive.now().as_ns() - pause.as_ns();
        assert_eq!(of("energy_of_controller_nj"), active);
        assert_eq!(of("energy_of_idle_nj"), 60 * drive.now().as_ns() / 1000);
    }
}

#[test]
fn programs_take_their_energy_alone_or_on_several_planes() {
    let of = |multi_plane: &str| {
        let small =
            [("capacity", "64MiB"), ("flash.blocks", "24"), ("flash.pages", "16"), ("flash.channels", "2")];
        let others = [
            &small[..],
            &[("flash.multi_plane", multi_plane), ("mapping.unit", "16KiB"), ("flash.factory_bad", "0%")],
        ]
        .concat();
        let mut drive = metered("nvme-tlc", &others);
        let unit = 16 << 10;
        let writes = (0..256).map(|id| Request::write(id, id * unit, unit)).chain([Request::flush(256)]);
        let counters = energy_of(&mut drive, writes, Duration::ZERO);
        let of = |name: &str| counters.get(name).unwrap();
        // 600 us of 70 mW for each page.
        let pages = of(Counters::FLASH_PAGES_PROGRAMMED);
        assert_eq!(of("energy_of_programs_nj"), 42_000 * pages);
        (pages, of("multi_plane_operations"))
    };
    let ((together, operations), (apart, none)) = (of("true"), of("false"));
    assert!(operations > 0 && none == 0);
    assert_eq!(together, apart);
}

#[test]
fn erases_and_moves_of_gc_take_their_energy_apart() {
    let others =
        [("capacity", "64MiB"), ("flash.blocks", "24"), ("flash.pages", "16"), ("flash.channels", "2")];
    let others =
        [&others[..], &[("initial.state", "full"), ("buffer.policy", "none"), ("mapping.unit", "16KiB")]]
            .concat();
    let mut drive = metered("nvme-tlc", &others);
    let unit = 16 << 10;
    let units = (64 << 20) / unit;
    let writes = (0..4000).map(|id| Request::write(id, id * 7919 % units * unit, unit));
    let counters = energy_of(&mut drive, writes, Duration::from_s(1));
    let of = |name: &str| counters.get(name).unwrap();
    assert!(of("pages_moved_by_cleaning") > 100);
    assert_eq!(of("energy_of_erases_nj"), 90 * 5_000 * of("blocks_erased"));
    assert_eq!(of("energy_of_programs_nj"), 42_000 * of(Counters::FLASH_PAGES_PROGRAMMED));
    assert_eq!(of("energy_of_reads_nj"), 3_000 * of("pages_moved_by_cleaning"));
}

#[test]
fn drive_without_powers_counts_no_energy() {
    let drive = Drive::new(&config("ssd-s", &[]), Seed(1));
    assert_eq!((drive.counters().get(Counters::ENERGY), drive.power_curve()), (None, None));
}

#[test]
fn power_cut_keeps_the_energy_that_was_taken() {
    let mut drive = metered("ssd-s", &[]);
    let writes = (0..20).map(|id| Request::write(id, id * 4096, 4096));
    let before = energy_of(&mut drive, writes, Duration::ZERO);
    drive.submit(Request::write(20, 0, 4096)).unwrap();
    drive.cut_power();
    let after = drive.counters();
    assert!(after.get(Counters::ENERGY) >= before.get(Counters::ENERGY));
    let now = drive.now();
    // The first reports the request that was lost.
    (0..2).for_each(|_| drive.reap(now + Duration::from_s(1), &mut Vec::new()));
    // With no request in flight only the idle power is left.
    let later = drive.counters().since(&after);
    assert_eq!(
        (later.get(Counters::ENERGY), later.get("energy_of_idle_nj")),
        (Some(60_000_000), Some(60_000_000))
    );
}
