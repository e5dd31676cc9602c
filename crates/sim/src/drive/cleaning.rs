//! What cleaning costs those who write.

use super::tests::config;
use super::*;

/// Writes of single pages at random places, so many in flight; the time of all in ms and the longest of one in us.
fn writes(drive: &mut Drive, count: u64, depth: u64, pause: Duration) -> (f64, f64) {
    let pages = drive.profile().capacity_bytes / drive.geometry.page_bytes;
    let bytes = drive.geometry.page_bytes;
    let (mut random, mut out, mut longest) = (Seed(2).source(), Vec::new(), 0);
    for id in 0..count {
        drive.submit(Request::write(id, random.below(pages) * bytes, bytes)).unwrap();
        while u64::from(drive.in_flight) >= depth {
            drive.reap(Instant::FAR, &mut out);
        }
        longest = out
            .drain(..)
            .map(|completion: Completion| completion.latency().as_ns())
            .max()
            .unwrap_or(0)
            .max(longest);
        let until = drive.now + pause;
        if !pause.is_zero() {
            drive.reap(until, &mut out);
        }
    }
    (drive.now.as_ns() as f64 / 1e6, longest as f64 / 1e3)
}

#[test]
fn cleaning_that_yields_lets_writes_past_and_is_done_all_the_same() {
    let measured = |yields, pause| {
        let settings = [
            ("flash.channels", "1"),
            ("flash.planes", "1"),
            ("flash.blocks", "64"),
            ("capacity", "13MiB"),
            ("cleaning.low", "3%"),
            ("cleaning.lazy", "false"),
            ("cleaning.yields", yields),
            ("initial.state", "fragmented"),
        ];
        writes(&mut Drive::new(&config("msr-32g", &settings), Seed(1)), 4000, 1, pause)
    };
    // A write takes 308 us. One move takes 225 us and an erase 1.5 ms: nothing else can come before it, where the host
    // leaves time enough for all of it before the next block is opened.
    let (at_once, yielding) =
        (measured("false", Duration::from_ms(2)), measured("true", Duration::from_ms(2)));
    assert!(at_once.1 > 10_000.0, "the longest write took {} us", at_once.1);
    assert!(yielding.1 < 308.0 + 1_510.0, "the longest write took {} us", yielding.1);
    // A host that leaves none waits as long as ever.
    let (at_once, yielding) = (measured("false", Duration::ZERO), measured("true", Duration::ZERO));
    assert!((yielding.0 / at_once.0 - 1.0).abs() < 0.02, "{} instead of {} ms", yielding.0, at_once.0);
}

#[test]
fn with_a_second_register_cleaning_overlaps_bus_and_array_as_writes_do() {
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
