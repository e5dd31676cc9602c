mod faults;
mod scripted;

use super::*;
use crate::{Backed, Fault, Faults, Faulty, Rate};
use flashlane_device::{DataDevice, NullDevice};
use flashlane_device_testing::conformance;
use scripted::{Bench, D, PAGE, is_slot};

fn settings(partitions: u32, page_bytes: u64) -> Settings {
    Settings { partitions, page_bytes, ..Settings::default() }
}

/// Settings under which most accesses are blocked.
fn eager() -> Settings {
    Settings { delay: Some(Duration::from_ns(2)), threshold: Some(0.0), space: 0.3, ..settings(4, 4096) }
}

fn over_data<D: DataDevice>(below: D, settings: Settings) -> Replicated<Bytes<D>> {
    Replicated::new(Bytes(below), settings, Seed(1)).unwrap_or_else(|error| panic!("{error}"))
}

fn backed() -> Backed<NullDevice> {
    Backed::new(NullDevice::new(1 << 20))
}

#[test]
fn replicated_null_device_conforms() {
    for settings in
        [settings(4, 8192), eager(), Settings { policy: "lru".into(), threshold: None, ..eager() }]
    {
        conformance::check(&mut || {
            Box::new(Replicated::new(Timing(NullDevice::new(1 << 20)), settings.clone(), Seed(1)).unwrap())
        });
    }
}

#[test]
fn replicated_backed_device_conforms() {
    for settings in [settings(4, 8192), eager(), settings(8, 512)] {
        conformance::check_data(&mut || Box::new(over_data(backed(), settings.clone())));
    }
}

#[test]
fn space_holds_no_more_than_the_copies_of_all_pages() {
    let refusal = |space, copies| {
        let settings = Settings { space, copies: Some(copies), ..settings(4, 4096) };
        Replicated::new(Bytes(backed()), settings, Seed(1)).err().map(|error| error.to_string())
    };
    assert_eq!((refusal(0.75, 4), refusal(0.5, 2)), (None, None));
    for (space, copies, most) in [(0.77, 4, "75%"), (0.52, 2, "50%"), (0.98, 4, "75%")] {
        let refusal = refusal(space, copies).expect("there is room for more copies than pages may have");
        assert!(refusal.contains(most), "{refusal}");
    }
}

#[test]
fn delays_below_conform() {
    let faults = Faults::default().with(Fault::Delay, Rate::Share(0.3)).late_by(Duration::from_ns(50));
    conformance::check_data(&mut || {
        Box::new(over_data(Faulty::over_data(backed(), faults.clone(), Seed(1)), eager()))
    });
}

#[test]
fn faults_below_conform_but_for_failures() {
    let faults =
        [Fault::ReadError, Fault::WriteError, Fault::Delay, Fault::LostWrite, Fault::MisdirectedRead];
    let faults = faults.iter().fold(Faults::default(), |all, &fault| all.with(fault, Rate::Share(0.2)));
    let faults = faults.late_by(Duration::from_ns(50)).vanishing_after(150);
    conformance::check_failing(&mut || {
        Box::new(over_data(Faulty::over_data(backed(), faults.clone(), Seed(1)), eager()))
    });
}

const LATE: Duration = Duration::from_ms(5);
const IO_ERROR: Failure = Failure::Os(5);

/// Delays the first request to a home that `which` selects.
fn late_once(which: impl Fn(&Request) -> bool) -> impl FnMut(&Request) -> (Duration, Option<Failure>) {
    let mut was_late = false;
    move |request| {
        let is_late = !was_late && !is_slot(request) && which(request);
        was_late |= is_late;
        (if is_late { LATE } else { Duration::ZERO }, None)
    }
}

fn is_write(request: &Request) -> bool {
    request.operation == flashlane_device::Operation::Write
}

#[test]
fn blocked_write_completes_by_its_copy() {
    let mut bench = Bench::new(late_once(is_write));
    let latency = bench.write(3, 7).unwrap();
    assert!((D..D * 2).contains(&latency), "{latency}");
    assert_eq!((bench.count("writes_of_two_copies"), bench.count("writes_answered_by_copies")), (1, 1));
    // The home is not written: the copy is read.
    let (value, latency) = bench.read(3).unwrap();
    assert!(value == 7 && latency < D, "{value}, {latency}");
    assert_eq!((bench.count("reads_of_one_copy"), bench.count("accesses_of_replicated_pages")), (1, 1));
    // A flush waits for the home. A later write ends the copies.
    let latency = bench.flush().unwrap();
    assert!(latency > LATE / 2, "{latency}");
    bench.write(3, 8).unwrap();
    assert_eq!(bench.read(3).unwrap().0, 8);
    assert_eq!((bench.count("writes_of_one_copy"), bench.count("copies_written")), (1, 1));
}

#[test]
fn blocked_write_takes_as_many_places_as_are_blocked() {
    // The home and the first two copies are late.
    let mut late = 3;
    let mut bench = Bench::new(move |request| {
        late -= i32::from(is_write(request));
        (if late >= 0 { LATE } else { Duration::ZERO }, None)
    });
    let latency = bench.write(0, 1).unwrap();
    assert!((D * 3..D * 4).contains(&latency), "{latency}");
    assert_eq!((bench.count("writes_of_more_copies"), bench.count("copies_written")), (1, 3));
}

/// Writes pages of different partitions at once, which take these times; returns the number of copies that are written.
fn copies_of_writes(times: &'static [Duration]) -> u64 {
    let mut nth = 0;
    let mut bench = Bench::new(move |request| {
        let time = if is_slot(request) { LATE } else { times[nth] };
        nth += usize::from(!is_slot(request));
        (time, None)
    });
    for id in 0..times.len() as u64 {
        let buffer = Buffer::from_slice(&[id as u8; PAGE as usize]);
        let request = Request::write(id, id * 24 * PAGE, PAGE);
        bench.layer.submit_with(request, buffer).map_err(|(error, _)| error).expect("it is accepted");
    }
    let mut out = Vec::new();
    while out.len() < times.len() {
        bench.layer.reap(Instant::FAR, &mut out);
    }
    bench.count("copies_written")
}

#[test]
fn write_is_blocked_only_where_others_are_not() {
    const SOON: Duration = Duration::from_us(150);
    assert_eq!(copies_of_writes(&[SOON]), 1, "it is alone");
    assert_eq!(copies_of_writes(&[SOON, SOON, SOON]), 0, "all wait for the same");
    assert_eq!(copies_of_writes(&[SOON, Duration::ZERO, SOON]), 1, "the second overtakes the first");
}

/// Writes pages, each tenth late, where accesses take `after` for a while after a copy is written; returns the share of
/// late writes that are copied.
fn copied_share(after: Duration) -> f64 {
    const WRITES: u32 = 1000;
    let (mut nth, mut slow) = (0, 0);
    let settings = Settings { round: 50, ..Bench::settings() };
    let mut bench = Bench::with(settings, move |request| {
        if is_slot(request) {
            slow = 10;
            return (Duration::ZERO, None);
        }
        nth += 1;
        slow = (slow - 1).max(0);
        let time = if slow > 0 { after } else { Duration::ZERO };
        (if nth % 10 == 0 { D * 3 } else { time }, None)
    });
    for nth in 0..WRITES {
        bench.write(u64::from(nth % 100), nth as u8).expect("nothing fails");
    }
    bench.count("copies_written") as f64 / f64::from(WRITES / 10)
}

#[test]
fn pages_are_copied_only_where_that_is_worth_it() {
    let shares = [Duration::ZERO, D / 2].map(copied_share);
    assert!(shares[0] > 0.6 && shares[1] < 0.45, "{shares:?}");
}

#[test]
fn durable_write_waits_for_its_home() {
    let mut bench = Bench::new(late_once(is_write));
    let latency = bench.write_as(Request::write(0, 0, PAGE).durable(), 1).unwrap();
    assert!(latency >= LATE, "{latency}");
    assert_eq!(bench.count("copies_written"), 0);
}

#[test]
fn partial_write_goes_to_the_home_and_ends_the_copies() {
    let mut bench = Bench::new(late_once(is_write));
    bench.write(0, 1).unwrap();
    let latency = bench.write_as(Request::write(0, 512, 512), 2).unwrap();
    assert!(latency > LATE / 2, "it is after the home of the write before: {latency}");
    let (_, buffer) = (bench.flush(), bench.layer.groups.is_replicated(0));
    assert!(!buffer);
}

#[test]
fn nothing_is_written_before_the_first_write() {
    let mut bench = Bench::new(|request| (if is_write(request) { Duration::ZERO } else { LATE }, None));
    let read_often = |bench: &mut Bench| {
        for _ in 0..4 {
            bench.read(5).unwrap();
            bench.wait(Duration::from_ms(1));
        }
    };
    read_often(&mut bench);
    bench.flush().unwrap();
    read_often(&mut bench);
    let counts = ["accesses_blocked", "copies_written"].map(|name| bench.count(name));
    assert_eq!(counts, [8, 0], "whoever only reads leaves the device as it was");
    bench.write(6, 1).unwrap();
    read_often(&mut bench);
    assert_eq!(bench.count("copies_written_for_reads"), 1);
}

#[test]
fn blocked_reads_are_replicated_above_the_threshold() {
    let late_reads = || |request: &Request| (if is_write(request) { Duration::ZERO } else { LATE }, None);
    let mut bench = Bench::new(late_reads());
    for value in [1, 2] {
        bench.write(5, value).unwrap();
    }
    // One blocked access of three may be chance.
    let (value, latency) = bench.read(5).unwrap();
    assert!(value == 2 && latency >= LATE, "there is no copy: {latency}");
    bench.wait(Duration::from_ms(1));
    assert_eq!((bench.count("accesses_blocked"), bench.count("copies_written_for_reads")), (1, 0));
    // Two of four are more than 30%.
    let (value, latency) = bench.read(5).unwrap();
    assert!(value == 2 && latency >= LATE, "there is no copy yet: {latency}");
    bench.wait(Duration::from_ms(1));
    assert_eq!((bench.count("copies_written_for_reads"), bench.count("copies_expected")), (1, 2));
    assert!(bench.layer.groups.readable(5).count() == 1);
    assert_eq!(bench.read(5).unwrap().0, 2);
    // Another page, blocked twice in eight accesses.
    let mut bench = Bench::new(late_reads());
    for value in 0..6 {
        bench.write(5, value).unwrap();
    }
    for _ in 0..2 {
        bench.read(5).unwrap();
    }
    bench.wait(Duration::from_ms(1));
    assert_eq!((bench.count("accesses_blocked"), bench.count("copies_written_for_reads")), (2, 0));
}

#[test]
fn blocked_read_completes_by_a_copy() {
    let mut reads = 0;
    let mut bench = Bench::new(move |request| {
        // The first write, then the first read: wherever it goes.
        reads += u32::from(!is_write(request));
        let late = if is_write(request) { !is_slot(request) } else { reads == 1 };
        (if late { LATE } else { Duration::ZERO }, None)
    });
    bench.write(2, 9).unwrap();
    bench.wait(LATE * 2);
    let (value, latency) = bench.read(2).unwrap();
    assert!(value == 9 && (D..D * 2).contains(&latency), "{value}, {latency}");
    assert_eq!(bench.count("reads_of_two_copies"), 1);
}

#[test]
fn failed_copy_fails_no_request() {
    let mut slots = 0;
    let mut bench = Bench::new(move |request| {
        slots += u32::from(is_slot(request));
        let fails = is_slot(request) && slots <= 3;
        (if is_slot(request) { Duration::ZERO } else { LATE }, fails.then_some(IO_ERROR))
    });
    assert_eq!(bench.write(1, 1).map(|latency| latency / (D * 4).as_ns()), Ok(Duration::from_ns(1)));
    assert_eq!((bench.count("copies_failed"), bench.count("writes_answered_by_copies")), (3, 1));
    // With every copy failing, the home completes the write.
    let mut bench = Bench::new(|request| match is_slot(request) {
        true => (Duration::ZERO, Some(IO_ERROR)),
        false => (LATE, None),
    });
    assert!(bench.write(1, 1).unwrap() >= LATE);
    assert_eq!(bench.read(1).unwrap().0, 1);
}

#[test]
fn unreadable_place_is_replaced_by_another() {
    for broken_slot in [false, true] {
        let mut bench = Bench::new(move |request| {
            let late = is_write(request) && !is_slot(request);
            let fails = !is_write(request) && is_slot(request) == broken_slot;
            (if late { LATE } else { Duration::ZERO }, fails.then_some(Failure::Unreadable))
        });
        bench.write(4, 6).unwrap();
        assert_eq!(
            bench.read(4).map(|(value, _)| value),
            Ok(6),
            "the home is not written: slot fails: {broken_slot}"
        );
        bench.wait(LATE * 2);
        assert_eq!(bench.read(4).map(|(value, _)| value), Ok(6), "slot fails: {broken_slot}");
    }
    let mut bench =
        Bench::new(|request| (Duration::ZERO, (!is_write(request)).then_some(Failure::Unreadable)));
    bench.write(4, 6).unwrap();
    assert_eq!(bench.read(4), Err(Failure::Unreadable));
}

#[test]
fn failed_home_fails_the_write_before_a_copy_is_there() {
    let mut bench =
        Bench::new(|request| (D * 3 / 2, (!is_slot(request) && is_write(request)).then_some(IO_ERROR)));
    assert_eq!(bench.write(1, 1), Err(IO_ERROR));
    bench.wait(LATE);
    assert!(!bench.layer.groups.is_replicated(1), "the copy of a failed write is no copy");
    assert_eq!((bench.flush().is_ok(), bench.count("home_writes_lost")), (true, 0));
}

#[test]
fn home_of_an_acknowledged_write_is_written_again() {
    for failures in [ATTEMPTS - 1, ATTEMPTS] {
        let mut left = failures;
        let mut bench = Bench::new(move |request| {
            if is_slot(request) || !is_write(request) {
                return (Duration::ZERO, None);
            }
            let fails = left > 0;
            left = left.saturating_sub(1);
            (LATE, fails.then_some(IO_ERROR))
        });
        assert!(bench.write(1, 3).is_ok());
        assert_eq!(bench.read(1).unwrap().0, 3);
        let is_lost = failures == ATTEMPTS;
        assert_eq!(bench.flush().is_err(), is_lost, "after {failures} failures");
        assert_eq!(bench.count("home_writes_lost"), u64::from(is_lost));
        assert!(bench.flush().is_ok(), "it is reported once");
        bench.write(1, 4).unwrap();
        assert_eq!(bench.read(1).unwrap().0, 4);
    }
}

#[test]
fn slot_that_is_read_is_not_written() {
    // Two partitions with a slot each. The home of page 0 stays behind, so that its copy is read, and that takes long.
    let settings =
        Settings { partitions: 2, page_bytes: 64 << 10, space: 0.125, delay: Some(D), ..Settings::default() };
    let page_bytes = settings.page_bytes;
    let is_slot = move |request: &Request| request.offset_bytes % (8 * page_bytes) >= 7 * page_bytes;
    let mut bench = Bench::with(settings, move |request| {
        let late = match (is_write(request), is_slot(request)) {
            (true, true) => 0,
            (false, _) => 5,
            (true, false) => {
                if request.offset_bytes == 0 {
                    50
                } else {
                    3
                }
            }
        };
        (Duration::from_ms(late), None)
    });
    bench.write_as(Request::write(0, 0, page_bytes), 1).unwrap();
    let read = Request::read(1000, 0, page_bytes);
    bench.layer.submit_with(read, Buffer::zeroed(page_bytes as usize)).map_err(|(error, _)| error).unwrap();
    // The copy gives way to that of page 1, whose slot it would have.
    let latency = bench.write_as(Request::write(0, page_bytes, page_bytes), 2).unwrap();
    assert!(latency >= Duration::from_ms(3), "{latency}");
    let for_writes = |bench: &Bench| bench.count("copies_written") - bench.count("copies_written_for_reads");
    assert_eq!((bench.count("copies_evicted"), for_writes(&bench)), (1, 1));
    bench.layer.reap(Instant::FAR, &mut Vec::new());
    assert_eq!(bench.layer.take_buffer(read.id).unwrap().as_slice()[0], 1);
    // Without a reader the slot is taken.
    bench.write_as(Request::write(0, page_bytes, page_bytes), 3).unwrap();
    assert_eq!(for_writes(&bench), 2);
}
