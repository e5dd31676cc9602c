//! Duration of uFLIP: the paper's whole grid on a simulated drive, its figures in their quick form, and a quick row of
//! a file.
//!
//! `cargo bench --bench uflip`; `cargo test --benches` runs each small. The file is created below the system's folder
//! for temporary files; `FLASHLANE_BENCH_DIR` names another, on a disk.

mod process;

use flashlane_base::Seed;
use flashlane_host::OpenOptions;
use flashlane_sim::{Drive, profile};
use flashlane_uflip::{Benchmark, Effort, Options, uflip};
use process::user_cpu_s;

fn main() {
    // Cargo passes `--bench` to a benchmark; without it this is a test.
    let quick = !std::env::args().any(|argument| argument == "--bench");
    simulated(quick);
    study(quick);
    file(quick);
}

/// The paper's figures, in their quick form, on all cores.
fn study(quick: bool) {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let options = flashlane_studies::Options { quick: true, jobs, ..flashlane_studies::Options::default() };
    let figure = quick.then_some("state");
    let before = user_cpu_s();
    let (studied, took) =
        flashlane_host::timed(|| flashlane_studies::run("uflip09", figure, options).expect("a study"));
    println!(
        "uflip09-quick: {:.0} s ({jobs} cores, {:.0} s of user CPU, {} quantities)",
        took.as_s_f64(),
        user_cpu_s() - before,
        studied.result.rows.len()
    );
}

fn options<'a>(effort: Effort, quick: bool) -> Options<'a> {
    let benchmarks = if quick { vec![Benchmark::Order] } else { Benchmark::ALL.to_vec() };
    Options { effort, benchmarks, ..Options::default() }
}

fn simulated(quick: bool) {
    let effort = if quick { Effort::Quick } else { Effort::Full };
    let mut drive = Drive::new(&profile::load("mtron-like", &[]).expect("a shipped profile"), Seed(0));
    let before = user_cpu_s();
    let outcome = uflip(&mut drive, options(effort, quick)).expect("the drive takes it");
    let result = outcome.result;
    println!(
        "uflip-full: {:.1} s of user CPU (mtron-like, {} runs of {} I/Os, {} enforcements of the state)",
        user_cpu_s() - before,
        result.runs.len(),
        result.ios,
        result.states.len()
    );
}

/// A row of a file, which measures the disk below it.
fn file(quick: bool) {
    let dir = std::env::var_os("FLASHLANE_BENCH_DIR").map_or_else(std::env::temp_dir, Into::into);
    let path = dir.join(format!("flashlane-bench-uflip-{}", std::process::id()));
    let length_bytes: u64 = if quick { 64 << 20 } else { 1 << 30 };
    let measured = flashlane_host::create(&path, length_bytes, |_| true)
        .map_err(|error| error.to_string())
        .and_then(|_| {
            let mut device = OpenOptions::read_write(&path).open().map_err(|error| error.to_string())?;
            let (outcome, took) = flashlane_host::timed(|| uflip(&mut device, options(Effort::Quick, quick)));
            Ok((outcome.map_err(|error| error.to_string())?.result, took))
        });
    let _ = std::fs::remove_file(&path);
    match measured {
        Ok((result, took)) => println!(
            "uflip-file: {:.0} s (--quick, {} I/Os)\nuflip-file-spread: {:.1} % between the three runs of an experiment, the median of all; row {:?}",
            took.as_s_f64(),
            result.ios,
            100.0 * result.spread.unwrap_or_default(),
            result.characteristics.row
        ),
        Err(error) => println!("the file's figures are left out: {error}"),
    }
}
