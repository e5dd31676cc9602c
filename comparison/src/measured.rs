//! Measures a phase: rate, latency, processor time, bytes written, space and memory.

use crate::engine::Engine;
use crate::stores::Name;
use crate::workload::{Phase, Workload};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Instant;

/// What was measured of a phase.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// The store.
    pub store: Name,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// The phase.
    pub phase: Phase,
    /// Operations.
    pub operations: u64,
    /// Seconds until the last operation completed.
    pub seconds: f64,
    /// Seconds from then until the work in the background was done.
    pub settle_seconds: f64,
    /// Processor time of both, in microseconds an operation.
    pub cpu_us: f64,
    /// 99th percentile of the latency, in microseconds.
    pub p99_us: f64,
    /// The longest latency, in milliseconds.
    pub longest_ms: f64,
    /// Bytes that the process wrote for each byte of keys and values; of phases that write.
    pub write_amplification: Option<f64>,
    /// Bytes on the disk for each byte of keys and values.
    pub space_amplification: f64,
    /// Most memory of the process so far, in MB.
    pub memory_mb: f64,
}

/// Runs a phase.
pub fn measure(
    store: Name,
    engine: &mut dyn Engine,
    dir: &Path,
    workload: &Workload,
    phase: Phase,
) -> Measured {
    drop_cached_pages(dir);
    let (written, cpu, begin) = (written_bytes(), cpu_seconds(), Instant::now());
    let latencies = engine.run(workload, phase);
    let seconds = begin.elapsed().as_secs_f64();
    engine.settle();
    let settle_seconds = begin.elapsed().as_secs_f64() - seconds;
    let operations = workload.operations(phase);
    let put = match phase {
        Phase::Mixed => operations / 2,
        _ => operations,
    } * workload.entry_bytes();
    let space = engine.space_bytes().unwrap_or_else(|| folder_bytes(dir));
    Measured {
        store,
        value_bytes: workload.value_bytes,
        phase,
        operations,
        seconds,
        settle_seconds,
        cpu_us: (cpu_seconds() - cpu) * 1e6 / operations as f64,
        p99_us: latencies.value_at_quantile(0.99) as f64 / 1e3,
        longest_ms: latencies.max() as f64 / 1e6,
        write_amplification: phase.is_write().then(|| (written_bytes() - written) as f64 / put as f64),
        space_amplification: space as f64 / (workload.keys * workload.entry_bytes()) as f64,
        memory_mb: status("VmHWM:", "/proc/self/status") as f64 * 1024.0 / 1e6,
    }
}

fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Bytes that the process handed to the file system, and that are not cached any more or will be written.
fn written_bytes() -> u64 {
    status("write_bytes:", "/proc/self/io")
}

fn status(name: &str, path: &str) -> u64 {
    let text = std::fs::read_to_string(path).expect("the kernel tells about this process");
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("the kernel counts this");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}

/// Returns the regular files in a folder and those below.
fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).expect("the folder can be read").flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files.extend(self::files(&entry.path())),
            _ => files.push(entry.path()),
        }
    }
    files
}

/// Files may vanish meanwhile.
fn folder_bytes(dir: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    files(dir).iter().filter_map(|path| path.metadata().ok()).map(|metadata| metadata.blocks() * 512).sum()
}

/// Writes files out and drops their pages from the page cache.
fn drop_cached_pages(dir: &Path) {
    for file in files(dir).iter().filter_map(|path| std::fs::File::open(path).ok()) {
        let _ = rustix::fs::fdatasync(&file);
        let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
    }
}
