//! The block layer on the simulated SDF of the paper: its share of the device's bandwidth and capacity, the requests
//! that it needs in flight, and the time of recovery. All but the last line are virtual time, the same on every
//! machine.
//!
//! `cargo bench -p flashlane-studies --bench blocks`; `cargo test --benches` runs it small.

use flashlane_base::{Duration, Instant, Seed};
use flashlane_block::load::{self, Load};
use flashlane_block::{BlockOptions, Blocks, Placement};
use flashlane_device::{DataDevice, Device, Lane, Request, UnitState};
use flashlane_layer::Backed;
use flashlane_sim::{device, profile};
use std::ops::ControlFlow;

fn main() {
    let quick = !std::env::args().any(|argument| argument == "--bench");
    // Four channels are enough for a test.
    let channels = if quick { 4 } else { 44 };
    bandwidth(channels, if quick { 1 } else { 5 });
    capacity();
    in_flight(channels, if quick { 8 } else { 400 });
    // Too slow for a test: as long as all others together.
    if !quick {
        recovery(channels);
    }
}

fn sdf(channels: u64, overrides: &[(&str, &str)]) -> Box<dyn Device> {
    let lanes =
        [("flash.channels", channels.to_string()), ("capacity", format!("{}MiB", channels * 2038 * 8))];
    let overrides = overrides.iter().map(|&(key, value)| (key, value.to_owned()));
    let all: Vec<(String, String)> =
        lanes.into_iter().chain(overrides).map(|(key, value)| (key.into(), value)).collect();
    let config = profile::load("sdf", &all).expect("the bench's own profile");
    device(&config, Seed(1), "sim:sdf".into())
}

fn formatted(channels: u64, overrides: &[(&str, &str)], options: BlockOptions) -> Blocks<impl DataDevice> {
    Blocks::format(Backed::new(sdf(channels, overrides)), 1, options).expect("a fresh device is formatted")
}

fn watch(_: f64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Measures bytes per second of whole units, one in flight on each lane, `rounds` times.
fn of_the_device(device: &mut dyn Device, rounds: u64, request: fn(u64, u64, u64) -> Request) -> f64 {
    let info = device.info().clone();
    let (lanes, unit) = (u64::from(info.lanes), info.erase_unit_bytes);
    let begun = device.now();
    let mut next = vec![0; lanes as usize];
    let mut last = begun;
    let mut out = Vec::new();
    let submit = |device: &mut dyn Device, lane: u64, round: u64| {
        let request = request(lane << 32 | round, round * unit, unit).on(Lane(lane as u32));
        device.submit(request).expect("a good unit in its order");
    };
    (0..lanes).for_each(|lane| submit(device, lane, 0));
    let mut waiting = lanes;
    while waiting > 0 {
        device.reap(Instant::FAR, &mut out);
        for completion in out.drain(..) {
            completion.outcome.expect("a good unit");
            last = completion.completed;
            let lane = completion.id.0 >> 32;
            next[lane as usize] += 1;
            match next[lane as usize] {
                round if round < rounds => submit(device, lane, round),
                _ => waiting -= 1,
            }
        }
    }
    (lanes * rounds * unit) as f64 / last.since(begun).as_s_f64()
}

fn bandwidth(channels: u64, rounds: u64) {
    let mut raw = sdf(channels, &[]);
    let writes = of_the_device(&mut *raw, rounds, Request::write);
    let reads = of_the_device(&mut *raw, rounds, Request::read);
    let mut blocks = formatted(channels, &[], BlockOptions::default());
    let load = |puts: f64| Load {
        operations: rounds * channels,
        time_limit: None,
        in_flight: channels as u32,
        puts,
        random: false,
        get_bytes: 0,
        keep: None,
        first_id: 0,
        zeros: false,
        seed: Seed(1),
    };
    let puts = load::run(&mut blocks, &load(1.0), &mut watch).expect("there is room");
    let gets = load::run(&mut blocks, &load(0.0), &mut watch).expect("they are there");
    let (put, get) = (puts.puts.bytes_per_s(puts.elapsed), gets.gets.bytes_per_s(gets.elapsed));
    println!(
        "blocks-puts: {:.2}% of the device's {:.3} GB/s, {channels} in flight",
        100.0 * put / writes,
        writes / 1e9
    );
    println!(
        "blocks-gets: {:.2}% of the device's {:.3} GB/s, {channels} in flight",
        100.0 * get / reads,
        reads / 1e9
    );
    let waited = blocks.status().counts.writes_that_waited_for_an_erase;
    println!("blocks-waits: {waited} of {} puts waited for an erase", puts.puts.count);
}

fn capacity() {
    // 44 channels of two chips with two planes of 2048 blocks of 256 pages of 8 KiB.
    let raw = 44.0 * 4.0 * 2048.0 * 256.0 * 8192.0;
    let status = formatted(44, &[], BlockOptions::default()).status();
    let user = (status.blocks + status.blocks_free) * status.layout.block_bytes();
    println!("blocks-capacity: {:.2}% of raw flash is user data", 100.0 * user as f64 / raw);
}

/// Measures the user's bytes per second with this number of operations in flight.
fn mixed(channels: u64, placement: Placement, in_flight: u64, puts: f64, operations: u64) -> f64 {
    let options = BlockOptions { placement, ..BlockOptions::default() };
    // Flash with varying program times, so that lanes get out of step, as real ones do.
    let mut blocks = formatted(channels, &[("flash.noise", "10%")], options);
    let seed = Seed(1);
    let fill = Load {
        operations: 2 * channels,
        time_limit: None,
        in_flight: channels as u32,
        puts: 1.0,
        random: true,
        get_bytes: 0,
        keep: None,
        first_id: 0,
        zeros: false,
        seed,
    };
    load::run(&mut blocks, &fill, &mut watch).expect("there is room");
    let load = Load { operations, in_flight: in_flight as u32, puts, keep: Some(2 * channels), ..fill };
    let done = load::run(&mut blocks, &load, &mut watch).expect("there is room");
    (done.puts.bytes + done.gets.bytes) as f64 / done.elapsed.as_s_f64()
}

fn in_flight(channels: u64, operations: u64) {
    for (puts, what) in [(1.0, "puts"), (0.5, "mixed")] {
        let steps: Vec<u64> =
            [2, 4, 6, 8, 10, 12, 16, 24].iter().map(|eighths| eighths * channels / 8).collect();
        let curves = [Placement::RoundRobin, Placement::LeastLoaded].map(|placement| {
            let curve =
                steps.iter().map(|&in_flight| mixed(channels, placement, in_flight, puts, operations));
            curve.collect::<Vec<f64>>()
        });
        let peak = curves.iter().flatten().copied().fold(0.0, f64::max);
        for ((name, _), curve) in Placement::ALL.iter().zip(&curves) {
            let points: Vec<String> = steps
                .iter()
                .zip(curve)
                .map(|(in_flight, rate)| format!("{in_flight}: {:.0}%", 100.0 * rate / peak))
                .collect();
            let least = steps.iter().zip(curve).find(|(_, rate)| **rate >= 0.95 * peak).map(|(n, _)| *n);
            let least =
                least.map_or_else(|| format!("more than {}", steps.last().unwrap_or(&0)), |n| n.to_string());
            println!("blocks-in-flight-{what}-{name}: {least} for 95% of the peak ({})", points.join(", "));
        }
    }
}

/// A device with every unit written and without blocks of ours, so that each is read twice from both ends: the slowest
/// recovery of this size.
fn recovery(channels: u64) {
    let mut device = formatted(channels, &[], BlockOptions::default()).into_device();
    let (lanes, units) = (channels as u32, device.info().capacity_bytes / (8 << 20));
    let mut out = Vec::new();
    let mut written = 0;
    for unit in 0..units {
        for lane in (0..lanes).map(Lane) {
            let known = device.unit(lane, unit).map(|unit| unit.state);
            if known == Some(UnitState::ERASED) {
                let write = Request::write(written, unit * (8 << 20), 8 << 20).on(lane);
                device.submit(write).expect("an erased unit");
                written += 1;
            }
        }
        while out.len() < written as usize {
            device.reap(Instant::FAR, &mut out);
        }
    }
    let begun = device.now();
    let blocks = Blocks::open(device, BlockOptions::default()).expect("it was formatted");
    let elapsed: Duration = blocks.now().since(begun);
    println!(
        "blocks-recovery: {:.3} s of virtual time, {written} units without a header among {}",
        elapsed.as_s_f64(),
        units * channels
    );
}
