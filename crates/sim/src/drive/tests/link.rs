//! What crosses the link, and in which order.

use super::*;

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
