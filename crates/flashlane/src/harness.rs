//! Overhead of the measurement itself, reported beside results of real drives.
//!
//! In the virtual time of a simulated drive the harness costs nothing, and results must not depend on the machine: they
//! lack this figure.

use flashlane_device::NullDevice;
use flashlane_measure::{RunOptions, run};
use flashlane_workload::{Job, Mix, Pattern, Workload};

const REQUESTS: u64 = 200_000;

/// Measures the nanoseconds per request, at queue depth `depth`, of the request loop with statistics and samples over a
/// null device.
pub fn ns_per_request(depth: u32) -> f64 {
    let workload =
        Workload::single(Job::new("null", Pattern::Random, Mix::READ, 4096).depth(depth), REQUESTS);
    let mut device = NullDevice::new(1 << 30);
    let (run, took) = flashlane_host::timed(|| run(&mut device, &workload, RunOptions::default()));
    assert!(run.is_ok_and(|run| run.requests == REQUESTS), "a null device refuses nothing");
    took.as_ns() as f64 / REQUESTS as f64
}
