//! Stores under one interface: those whose calls wait are called by a thread for each client; Flashlane's takes the
//! operations of all clients from one thread.

use crate::workload::{Operation, Phase, Workload};
use clap::ValueEnum;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// What an acknowledged write survives. Only stores at the same level are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// The end of the program.
    System,
    /// A power cut.
    Device,
}

/// What is common to all stores of a comparison.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What an acknowledged write survives.
    pub durability: Durability,
    /// Clients that each wait for their operation.
    pub clients: usize,
    /// Engines of this project's store.
    pub engines: usize,
    /// Bytes of memory for writes and caches.
    pub memory_bytes: u64,
    /// Whether reads bypass the page cache, where a store can do that.
    pub direct_reads: bool,
    /// Values of at least this size are kept apart from the keys where a store can do that.
    pub separate_from_bytes: usize,
    /// Merge policy of this project's store, with its options as `NAME=VALUE`; the default where empty.
    pub merge: Vec<String>,
    /// Whether this project's store prints what its parts wrote and read.
    pub parts: bool,
}

/// A store under test.
pub trait Engine {
    /// Does the operations of a phase, and returns their latencies in nanoseconds.
    fn run(&mut self, workload: &Workload, phase: Phase) -> Histogram<u64>;

    /// Waits until the store's work in the background is done.
    fn settle(&mut self);

    /// Bytes of the disk that hold the store's data, where files do not tell.
    fn space_bytes(&self) -> Option<u64> {
        None
    }
}

/// Returns an empty histogram for latencies up to a minute.
pub fn latencies() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("the bounds are valid")
}

/// A store whose calls wait.
pub trait Waiting: Sync {
    /// Stores a value.
    fn put(&self, key: &[u8], value: &[u8]);
    /// Calls `check` with the value of a key. Returns whether there is one.
    fn get(&self, key: &[u8], check: impl FnOnce(&[u8])) -> bool;
    /// Reads entries from `key` on. Returns their number.
    fn scan(&self, key: &[u8], entries: usize) -> usize;
    /// Returns whether work is going on in the background.
    fn is_working(&self) -> bool;
}

/// A thread for each client.
pub struct Threads<E>(pub E, pub usize);

impl<E: Waiting> Engine for Threads<E> {
    fn run(&mut self, workload: &Workload, phase: Phase) -> Histogram<u64> {
        let (next, count) = (AtomicU64::new(0), workload.operations(phase));
        let client = || {
            let (mut latencies, mut value) = (latencies(), Vec::new());
            loop {
                let nth = next.fetch_add(1, Ordering::Relaxed);
                if nth >= count {
                    return latencies;
                }
                let begin = Instant::now();
                self.operate(workload, workload.operation(phase, nth), &mut value);
                latencies.saturating_record(begin.elapsed().as_nanos() as u64);
            }
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.1).map(|_| scope.spawn(client)).collect();
            let mut all = latencies();
            for thread in threads {
                all += thread.join().expect("no operation fails");
            }
            all
        })
    }

    fn settle(&mut self) {
        while self.0.is_working() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

impl<E: Waiting> Threads<E> {
    fn operate(&self, workload: &Workload, operation: Operation, value: &mut Vec<u8>) {
        match operation {
            Operation::Put(number) => {
                workload.value(number, value);
                self.0.put(&workload.key(number), value);
            }
            Operation::Get(number) => {
                let check = |value: &[u8]| assert!(workload.is_value(number, value), "a wrong value");
                assert!(self.0.get(&workload.key(number), check), "key {number} is not there");
            }
            Operation::Miss(number) => {
                assert!(!self.0.get(&workload.missing_key(number), |_| ()), "a key that was never put");
            }
            Operation::Scan(number) => {
                let found = self.0.scan(&workload.key(number), workload.scan_entries);
                assert_eq!(found as u64, (workload.keys - number).min(workload.scan_entries as u64));
            }
        }
    }
}
