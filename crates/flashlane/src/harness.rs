//! What the measuring itself costs, so that a result on a real drive can be read with it.
//!
//! In a simulated drive's virtual time the harness costs nothing, and its result must not depend on the machine:
//! there is no such figure then.

use flashlane_device::NullDevice;
use flashlane_measure::{Options, run};
use flashlane_workload::{Job, Mix, Pattern, Workload};

const REQUESTS: u64 = 200_000;

/// Nanoseconds a request, `depth` at a time, of the driving loop, its statistics and its samples, over a device that
/// does nothing.
pub fn ns_per_request(depth: u32) -> f64 {
    let workload =
        Workload::single(Job::new("null", Pattern::Random, Mix::READ, 4096).depth(depth), REQUESTS);
    let mut device = NullDevice::new(1 << 30);
    let (run, took) = flashlane_host::timed(|| run(&mut device, &workload, Options::default()));
    assert!(run.is_ok_and(|run| run.requests == REQUESTS), "a null device refuses nothing");
    took.as_ns() as f64 / REQUESTS as f64
}
