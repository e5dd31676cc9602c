//! Speed of reading traces, one output line per format, in lines per second of user CPU on one core; and the memory
//! that a long trace takes.
//!
//! `cargo bench -p flashlane-trace --bench parse [BYTES]`: with a number, such as `10GB`, a DiskSim trace of that size
//! is generated and read, and the peak memory of the process is printed. `cargo test --benches` runs all of it on small
//! traces.

use flashlane_base::units::{format_bytes, parse_bytes};
use flashlane_base::{Duration, Instant, Operation, Seed};
use flashlane_trace::{FORMATS, Format, OpenOptions, Record, Trace, Writer};
use std::hint::black_box;
use std::io::{Cursor, Read};
use std::sync::Arc;

/// Lines per format.
const LINES: u64 = 4_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Cargo passes `--bench` to a benchmark; without it this is a test.
    let scale = if arguments.iter().any(|argument| argument == "--bench") { 1 } else { 1000 };
    let long_bytes = arguments.iter().find_map(|argument| parse_bytes(argument).ok());
    if let Some(bytes) = long_bytes {
        return memory(bytes);
    }
    for format in FORMATS.iter().filter(|format| format.is_written()) {
        speed(format.name, sample(format, LINES / scale), format);
    }
    let blkparse = Format::named("blkparse").expect("a format of ours");
    speed("blkparse", events(LINES / 4 / scale), blkparse);
    memory(1_000_000_000 / scale);
}

/// Bytes that several readers share.
#[derive(Clone)]
struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

fn requests(count: u64) -> impl Iterator<Item = Record> {
    let mut random = Seed(1).derive("bench").source();
    let mut at = Instant::from_ns(12_816_637_200_306_162_900);
    (0..count).map(move |_| {
        at += Duration::from_ns(100 * random.below(1_000_000));
        Record {
            at,
            took: Some(Duration::from_ns(100 * random.below(100_000))),
            device: 0,
            operation: if random.chance(0.3) { Operation::Read } else { Operation::Write },
            offset_bytes: 4096 * random.below(8_000_000),
            length_bytes: 4096 * (1 + random.below(16)),
            durable: false,
        }
    })
}

/// A trace of `count` requests.
fn sample(format: &'static Format, count: u64) -> Vec<u8> {
    let mut writer = Writer::new(format, Vec::new()).expect("only formats that are written");
    requests(count).for_each(|request| writer.push(&request).expect("memory takes all"));
    writer.finish().expect("memory takes all").0
}

/// The events of `count` requests as blkparse prints them, four per request.
fn events(count: u64) -> Vec<u8> {
    let mut lines = Vec::new();
    let first = 12_816_637_200_306_162_900;
    for (number, request) in requests(count).enumerate() {
        let rw = if request.operation == Operation::Read { 'R' } else { 'W' };
        let (sector, sectors) = (request.offset_bytes / 512, request.length_bytes / 512);
        let at = request.at.as_ns() - first;
        for (action, at) in [('Q', at), ('G', at + 400), ('D', at + 900), ('C', at + 90_000)] {
            let (s, ns) = (at / 1_000_000_000, at % 1_000_000_000);
            let line = format!(
                "  8,0    1 {number:8} {s:5}.{ns:09} {:5}  {action}   {rw} {sector} + {sectors} [fio]\n",
                697
            );
            lines.extend(line.into_bytes());
        }
    }
    lines
}

fn speed(name: &str, bytes: Vec<u8>, format: &Format) {
    let bytes = Shared(Arc::new(bytes));
    let options = OpenOptions { format: Some(format.name), ..OpenOptions::default() };
    let (mut best, mut length) = (0.0_f64, 0);
    // The best of three: other load on the machine only slows a run down.
    for _ in 0..3 {
        let before = user_cpu_s();
        let mut trace =
            Trace::from_reader(Cursor::new(bytes.clone()), name, &options).expect("our own trace");
        trace.by_ref().for_each(|record| {
            black_box(record);
        });
        let summary = trace.finish().expect("our own trace");
        assert_eq!(summary.refused, 0);
        length = bytes.0.len() as u64 / summary.lines;
        best = best.max(summary.lines as f64 / (user_cpu_s() - before).max(1e-6));
    }
    println!("trace-{name}: {:.1} million lines/s of user CPU ({length} bytes a line)", best / 1e6);
}

/// Repeats the lines up to `left` bytes.
struct Endless {
    lines: Vec<u8>,
    at: usize,
    left: u64,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let part = &self.lines[self.at..];
        let length = part.len().min(buffer.len()).min(self.left as usize);
        buffer[..length].copy_from_slice(&part[..length]);
        self.at = (self.at + length) % self.lines.len();
        self.left -= length as u64;
        Ok(length)
    }
}

fn memory(bytes: u64) {
    let format = Format::named("disksim").expect("a format of ours");
    let lines = sample(format, 10_000);
    let left = bytes / lines.len() as u64 * lines.len() as u64;
    let endless = Endless { lines, at: 0, left: left.max(1 << 16) };
    let options = OpenOptions { format: Some(format.name), ..OpenOptions::default() };
    let (before, cpu) = (peak_bytes(), user_cpu_s());
    let mut trace = Trace::from_reader(endless, "endless", &options).expect("our own trace");
    let records =
        trace.by_ref().fold(0_u64, |count, record| count + u64::from(black_box(record).length_bytes > 0));
    let cpu = user_cpu_s() - cpu;
    let grown = peak_bytes() - before;
    println!(
        "trace-memory: {:.2} MiB more at its highest ({} of DiskSim lines, {records} requests, {cpu:.1} s of user CPU)",
        grown as f64 / (1 << 20) as f64,
        format_bytes(left),
    );
}

/// User CPU seconds of this process so far.
fn user_cpu_s() -> f64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel initializes the whole structure.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    usage.ru_utime.tv_sec as f64 + usage.ru_utime.tv_usec as f64 / 1e6
}

/// Peak memory of this process.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has /proc");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line of that name");
    line.trim().trim_end_matches("kB").trim().parse::<u64>().expect("a number of KiB") * 1024
}
