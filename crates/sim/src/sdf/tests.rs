//! The device against the conformance body, its own determinism, and arithmetic done by hand.

use super::*;
use crate::profile;
use flashlane_device::{Interleaved, OneLane};
use flashlane_device_testing::conformance;

fn sdf(settings: &[(&str, &str)]) -> Sdf {
    let settings: Vec<(String, String)> = settings.iter().map(|&(k, v)| (k.into(), v.into())).collect();
    Sdf::new(&profile::load("sdf", &settings).unwrap_or_else(|error| panic!("{error}")), Seed(1))
}

/// Four lanes of 16 units of 16 KiB: two chips of two planes, with four pages of 1 KiB a block.
const TINY: &[(&str, &str)] = &[
    ("capacity", "1MiB"),
    ("flash.channels", "4"),
    ("flash.blocks", "20"),
    ("flash.pages", "4"),
    ("flash.page", "1KiB"),
    ("flash.spare", "0"),
    ("lanes.stripe", "4KiB"),
    ("lanes.read_unit", "512B"),
    ("lanes.window", "16KiB"),
];

fn tiny(settings: &[(&str, &str)]) -> Sdf {
    sdf(&[TINY, settings].concat())
}

#[test]
fn it_conforms() {
    for settings in [
        &[][..],
        &[("initial.state", "full")],
        &[("flash.packages", "1"), ("flash.planes", "4"), ("lanes.stripe", "1KiB"), ("host.jitter", "10%")],
        &[("flash.multi_plane", "false"), ("flash.cache_mode", "false"), ("scheduling.policy", "fifo")],
        &[("flash.suspend", "20us"), ("flash.noise", "5%"), ("link.depth", "3"), ("link.bandwidth", "0")],
        &[("flash.factory_bad", "10%"), ("host.submission", "0us"), ("wear.policy", "none")],
        &[("flash.channels", "1"), ("flash.factory_bad", "40%"), ("flash.blocks", "64")],
    ] {
        conformance::check(&mut || Box::new(tiny(settings)));
    }
}

#[test]
fn one_lane_and_all_lanes_as_one_conform() {
    let bad = [("flash.factory_bad", "30%")];
    for settings in [&[][..], &bad, &[("link.depth", "2")]] {
        conformance::check(&mut || Box::new(OneLane::new(tiny(settings), Lane(3)).unwrap()));
        conformance::check(&mut || Box::new(Interleaved::new(tiny(settings))));
    }
    let none = OneLane::new(tiny(&[]), Lane(4)).map(|_| ());
    assert_eq!(none, Err(SubmitError::NoSuchLane { lane: Lane(4), lanes: 4 }));
}

#[test]
fn neighbouring_units_lie_on_neighbouring_lanes() {
    let unit = tiny(&[]).info().erase_unit_bytes;
    let mut all = Interleaved::new(tiny(&[]));
    assert_eq!((all.info().lanes, all.info().capacity_bytes), (1, 64 * unit));
    let written = |all: &Interleaved<Sdf>, index| {
        all.unit(Lane(0), index).unwrap().state == UnitState::Written { bytes: unit }
    };
    for id in 0..6 {
        all.submit(Request::write(id, id * unit, unit)).unwrap();
    }
    let mut out = Vec::new();
    while out.len() < 6 {
        all.reap(Instant::FAR, &mut out);
    }
    assert!((0..6).all(|index| written(&all, index)) && !written(&all, 6));
    // Four lanes at once, two of them twice.
    let times: std::collections::BTreeSet<Instant> = out.iter().map(|done| done.completed).collect();
    assert!(out[3].completed < *times.last().unwrap());
    let mut one = OneLane::new(tiny(&[]), Lane(1)).unwrap();
    one.submit(Request::write(0, unit, unit)).unwrap();
    one.reap(Instant::FAR, &mut Vec::new());
    assert_eq!(one.unit(Lane(0), 1).unwrap().state, UnitState::Written { bytes: unit });
    assert_eq!((one.unit(Lane(0), 0).unwrap().state, one.unit(Lane(1), 0)), (UnitState::ERASED, None));
    assert_eq!(one.info().name, "sim:sdf#1");
}

/// The paper's device with as many lanes, and few blocks.
fn paper(lanes: u64, settings: &[(&str, &str)]) -> Sdf {
    let (lanes, capacity) = (lanes.to_string(), format!("{}MiB", 8 * 16 * lanes));
    let few = [("flash.channels", &*lanes), ("flash.blocks", "20"), ("capacity", &*capacity)];
    // Nothing is left to the lot.
    let sound = [("flash.read_retry", "0%"), ("flash.uncorrectable", "0%"), ("lanes.write_failures", "0%")];
    sdf(&[&few[..], &sound, settings].concat())
}

const UNIT: u64 = 8 << 20;

/// Hands over requests that are accepted.
fn submit(device: &mut Sdf, requests: &[Request]) {
    requests.iter().for_each(|&request| device.submit(request).unwrap_or_else(|error| panic!("{error}")));
}

/// Waits for everything in flight; completions by id.
fn drain(device: &mut Sdf) -> Vec<Completion> {
    let mut out = Vec::new();
    while device.kernel.in_flight_count() > 0 {
        device.reap(Instant::FAR, &mut out);
    }
    out.sort_by_key(|completion| completion.id);
    out
}

/// What one request takes by itself, in nanoseconds.
fn alone(device: &mut Sdf, request: Request) -> u64 {
    submit(device, &[request]);
    let done = drain(device)[0];
    assert_eq!(done.outcome, Ok(()));
    done.latency().as_ns()
}

/// Nanoseconds of a page over the channel's bus (8 KiB and 448 bytes beside them at 40 MB/s), and over the link.
const BUS: u64 = 216_000;
const LINK_OUT: u64 = 5_089;
const HOST: u64 = 3_000;

#[test]
fn a_read_takes_its_path_one_page_after_the_other() {
    let mut device = paper(1, &[("initial.state", "full")]);
    assert_eq!(alone(&mut device, Request::read(0, 0, 8 << 10)), HOST + 75_000 + BUS + LINK_OUT);
    // While the bus has one page of a plane, the array reads the next: the bus is what takes time.
    assert_eq!(alone(&mut device, Request::read(0, 0, 64 << 10)), HOST + 75_000 + 8 * BUS + LINK_OUT);
    let whole = alone(&mut device, Request::read(0, UNIT, UNIT));
    assert_eq!(whole, HOST + 75_000 + 1024 * BUS + LINK_OUT);
}

#[test]
fn a_write_keeps_all_planes_busy_from_its_first_row_to_its_last() {
    let mut device = paper(1, &[]);
    // The first row of 32 KiB comes over the link at 1.40 GB/s; the two planes of the second chip wait for the bus.
    let link = (32_u64 << 10) * 1000 * 1000 / 1_400_000 + 1;
    let expected = HOST + link + 2 * 2 * BUS + 256 * 1_427_000;
    assert_eq!(alone(&mut device, Request::write(0, 0, UNIT)), expected);
    // All blocks at once: two planes a chip as one, chips beside each other.
    assert_eq!(alone(&mut device, Request::erase(0, 0, UNIT)), HOST + 3_000_000);
    let one_by_one = &mut paper(1, &[("flash.multi_plane", "false")]);
    alone(one_by_one, Request::write(0, 0, UNIT));
    assert_eq!(alone(one_by_one, Request::erase(0, 0, UNIT)), HOST + 6_000_000);
}

#[test]
fn lanes_meet_on_the_link_only() {
    let read = |lane| Request::read(lane, 0, 8 << 10).on(Lane(lane as u32));
    let mut device = paper(2, &[("initial.state", "full")]);
    submit(&mut device, &[read(0), read(1)]);
    let done: Vec<u64> = drain(&mut device).iter().map(|done| done.latency().as_ns()).collect();
    let one = HOST + 75_000 + BUS + LINK_OUT;
    assert_eq!(done, [one, one + LINK_OUT]);
    // On one lane and one plane the second page follows the first over the bus.
    submit(&mut device, &[read(0), Request { id: RequestId(1), ..read(0) }]);
    assert_eq!(drain(&mut device)[1].latency().as_ns(), one + BUS);
    // Writes of 44 lanes need less than the link has: each takes what one takes, but for its first row's turn there.
    let mut device = paper(44, &[]);
    let single = alone(&mut device, Request::write(0, UNIT, UNIT));
    let all: Vec<Request> = (0..44).map(|lane| Request::write(lane, 0, UNIT).on(Lane(lane as u32))).collect();
    submit(&mut device, &all);
    let turns = 44 * (32 << 10) * 1000 / 1400 + 44;
    for done in drain(&mut device) {
        let took = done.latency().as_ns();
        assert!((single..=single + turns).contains(&took), "{took} where one alone takes {single}");
    }
}

#[test]
fn a_read_waits_for_pages_of_a_write_and_not_for_the_write() {
    let longest = |settings: &[(&str, &str)]| {
        let mut device = paper(1, settings);
        alone(&mut device, Request::write(0, 0, UNIT));
        submit(&mut device, &[Request::write(0, UNIT, UNIT)]);
        let mut out = Vec::new();
        let mut longest = 0;
        for id in 1..30 {
            device.reap(device.now() + flashlane_base::Duration::from_us(3000 + id * 37), &mut out);
            let before = out.len();
            submit(&mut device, &[Request::read(id, 0, 8 << 10)]);
            while out.len() == before {
                device.reap(Instant::FAR, &mut out);
            }
            longest = longest.max(out[before].latency().as_ns());
        }
        assert!(device.kernel.in_flight_count() == 1, "the write outlasts the reads");
        longest
    };
    let path = HOST + 75_000 + BUS + LINK_OUT;
    // The page in the array, the one in the register, and the other chip's two on the bus.
    let read_first = longest(&[]);
    assert!(read_first > path && read_first <= path + 2 * 1_427_000 + 2 * BUS, "{read_first}");
    // First come, first served: the window's pages go before it, which may all be this chip's.
    let fifo = longest(&[("scheduling.policy", "fifo")]);
    assert!(fifo > read_first && fifo <= path + 8 * 1_427_000, "{fifo}");
    // A program that runs is suspended; one whose data are on the bus when the read comes goes first.
    let suspending = longest(&[("flash.suspend", "20us"), ("flash.cache_mode", "false")]);
    assert!(suspending <= path + 1_427_000 + 4 * BUS, "{suspending}");
}

/// A random load that knows the rules: writes what is erased, reads what is written, erases now and then.
fn load(device: &mut Sdf, requests: u64, seed: u64) -> Vec<Completion> {
    let mut random = Seed(seed).derive("load").source();
    let p = device.info().clone();
    let mut out = Vec::new();
    for id in 0..requests {
        let lane = Lane(random.below(u64::from(p.lanes)) as u32);
        let unit = random.below(p.capacity_bytes / p.erase_unit_bytes);
        let offset = unit * p.erase_unit_bytes;
        let request = match device.unit(lane, unit).unwrap().state {
            UnitState::ERASED => Request::write(id, offset, p.erase_unit_bytes),
            UnitState::Written { .. } if random.chance(0.7) => Request::read(id, offset, p.read_unit_bytes),
            _ => Request::erase(id, offset, p.erase_unit_bytes),
        };
        // Busy units refuse.
        let _ = device.submit(request.on(lane));
        if device.kernel.in_flight_count() > 12 {
            device.reap(Instant::FAR, &mut out);
        }
    }
    while device.kernel.in_flight_count() > 0 {
        device.reap(Instant::FAR, &mut out);
    }
    out
}

#[test]
fn same_seed_repeats_a_run_and_a_clone_continues_it() {
    let settings = [("lanes.write_failures", "20%"), ("flash.endurance", "60"), ("flash.noise", "5%")];
    let (mut one, mut other) = (tiny(&settings), tiny(&settings));
    assert_eq!(load(&mut one, 3000, 3), load(&mut other, 3000, 3));
    assert_eq!(one.trace_hash(), other.trace_hash());
    let mut copy = one.clone();
    assert_eq!(load(&mut one, 500, 4), load(&mut copy, 500, 4));
    assert_eq!((one.trace_hash(), one.counters()), (copy.trace_hash(), copy.counters()));
    assert_ne!(one.trace_hash(), other.trace_hash());
}

#[test]
fn a_power_cut_tears_what_is_in_flight_and_takes_nothing_else() {
    let mut device = tiny(&[("initial.state", "full")]);
    let unit = device.info().erase_unit_bytes;
    submit(&mut device, &[Request::erase(0, 0, unit)]);
    drain(&mut device);
    submit(
        &mut device,
        &[
            Request::write(1, 0, unit),
            Request::erase(2, unit, unit),
            Request::read(3, 2 * unit, 512),
            Request::flush(4),
        ],
    );
    device.reap(device.now() + flashlane_base::Duration::from_us(50), &mut Vec::new());
    assert_eq!((device.at_risk(), device.cut_power()), (Some(vec![]), Some(vec![])));
    let mut out = Vec::new();
    device.reap(Instant::FAR, &mut out);
    assert!(out.iter().filter(|done| done.id.0 < 4).all(|done| done.outcome == Err(Failure::DeviceLost)));
    let states: Vec<UnitState> = (0..3).map(|index| device.unit(Lane(0), index).unwrap().state).collect();
    assert_eq!(states, [UnitState::Torn, UnitState::Torn, UnitState::Written { bytes: unit }]);
    // It works on, and in the same time as ever.
    let after = alone(&mut device, Request::erase(5, 0, unit));
    assert_eq!(after, alone(&mut device, Request::erase(6, unit, unit)));
    alone(&mut device, Request::write(7, 0, unit));
    assert_eq!(load(&mut device, 500, 1).iter().filter(|done| done.outcome.is_err()).count(), 0);
}

#[test]
fn blocks_wear_out_until_units_are_lost_and_say_so() {
    let settings = [
        ("flash.channels", "1"),
        ("capacity", "256KiB"),
        ("flash.endurance", "40"),
        ("flash.endurance_spread", "25%"),
        ("lanes.write_failures", "5%"),
        ("lanes.erase_failures", "5%"),
    ];
    let mut device = tiny(&settings);
    let (unit, planes) = (device.info().erase_unit_bytes, 4);
    let spares = device.spare_blocks(Lane(0)).unwrap();
    assert!(spares > 0);
    let mut lost = std::collections::BTreeSet::new();
    for round in 0..60 {
        for index in 0..16 {
            for request in [Request::erase(0, index * unit, unit), Request::write(0, index * unit, unit)] {
                match device.submit(request) {
                    Ok(()) => {}
                    Err(SubmitError::Rule { rule: flashlane_device::Rule::Bad, .. }) => {
                        assert!(lost.contains(&index), "unit {index} was lost in silence");
                        continue;
                    }
                    Err(error) => panic!("round {round}: {error}"),
                }
                match drain(&mut device)[0].outcome {
                    Ok(()) => {}
                    Err(Failure::BadUnit) => assert!(lost.insert(index)),
                    Err(failure) => panic!("{failure}"),
                }
            }
        }
        let failed = device.counters().get("blocks_failed").unwrap();
        assert!(lost.is_empty() || failed > u64::from(spares), "{failed} blocks failed, {spares} were spare");
        assert_eq!(device.counters().get("units_lost"), Some(lost.len() as u64));
        assert!(failed <= 20 * planes);
    }
    assert_eq!(lost.len(), 16, "all is worn out in the end");
    // The rows of a write that come after a failed program are not written.
    let [written, programmed, moved] =
        ["host_pages_written", "flash_pages_programmed", "pages_moved_off_failing_blocks"]
            .map(|name| device.counters().get(name).unwrap());
    assert!(moved > 0 && written <= programmed - moved, "{written} of {programmed}, {moved} moved");
}

#[test]
fn worn_flash_needs_second_looks_and_loses_pages() {
    let mut device = tiny(&[
        ("initial.state", "full"),
        ("flash.endurance", "100"),
        ("flash.read_retry", "60%"),
        ("flash.uncorrectable", "5%"),
    ]);
    let unit = device.info().erase_unit_bytes;
    let reads = |device: &mut Sdf| {
        (0..300)
            .filter(|&id| {
                submit(device, &[Request::read(id, 0, 1 << 10)]);
                drain(device)[0].outcome == Err(Failure::Unreadable)
            })
            .count()
    };
    assert_eq!(reads(&mut device), 0);
    assert_eq!(device.counters().get("read_retries"), Some(0), "what was never erased is as good as new");
    for index in (0..16).cycle().take(16 * 80) {
        alone(&mut device, Request::erase(0, index * unit, unit));
    }
    alone(&mut device, Request::write(0, 0, unit));
    assert!(reads(&mut device) > 0);
    let counters = device.counters();
    assert!(counters.get("read_retries") > Some(50) && counters.get("pages_unreadable") > Some(0));
}

#[test]
fn lanes_with_too_few_good_blocks_tell_their_last_units_as_bad() {
    let device = tiny(&[("flash.factory_bad", "30%")]);
    for lane in 0..4 {
        let bad: Vec<u64> = (0..16)
            .filter(|&index| device.unit(Lane(lane), index).unwrap().state == UnitState::Bad)
            .collect();
        assert_eq!(bad, [14, 15], "14 of 20 blocks a plane are good");
        assert_eq!(device.spare_blocks(Lane(lane)), Some(0));
    }
    assert_eq!(device.counters().get("units_lost"), Some(8));
}

#[test]
fn what_has_no_meaning_beside_lanes_is_refused_by_name() {
    for (setting, value, field) in [
        ("mapping.chunk", "8KiB", "mapping"),
        ("cleaning.low", "5%", "cleaning"),
        ("buffer.size", "1MiB", "buffer"),
        ("sector", "512B", "sector"),
        ("capacity", "700GiB", "capacity"),
        ("flash.blocks", "2000", "flash.blocks"),
        ("lanes.stripe", "3MiB", "lanes.stripe"),
        ("lanes.read_unit", "3KiB", "lanes.read_unit"),
        ("lanes.window", "16KiB", "lanes.window"),
        ("wear.policy", "static", "wear.policy"),
        ("initial.state", "fragmented", "initial.state"),
        ("compat.disksim.whole_reads", "true", "compat"),
        ("compat.disksim.summary_pages", "1", "compat"),
        ("scheduling.policy", "last", "scheduling.policy"),
    ] {
        let error = profile::load("sdf", &[(setting.into(), value.into())]).unwrap_err();
        let named = error.field.as_deref() == Some(field) || error.reason.contains(field);
        assert!(named, "{setting}={value} gives {error}");
    }
    // Also where it would be refused for what it lacks.
    for (setting, value) in [("mapping.chunk", "8KiB"), ("buffer.policy", "lru"), ("cleaning.low", "5%")] {
        let error = profile::load("sdf", &[(setting.into(), value.into())]).unwrap_err();
        assert!(error.reason.contains("no meaning beside [lanes]"), "{setting}={value} gives {error}");
    }
}

#[test]
fn power_cut_does_not_repeat_the_flash_noise() {
    let mut device = tiny(&[("flash.noise", "20%"), ("flash.read_retry", "0%"), ("initial.state", "full")]);
    let mut latencies_ns = || -> Vec<u64> {
        let mut out = Vec::new();
        for id in 0..20 {
            device.submit(Request::read(id, 0, 1024)).unwrap();
            while out.len() as u64 == id {
                device.reap(Instant::FAR, &mut out);
            }
        }
        device.cut_power();
        out.iter().map(|completion| completion.latency().as_ns()).collect()
    };
    assert_ne!(latencies_ns(), latencies_ns());
}
