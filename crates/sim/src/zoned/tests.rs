//! The drive against the conformance body, arithmetic done by hand, a plain model of its zones, and its own
//! determinism.

mod model;
mod random_drives;

use super::*;
use crate::profile;
use flashlane_device::{Interleaved, OneLane};
use flashlane_device_testing::conformance;

fn zoned(settings: &[(&str, &str)]) -> Zoned {
    let settings: Vec<(String, String)> = settings.iter().map(|&(k, v)| (k.into(), v.into())).collect();
    Zoned::new(&profile::load("zn540-1tb", &settings).unwrap_or_else(|error| panic!("{error}")), Seed(1))
}

/// 16 zones of 96 KiB on eight dies: a program is 12 KiB, and a zone has one on each die.
const TINY: &[(&str, &str)] = &[
    ("capacity", "1536KiB"),
    ("sector", "512B"),
    ("zones.capacity", "96KiB"),
    ("zones.size", "128KiB"),
    ("zones.buffer", "24KiB"),
    ("zones.lanes", "4"),
    ("zones.max_open", "3"),
    ("zones.max_active", "5"),
    ("flash.channels", "4"),
    ("flash.packages", "2"),
    ("flash.blocks", "64"),
    ("flash.pages", "3"),
    ("flash.page", "4KiB"),
];

fn tiny(settings: &[(&str, &str)]) -> Zoned {
    zoned(&[TINY, settings].concat())
}

#[test]
fn it_conforms() {
    for settings in [
        &[][..],
        &[("initial.state", "full")],
        &[("zones.dies", "2"), ("zones.lanes", "4"), ("host.jitter", "10%")],
        &[("zones.dies", "1"), ("zones.lanes", "8"), ("zones.buffer", "12KiB")],
        &[("flash.planes", "2"), ("flash.multi_plane", "true"), ("zones.buffer", "96KiB")],
        &[("flash.planes", "2"), ("flash.pages", "6"), ("scheduling.policy", "fifo"), ("zones.lanes", "1")],
        &[
            ("zones.max_open", "1"),
            ("zones.max_active", "1"),
            ("zones.lanes", "1"),
            ("link.depth", "3"),
            ("link.bandwidth", "0"),
        ],
        &[
            ("host.submission", "0us"),
            ("zones.write", "0us"),
            ("zones.append", "0us"),
            ("zones.reset", "0us"),
        ],
        &[("flash.programming", "page"), ("flash.cache_mode", "true"), ("queues.count", "2")],
    ] {
        conformance::check(&mut || Box::new(tiny(settings)));
    }
    conformance::check(&mut || Box::new(OneLane::new(tiny(&[]), Lane(3)).unwrap()));
    conformance::check(&mut || Box::new(Interleaved::new(tiny(&[]))));
}

#[test]
fn refusal_at_the_limit_says_whether_waiting_makes_room() {
    let mut device = Interleaved::new(tiny(&[("zones.max_open", "1")]));
    let rule = |result| match result {
        Err(SubmitError::Rule { rule, .. }) => rule,
        other => panic!("{other:?}"),
    };
    device.submit(Request::write(0, 0, 4096)).unwrap();
    let refused = rule(device.submit(Request::write(1, ZONE, 4096)));
    assert_eq!((refused, refused.waits()), (Rule::TooManyOpen { most: 1, waits: true }, true));
    assert!(refused.to_string().ends_with("a request in flight on one of them has to complete first"));
    rest(&mut device);
    assert_eq!(device.submit(Request::write(1, ZONE, 4096)), Ok(()));
    rest(&mut device);
    // The drive closes no zone that the host has opened.
    device.submit(Request::open(2, ZONE, ZONE)).unwrap();
    rest(&mut device);
    let refused = rule(device.submit(Request::write(3, 2 * ZONE, 4096)));
    assert_eq!((refused, refused.waits()), (Rule::TooManyOpen { most: 1, waits: false }, false));
}

/// Nanoseconds of the host, of a program's data over the bus, and of the array.
const HOST: u64 = 5_200;
const BUS: u64 = 20_827;
const PROGRAM: u64 = 1_245_000;
const ERASE: u64 = 4_150_000;
const ZONE: u64 = 96 << 10;

/// Nanoseconds of a request's data over the link, rounded up.
fn link(bytes: u64) -> u64 {
    (bytes * 100).div_ceil(376)
}

/// Two programs fit into a block, of which a zone's capacity takes one; nothing is left to the lot.
fn exact() -> Interleaved<Zoned> {
    Interleaved::new(tiny(&[("flash.pages", "6"), ("flash.noise", "0%")]))
}

/// What one request takes by itself, in nanoseconds.
fn alone(device: &mut impl Device, request: Request) -> u64 {
    let mut out = Vec::new();
    device.submit(request).unwrap_or_else(|error| panic!("{error}"));
    device.reap(Instant::FAR, &mut out);
    assert_eq!(out[0].outcome, Ok(()), "{request:?}");
    out[0].latency().as_ns()
}

/// Waits until nothing is in flight, and longer, so that buffers are programmed.
fn rest(device: &mut impl Device) {
    let until = device.now() + flashlane_base::Duration::from_ms(100);
    let mut out = Vec::new();
    while device.now() < until {
        device.reap(until, &mut out);
    }
}

#[test]
fn writes_and_appends_take_firmware_and_link() {
    let mut device = exact();
    assert_eq!(alone(&mut device, Request::write(0, 0, 4096)), HOST + 5_300 + 2_000 + link(4096));
    assert_eq!(alone(&mut device, Request::write(0, 4096, 512)), HOST + 5_300 + link(512));
    assert_eq!(alone(&mut device, Request::append(0, 0, 512)), HOST + 7_580 + link(512) + 900);
    assert_eq!(alone(&mut device, Request::append(0, ZONE, 512)), HOST + 7_580 + 2_800 + link(512) + 900);
    // The firmware takes one command after the other, whatever their zones.
    let zones = [0, ZONE, 2 * ZONE];
    let mut out = Vec::new();
    zones.iter().for_each(|&zone| device.submit(Request::append(0, zone, 512)).unwrap());
    while out.len() < 3 {
        device.reap(Instant::FAR, &mut out);
    }
    let latencies: Vec<u64> = out.iter().map(|done| done.latency().as_ns()).collect();
    let first = HOST + 7_580 + link(512) + 900;
    assert_eq!(latencies, [first, first + 7_580, first + 2 * 7_580 + 2_800]);
}

#[test]
fn reads_come_from_buffer_or_flash() {
    let mut device = exact();
    alone(&mut device, Request::write(0, 0, 16 << 10));
    // The first 12 KiB are programmed at once, the rest waits for more.
    assert_eq!(alone(&mut device, Request::read(0, 12 << 10, 4096)), HOST + link(4096) + 1_200);
    rest(&mut device);
    assert_eq!(alone(&mut device, Request::read(0, 12 << 10, 4096)), HOST + link(4096) + 1_200);
    assert_eq!(alone(&mut device, Request::read(0, 0, 4096)), HOST + 58_000 + 6_942 + link(4096) + 1_200);
}

#[test]
fn finish_programs_the_rest_and_reset_erases_what_was_programmed() {
    let mut device = exact();
    assert_eq!(alone(&mut device, Request::finish(0, 0, ZONE)), HOST + 8_800);
    assert_eq!(alone(&mut device, Request::erase(0, 0, ZONE)), HOST + 1_600_000);
    // One sector: its program carries data, and 15 more fill the blocks, of which each die has two.
    alone(&mut device, Request::write(0, 0, 512));
    assert_eq!(alone(&mut device, Request::finish(0, 0, ZONE)), HOST + 8_800 + BUS + 2 * PROGRAM);
    assert_eq!(device.counters().get("pages_padded"), Some(15 * 3));
    assert_eq!(alone(&mut device, Request::erase(0, 0, ZONE)), HOST + 1_600_000 + ERASE);
    assert_eq!(device.counters().get("blocks_erased"), Some(8));
    // Written to its capacity, it is full without a finish.
    alone(&mut device, Request::write(0, 0, ZONE));
    rest(&mut device);
    assert_eq!(alone(&mut device, Request::finish(0, 0, ZONE)), HOST + 8_800);
    assert_eq!(alone(&mut device, Request::erase(0, 0, ZONE)), HOST + 1_600_000 + ERASE);
    // Of one program one die has a block to erase.
    alone(&mut device, Request::write(0, 0, 12 << 10));
    rest(&mut device);
    assert_eq!(alone(&mut device, Request::erase(0, 0, ZONE)), HOST + 1_600_000 + ERASE);
    assert_eq!(device.counters().get("blocks_erased"), Some(17));
    assert_eq!(alone(&mut device, Request::open(0, 0, ZONE)), HOST + 4_400);
    assert_eq!(alone(&mut device, Request::close(0, 0, ZONE)), HOST + 7_800);
}

#[test]
fn power_cut_closes_zones_and_tears_what_is_in_flight() {
    let mut device = exact();
    alone(&mut device, Request::write(0, 0, 4096));
    alone(&mut device, Request::open(0, ZONE, ZONE));
    device.submit(Request::append(1, 2 * ZONE, 4096)).unwrap();
    device.submit(Request::write(2, 4096, 4096)).unwrap();
    assert_eq!((device.at_risk(), device.cut_power()), (Some(vec![]), Some(vec![])));
    let mut out = Vec::new();
    device.reap(Instant::FAR, &mut out);
    assert!(out.len() == 2 && out.iter().all(|done| done.outcome == Err(Failure::DeviceLost)), "{out:?}");
    let states: Vec<ZoneState> = (0..3).map(|index| device.zone(Lane(0), index).unwrap().state).collect();
    assert_eq!(states, [ZoneState::Closed; 3]);
    let units: Vec<UnitState> = (0..3).map(|index| device.unit(Lane(0), index).unwrap().state).collect();
    assert_eq!(units, [UnitState::Torn, UnitState::ERASED, UnitState::Torn]);
    for zone in [0, 2 * ZONE] {
        alone(&mut device, Request::erase(3, zone, ZONE));
        alone(&mut device, Request::write(4, zone, ZONE));
    }
}

#[test]
fn what_cannot_be_a_zoned_drive_is_refused_by_name() {
    for (setting, value, field) in [
        ("zones.capacity", "3GiB", "zones.capacity"),
        ("zones.capacity", "1000KB", "zones.capacity"),
        ("zones.max_open", "0", "zones.max_open"),
        ("zones.max_active", "0", "zones.max_active"),
        ("zones.max_active", "13", "zones.max_open"),
        ("zones.dies", "5", "zones.dies"),
        ("zones.lanes", "14", "zones.lanes"),
        ("zones.buffer", "16KiB", "zones.buffer"),
        ("capacity", "950GiB", "capacity"),
        ("flash.blocks", "2000", "flash.blocks"),
        ("flash.pages", "719", "flash.pages"),
        ("flash.suspend_step", "0us", "flash.suspend_step"),
        ("flash.factory_bad", "1%", "flash.factory_bad"),
        ("mapping.chunk", "8KiB", "mapping"),
        ("cleaning.low", "5%", "cleaning"),
        ("buffer.size", "1MiB", "buffer"),
        ("lanes.window", "1MiB", "lanes"),
        ("initial.state", "fragmented", "initial.state"),
    ] {
        let error = profile::load("zn540-1tb", &[(setting.into(), value.into())]).unwrap_err();
        let named = error.field.as_deref() == Some(field) || error.reason.contains(field);
        assert!(named, "{setting}={value} gives {error}");
    }
}

#[test]
fn data_that_wait_in_a_zone_are_not_settled() {
    let mut device = exact();
    // Two programs of 12 KiB, and 8 KiB that wait for more.
    alone(&mut device, Request::write(0, 0, 16 << 10));
    alone(&mut device, Request::write(0, 16 << 10, 16 << 10));
    rest(&mut device);
    let counters = device.counters();
    assert_eq!(counters.get(Counters::HOST_BYTES_WRITTEN), Some(32 << 10));
    assert_eq!(counters.get(Counters::HOST_BYTES_SETTLED), Some(24 << 10));
    assert_eq!((counters.write_amplification(), counters.pages_left_in_buffer()), (Some(1.0), 2));
    // Nothing waits in a zone that is reset.
    alone(&mut device, Request::erase(0, 0, ZONE));
    assert_eq!(device.counters().get(Counters::HOST_BYTES_SETTLED), Some(32 << 10));
}
