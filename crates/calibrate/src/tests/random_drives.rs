//! Twins of random simulated drives, compared with workloads that the search did not see.

use super::{is_tail, measured, start};
use crate::{Options, Quantity, calibrate};
use flashlane_base::Seed;
use std::io::Write;

/// Drives without another number in the variable.
const DRIVES: u64 = 100;
const DRIVES_VARIABLE: &str = "FLASHLANE_TWINS";

/// The fifth and the tenth are kept back. There are only reads: 100,000 writes reach the reserve of the small drive,
/// whose GC shorter predictions do not see.
const WORKLOADS: [&str; 10] = [
    "random-read,size=4k,depth=1",
    "random-read,size=16k,depth=1",
    "random-read,size=4k,depth=8",
    "random-read,size=4k,depth=256",
    "random-read,size=4k,depth=32",
    "random-read,size=16k,depth=16",
    "random-read,size=16k,depth=256",
    "random-read,size=64k,depth=1",
    "random-read,size=64k,depth=8",
    "random-read,size=8k,depth=64",
];

fn drives() -> u64 {
    let given = std::env::var(DRIVES_VARIABLE);
    given.map_or(DRIVES, |drives| drives.parse().expect("a number of drives is an integer"))
}

/// The constants and counts of a drive: each within a factor of two of the start profile's.
fn constants(seed: u64) -> Vec<(&'static str, String)> {
    let mut random = Seed(seed).source();
    let mut within = |value: f64| value * (2.0 * random.unit() - 1.0).exp2();
    let times = [("host.submission", 5e3), ("link.read_command", 400.0), ("flash.read", 60e3)]
        .map(|(key, ns)| (key, format!("{:.0}ns", within(ns))));
    let rates = [("link.bandwidth", 7e6), ("flash.bus", 1.2e6)]
        .map(|(key, kilobytes)| (key, format!("{:.0}kB/s", within(kilobytes))));
    let noise = [("flash.noise", format!("{:.1}%", 20.0 * random.unit()))];
    let channels = [("flash.channels", [4, 8, 16][random.below(3) as usize].to_string())];
    let packages = [("flash.packages", [1, 2][random.below(2) as usize].to_string())];
    [&times[..], &rates, &noise, &channels, &packages].concat()
}

/// Writes the errors of the workloads that were kept back, of each drive and of all.
#[test]
#[ignore = "for minutes, by hand, with --nocapture: prints the errors of twins of random drives"]
fn twins_predict_what_they_were_not_fitted_to() {
    let mut output = std::io::stderr();
    let (mut medians, mut tails) = (Vec::new(), Vec::new());
    for seed in 0..drives() {
        let truth = constants(seed);
        let rows = measured(&truth, &WORKLOADS);
        let options = Options { jobs: 2, ..Options::default() };
        let fit = calibrate(&start(), &rows, &options).expect("it fits");
        writeln!(output, "drive {seed}: {truth:?}\n  {:?}, {} profiles tried", fit.counts, fit.tried)
            .expect("it can be written");
        let kept = rows.iter().zip(&fit.predicted).zip(&fit.kept_back).filter(|(_, kept)| **kept);
        for ((row, predicted), _) in kept.filter(|((row, _), _)| row.quantity != Quantity::Rate) {
            let error = predicted / row.value - 1.0;
            writeln!(output, "  {:+.2}% {}", 100.0 * error, row.name()).expect("it can be written");
            if is_tail(row) { &mut tails } else { &mut medians }.push(error.abs());
        }
    }
    for (name, errors, bound) in [("p50", &mut medians, 0.03), ("p99", &mut tails, 0.08)] {
        errors.sort_by(f64::total_cmp);
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let within = errors.iter().filter(|error| **error <= bound).count();
        writeln!(
            output,
            "{name}: mean {:.2}%, median {:.2}%, largest {:.2}%; {within} of {} within {:.0}%",
            100.0 * mean,
            100.0 * errors[errors.len() / 2],
            100.0 * errors[errors.len() - 1],
            errors.len(),
            100.0 * bound
        )
        .expect("it can be written");
    }
}
