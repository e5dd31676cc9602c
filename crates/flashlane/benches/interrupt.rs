//! Measures the time from SIGINT to the end of the program in slow phases of every command. Prints one line per case,
//! and last the longest time.
//!
//! `FLASHLANE_BENCH_DIR` is the directory for files (default: the one for temporary files); `FLASHLANE_BENCH_PROGRAM`
//! is another program to measure.

// Measures wall-clock time.
#![allow(clippy::disallowed_methods)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Times from the start to the signal, early and late in the slow phase.
const AFTER: [Duration; 2] = [Duration::from_millis(400), Duration::from_millis(1600)];

/// A drive that takes long to prepare: an allocation without a stripe is filled page by page.
const LARGE: &str =
    "sim:nvme-tlc,flash.blocks=8000,capacity=5TiB,mapping.allocation=random,initial.state=full";

fn main() {
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let setting = |name: &str| std::env::var_os(name);
    let parent = setting("FLASHLANE_BENCH_DIR").unwrap_or_else(|| std::env::temp_dir().into());
    let program = setting("FLASHLANE_BENCH_PROGRAM").unwrap_or(env!("CARGO_BIN_EXE_flashlane").into());
    let dir = tempfile::tempdir_in(parent).expect("a directory for files");
    let trace = large_trace(dir.path());
    let image = dir.path().join("image");
    let converted = dir.path().join("out.csv").to_string_lossy().into_owned();
    let lanes = format!("lanes({},channels=4)", image.display());
    let cases: [&[&str]; 11] = [
        &["run", LARGE, "random-read,time=100s"],
        &["run", "sim:nvme-tlc,initial.state=full", "random-write,time=1000s"],
        &["run", LARGE, "random-read,time=100s", "--sweep", "seed=1,2,3,4"],
        &["probe", LARGE],
        &["probe", "sim:nvme-tlc", "--full"],
        &["replay", LARGE, &trace],
        &["replay", "sim:msr-32g,initial.state=full", &trace],
        &["trace", "convert", &trace, &converted, "--to", "msr"],
        &["trace", "info", &trace],
        &["uflip", LARGE],
        &["study", "ruan12"],
    ];
    let mut longest = Duration::ZERO;
    for arguments in cases {
        for after in AFTER {
            longest = longest.max(measure(&program, arguments, after));
        }
    }
    let path = image.to_str().unwrap_or_default();
    for arguments in [["sdf", "format", &lanes], ["run", path, "random-read"], ["probe", path, "--quick"]] {
        let arguments = [&arguments[..], &["--create", "8GiB"]].concat();
        longest = longest.max(measure(&program, &arguments, AFTER[0]));
        let _ = std::fs::remove_file(&image);
    }
    longest = longest.max(of_stores(&program, dir.path()));
    println!("longest {:.0} ms", longest.as_secs_f64() * 1e3);
}

/// Returns the longest time of commands over stores, servers, and advice, and of those that read standard input.
fn of_stores(program: &std::ffi::OsStr, dir: &Path) -> Duration {
    let in_dir = |name: &str| dir.join(name).to_string_lossy().into_owned();
    let [store, bench, blocks, socket] = ["store", "bench", "blocks", "socket"].map(in_dir);
    let [store, bench, blocks] = [store, bench, blocks].map(|file| format!("lanes({file},channels=4)"));
    let transactions = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/tpc-c.pages.xz");
    for arguments in [["store", "create", &store], ["sdf", "format", &blocks]] {
        let made =
            Command::new(program).args(arguments).args(["--create", "2GiB"]).stdout(Stdio::null()).status();
        assert!(made.is_ok_and(|status| status.success()), "{arguments:?}");
    }
    let cases: [&[&str]; 14] = [
        &["store", "bench", &bench, "--create", "2GiB"],
        &["store", "import", &store, "-"],
        &["store", "put", &store, "key", "-"],
        &["store", "file", "put", &store, "/file", "-"],
        &["store", "import", "backed(sim:sdf)", "-"],
        &["store", "serve", &store, "--socket", &socket],
        &["sdf", "put", &blocks, "-"],
        &["sdf", "bench", &blocks, "--destroy-data"],
        &["sdf", "bench", "sim:sdf"],
        &["trace", "info", "-"],
        &["serve", "nbd", "sim:ssd-s", "--socket", &socket],
        &["advise", "postgresql", LARGE],
        &["advise", "rocksdb", "sim:nvme-tlc,initial.state=fragmented"],
        &["transactions", "sim:he-4g", transactions, "--warmup", "16000", "--transactions", "200000"],
    ];
    let times = cases.iter().flat_map(|arguments| AFTER.map(|after| measure(program, arguments, after)));
    times.max().unwrap_or_default()
}

/// Returns the time from SIGINT to the end; zero if the program ended before.
fn measure(program: &std::ffi::OsStr, arguments: &[&str], after: Duration) -> Duration {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program starts");
    // `wait` would close it.
    let _pipe = child.stdin.take();
    sleep(after);
    let (sent, words) = (Instant::now(), arguments.join(" "));
    if child.try_wait().is_ok_and(|ended| ended.is_some()) {
        println!("    ended before: {words}");
        return Duration::ZERO;
    }
    // SAFETY: the child has not been waited for, so its id is still its own.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    child.wait().expect("the child ends");
    let took = sent.elapsed();
    println!("{:7.1} ms, {:.1} s after the start of: {words}", took.as_secs_f64() * 1e3, after.as_secs_f64());
    took
}

/// Writes a trace of three million requests in DiskSim's format.
fn large_trace(dir: &Path) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    for number in 0_u64..3_000_000 {
        let block = number.wrapping_mul(2_654_435_761) % 40_000_000;
        writeln!(text, "{}.{:03} 0 {} 8 {}", number, number % 1000, block / 8 * 8, number % 2)
            .expect("a String takes what it is given");
    }
    let path = dir.join("large.trace");
    std::fs::write(&path, text).expect("room for a trace");
    path.to_string_lossy().into_owned()
}
