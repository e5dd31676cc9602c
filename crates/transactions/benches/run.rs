//! Page accesses that are simulated in a second of user CPU: `cargo bench -p flashlane-transactions`.
//!
//! Ten clients run transactions in the manner of TPC-B on a simulated drive, with pools that hold a hundredth of the
//! database (he14's share) and all of it. Each figure is the best of several rounds, since the machine can only add to
//! the cost; `decode` is the cost of reading a recording alone.

use flashlane_base::Seed;
use flashlane_device::{Device, NullDevice};
use flashlane_measure::RunOptions;
use flashlane_transactions::recording::{LeftOut, Reader, Transaction, Writer};
use flashlane_transactions::synthetic::TpcB;
use flashlane_transactions::{Setup, run};
use process::user_cpu_s;
use std::hint::black_box;

#[path = "../../studies/benches/process/mod.rs"]
mod process;

const BRANCHES: u32 = 100;

fn main() {
    // Cargo passes `--bench` to benchmarks; without it this is a test.
    let small = !std::env::args().any(|arg| arg == "--bench");
    let transactions: u64 = if small { 100 } else { 200_000 };
    let rounds = if small { 1 } else { 5 };
    let figure = |name: &str, work: &mut dyn FnMut() -> u64| {
        let best = (0..rounds).map(|_| rate(work)).fold(0.0, f64::max);
        println!("transactions-{name}: {:.2} million accesses/s of user CPU", best / 1e6);
    };
    let pages = TpcB::new(BRANCHES, 10, Seed(1)).header().pages;
    for (name, pool_pages) in [("one-percent", pages / 100), ("everything", pages)] {
        let setup = Setup { pool_pages, transactions: Some(transactions), ..Setup::default() };
        figure(name, &mut || simulated(&mut drive(), &setup));
        figure(&format!("{name}-null"), &mut || simulated(&mut NullDevice::new(1 << 40), &setup));
    }
    let recording = recorded(transactions);
    figure("decode", &mut || decoded(&recording));
}

/// Returns the work's accesses per second of user CPU.
fn rate(work: &mut dyn FnMut() -> u64) -> f64 {
    let before = user_cpu_s();
    let accesses = work();
    accesses as f64 / (user_cpu_s() - before).max(0.01)
}

fn drive() -> Box<dyn Device> {
    let config = flashlane_sim::profile::load("ssd-m", &[]).expect("the profile is built in");
    flashlane_sim::device(&config, Seed(1), "bench".into())
}

fn simulated(device: &mut dyn Device, setup: &Setup) -> u64 {
    let mut source = TpcB::new(BRANCHES, 10, Seed(1));
    let result = run(device, &mut source, setup, RunOptions::default()).expect("the setup fits");
    assert_eq!(result.partial, None);
    black_box(result).accesses
}

fn recorded(transactions: u64) -> Vec<u8> {
    let mut made = TpcB::new(BRANCHES, 10, Seed(1));
    let mut writer = Writer::new(Vec::new(), made.header().clone()).expect("the header is valid");
    let mut transaction = Transaction::default();
    for _ in 0..transactions {
        made.make(&mut transaction);
        writer.push(&transaction).expect("the transaction is valid");
    }
    writer.finish(LeftOut::default()).expect("memory takes all bytes").0
}

fn decoded(recording: &[u8]) -> u64 {
    let mut reader = Reader::new(recording).expect("it was written just now");
    let (mut transaction, mut accesses) = (Transaction::default(), 0);
    while reader.read(&mut transaction).expect("it was written just now") {
        accesses += transaction.accesses.len() as u64;
    }
    accesses
}
