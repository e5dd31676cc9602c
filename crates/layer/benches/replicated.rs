//! Cost of the layer `replicated` over a device that does no work: `cargo bench -p flashlane-layer --bench replicated`.
//!
//! Each figure is the best of several rounds, in wall-clock nanoseconds per request of a page at depth 32, since the
//! machine can only add to the cost. `blocked` is with a D so short that nearly every request looks for a second place.
//! Outside `cargo bench` it runs once with few requests, as a test.

use flashlane_base::{Duration, Instant, Seed};
use flashlane_device::{Device, NullDevice, Operation, Request, RequestId};
use flashlane_layer::Replicated;
use flashlane_layer::Timing;
use flashlane_layer::replicated::Settings;

const CAPACITY_BYTES: u64 = 32 << 30;
const PAGE_BYTES: u64 = 8 << 10;
const DEPTH: u64 = 32;

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let requests: u64 = if is_bench { 1_000_000 } else { 1_000 };
    let rounds = if is_bench { 7 } else { 1 };
    for (name, reads, delay) in [
        ("reads", 100, None),
        ("writes", 0, None),
        ("mixed", 70, None),
        ("blocked", 70, Some(Duration::from_ns(16))),
    ] {
        let settings = Settings { delay, always: true, ..Settings::default() };
        let below = Timing(NullDevice::new(CAPACITY_BYTES));
        let mut device = Replicated::new(below, settings, Seed(1)).unwrap_or_else(|error| panic!("{error}"));
        let best = (0..rounds).map(|_| time(&mut device, requests, reads)).min().unwrap_or_default();
        println!("replicated/{name:<10} {:>7.1} ns a request", best as f64 / requests as f64);
    }
}

/// Returns the nanoseconds of `requests` random requests.
fn time(device: &mut dyn Device, requests: u64, reads: u64) -> u128 {
    let pages = device.info().capacity_bytes / PAGE_BYTES;
    let mut random = Seed(1).source();
    let mut requests_left: Vec<Request> = (0..requests)
        .map(|id| {
            let operation = if random.below(100) < reads { Operation::Read } else { Operation::Write };
            Request {
                id: RequestId(id),
                operation,
                ..Request::read(0, random.below(pages) * PAGE_BYTES, PAGE_BYTES)
            }
        })
        .collect();
    let mut out = Vec::new();
    let mut in_flight = 0;
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures the layer in wall-clock time")]
    let start = std::time::Instant::now();
    while in_flight > 0 || !requests_left.is_empty() {
        while in_flight < DEPTH
            && let Some(request) = requests_left.pop()
        {
            device.submit(request).expect("a request of the device");
            in_flight += 1;
        }
        device.reap(Instant::FAR, &mut out);
        in_flight -= out.len() as u64;
        out.clear();
    }
    start.elapsed().as_nanos()
}
