//! Compares 4 KB random reads at depth 32 on a file, with every latency recorded, with fio's io_uring engine on the
//! same file in alternating runs. Prints one line: the median ratio of the pairs, and both medians.
//!
//! | variable | meaning | default |
//! | --- | --- | --- |
//! | `FLASHLANE_BENCH_DIR` | folder of the file | the directory for temporary files |
//! | `FLASHLANE_BENCH_SIZE` | size of the file | `1GiB` |
//! | `FLASHLANE_BENCH_PAIRS` | alternating pairs of runs | `5` |
//! | `FLASHLANE_BENCH_TIME` | length of a run | `5s` |
//! | `FLASHLANE_BENCH_DEPTH` | requests in flight | `32` |
//! | `FLASHLANE_BENCH_ENGINE` | `threads` selects the fallback | io_uring |
//!
//! Without fio on PATH it prints only our own figure. Outside `cargo bench` it runs once on a small file, as a test.

mod fio;

use fio::{fio, median};
use flashlane_base::units::{parse_bytes, parse_count, parse_duration};
use flashlane_base::{Duration, Histogram, Seed};
use flashlane_device::{Device, Request};
use flashlane_host::{EngineChoice, OpenOptions, create};
use std::path::Path;

const SIZE_BYTES: u64 = 4096;

fn main() {
    let real = std::env::args().any(|argument| argument == "--bench");
    let setting = |name: &str, full: &str, small: &str| {
        std::env::var(name).unwrap_or(if real { full } else { small }.into())
    };
    let size_bytes = parse_bytes(&setting("FLASHLANE_BENCH_SIZE", "1GiB", "16MiB")).expect("a size");
    let pairs = parse_count(&setting("FLASHLANE_BENCH_PAIRS", "5", "1")).expect("a count");
    let time = parse_duration(&setting("FLASHLANE_BENCH_TIME", "5s", "50ms")).expect("a time");
    let depth = parse_count(&setting("FLASHLANE_BENCH_DEPTH", "32", "32")).expect("a count");
    let folder = std::env::var_os("FLASHLANE_BENCH_DIR").unwrap_or_else(|| std::env::temp_dir().into());
    let folder = tempfile::tempdir_in(folder).expect("a folder for the file");
    let path = folder.path().join("data");
    create(&path, size_bytes, |_| true).unwrap_or_else(|e| panic!("{e}"));

    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for pair in 0..pairs {
        ours.push(run(&path, depth, time, pair));
        if real && let Some(iops) = fio_iops(&path, depth, time) {
            theirs.push(iops);
        }
    }
    let mut ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(a, b)| a.0 / b).collect();
    let mean_us = median(&mut ours.iter().map(|run| run.1.mean_ns() / 1e3).collect::<Vec<_>>());
    let ours = median(&mut ours.iter().map(|run| run.0).collect::<Vec<_>>());
    let us = format!("4 KB random reads at depth {depth}: {ours:.0} IOPS (mean latency {mean_us:.1} us)");
    if !real {
        println!("{us} on a small file, as a test");
    } else if ratios.is_empty() {
        println!("{us}; fio is not on PATH, so there is no ratio");
    } else {
        let fio = median(&mut theirs);
        println!("{us}, fio {fio:.0} IOPS, ratio {:.3} (median of {pairs} pairs)", median(&mut ratios));
    }
}

/// Returns the IOPS and all latencies.
fn run(path: &Path, depth: u64, time: Duration, pair: u64) -> (f64, Histogram) {
    let mut options = OpenOptions::read_only(path);
    if std::env::var("FLASHLANE_BENCH_ENGINE").is_ok_and(|name| name == "threads") {
        options.engine = EngineChoice::Threads;
    }
    let mut device = options.open().unwrap_or_else(|e| panic!("{e}"));
    let mut random = Seed(pair).derive("against fio").source();
    let places = device.info().capacity_bytes / SIZE_BYTES;
    let mut histogram = Histogram::new();
    let mut out = Vec::new();
    let mut next = depth;
    for id in 0..depth {
        device.submit(Request::read(id, random.below(places) * SIZE_BYTES, SIZE_BYTES)).expect("it fits");
    }
    let began = device.now();
    let mut now = began;
    while now.since(began) < time {
        device.reap(flashlane_base::Instant::FAR, &mut out);
        for completion in out.drain(..) {
            completion.outcome.expect("a read succeeds");
            histogram.record(completion.latency());
            now = completion.completed;
            let read = Request::read(next, random.below(places) * SIZE_BYTES, SIZE_BYTES);
            device.submit(read).expect("one has just completed");
            next += 1;
        }
    }
    (histogram.len() as f64 / now.since(began).as_s_f64(), histogram)
}

/// Returns fio's IOPS, field 8 of its terse format.
fn fio_iops(path: &Path, depth: u64, time: Duration) -> Option<f64> {
    let runtime = format!("--runtime={}ms", time.as_ns() / 1_000_000);
    fio(path, depth, &["--rw=randread", "--bs=4k", "--time_based", &runtime], 7)
}
