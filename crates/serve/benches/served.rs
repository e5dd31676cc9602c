//! Served devices, by fio over a Unix socket or a loop device:
//!
//! - `null`: 4 KiB reads of a device that does no work, 32 in flight, beside those of `nbdkit memory`, in turn.
//! - `floor`: the same with 1 in flight: what this machine, the socket and fio add to each request.
//! - `fuse`: 4 KiB reads of a loop device over a device that does no work, served as a file, beside those of a loop
//!   device over a file in memory (tmpfs), 32 in flight, in turn. It needs root.
//! - `ssd-s`: random reads of 4 KiB on a full `sim:ssd-s`, beside the same workload in virtual time, for some
//!   slowdowns.
//!
//! `cargo bench -p flashlane-serve`. A server runs in a separate process: this program, called again.
//! `FLASHLANE_BENCH_SECONDS` sets the seconds of a measurement. Where fio or nbdkit is missing it says so; as a test
//! (`cargo test --benches`) it measures for a moment.

use flashlane_device::NullDevice;
use flashlane_layer::Backed;
use flashlane_measure::{RunOptions, run};
use flashlane_open::OpenOptions;
use flashlane_serve::{
    Address, Bound, FuseServer, Lateness, MountPoint, Options, RealTime, Served, Stats, uri,
};
use flashlane_workload::Workload;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Where a child listens, what it serves and how much slower.
const SERVE: &str = "FLASHLANE_BENCH_SERVE";
const DEVICE: &str = "FLASHLANE_BENCH_DEVICE";
const SLOWDOWN: &str = "FLASHLANE_BENCH_SLOWDOWN";
const SECONDS: &str = "FLASHLANE_BENCH_SECONDS";
const DRIVE: &str = "sim:ssd-s,capacity=1GiB,initial.state=full";
const NULL: &str = "null";
const SIZE_BYTES: u64 = 1 << 30;
/// Times that each server is measured.
const ROUNDS: usize = 5;

struct Running(Child, Option<BufReader<ChildStdout>>);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Serves on a socket, or as a file where the path is a directory, until standard input ends, then prints the lateness.
fn serve(place: &Path) {
    let slowdown: u32 = std::env::var(SLOWDOWN).map_or(1, |text| text.parse().expect("a number"));
    let device = std::env::var(DEVICE).expect("it is set");
    let options = Options { data_bytes: Some(SIZE_BYTES), ..Options::default() };
    let device: Box<dyn flashlane_device::DataDevice> = match &*device {
        NULL => Box::new(Backed::new(NullDevice::new(SIZE_BYTES))),
        spec => OpenOptions::new().open_data(spec).expect("the drive exists").device,
    };
    let device = RealTime::new(device, slowdown);
    let stats: Stats = if place.is_dir() {
        let mount_point = MountPoint::check(place).expect("the directory is new");
        let mut server = FuseServer::mount(&mount_point, device, &options).expect("root can mount");
        println!("ready");
        server.run(go_on).expect("the kernel can be waited for");
        let stats = server.served().total().clone();
        server.unmount().expect("it is mounted");
        stats
    } else {
        let bound = Bound::bind(&[Address::Unix(place.into())], false).expect("the path is new");
        let mut server = bound.serve(device, options);
        println!("ready");
        server.run(go_on).expect("sockets can be waited for");
        server.engine().served().total().clone()
    };
    let (lateness, share) = (stats.lateness.latency(), 100.0 * stats.lateness_share());
    let verdict = match stats.lateness(slowdown) {
        Lateness::Late { slowdown } => format!("not valid, slowdown {slowdown} would do"),
        _ => "valid".into(),
    };
    println!(
        "lateness p50 {:.1} µs p99 {:.1} µs, {share:.0}%: {verdict}",
        lateness.p50 / 1e3,
        lateness.p99 / 1e3
    );
}

/// Returns whether to serve on: until standard input ends.
fn go_on<D: flashlane_device::DataDevice>(_: &mut Served<D>) -> bool {
    // Looking for the end at each turn would be a system call.
    static TURNS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let turn = TURNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let wait = std::time::Duration::ZERO;
    !turn.is_multiple_of(1000) || !flashlane_host::is_readable(std::io::stdin(), wait).unwrap_or(true)
}

/// A loop device, which is detached when it is dropped.
struct Loop(PathBuf);

impl Loop {
    fn over(file: &Path) -> Self {
        let arguments = ["--find", "--show", "--direct-io=on", "--sector-size", "4096"];
        let output = Command::new("losetup").args(arguments).arg(file).output().expect("losetup runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self(String::from_utf8_lossy(&output.stdout).trim().into())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = Command::new("losetup").arg("--detach").arg(&self.0).status();
    }
}

fn start_ours(device: &str, slowdown: u32, socket: &Path) -> Running {
    let program = std::env::current_exe().expect("this program has a path");
    let mut child = Command::new(program)
        .env(SERVE, socket)
        .env(DEVICE, device)
        .env(SLOWDOWN, slowdown.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it can be started");
    let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
    output.read_line(&mut String::new()).expect("the server says that it is ready");
    Running(child, Some(output))
}

/// Ends a server, and returns its last words.
fn end(mut running: Running) -> String {
    drop(running.0.stdin.take());
    let mut words = String::new();
    let output = running.1.as_mut().expect("it is ours");
    output.read_to_string(&mut words).expect("it prints text");
    words.trim().to_owned()
}

fn start_nbdkit(socket: &Path) -> Running {
    let child = Command::new("nbdkit")
        .args(["--foreground", "--unix"])
        .arg(socket)
        .args(["memory", &SIZE_BYTES.to_string()])
        .spawn()
        .expect("nbdkit can be started");
    while !socket.exists() {
        std::thread::yield_now();
    }
    Running(child, None)
}

/// Requests per second, and percentiles of latency in microseconds.
#[derive(Clone, Copy, Debug)]
struct Measured {
    iops: f64,
    p50_us: f64,
    p99_us: f64,
}

/// Measures an export on a socket, or a block device.
fn fio(place: &Path, depth: u32, seconds: f64) -> Measured {
    let target = match place.starts_with("/dev") {
        true => vec![
            "--ioengine=libaio".to_owned(),
            "--direct=1".into(),
            format!("--filename={}", place.display()),
        ],
        false => vec!["--ioengine=nbd".to_owned(), format!("--uri={}", uri(&Address::Unix(place.into())))],
    };
    let output = Command::new("fio")
        .args(target)
        .args(["--name=reads", "--rw=randread", "--bs=4k", "--time_based", "--randrepeat=0"])
        .args(["--output-format=json", "--lat_percentiles=1", "--percentile_list=50:99", "--norandommap"])
        .arg(format!("--iodepth={depth}"))
        .arg(format!("--runtime={}ms", (seconds * 1e3) as u64))
        .arg(format!("--size={SIZE_BYTES}"))
        .output()
        .expect("fio runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let json = text.find('{').and_then(|at| serde_json::from_str::<serde_json::Value>(&text[at..]).ok());
    let json =
        json.unwrap_or_else(|| panic!("no result in {text}{}", String::from_utf8_lossy(&output.stderr)));
    let read = &json["jobs"][0]["read"];
    let us = |of: &str| read["lat_ns"]["percentile"][of].as_f64().expect("a percentile") / 1e3;
    Measured {
        iops: read["iops"].as_f64().expect("a rate"),
        p50_us: us("50.000000"),
        p99_us: us("99.000000"),
    }
}

fn virtual_time(depth: u32, requests: u64) -> Measured {
    let workload = format!("random-read,size=4k,depth={depth},requests={requests}");
    let workload: Workload = workload.parse().expect("a workload");
    let mut device = OpenOptions::new().open(DRIVE).expect("the drive exists").device;
    let run = run(&mut device, &workload, RunOptions::default()).expect("the workload fits");
    let latency = run.jobs[0].reads.as_ref().expect("it reads").latency();
    let iops = run.requests as f64 / run.elapsed.as_s_f64();
    Measured { iops, p50_us: latency.p50 / 1e3, p99_us: latency.p99 / 1e3 }
}

/// Measures loop devices over a served file and over a file in memory.
fn loop_devices(dir: &Path, rounds: usize, seconds: f64) {
    if flashlane_host::user().0 != 0
        || !["/dev/loop-control", "/dev/fuse", "/dev/shm"].iter().all(|path| Path::new(path).exists())
    {
        return println!("skipped: fuse needs root, loop devices, FUSE and /dev/shm");
    }
    let (mount, memory) =
        (dir.join("mount"), tempfile::NamedTempFile::new_in("/dev/shm").expect("there is room"));
    std::fs::create_dir(&mount).expect("the directory is new");
    memory.as_file().set_len(SIZE_BYTES).expect("it is sparse");
    let ours = start_ours(NULL, 1, &mount);
    let served = Loop::over(&mount.join("drive"));
    let plain = Loop::over(memory.path());
    let mut ratios = Vec::new();
    for _ in 0..rounds {
        let (our, their) = (fio(&served.0, 32, seconds), fio(&plain.0, 32, seconds));
        println!(
            "fuse: {:.0} reads/s, tmpfs {:.0}, ratio {:.2}",
            our.iops,
            their.iops,
            our.iops / their.iops
        );
        ratios.push(our.iops / their.iops);
    }
    println!("fuse: median ratio {:.2}", median(ratios));
    let floor = fio(&served.0, 1, seconds);
    println!("fuse floor: p50 {:.1} µs p99 {:.1} µs", floor.p50_us, floor.p99_us);
    drop(served);
    end(ours);
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    if let Some(socket) = std::env::var_os(SERVE) {
        return serve(Path::new(&socket));
    }
    for (program, flag) in [("fio", "--version"), ("nbdkit", "--version")] {
        if Command::new(program).arg(flag).stdout(Stdio::null()).status().is_err() {
            return println!("skipped: {program} is not installed (Debian: fio, nbdkit)");
        }
    }
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let usual = if is_bench { 3.0 } else { 0.2 };
    let seconds = std::env::var(SECONDS).map_or(usual, |text| text.parse().expect("a number of seconds"));
    let rounds = if is_bench { ROUNDS } else { 1 };
    let dir = tempfile::tempdir().expect("there is room");

    let (socket, other) = (dir.path().join("null"), dir.path().join("nbdkit"));
    let (ours, nbdkit) = (start_ours(NULL, 1, &socket), start_nbdkit(&other));
    let mut ratios = Vec::new();
    for _ in 0..rounds {
        let (our, their) = (fio(&socket, 32, seconds), fio(&other, 32, seconds));
        println!(
            "null: {:.0} reads/s, nbdkit {:.0}, ratio {:.2}",
            our.iops,
            their.iops,
            our.iops / their.iops
        );
        ratios.push(our.iops / their.iops);
    }
    println!("null: median ratio {:.2}", median(ratios));
    let floor = fio(&socket, 1, seconds);
    println!("floor: p50 {:.1} µs p99 {:.1} µs", floor.p50_us, floor.p99_us);
    drop((ours, nbdkit));
    loop_devices(dir.path(), rounds, seconds);

    let requests = if is_bench { 200_000 } else { 2000 };
    for (depth, slowdown) in [(1, 1), (1, 4), (1, 16), (8, 4), (8, 16)] {
        let plain = virtual_time(depth, requests);
        let socket = dir.path().join(format!("{depth}-{slowdown}"));
        let ours = start_ours(DRIVE, slowdown, &socket);
        let all: Vec<Measured> = (0..rounds).map(|_| fio(&socket, depth, seconds)).collect();
        let of = |value: fn(&Measured) -> f64| median(all.iter().map(value).collect());
        let n = f64::from(slowdown);
        let (iops, p50, p99) = (of(|all| all.iops) * n, of(|all| all.p50_us) / n, of(|all| all.p99_us) / n);
        println!(
            "ssd-s: depth {depth} slowdown {slowdown}: p50 {p50:.1} of {:.1} µs ({:+.1}%), p99 {p99:.1} of {:.1} µs \
             ({:+.1}%), IOPS {iops:.0} of {:.0} ({:+.1}%); {}",
            plain.p50_us,
            100.0 * (p50 / plain.p50_us - 1.0),
            plain.p99_us,
            100.0 * (p99 / plain.p99_us - 1.0),
            plain.iops,
            100.0 * (iops / plain.iops - 1.0),
            end(ours)
        );
        println!(
            "served {depth}/{slowdown}: p50 off by {:.1}%, p99 off by {:.1}%, IOPS off by {:.1}%",
            100.0 * (p50 / plain.p50_us - 1.0).abs(),
            100.0 * (p99 / plain.p99_us - 1.0).abs(),
            100.0 * (iops / plain.iops - 1.0).abs()
        );
        if !is_bench {
            break;
        }
    }
}
