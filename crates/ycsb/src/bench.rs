//! Clients in a closed loop: each has one operation in flight, and begins the next one when it has completed.
//!
//! An operation's latency is from the moment at which its client begins it, so that waiting for a store that takes no
//! writes counts. Records count as inserted when their write has completed; no client requests one before.

use crate::records::{Values, key};
use crate::requests::Chooser;
use crate::workload::{Operation, Workload};
use flashlane_base::{Duration, Histogram, Instant, Latency, Random, Seed};
use flashlane_device::DataDevice;
use flashlane_store::{
    Batch, Counters, Durability, Finished, Loader, Outcome as Ended, ReadFailure, ScanFailure, Store,
    StoreError, Ticket, WriteError, WriteFailure,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Longest wait until progress is reported.
const WAIT: Duration = Duration::from_ms(50);

/// How workloads are run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Records that are loaded.
    pub records: u64,
    /// Bytes of a value, at least 8.
    pub value_bytes: u64,
    /// Operations of a workload.
    pub operations: u64,
    /// Clients, each with one operation in flight.
    pub clients: u64,
    /// Most records of a scan.
    pub scan_max: u64,
    /// How safe a write is when it completes.
    pub durability: Durability,
    /// Seed of all choices.
    pub seed: Seed,
}

/// Why a bench ended early.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The caller stopped it.
    #[error("stopped")]
    Stopped,
    /// The store refuses a write, or a write failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A record that is stored was not found, or has another value.
    #[error("record {number} was stored, and a {} returned {found} bytes that are not it", operation.name())]
    Wrong {
        /// Number of the record.
        number: u64,
        /// What was done.
        operation: Operation,
        /// Bytes that were found.
        found: usize,
    },
    /// A read failed.
    #[error(transparent)]
    Read(#[from] ReadFailure),
    /// A scan failed.
    #[error(transparent)]
    Scan(#[from] ScanFailure),
    /// A write failed.
    #[error(transparent)]
    Write(#[from] WriteFailure),
}

/// What a workload did.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// From the first operation to the completion of the last one.
    pub elapsed: Duration,
    /// Count and latencies of each kind of operation that was done.
    pub latencies: Vec<(Operation, u64, Latency)>,
    /// What the store did for it.
    pub counters: Counters,
}

impl Outcome {
    /// Returns the number of operations a second.
    pub fn operations_per_s(&self) -> f64 {
        let all: u64 = self.latencies.iter().map(|(_, count, _)| count).sum();
        all as f64 / self.elapsed.as_s_f64()
    }

    /// Returns the bytes written to the devices for each byte of keys and values; `None` where none were written.
    pub fn write_amplification(&self) -> Option<f64> {
        (self.counters.user_bytes_written > 0).then(|| self.counters.write_amplification())
    }
}

/// An operation in flight.
#[derive(Clone, Copy)]
struct InFlight {
    operation: Operation,
    /// Its record.
    number: u64,
    begun: Instant,
    /// Of a read-modify-write: the record was read.
    is_read: bool,
}

/// A store with records.
pub struct Bench<'a, D: DataDevice, L: DataDevice> {
    store: &'a mut Store<D, L>,
    options: Options,
    values: Values,
    /// Records up to this number are stored.
    stored: u64,
    /// Records above it that are.
    ahead: BTreeSet<u64>,
    /// The next record that is inserted.
    next: u64,
    finished: Vec<Finished>,
}

impl<'a, D: DataDevice, L: DataDevice> Bench<'a, D, L> {
    /// Loads the records of the options, in the order of their numbers, into a store that has no keys.
    ///
    /// # Errors
    /// [`BenchError::Store`] where a record does not fit, [`BenchError::Stopped`] where `advance` breaks.
    pub fn load(
        store: &'a mut Store<D, L>,
        options: Options,
        advance: &mut dyn FnMut(f64) -> ControlFlow<()>,
    ) -> Result<Self, BenchError> {
        let mut values = Values::new(options.value_bytes as usize, options.seed);
        let mut loader = Loader::new(store, options.durability);
        for number in 0..options.records {
            let (key, value) = (key(number), values.value(number));
            while !loader.offer(&key, &value)? {
                loader.wait(WAIT)?;
            }
            if advance(number as f64 / options.records as f64).is_break() {
                return Err(BenchError::Stopped);
            }
        }
        loader.finish()?;
        // Records are read from the device.
        store.flush();
        store.settle();
        let records = options.records;
        let (ahead, finished) = (BTreeSet::new(), Vec::new());
        Ok(Self { store, options, values, stored: records, ahead, next: records, finished })
    }

    /// Runs a workload, once the store has merged what earlier ones wrote.
    ///
    /// # Errors
    /// [`BenchError`]; operations in flight are dropped then.
    pub fn run(
        &mut self,
        workload: &Workload,
        advance: &mut dyn FnMut(f64) -> ControlFlow<()>,
    ) -> Result<Outcome, BenchError> {
        self.store.settle();
        let mut random = self.options.seed.derive(workload.name).source();
        let inserts = self.options.operations * workload.shares[2] / 100;
        // Twice the mean, as YCSB: the number of inserts is random.
        let chooser = Chooser::new(workload.requests, self.stored, 2 * inserts);
        let (begun, before) = (self.store.now(), self.store.status().counters);
        let mut histograms: BTreeMap<Operation, Histogram> = BTreeMap::new();
        let mut in_flight: BTreeMap<Ticket, InFlight> = BTreeMap::new();
        let (mut submitted, mut completed, mut last) = (0, 0, begun);
        while completed < self.options.operations {
            while submitted < self.options.operations && (in_flight.len() as u64) < self.options.clients {
                let (ticket, operation) = self.begin(workload, &chooser, &mut random)?;
                in_flight.insert(ticket, operation);
                submitted += 1;
            }
            let until = self.store.now() + WAIT;
            let mut finished = std::mem::take(&mut self.finished);
            self.store.reap(until, &mut finished);
            for finished in finished.drain(..) {
                let Some(operation) = in_flight.remove(&finished.ticket) else { continue };
                match self.end(operation, finished.outcome)? {
                    Some((ticket, operation)) => drop(in_flight.insert(ticket, operation)),
                    None => {
                        let of_kind = histograms.entry(operation.operation).or_default();
                        of_kind.record(finished.completed.since(operation.begun));
                        (completed, last) = (completed + 1, last.max(finished.completed));
                    }
                }
            }
            self.finished = finished;
            if advance(completed as f64 / self.options.operations as f64).is_break() {
                return Err(BenchError::Stopped);
            }
        }
        assert!(in_flight.is_empty() && self.ahead.is_empty(), "all that was begun has completed");
        let counters = self.store.status().counters.since(&before);
        let latencies = histograms.iter().map(|(kind, times)| (*kind, times.len(), times.latency()));
        Ok(Outcome { elapsed: last.since(begun), latencies: latencies.collect(), counters })
    }

    /// Begins an operation of a workload.
    fn begin(
        &mut self,
        workload: &Workload,
        chooser: &Chooser,
        random: &mut Random,
    ) -> Result<(Ticket, InFlight), BenchError> {
        let mut place = random.below(100);
        let drawn = workload.shares.iter().position(|share| match place.checked_sub(*share) {
            Some(rest) => {
                place = rest;
                false
            }
            None => true,
        });
        let operation = Operation::ALL[drawn.expect("the shares are 100%")];
        let number = match operation {
            Operation::Insert => {
                self.next += 1;
                self.next - 1
            }
            _ => chooser.next(self.stored, random),
        };
        let begun = self.store.now();
        let ticket = match operation {
            Operation::Read | Operation::ReadModifyWrite => self.store.get(&key(number), None),
            Operation::Scan => {
                let count = 1 + random.below(self.options.scan_max);
                self.store.scan(&key(number), None, count, u64::MAX, None)
            }
            Operation::Update | Operation::Insert => self.write(number)?,
        };
        Ok((ticket, InFlight { operation, number, begun, is_read: false }))
    }

    /// Writes a record, and waits where the store is busy until it takes it.
    fn write(&mut self, number: u64) -> Result<Ticket, BenchError> {
        let value = self.values.value(number);
        loop {
            let mut batch = Batch::default();
            batch.put(key(number), value.clone());
            match self.store.write(batch, self.options.durability) {
                Ok(ticket) => return Ok(ticket),
                Err(WriteError::Busy { .. } | WriteError::Full { .. }) if self.store.step_for(WAIT) => {}
                Err(error) => return Err(StoreError::from(error).into()),
            }
        }
    }

    /// Checks what an operation returned. Returns its second part, where it has one.
    fn end(&mut self, of: InFlight, ended: Ended) -> Result<Option<(Ticket, InFlight)>, BenchError> {
        let InFlight { operation, number, .. } = of;
        let wrong = |found| BenchError::Wrong { number, operation, found };
        match ended {
            Ended::Get(found) => {
                let bytes = found?.map(|value| value.bytes).unwrap_or_default();
                if !self.values.is_of(number, &bytes) {
                    return Err(wrong(bytes.len()));
                }
                if operation == Operation::ReadModifyWrite && !of.is_read {
                    return Ok(Some((self.write(number)?, InFlight { is_read: true, ..of })));
                }
            }
            Ended::Scan(page) => {
                let first = page?.items.into_iter().next();
                let is_it = first.as_ref().is_some_and(|item| item.key == key(number));
                let bytes = first.and_then(|item| item.value).unwrap_or_default();
                if !is_it || !self.values.is_of(number, &bytes) {
                    return Err(wrong(bytes.len()));
                }
            }
            Ended::Write(result) => {
                result?;
                if operation == Operation::Insert {
                    self.ahead.insert(number);
                    while self.ahead.remove(&self.stored) {
                        self.stored += 1;
                    }
                }
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::CORE;
    use flashlane_device_testing::{MemoryDisk, MemoryLanes};
    use flashlane_store::{Slices, StoreOptions};

    const OPTIONS: Options = Options {
        records: 500,
        value_bytes: 100,
        operations: 2000,
        clients: 8,
        scan_max: 20,
        durability: Durability::Device,
        seed: Seed(1),
    };

    fn store(slices: Slices) -> Store<MemoryLanes, MemoryDisk> {
        let device = MemoryLanes::new(4, 64, 64 << 10, 512, Seed(1));
        let log = MemoryDisk::new(1 << 20, 512, Seed(1));
        Store::create(device, log, 1, slices, StoreOptions::default()).expect("the devices suit")
    }

    fn go_on(_: f64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    #[test]
    fn core_workloads_do_the_operations_that_they_name() {
        let mut store = store(crate::slices(2));
        let mut bench = Bench::load(&mut store, OPTIONS, &mut go_on).unwrap();
        for workload in &CORE {
            let outcome = bench.run(workload, &mut go_on).unwrap();
            let all: u64 = outcome.latencies.iter().map(|(_, count, _)| count).sum();
            assert_eq!(all, OPTIONS.operations);
            for (operation, share) in Operation::ALL.into_iter().zip(workload.shares) {
                let done = outcome.latencies.iter().find(|(kind, ..)| *kind == operation);
                let (count, expected) = (done.map_or(0, |(_, count, _)| *count), 20 * share);
                assert!(
                    count.abs_diff(expected) <= 100 && (share > 0) == (count > 0),
                    "{operation:?} {count}"
                );
            }
            let writes = workload.shares[1] + workload.shares[2] + workload.shares[4];
            assert_eq!(outcome.counters.writes > 0, writes > 0, "{}", workload.name);
            assert!(outcome.elapsed > Duration::ZERO || writes == 0, "{}", workload.name);
        }
        let inserted = bench.stored - OPTIONS.records;
        assert!((100..300).contains(&inserted), "workloads d and e insert 5% each: {inserted}");
    }

    #[test]
    fn bench_ends_where_it_is_stopped() {
        let mut store = store(Slices::even(1));
        let mut stop =
            |share: f64| if share > 0.5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        let stopped = Bench::load(&mut store, OPTIONS, &mut stop).err();
        assert!(matches!(stopped, Some(BenchError::Stopped)));
    }

    #[test]
    fn lost_record_is_noticed() {
        let mut store = store(Slices::even(1));
        let mut bench = Bench::load(&mut store, OPTIONS, &mut go_on).unwrap();
        let mut batch = Batch::default();
        batch.delete(key(3));
        bench.store.write(batch, Durability::Memory).unwrap();
        let uniform = Workload { requests: crate::Requests::Uniform, ..CORE[2] };
        let wrong = bench.run(&uniform, &mut go_on).err();
        assert!(matches!(wrong, Some(BenchError::Wrong { number: 3, found: 0, .. })), "{wrong:?}");
    }
}
