//! Where the time of requests goes, by arithmetic done by hand. `random_drives` has the law for all drives.

use super::*;
use crate::profile::parse;

/// A drive of one die whose times are easy to add up: 2 us at the host, 4.096 us over the link, 10.24 us over the bus.
const ONE_DIE: &str = r#"
name = "one-die"
capacity = "1MiB"
sector = "512B"
[host]
submission = "2us"
[link]
bandwidth = "1GB/s"
depth = 32
[mapping]
policy = "write-order"
unit = "4KiB"
chunk = "4KiB"
[cleaning]
low = "10%"
high = "20%"
[initial]
state = "full"
[flash]
channels = 1
packages = 1
dies = 1
planes = 1
blocks = 24
pages = 16
page = "4KiB"
bus = "400MB/s"
read = "50us"
program = "600us"
erase = "3ms"
"#;

fn drive(more: &str) -> Drive {
    let config = parse("one-die", &format!("{ONE_DIE}{more}"), &[]).unwrap_or_else(|error| panic!("{error}"));
    let mut drive = Drive::new(&config, Seed(1));
    assert!(drive.record_time_splits());
    drive
}

/// Submits requests at these times, in us, and returns the splits in the order of the requests.
fn splits(drive: &mut Drive, requests: &[(u64, Request)]) -> Vec<TimeSplit> {
    let mut splits = vec![TimeSplit::ZERO; requests.len()];
    let mut done = 0;
    let mut reap = |drive: &mut Drive, until: Instant| {
        let mut out = Vec::new();
        drive.reap(until, &mut out);
        for completion in &out {
            splits[completion.id.0 as usize] = drive.time_split(completion.id).expect("it is recorded");
            done += 1;
        }
        done
    };
    for &(at_us, request) in requests {
        let at = Instant::from_ns(at_us * 1_000);
        while drive.now() < at {
            reap(drive, at);
        }
        drive.submit(request).unwrap();
    }
    while reap(drive, Instant::FAR) < requests.len() {}
    splits
}

/// The parts that have time, in ns.
fn parts(split: &TimeSplit) -> Vec<(Part, u64)> {
    split.parts().map(|(part, time)| (part, time.as_ns())).filter(|(_, ns)| *ns > 0).collect()
}

#[test]
fn second_read_of_a_die_waits_behind_the_first() {
    let both = splits(&mut drive(""), &[(0, Request::read(0, 0, 4096)), (0, Request::read(1, 65536, 4096))]);
    let own = [(Part::Host, 2_000), (Part::Link, 4_096), (Part::Bus, 10_240), (Part::Array, 50_000)];
    assert_eq!(parts(&both[0]), own);
    let behind = [&own[..], &[(Part::BehindReads, 60_240)]].concat();
    assert_eq!(parts(&both[1]), behind);
}

#[test]
fn read_waits_behind_a_program_or_suspends_it() {
    let requests = [(0, Request::write(0, 0, 4096)), (20, Request::read(1, 65536, 4096))];
    let write = [(Part::Host, 2_000), (Part::Link, 4_096), (Part::Bus, 10_240), (Part::Array, 600_000)];
    let read = [(Part::Host, 2_000), (Part::Link, 4_096), (Part::Bus, 10_240), (Part::Array, 50_000)];
    let waiting = splits(&mut drive(""), &requests);
    assert_eq!(parts(&waiting[0]), write);
    // The program ends at 616.336 us, the read reaches its die at 22 us.
    assert_eq!(parts(&waiting[1]), [&read[..], &[(Part::BehindPrograms, 594_336)]].concat());
    let suspending = splits(&mut drive("suspend = \"20us\"\n"), &requests);
    assert_eq!(parts(&suspending[1]), read);
    assert_eq!(parts(&suspending[0]), [&write[..], &[(Part::BehindReads, 60_240 + 20_000)]].concat());
}

#[test]
fn whole_request_is_divided_as_its_last_page() {
    let read = splits(&mut drive(""), &[(0, Request::read(0, 0, 8192))]);
    // The second page waits behind the first, and crosses the link after it has.
    let expected = [
        (Part::Host, 2_000),
        (Part::Link, 4_096),
        (Part::Bus, 10_240),
        (Part::Array, 50_000),
        (Part::BehindReads, 60_240),
    ];
    assert_eq!(parts(&read[0]), expected);
}

#[test]
fn write_without_room_is_divided_as_the_drain_that_makes_room() {
    let buffer = "[buffer]\npolicy = \"lru\"\nsize = \"4KiB\"\nlatency = \"3us\"\nhigh_watermark = \"0%\"\n";
    let writes =
        splits(&mut drive(buffer), &[(0, Request::write(0, 0, 4096)), (0, Request::write(1, 65536, 4096))]);
    assert_eq!(parts(&writes[0]), [(Part::Host, 2_000), (Part::Link, 4_096), (Part::Buffer, 3_000)]);
    // It waits from 10.192 us until the drain ends at 616.336 us, which takes 10.24 us on the bus and 600 in the array.
    let waited = 606_144;
    let bus = waited * 10_240 / 610_240;
    let expected = [
        (Part::Host, 2_000),
        (Part::Link, 8_192),
        (Part::Buffer, 3_000),
        (Part::Bus, bus),
        (Part::Array, waited - bus),
    ];
    assert_eq!(parts(&writes[1]), expected);
    // A flush waits for the drain of the second write.
    let flush = splits(&mut drive(buffer), &[(0, Request::write(0, 0, 4096)), (0, Request::flush(1))]);
    assert!(flush[1].of(Part::Array) > Duration::from_us(500), "{:?}", flush[1]);
}

#[test]
fn overwrites_of_a_full_drive_wait_behind_gc() {
    let mut drive = drive("");
    let mut random = Seed(3).source();
    let writes: Vec<(u64, Request)> =
        (0..500).map(|id| (id / 2 * 6_000, Request::write(id, random.below(256) * 4096, 4096))).collect();
    let all = splits(&mut drive, &writes);
    let mut sum = TimeSplit::ZERO;
    all.iter().for_each(|split| sum += split);
    assert_eq!(sum.of(Part::Array), Duration::from_us(600 * 500), "each write has one program");
    // Where the first of two writes makes GC due, the second one waits for it: at least for an erase.
    assert!(sum.of(Part::BehindGc) >= Duration::from_ms(3 * 10), "{sum:?}");
    assert!(sum.of(Part::BehindPrograms) >= Duration::from_us(600 * 200), "{sum:?}");
}

#[test]
fn splits_are_recorded_only_when_nothing_is_in_flight() {
    let config = config("nvme-tlc", &[("initial.state", "fresh")]);
    let mut drive = Drive::new(&config, Seed(1));
    drive.submit(Request::write(0, 0, 4096)).unwrap();
    assert!(!drive.record_time_splits());
    let mut out = Vec::new();
    drive.reap(Instant::FAR, &mut out);
    assert_eq!(drive.time_split(out[0].id), None);
    // Its buffered data may still be on its way to flash.
    assert!(drive.record_time_splits());
    drive.submit(Request::flush(1)).unwrap();
    out.clear();
    drive.reap(Instant::FAR, &mut out);
    let split = drive.time_split(RequestId(1)).expect("it is recorded");
    assert_eq!(split.total(), out[0].latency());
}
