//! How long the probe takes, and how often it is right: one line a figure.
//!
//! `cargo bench --bench probe`; `cargo test` runs each figure small, so that it cannot rot. The file to be probed is
//! made below the system's folder for temporary files; `FLASHLANE_BENCH_DIR` names another, on a disk.

mod process;

use flashlane_base::Seed;
use flashlane_probe::{Effort, Options, ProbeResult, Status, probe};
use flashlane_sim::{Drive, config};
use flashlane_studies::score::score;
use process::user_cpu_s;

fn main() {
    // Cargo says so when it benchmarks; without it this is a test.
    let quick = !std::env::args().any(|argument| argument == "--bench");
    simulated();
    scored(if quick { 4 } else { 500 });
    if quick {
        return;
    }
    file();
}

fn simulated() {
    let before = user_cpu_s();
    let mut drive = Drive::new(&config::load("ssd-s", &[]).expect("a shipped profile"), Seed(0));
    let result =
        probe(&mut drive, Options { may_write: true, ..Options::default() }).expect("a drive of 32 GB");
    println!(
        "probe-time: {:.2} s of user CPU (sim:ssd-s, {} requests)",
        user_cpu_s() - before,
        result.requests
    );
}

fn scored(drives: u64) {
    let score = score(drives, Seed(0), &|_| true);
    for tally in &score.features {
        let share = |count: u64| 100.0 * count as f64 / score.drives as f64;
        let feature = tally.feature;
        println!(
            "score-{feature}-right: {:.1} % of {drives} random drives\nscore-{feature}-wrong: {:.1} %",
            share(tally.right),
            share(tally.wrong)
        );
    }
}

/// A plain file has no structure of its own, and a disk of a virtual machine shows none.
fn file() {
    let folder = std::env::var_os("FLASHLANE_BENCH_DIR").map_or_else(std::env::temp_dir, Into::into);
    let path = folder.join(format!("flashlane-bench-{}", std::process::id()));
    if let Err(error) = flashlane_host::create(&path, 1 << 30, |_| true) {
        println!("the file's figures are left out: {error}");
        return;
    }
    let probed = flashlane_host::OpenOptions::destroy(&path).open().map(|mut device| {
        let options = Options { may_write: true, effort: Effort::Quick, ..Options::default() };
        probe(&mut device, options).expect("a file of 1 GiB")
    });
    let _ = std::fs::remove_file(&path);
    match probed {
        Ok(result) => println!(
            "probe-file-time: {:.1} s (1 GiB file, --quick)\nprobe-file-invented: {} of chunk, page, degree, sub-domains, mapping, readahead",
            result.elapsed_s,
            invented(&result)
        ),
        Err(error) => println!("the file's figures are left out: {error}"),
    }
}

/// Structural findings that claim to be found.
fn invented(result: &ProbeResult) -> usize {
    let features = [
        "chunk_size_bytes",
        "page_size_bytes",
        "interleaving_degree",
        "sub_domains",
        "mapping_policy",
        "readahead_streams",
    ];
    let found = |name: &str| result.finding(name).is_some_and(|finding| finding.status == Status::Found);
    features.into_iter().filter(|name| found(name)).count()
}
