//! Software-defined flash: what `sdf` does with one synchronous client a lane (sdf14, table 4 and figures 7 and 8), and
//! how fast it is simulated, in flash pages a second of user CPU.
//!
//! `cargo bench -p flashlane-sim --bench sdf`; `cargo test --benches` runs it small, so that it cannot rot.

use flashlane_base::{Duration, Instant, Random, Seed};
use flashlane_device::{Device, Lane, Request, UnitState};
use flashlane_sim::{Sdf, profile};

fn main() {
    // Cargo says so when it benchmarks; without it this is a test.
    let quick = !std::env::args().any(|argument| argument == "--bench");
    let scale = if quick { 1000 } else { 1 };
    for (kib, requests) in [(8, 1_000_000), (16, 500_000), (64, 200_000)] {
        let run = Run::of("full", Work::Read { bytes: kib << 10 }, 44, requests / scale);
        run.print(&format!("{kib} KiB reads"));
    }
    let reads = Run::of("full", Work::Read { bytes: 8 << 20 }, 44, 2000 / scale);
    reads.print("8 MiB reads");
    Run::of("full", Work::Rewrite, 44, 4000 / scale).print("erases and 8 MiB writes");
    let writes = Run::of("fresh", Work::Fill, 44, 4000 / scale);
    writes.print("8 MiB writes");
    println!("sdf-read-pages: {:.1} million pages/s of user CPU", reads.million_pages_per_s());
    println!("sdf-write-pages: {:.1} million pages/s of user CPU", writes.million_pages_per_s());
    for lanes in [1, 2, 4, 8, 16, 22, 32, 40, 44] {
        Run::of("full", Work::Read { bytes: 8 << 20 }, lanes, 20 * lanes / scale)
            .print(&format!("8 MiB reads, {lanes} lanes"));
        Run::of("fresh", Work::Fill, lanes, 20 * lanes / scale)
            .print(&format!("8 MiB writes, {lanes} lanes"));
    }
}

/// What each client does over and over.
#[derive(Clone, Copy)]
enum Work {
    /// Reads at random places.
    Read { bytes: u64 },
    /// Erases a unit drawn by lot and writes it.
    Rewrite,
    /// Writes one unit after the other.
    Fill,
}

struct Run {
    /// Of accesses: erase and write together are one.
    latencies: Vec<Duration>,
    elapsed: Duration,
    bytes: u64,
    pages: u64,
    user_cpu_s: f64,
}

struct Client {
    random: Random,
    unit: u64,
    began: Instant,
    erased: bool,
}

impl Run {
    fn of(state: &str, work: Work, lanes: u64, accesses: u64) -> Self {
        let settings = [("initial.state".to_owned(), state.to_owned())];
        let mut device = Sdf::new(&profile::load("sdf", &settings).expect("a shipped profile"), Seed(1));
        let unit_bytes = device.info().erase_unit_bytes;
        let mut clients: Vec<Client> = (0..lanes)
            .map(|lane| Client {
                random: Seed(lane).derive("client").source(),
                unit: 0,
                began: Instant::ZERO,
                erased: false,
            })
            .collect();
        let before = user_cpu_s();
        let mut left = accesses.max(lanes) - lanes;
        let mut run =
            Self { latencies: Vec::new(), elapsed: Duration::ZERO, bytes: 0, pages: 0, user_cpu_s: 0.0 };
        for lane in 0..lanes {
            next(&mut device, &mut clients[lane as usize], lane, work);
        }
        let mut out = Vec::new();
        loop {
            device.reap(Instant::FAR, &mut out);
            if out.is_empty() {
                break;
            }
            for completion in out.drain(..) {
                let lane = completion.id.0;
                let client = &mut clients[lane as usize];
                assert_eq!(completion.outcome, Ok(()));
                if matches!(work, Work::Rewrite) && !client.erased {
                    client.erased = true;
                    let write = Request::write(lane, client.unit * unit_bytes, unit_bytes);
                    device.submit(write.on(Lane(lane as u32))).expect("the unit is erased");
                    continue;
                }
                run.latencies.push(completion.completed.since(client.began));
                run.elapsed = completion.completed.since(Instant::ZERO);
                run.bytes += match work {
                    Work::Read { bytes } => bytes,
                    _ => unit_bytes,
                };
                if left > 0 {
                    left -= 1;
                    next(&mut device, client, lane, work);
                }
            }
        }
        run.user_cpu_s = user_cpu_s() - before;
        let count = |name| device.counters().get(name).unwrap_or(0);
        run.pages = count("host_pages_read") + count("host_pages_written");
        run
    }

    /// Flash pages simulated a second of user CPU; the system counts in hundredths of a second.
    fn million_pages_per_s(&self) -> f64 {
        self.pages as f64 / self.user_cpu_s.max(0.01) / 1e6
    }

    fn print(&self, what: &str) {
        let ns: Vec<f64> = self.latencies.iter().map(|latency| latency.as_ns() as f64).collect();
        let mean = ns.iter().sum::<f64>() / ns.len() as f64;
        let deviation = (ns.iter().map(|ns| (ns - mean).powi(2)).sum::<f64>() / ns.len() as f64).sqrt();
        println!(
            "{what}: {:.3} GB/s, latency {:.3} ms, standard deviation {:.2}%; {:.1} million pages/s of user CPU",
            self.bytes as f64 / self.elapsed.as_ns() as f64,
            mean / 1e6,
            100.0 * deviation / mean,
            self.million_pages_per_s()
        );
    }
}

/// Begins a client's next access.
fn next(device: &mut Sdf, client: &mut Client, lane: u64, work: Work) {
    let (unit_bytes, capacity) = (device.info().erase_unit_bytes, device.info().capacity_bytes);
    client.began = device.now();
    client.erased = false;
    let here = Lane(lane as u32);
    let request = match work {
        Work::Read { bytes } => {
            let offset = client.random.below(capacity / bytes) * bytes;
            Request::read(lane, offset, bytes)
        }
        Work::Rewrite => {
            client.unit = client.random.below(capacity / unit_bytes);
            Request::erase(lane, client.unit * unit_bytes, unit_bytes)
        }
        Work::Fill => {
            let fresh = |unit: &u64| device.unit(here, *unit).is_some_and(|u| u.state == UnitState::ERASED);
            client.unit =
                (client.unit..capacity / unit_bytes).find(fresh).expect("the drive is not full yet");
            Request::write(lane, client.unit * unit_bytes, unit_bytes)
        }
    };
    device.submit(request.on(here)).expect("the medium's rules are kept");
}

/// User CPU seconds of this process so far.
fn user_cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux has /proc");
    // The command's name may hold blanks; the fields behind its ')' do not. User ticks are field 14.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    fields[11].parse::<f64>().expect("a number of ticks") / 100.0
}
