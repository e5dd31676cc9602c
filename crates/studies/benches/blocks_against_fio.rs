//! The block layer over a file divided into lanes: puts of whole blocks, compared with fio's sequential writes of a
//! unit's size to the same file at the same depth, with direct I/O, in alternating runs. Every put is durable and
//! checksummed, and only its user's bytes count. Prints one line: the median ratio of the rounds, and the medians of
//! both.
//!
//! | variable | means | unless set |
//! | --- | --- | --- |
//! | `FLASHLANE_BENCH_DIR` | the directory of the file | the directory for temporary files |
//! | `FLASHLANE_BENCH_SIZE` | the file's size | `4GiB` |
//! | `FLASHLANE_BENCH_WRITE` | an erase unit, which is a write | `8MiB` |
//! | `FLASHLANE_BENCH_ROUNDS` | rounds of runs, each of them over the whole file | `5` |
//! | `FLASHLANE_BENCH_DEPTH` | puts in flight | `32` |
//!
//! Without fio on PATH only Flashlane's figure is printed. Outside `cargo bench` it runs once, small, as a test.

#[path = "../../host/benches/fio/mod.rs"]
mod fio;

use fio::{fio, median};
use flashlane_base::Seed;
use flashlane_base::units::{parse_bytes, parse_count};
use flashlane_block::load::{self, Load};
use flashlane_block::{BlockOptions, Blocks};
use flashlane_host::{OpenOptions, OwnData, PageCache, create};
use flashlane_layer::lanes::{Lanes, Shape};
use std::ops::ControlFlow;
use std::path::Path;

fn main() {
    let real = std::env::args().any(|argument| argument == "--bench");
    let setting = |name: &str, full: &str, small: &str| {
        std::env::var(name).unwrap_or(if real { full } else { small }.into())
    };
    let size_bytes = parse_bytes(&setting("FLASHLANE_BENCH_SIZE", "4GiB", "16MiB")).expect("a size");
    let unit_bytes = parse_bytes(&setting("FLASHLANE_BENCH_WRITE", "8MiB", "64KiB")).expect("a size");
    let rounds = parse_count(&setting("FLASHLANE_BENCH_ROUNDS", "5", "1")).expect("a count");
    let depth = parse_count(&setting("FLASHLANE_BENCH_DEPTH", "32", "32")).expect("a count");
    let folder = std::env::var_os("FLASHLANE_BENCH_DIR").unwrap_or_else(|| std::env::temp_dir().into());
    let folder = tempfile::tempdir_in(folder).expect("a folder for the file");
    let path = folder.path().join("data");
    create(&path, size_bytes, |_| true).unwrap_or_else(|e| panic!("{e}"));

    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        ours.push(puts(&path, unit_bytes, depth as u32, round));
        if real && let Some(rate) = fio_writes(&path, unit_bytes, depth) {
            theirs.push(rate);
        }
    }
    let mut ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(a, b)| a / b).collect();
    let us = format!("puts of blocks at depth {depth}: {:.0} MB/s of user data", median(&mut ours) / 1e6);
    if ratios.is_empty() {
        println!("{us}; nothing to compare with");
    } else {
        let fio = median(&mut theirs) / 1e6;
        println!("{us}, fio {fio:.0} MB/s, ratio {:.3} (median of {rounds} rounds)", median(&mut ratios));
    }
}

/// Fills the file with blocks. Returns the user's bytes per second.
fn puts(path: &Path, unit_bytes: u64, depth: u32, round: u64) -> f64 {
    // fio's data is not recognized as blocks; a file system without direct I/O cannot be measured.
    // Blocks of the round before are overwritten.
    let own_data = OwnData::Preserved(Vec::new());
    let file = OpenOptions { page_cache: PageCache::Tolerate, own_data, ..OpenOptions::read_write(path) };
    let file = file.open().unwrap_or_else(|e| panic!("{e}"));
    let lanes = depth.max(44);
    let shape = Shape { lanes, unit_bytes, read_unit_bytes: 4096, write_unit_bytes: unit_bytes };
    let lanes = Lanes::format(file, shape, Seed(round)).unwrap_or_else(|e| panic!("{e}"));
    let mut blocks = Blocks::format(lanes, u128::from(round) + 1, BlockOptions::default())
        .unwrap_or_else(|e| panic!("{e}"));
    let load = Load {
        operations: blocks.status().blocks_free,
        time_limit: None,
        in_flight: depth,
        puts: 1.0,
        random: false,
        get_bytes: 0,
        keep: None,
        first_id: 0,
        zeros: false,
        seed: Seed(round),
    };
    let done =
        load::run(&mut blocks, &load, &mut |_| ControlFlow::Continue(())).unwrap_or_else(|e| panic!("{e}"));
    done.puts.bytes_per_s(done.elapsed)
}

/// Returns fio's bytes per second: field 48 of its terse format, in KiB.
fn fio_writes(path: &Path, write_bytes: u64, depth: u64) -> Option<f64> {
    let rate = fio(path, depth, &["--rw=write", &format!("--bs={write_bytes}")], 47)?;
    Some(rate * 1024.0)
}
