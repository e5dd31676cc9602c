//! The drive against the conformance body, arithmetic done by hand, a plain model of its zones, and its own determinism.

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

/// 16 zones of 96 KiB on eight dies: a program is 12 KiB, and the zone's blocks have room for eight more pages.
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

/// Waits for everything in flight; completions by id.
fn drain(device: &mut Zoned) -> Vec<Completion> {
    let mut out = Vec::new();
    while device.kernel.in_flight_count() > 0 {
        device.reap(Instant::FAR, &mut out);
    }
    out.sort_by_key(|completion| completion.id);
    out
}

fn submit(device: &mut Zoned, requests: &[Request]) {
    requests.iter().for_each(|&request| device.submit(request).unwrap_or_else(|error| panic!("{error}")));
}

/// What one request takes by itself, in nanoseconds.
fn alone(device: &mut Zoned, request: Request) -> u64 {
    submit(device, &[request]);
    let done = drain(device)[0];
    assert_eq!(done.outcome, Ok(()), "{request:?}");
    done.latency().as_ns()
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
        &[("zones.max_open", "1"), ("zones.max_active", "1"), ("zones.lanes", "1"), ("link.depth", "3"), ("link.bandwidth", "0")],
        &[("host.submission", "0us"), ("zones.write", "0us"), ("zones.append", "0us"), ("zones.reset", "0us")],
        &[("flash.programming", "page"), ("flash.cache_mode", "true"), ("queues.count", "2")],
    ] {
        conformance::check(&mut || Box::new(tiny(settings)));
    }
    conformance::check(&mut || Box::new(OneLane::new(tiny(&[]), Lane(3)).unwrap()));
    conformance::check(&mut || Box::new(Interleaved::new(tiny(&[]))));
}
