//! What a replay says first of its own result.

use super::*;
use flashlane_device::Counters;

fn codes(replay: &Replay) -> Vec<&'static str> {
    replay.doubts().iter().map(Doubt::code).collect()
}

#[test]
fn overload_is_the_first_doubt() {
    // One server of 100 us gets a request every 50 us: it sustains half the rate, and at the end half of the requests
    // wait.
    let records: Vec<Record> = (0..2000).map(|n| read(n * 50, n)).collect();
    let overloaded = replayed(&mut Scripted::new(4, 1, 100), records.clone(), &ReplayOptions::default());
    assert_eq!(codes(&overloaded)[0], "overloaded");
    let Doubt::Overloaded { asked, sustained, speed } = overloaded.doubts()[0].clone() else { panic!() };
    assert!((asked.iops / 20e3 - 1.0).abs() < 0.01, "{asked:?}");
    assert!((sustained.iops / 10e3 - 1.0).abs() < 0.01, "{sustained:?}");
    assert!((speed - 0.5).abs() < 0.01, "{speed}");
    let message = overloaded.doubts()[0].to_string();
    for part in ["asks 10 MB/s (20010 requests/s)", "sustains 5.12 MB/s", "--speed 0.2", "--pace think"] {
        assert!(message.contains(part), "{message}");
    }
    // At the suggested speed, and with the suggested paces.
    for pace in [Pace::Open { speed: 0.25 }, Pace::Think { speed: 1.0 }, Pace::Closed { depth: 4 }] {
        let replay = replayed(&mut Scripted::new(4, 1, 100), records.clone(), &paced(pace));
        assert!(!codes(&replay).contains(&"overloaded"), "{pace:?}");
    }
    // The same where the drive queues all requests itself.
    let deep = replayed(&mut Scripted::new(4096, 1, 100), records, &ReplayOptions::default());
    assert_eq!(codes(&deep)[0], "overloaded");
}

#[test]
fn burst_the_drive_recovers_from_is_not_overload() {
    let burst = |at_us: u64| (0..300).map(move |n| read(at_us + n, n));
    let steady = |from_us: u64| (0..300).map(move |n| read(from_us + n * 200, n));
    let bursts: Vec<Record> = steady(0).chain(burst(100_000)).chain(steady(200_000)).collect();
    let replay = replayed(&mut Scripted::new(4, 1, 100), bursts, &ReplayOptions::default());
    assert!(replay.waited > 250, "{}", replay.waited);
    assert!(!codes(&replay).contains(&"overloaded"));
    // Requests that all arrive at once have no rate.
    let at_once = replayed(&mut Scripted::new(4, 1, 100), vec![read(5, 0); 500], &ReplayOptions::default());
    assert!(!codes(&at_once).contains(&"overloaded"));
    assert_eq!(at_once.asked(), None);
}

#[test]
fn backlog_that_drains_by_the_end_is_overload_of_a_part() {
    // One server of 100 us gets a request every 50 us for the second tenth of the time, and few otherwise.
    let few = |from_us: u64, n: u64| (0..n).map(move |i| read(from_us + i * 500, i));
    let many = (0..400).map(|i| read(20_000 + i * 50, i));
    let records: Vec<Record> = few(0, 40).chain(many).chain(few(40_000, 320)).collect();
    for depth in [4, 4096] {
        let drive = || Scripted::new(depth, 1, 100);
        let behind = replayed(&mut drive(), records.clone(), &ReplayOptions::default());
        assert_eq!(codes(&behind)[0], "overloaded", "depth {depth}");
        let Doubt::FellBehind { backlog, asked_iops, sustained_iops, share, speed } =
            behind.doubts()[0].clone()
        else {
            panic!("{:?}", behind.doubts());
        };
        assert!((backlog.from.as_s_f64() - 0.02).abs() < 0.01, "{backlog:?}");
        assert!((backlog.longest.as_s_f64() - 0.02).abs() < 0.004, "{backlog:?}");
        assert!((asked_iops / 20e3 - 1.0).abs() < 0.1 && (sustained_iops / 10e3 - 1.0).abs() < 0.2);
        assert!((0.4..0.7).contains(&share) && (0.4..0.6).contains(&speed), "{share} {speed}");
        let slow = replayed(&mut drive(), records.clone(), &paced(Pace::Open { speed: 0.5 * speed }));
        assert!(!codes(&slow).contains(&"overloaded"), "{:?}", slow.doubts());
    }
    // A drive that keeps up with many requests in flight has a long queue, and none that grows.
    let steady: Vec<Record> = (0..2000).map(|i| read(i * 50, i)).collect();
    let deep = replayed(&mut Scripted::new(4096, 50, 2_400), steady, &ReplayOptions::default());
    assert!(deep.backlog.is_some_and(|backlog| backlog.requests > 1_500), "{:?}", deep.backlog);
    assert!(!codes(&deep).contains(&"overloaded"), "{:?}", deep.doubts());
}

#[test]
fn advised_speed_is_sustained_in_the_busiest_part() {
    // The trace asks for 100 us of every 200, and in a tenth of its time of every 20: at ten times the speed it is an
    // overload from beginning to end, and at the average speed that the drive sustains it still falls behind there.
    let slow = |from_us: u64, n: u64| (0..n).map(move |i| read(from_us + i * 200, i));
    let fast = (0..2500).map(|i| read(100_000 + i * 20, i));
    let records: Vec<Record> = slow(0, 500).chain(fast).chain(slow(150_000, 1750)).collect();
    let advised = |replay: &Replay| match replay.doubts()[0] {
        Doubt::Overloaded { speed, .. } | Doubt::FellBehind { speed, .. } => speed,
        ref other => panic!("{other}"),
    };
    for asked in [10.0, 2.0, 1.0] {
        let drive = || Scripted::new(64, 1, 100);
        let overloaded = replayed(&mut drive(), records.clone(), &paced(Pace::Open { speed: asked }));
        let speed = advised(&overloaded);
        assert!((speed / 0.2 - 1.0).abs() < 0.05, "{asked}: {speed}");
        let again = replayed(&mut drive(), records.clone(), &paced(Pace::Open { speed: 0.9 * speed }));
        assert!(!codes(&again).contains(&"overloaded"), "{asked}: {:?}", again.doubts());
    }
}

#[test]
fn replay_that_cleans_nothing_does_not_ask_for_more_requests() {
    for (was_written, hint) in
        [(true, "begin with initial.state=fragmented, which"), (false, "left; begin with")]
    {
        let said = Doubt::NothingCleaned { was_written, is_recorded: true, written_pages: 9 }.to_string();
        assert!(said.contains(hint) && !said.contains("measure more requests"), "{said}");
    }
    let names = ["host_pages_written", "pages_moved_by_cleaning", "blocks_erased"];
    let counters = Counters(names.into_iter().zip([9, 0, 0]).collect());
    let mut replay = replayed(&mut Scripted::new(4, 1, 100), vec![read(0, 0)], &ReplayOptions::default());
    replay.counters = counters;
    let said = replay.doubts().iter().map(ToString::to_string).collect::<String>();
    assert!(said.contains("or take a recording that writes more"), "{said}");
}
