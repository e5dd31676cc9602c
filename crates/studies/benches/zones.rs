//! The zoned drive `zn540-1tb` against published measurements of the real one: Doekemeijer et al., "Performance
//! Characterization of NVMe Flash Devices with Zoned Namespaces", CLUSTER 2023 (artifact). One line per quantity, with
//! its deviation from the published number in percent.
//!
//! `cargo bench -p flashlane-studies --bench zones`; `cargo test --benches` runs it small.

use flashlane_base::{Duration, Histogram, Instant, Seed};
use flashlane_device::{Device, Interleaved, Request};
use flashlane_measure::{Run, RunOptions, run};
use flashlane_sim::{Zoned, profile};
use flashlane_workload::Workload;

/// Bytes of a zone.
const ZONE: u64 = 1077 << 20;

fn main() {
    // Cargo passes `--bench` to a benchmark; without it this is a test.
    let quick = !std::env::args().any(|argument| argument == "--bench");
    reads(if quick { 2_000 } else { 300_000 });
    writes(if quick { 2_000 } else { 300_000 });
    beside_writes(if quick { "20ms" } else { "3s" });
    if !quick {
        commands();
        beside_commands();
    }
}

fn drive(state: &str) -> Interleaved<Zoned> {
    let settings = [("initial.state".to_owned(), state.to_owned())];
    let config = profile::load("zn540-1tb", &settings).expect("the bench's own profile");
    Interleaved::new(Zoned::new(&config, Seed(1)))
}

fn measure(state: &str, workload: &str) -> Run {
    let workload: Workload = workload.parse().expect("the bench's own workload");
    let result = run(&mut drive(state), &workload, RunOptions::default());
    result.expect("the workload fits the drive")
}

/// Prints a quantity and how far it is off the published one.
fn show(id: &str, measured: f64, published: f64, unit: &str) {
    let off = (measured / published - 1.0) * 100.0;
    println!(
        "zn540-{id}: {:.1} % off ({measured:.2} {unit}, published {published} {unit}, {off:+.1}%)",
        off.abs()
    );
}

fn us(time: Duration) -> f64 {
    time.as_ns() as f64 / 1e3
}

fn p99(latencies: &Histogram) -> f64 {
    latencies.quantile_ns(0.99) / 1e3
}

fn mean(latencies: &Histogram) -> f64 {
    latencies.mean_ns() / 1e3
}

fn reads(requests: u64) {
    let read = |size: &str, depth: u32| {
        measure("full", &format!("random-read,size={size},depth={depth},requests={requests}"))
    };
    let one = read("4KiB", 1).latencies();
    show("read-mean", mean(&one), 72.6, "us");
    show("read-p99", p99(&one), 81.4, "us");
    let deep = read("4KiB", 32);
    show("read-32-rate", deep.iops() / 1e3, 274.0, "kIOPS");
    show("read-32-mean", mean(&deep.latencies()), 116.0, "us");
    show("read-32-p99", p99(&deep.latencies()), 301.0, "us");
    show("read-256-rate", read("4KiB", 256).iops() / 1e3, 437.0, "kIOPS");
    show("read-8k-mean", mean(&read("8KiB", 1).latencies()), 84.1, "us");
    show("read-8k-256-rate", read("8KiB", 256).iops() / 1e3, 296.0, "kIOPS");
}

fn writes(requests: u64) {
    let fresh = |workload: &str| measure("fresh", &format!("{workload},requests={requests}"));
    let one = fresh("sequential-write,size=4KiB").latencies();
    show("write-mean", mean(&one), 11.4, "us");
    show("write-p99", p99(&one), 13.5, "us");
    let eight = |size: &str| fresh(&format!("sequential-write,size={size},jobs=8,area=1077MiB"));
    show("write-8-zones-rate", eight("4KiB").iops() / 1e3, 186.0, "kIOPS");
    show("write-limit", eight("8KiB").bandwidth_bytes_per_s() / 1e9, 1.2, "GB/s");
    let long = fresh("sequential-write,size=128KiB,depth=4,warmup=1k");
    show("write-limit-one-zone", long.bandwidth_bytes_per_s() / 1e9, 1.2, "GB/s");
    show("append-mean", mean(&fresh("sequential-append,size=4KiB").latencies()), 14.8, "us");
    let deep = fresh("sequential-append,size=4KiB,depth=8");
    show("append-rate", deep.iops() / 1e3, 132.0, "kIOPS");
}

/// Random reads beside writes to a zone that is empty.
fn beside_writes(time: &str) {
    let beside = |depth: u32, rate: u32| {
        let mut device = drive("full");
        alone(&mut device, Request::erase(0, 0, ZONE));
        let workload = format!(
            "random-read,size=4KiB,depth={depth},offset=20GiB,time={time} + \
             sequential-write,size=128KiB,depth=8,area=1077MiB,rate={rate}/s"
        );
        let workload: Workload = workload.parse().expect("the bench's own workload");
        let run = run(&mut device, &workload, RunOptions::default()).expect("it fits");
        let reads = run.jobs[0].latencies();
        (run.jobs[0].requests() as f64 / run.elapsed.as_s_f64() / 1e3, reads)
    };
    // 250 MB/s.
    let (_, one) = beside(1, 1907);
    show("read-beside-writes-mean", mean(&one), 100.3, "us");
    show("read-beside-writes-p99", p99(&one), 317.0, "us");
    let (rate, deep) = beside(32, 1907);
    show("read-32-beside-writes-rate", rate, 142.5, "kIOPS");
    show("read-32-beside-writes-p99", p99(&deep), 1434.0, "us");
}

/// What a request takes by itself, after the drive has rested.
fn alone(device: &mut impl Device, request: Request) -> Duration {
    let until = device.now() + Duration::from_ms(50);
    let mut out = Vec::new();
    while device.now() < until {
        device.reap(until, &mut out);
    }
    device.submit(request).unwrap_or_else(|error| panic!("{error}"));
    device.reap(Instant::FAR, &mut out);
    out[0].latency()
}

/// Writes a zone from its start, up to `bytes`, 4 KiB at a time, and returns what the next request takes.
fn after_filling(device: &mut impl Device, bytes: u64, next: Request) -> Duration {
    let mut out = Vec::new();
    let writes = (0..bytes).step_by(4096).map(|at| Request::write(0, at, 4096));
    for request in writes.chain([next]) {
        out.clear();
        device.submit(request).unwrap_or_else(|error| panic!("{error}"));
        device.reap(Instant::FAR, &mut out);
    }
    out[0].latency()
}

fn commands() {
    let mut device = drive("fresh");
    let zone = &mut device;
    show("finish-empty", us(alone(zone, Request::finish(0, 0, ZONE))) / 1e3, 0.014, "ms");
    show("reset-empty", us(alone(zone, Request::erase(0, 0, ZONE))) / 1e3, 1.61, "ms");
    show("open", us(alone(zone, Request::open(0, 0, ZONE))), 9.6, "us");
    alone(zone, Request::write(0, 0, 4096));
    show("close", us(alone(zone, Request::close(0, 0, ZONE))), 13.0, "us");
    show("finish-one-page", us(alone(zone, Request::finish(0, 0, ZONE))) / 1e3, 908.0, "ms");
    show("reset-full", us(alone(zone, Request::erase(0, 0, ZONE))) / 1e3, 15.8, "ms");
    let nearly_full = after_filling(zone, ZONE - 4096, Request::finish(0, 0, ZONE));
    show("finish-nearly-full", us(nearly_full) / 1e3, 4.05, "ms");
    alone(zone, Request::erase(0, 0, ZONE));
    let half = us(after_filling(zone, ZONE / 2, Request::erase(0, 0, ZONE))) / 1e3;
    println!("zn540-reset-half: {half:.2} ms (not published here)");
}

/// The reads a second at depth 32, beside one command after the other, each followed by a pause as long as it took:
/// half the rate at which the command could be given. The drive's first zones are for the commands, the others are
/// read.
fn reads_beside(command: Option<fn(u64) -> Request>) -> f64 {
    let mut device = drive("full");
    let mut random = Seed(1).derive("reads").source();
    for zone in 0..4 {
        alone(&mut device, Request::erase(0, zone * ZONE, ZONE));
        alone(&mut device, Request::write(0, zone * ZONE, 4096));
    }
    let read = |device: &mut Interleaved<Zoned>, id, page: u64| {
        device.submit(Request::read(id, 100 * ZONE + page * 4096, 4096)).expect("all zones there are full");
    };
    let mut page = || random.below(800 * ZONE / 4096);
    (1..33).for_each(|id| read(&mut device, id, page()));
    let begins = device.now();
    let end = begins + Duration::from_ms(2500);
    let first = if command.is_some() { begins } else { Instant::FAR };
    let (mut reads, mut nth, mut next, mut out) = (0_u64, 0, first, Vec::new());
    while device.now() < end {
        if let Some(command) = command.filter(|_| device.now() >= next) {
            device.submit(command(nth)).expect("each zone gets one command");
            (nth, next) = (nth + 1, Instant::FAR);
        }
        device.reap(end.min(next), &mut out);
        for done in out.drain(..) {
            match done.id.0 {
                0 => next = done.completed + done.latency(),
                id => {
                    reads += 1;
                    read(&mut device, id, page());
                }
            }
        }
    }
    reads as f64 / end.since(begins).as_s_f64()
}

fn beside_commands() {
    let alone = reads_beside(None);
    let finishes = reads_beside(Some(|nth| Request::finish(0, nth * ZONE, ZONE)));
    let resets = reads_beside(Some(|nth| Request::erase(0, (4 + nth) * ZONE, ZONE)));
    show("read-32-beside-finishes", finishes / alone * 100.0, 56.0, "% of those alone");
    show("read-32-beside-resets", resets / alone * 100.0, 97.0, "% of those alone");
}
