//! The cost of GC for the host's writes, in virtual time: `nvme-tlc` in the state after random overwrites, 4 KiB random
//! writes at depth 8, with the profile's pacing and with whole victims at a watermark.
//!
//! `cargo bench --bench pacing`; `cargo test --benches` runs it small.

use flashlane_base::Seed;
use flashlane_measure::{RunOptions, run};
use flashlane_sim::{Drive, profile};
use flashlane_workload::{Job, Mix, Pattern, Workload};

/// A drive in the proportions of `nvme-tlc`, of 6 GiB.
const SMALL: &[(&str, &str)] = &[
    ("flash.channels", "2"),
    ("flash.blocks", "128"),
    ("flash.pages", "192"),
    ("capacity", "5500MiB"),
    ("buffer.size", "1MiB"),
];

fn main() {
    // Cargo passes `--bench` to a benchmark; without it this is a test.
    let quick = !std::env::args().any(|argument| argument == "--bench");
    measure("gc-paced", "the profile's", &[], quick);
    measure("gc-watermark", "whole victims at a mark", &[("cleaning.pacing", "watermark")], quick);
}

fn measure(id: &str, what: &str, pacing: &[(&str, &str)], quick: bool) {
    let state = ("initial.state", "fragmented");
    let small = if quick { SMALL } else { &[] };
    let settings: Vec<(String, String)> = [&[state], small, pacing]
        .concat()
        .into_iter()
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect();
    let config = profile::load("nvme-tlc", &settings).expect("the bench's own settings");
    let mut drive = Drive::new(&config, Seed(1));
    let writes = if quick { 20_000 } else { 2_000_000 };
    let job = Job::new("bench", Pattern::Random, Mix::WRITE, 4096).depth(8);
    let result = run(&mut drive, &Workload::single(job, writes), RunOptions::default())
        .expect("the bench's own workload");
    let latency = result.jobs[0].writes.as_ref().expect("the job writes").latency();
    println!("{id}-p999: {:.2} ms (99.9% of writes within, {what})", latency.p999 / 1e6);
    println!("{id}-longest: {:.2} ms (the longest write)", latency.max / 1e6);
    let amplification = result.counters.write_amplification().expect("it was written");
    println!("{id}-amplification: {amplification:.2} (write amplification)");
}
