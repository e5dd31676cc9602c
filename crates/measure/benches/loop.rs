//! Cost of the harness: `cargo bench -p flashlane-measure`.
//!
//! Each figure is the best of several rounds, in wall-clock nanoseconds per access or request, since the machine can
//! only add to the cost. Against the null device, the rest after its own cost is generator, loop, histogram and
//! sampling.

use flashlane_base::{Instant, Seed};
use flashlane_device::{Device, NullDevice, Request};
use flashlane_measure::{RunOptions, closed_loop, run};
use flashlane_workload::{Generator, Job, Mix, Pattern, Workload};
use std::hint::black_box;

const CAPACITY_BYTES: u64 = 32 << 30;
const DEPTH: u32 = 32;

fn main() {
    // Cargo passes `--bench` to benchmarks; without it this is a test.
    let small = !std::env::args().any(|arg| arg == "--bench");
    let requests: u64 = if small { 1_000 } else { 2_000_000 };
    let rounds = if small { 1 } else { 7 };
    let figure = |name: &str, unit: &str, work: &mut dyn FnMut(u64)| {
        let best = (0..rounds).map(|_| time(|| work(requests))).min().unwrap_or_default();
        println!("measure/{name:<32} {:>7.2} ns a {unit}", best as f64 / requests as f64);
    };
    let mixed = Mix { reads: 0.7, ..Mix::WRITE };
    for (name, pattern, mix) in [
        ("generator-sequential", Pattern::Sequential, Mix::READ),
        ("generator-random", Pattern::Random, Mix::READ),
        ("generator-mixed", Pattern::Random, mixed),
        ("generator-permutation", Pattern::Permutation, Mix::READ),
    ] {
        let mut generator = Generator::new(&Job::new(name, pattern, mix, 4096), CAPACITY_BYTES, Seed(1));
        figure(name, "access", &mut |n| {
            for _ in 0..n {
                black_box(generator.access());
            }
        });
    }
    figure("null-device", "request", &mut null_device);
    let job = Job::new("bench", Pattern::Random, Mix::READ, 4096).depth(DEPTH);
    figure("closed-loop-depth-32", "request", &mut |n| {
        let accesses = Generator::new(&job, CAPACITY_BYTES, Seed(1)).take(n as usize);
        closed_loop(&mut NullDevice::new(CAPACITY_BYTES), accesses, DEPTH, |_, c| {
            black_box(c);
        })
        .expect("the null device takes everything");
    });
    for (name, depth) in [("run-depth-32", DEPTH), ("run-depth-1", 1)] {
        figure(name, "request", &mut |n| {
            let workload = Workload::single(job.clone().depth(depth), n);
            let result = run(&mut NullDevice::new(CAPACITY_BYTES), &workload, RunOptions::default());
            black_box(result.expect("the null device takes everything"));
        });
    }
}

/// Drives the null device directly, for its own cost.
fn null_device(requests: u64) {
    let mut device = NullDevice::new(CAPACITY_BYTES);
    let mut completions = Vec::new();
    for first in (0..requests).step_by(DEPTH as usize) {
        for id in first..first + u64::from(DEPTH) {
            device
                .submit(Request::read(id, black_box(4096), 4096))
                .expect("the null device takes everything");
        }
        device.reap(Instant::FAR, &mut completions);
        black_box(&completions);
        completions.clear();
    }
}

#[allow(clippy::disallowed_methods, reason = "a benchmark measures the harness in wall-clock time")]
fn time(work: impl FnOnce()) -> u128 {
    let start = std::time::Instant::now();
    work();
    start.elapsed().as_nanos()
}
