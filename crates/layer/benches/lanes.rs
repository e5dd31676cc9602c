//! Compares large writes through lanes over a file with plain sequential writes of the same size to the same file, by
//! this program and by fio, in alternating runs. Every write through lanes is durable, with the state of its unit;
//! plain writes are measured with and without durability. Prints one line: the median ratios of the rounds, and the
//! medians of all.
//!
//! | variable | meaning | default |
//! | --- | --- | --- |
//! | `FLASHLANE_BENCH_DIR` | folder of the file | the directory for temporary files |
//! | `FLASHLANE_BENCH_SIZE` | size of the file | `4GiB` |
//! | `FLASHLANE_BENCH_WRITE` | size of a write and of a unit | `8MiB` |
//! | `FLASHLANE_BENCH_ROUNDS` | number of rounds, each over the whole file | `5` |
//! | `FLASHLANE_BENCH_DEPTH` | writes in flight | `32` |
//!
//! Without fio on PATH its figure is left out. Outside `cargo bench` it runs once on a small file, as a test.

#[path = "../../host/benches/fio/mod.rs"]
mod fio;

use fio::{fio, median};
use flashlane_base::units::{parse_bytes, parse_count};
use flashlane_base::{Instant, Seed};
use flashlane_device::{Buffer, DataDevice, Lane, Request};
use flashlane_host::{FileDevice, OpenOptions, OwnData, PageCache, create};
use flashlane_layer::lanes::{Lanes, Shape};
use std::path::Path;

fn main() {
    let real = std::env::args().any(|argument| argument == "--bench");
    let setting = |name: &str, full: &str, small: &str| {
        std::env::var(name).unwrap_or(if real { full } else { small }.into())
    };
    let size_bytes = parse_bytes(&setting("FLASHLANE_BENCH_SIZE", "4GiB", "16MiB")).expect("a size");
    let write_bytes = parse_bytes(&setting("FLASHLANE_BENCH_WRITE", "8MiB", "64KiB")).expect("a size");
    let rounds = parse_count(&setting("FLASHLANE_BENCH_ROUNDS", "5", "1")).expect("a count");
    let depth = parse_count(&setting("FLASHLANE_BENCH_DEPTH", "32", "32")).expect("a count");
    let folder = std::env::var_os("FLASHLANE_BENCH_DIR").unwrap_or_else(|| std::env::temp_dir().into());
    let folder = tempfile::tempdir_in(folder).expect("a folder for the file");
    let path = folder.path().join("data");
    create(&path, size_bytes, |_| true).unwrap_or_else(|e| panic!("{e}"));

    let (mut through, mut plain, mut durable) = (Vec::new(), Vec::new(), Vec::new());
    let mut fios = Vec::new();
    let mut table = 0;
    for _ in 0..rounds {
        let shape = Shape {
            lanes: 44.min((size_bytes / write_bytes / 2) as u32),
            unit_bytes: write_bytes,
            read_unit_bytes: 4096,
            write_unit_bytes: write_bytes,
        };
        let mut lanes = Lanes::format(open(&path), shape, Seed(1)).unwrap_or_else(|e| panic!("{e}"));
        through.push(run(&mut lanes, write_bytes, depth, false));
        table = flashlane_device::Device::counters(&lanes).get("table_sectors_written").unwrap_or(0);
        drop(lanes);
        plain.push(run(&mut open(&path), write_bytes, depth, false));
        durable.push(run(&mut open(&path), write_bytes, depth, true));
        if real && let Some(rate) = fio_writes(&path, write_bytes, depth) {
            fios.push(rate);
        }
    }
    let ratio = |to: &[f64]| median(&mut through.iter().zip(to).map(|(a, b)| a / b).collect::<Vec<_>>());
    let (to_plain, to_fio) = (ratio(&plain), (!fios.is_empty()).then(|| ratio(&fios)));
    print!(
        "writes of {write_bytes} bytes at depth {depth}: {:.0} MB/s through lanes ({table} sectors of the table), {:.0} MB/s \
         without, ratio {to_plain:.3}, {:.0} MB/s without but durable",
        median(&mut through) / 1e6,
        median(&mut plain) / 1e6,
        median(&mut durable) / 1e6
    );
    match to_fio {
        Some(ratio) => println!(
            ", fio {:.0} MB/s, ratio {ratio:.3} (medians of {rounds} rounds)",
            median(&mut fios) / 1e6
        ),
        None => println!(),
    }
}

fn open(path: &Path) -> FileDevice {
    // Data left by fio has no signature; without direct I/O the file system is unsuitable for the measurement but
    // works.
    // Lanes of an earlier round may be overwritten.
    OpenOptions {
        page_cache: PageCache::Tolerate,
        own_data: OwnData::Preserved(Vec::new()),
        ..OpenOptions::read_write(path)
    }
    .open()
    .unwrap_or_else(|e| panic!("{e}"))
}

/// Writes the whole device once, the lanes in turn, reusing a set of buffers. Returns bytes per second.
fn run(device: &mut dyn DataDevice, write_bytes: u64, depth: u64, durable: bool) -> f64 {
    let info = device.info().clone();
    let (lanes, per_lane) = (u64::from(info.lanes), info.capacity_bytes / write_bytes);
    let count = lanes * per_lane;
    let mut spare: Vec<Buffer> = (0..depth.min(count))
        .map(|nth| Buffer::from_slice(&vec![nth as u8 + 1; write_bytes as usize]))
        .collect();
    let (mut next, mut done) = (0, 0);
    let began = device.now();
    let mut out = Vec::new();
    while done < count {
        while next < count
            && let Some(buffer) = spare.pop()
        {
            let write = Request::write(next, next / lanes * write_bytes, write_bytes);
            let write = Request { durable, ..write.on(Lane((next % lanes) as u32)) };
            device.submit_with(write, buffer).unwrap_or_else(|(error, _)| panic!("{error}"));
            next += 1;
        }
        device.reap(Instant::FAR, &mut out);
        for completion in out.drain(..) {
            completion.outcome.expect("a write succeeds");
            spare.extend(device.take_buffer(completion.id));
            done += 1;
        }
    }
    (count * write_bytes) as f64 / device.now().since(began).as_s_f64()
}

/// Returns the bytes per second that fio writes: field 48 of its terse format, in KiB.
fn fio_writes(path: &Path, write_bytes: u64, depth: u64) -> Option<f64> {
    let rate = fio(path, depth, &["--rw=write", &format!("--bs={write_bytes}")], 47)?;
    Some(rate * 1024.0)
}
