//! Time to find the phases of a run: `cargo bench -p flashlane-measure --bench phases`.
//!
//! 100,000 I/Os with a start-up of 3,000 and a period of 1,000, and as many without any order, in milliseconds of
//! wall-clock time, the best of several rounds.

use flashlane_base::Seed;
use flashlane_measure::statistics::phases::Phases;
use std::hint::black_box;

fn main() {
    // Cargo passes `--bench` to benchmarks; without it this is a test.
    let small = !std::env::args().any(|arg| arg == "--bench");
    let (requests, rounds) = if small { (10_000, 1) } else { (100_000, 7) };
    let mut random = Seed(1).source();
    let mut series = |expensive: fn(usize) -> bool| -> Vec<u64> {
        let cheap = |i| if expensive(i) { 5_000_000 } else { 300_000 };
        (0..requests).map(|i| cheap(i) + random.below(20_000)).collect()
    };
    for (name, latencies) in [
        ("regular", series(|i| i >= 3_000 && i % 1_000 == 0)),
        ("irregular", series(|i| (i * i) % 1_013 < 7)),
    ] {
        let best = (0..rounds).map(|_| time(|| drop(black_box(Phases::of(black_box(&latencies))))));
        let best = best.min().unwrap_or_default();
        println!("phases-{name}: {:.1} ms for {requests} I/Os", best as f64 / 1e6);
    }
}

#[allow(clippy::disallowed_methods, reason = "a benchmark measures in wall-clock time")]
fn time(work: impl FnOnce()) -> u128 {
    let start = std::time::Instant::now();
    work();
    start.elapsed().as_nanos()
}
