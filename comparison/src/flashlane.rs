//! This project's store, on lanes over files: an engine a core, each on a thread with keys, files and log of its own,
//! as stores share nothing. An engine keeps an operation of each of its clients in flight.

use crate::engine::{self, Engine, Settings, latencies};
use crate::workload::{Operation, Phase, Workload};
use flashlane_base::Instant;
use flashlane_open::{AnyStore, NewStore, OpenOptions};
use flashlane_policy::Options;
use flashlane_store::{
    Batch, Counters, Durability, Finished, Outcome, Slices, StoreOptions, Ticket, WriteError,
};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};

const BLOCK_BYTES: u64 = 8 << 20;
const LOG_BYTES: u64 = 128 << 20;

/// What an engine is asked; it answers each command.
enum Command {
    Run(Phase),
    Settle,
}

/// An engine's latencies, and the bytes of its blocks that are in use.
type Answer = (Histogram<u64>, u64);

pub struct Flashlane {
    engines: Vec<(Sender<Command>, Receiver<Answer>)>,
    space_bytes: u64,
}

/// Starts the engines with empty stores.
pub fn open(dir: &Path, workload: &Workload, settings: &Settings) -> Flashlane {
    let count = settings.engines as u64;
    let start = |nth: u64| {
        let keys = nth * workload.keys / count..(nth + 1) * workload.keys / count;
        let ((commands, asked), (answer, answers)) = (channel(), channel());
        let (dir, workload) = (dir.join(format!("engine-{nth}")), workload.clone());
        let settings = settings.clone();
        std::fs::create_dir(&dir).expect("the folder is new");
        std::thread::spawn(move || {
            let mut partition = Partition::open(&dir, workload, keys, &settings);
            for command in asked {
                let latencies = match command {
                    Command::Run(phase) => partition.run(phase),
                    Command::Settle => partition.settle(),
                };
                if answer.send((latencies, partition.space_bytes())).is_err() {
                    return;
                }
            }
        });
        (commands, answers)
    };
    let mut store = Flashlane { engines: (0..count).map(start).collect(), space_bytes: 0 };
    // The engines answer once their stores are open.
    store.settle();
    store
}

impl Flashlane {
    fn ask(&mut self, command: impl Fn() -> Command) -> Histogram<u64> {
        let mut all = latencies();
        for (commands, _) in &self.engines {
            commands.send(command()).expect("the engine runs");
        }
        self.space_bytes = 0;
        for (_, answers) in &self.engines {
            let (latencies, space_bytes) = answers.recv().expect("the engine answers");
            all += latencies;
            self.space_bytes += space_bytes;
        }
        all
    }
}

impl Engine for Flashlane {
    fn run(&mut self, _workload: &Workload, phase: Phase) -> Histogram<u64> {
        self.ask(|| Command::Run(phase))
    }

    fn settle(&mut self) {
        self.ask(|| Command::Settle);
    }

    fn space_bytes(&self) -> Option<u64> {
        Some(self.space_bytes)
    }
}

/// The keys of an engine.
struct Partition {
    store: AnyStore,
    workload: Workload,
    keys: Range<u64>,
    durability: Durability,
    clients: usize,
    /// Blocks for which an empty store has room.
    blocks: u64,
    /// Counts when the last phase ended, where they are printed.
    counters: Option<Counters>,
}

impl Partition {
    /// Creates a store on a file with room for four times the data.
    fn open(dir: &Path, workload: Workload, keys: Range<u64>, settings: &Settings) -> Self {
        let device = format!("lanes({},channels=8,unit=8MiB)", dir.join("data").display());
        let log = dir.join("log").display().to_string();
        let memory_bytes = settings.memory_bytes / settings.engines as u64;
        let mut options = StoreOptions { memory_bytes, ..StoreOptions::default() };
        if let Some((policy, merge_options)) = settings.merge.split_first() {
            let pair =
                |option: &String| option.split_once('=').map(|(name, value)| (name.into(), value.into()));
            options.merge.clone_from(policy);
            options.merge_options = Options::new(merge_options.iter().filter_map(pair));
        }
        let data = (keys.end - keys.start) * workload.entry_bytes();
        let file_bytes = (4 * data + 64 * BLOCK_BYTES).next_multiple_of(8 * BLOCK_BYTES);
        // Slices with the same number of keys.
        let bound = |nth: u64| match nth {
            0 => Vec::new(),
            nth => workload.key(keys.start + nth * (keys.end - keys.start) / 4).to_vec(),
        };
        let slices = Slices { bounds: (0..4).map(bound).collect() };
        let new = NewStore { slices, log_bytes: Some(LOG_BYTES), options, ..NewStore::default() };
        let opening = OpenOptions::new().create(file_bytes).direct_reads(settings.direct_reads);
        let opened = opening.create_store(&*device, &*log, new);
        let store = opened.expect("the disk has room");
        let durability = match settings.durability {
            engine::Durability::System => Durability::System,
            engine::Durability::Device => Durability::Device,
        };
        let blocks = store.blocks().free_blocks();
        let clients = settings.clients.div_ceil(settings.engines);
        let counters = settings.parts.then(|| store.status().counters);
        Self { store, workload, keys, durability, clients, blocks, counters }
    }

    fn run(&mut self, phase: Phase) -> Histogram<u64> {
        let (mut latencies, mut value, mut finished) = (latencies(), Vec::new(), Vec::new());
        let mut in_flight = BTreeMap::new();
        let own = |number: u64| self.keys.contains(&number);
        let all = 0..self.workload.operations(phase);
        let operations: Vec<Operation> = all.map(|nth| self.workload.operation(phase, nth)).collect();
        let mut left = operations.into_iter().filter(|operation| own(operation.number())).peekable();
        while left.peek().is_some() || !in_flight.is_empty() {
            while in_flight.len() < self.clients
                && let Some(&operation) = left.peek()
            {
                let Some(ticket) =
                    submit(&mut self.store, &self.workload, self.durability, operation, &mut value)
                else {
                    break;
                };
                in_flight.insert(ticket, operation);
                left.next();
            }
            self.store.reap(Instant::FAR, &mut finished);
            for Finished { ticket, submitted, completed, outcome } in finished.drain(..) {
                let operation = in_flight.remove(&ticket).expect("it is in flight");
                check(&self.workload, &self.keys, operation, outcome);
                latencies.saturating_record(completed.since(submitted).as_ns());
            }
        }
        latencies
    }

    fn settle(&mut self) -> Histogram<u64> {
        self.store.settle();
        if let Some(before) = self.counters {
            let (now, mb) = (self.store.status().counters, |bytes: u64| bytes as f64 / 1e6);
            let own = now.since(&before);
            eprintln!(
                "users wrote {:.0} MB: log {:.0}, containers {:.0} ({} patches), merges {:.0} ({} of them, {:.0} read); \
                 {:.3} reads a get",
                mb(own.user_bytes_written),
                mb(own.log_bytes_written),
                mb(own.flush_bytes_written),
                own.flushes,
                mb(own.merge_bytes_written),
                own.merges,
                mb(own.merge_bytes_read),
                own.reads_per_get(),
            );
            self.counters = Some(now);
        }
        latencies()
    }

    fn space_bytes(&self) -> u64 {
        (self.blocks - self.store.blocks().free_blocks()) * BLOCK_BYTES + LOG_BYTES
    }
}

/// Returns nothing where the store is too busy to take a write.
fn submit(
    store: &mut AnyStore,
    workload: &Workload,
    durability: Durability,
    operation: Operation,
    value: &mut Vec<u8>,
) -> Option<Ticket> {
    match operation {
        Operation::Put(number) => {
            let mut batch = Batch::default();
            workload.value(number, value);
            batch.put(workload.key(number), &value[..]);
            match store.write(batch, durability) {
                Ok(ticket) => Some(ticket),
                Err(WriteError::Busy { .. }) => None,
                Err(error) => panic!("{error}"),
            }
        }
        Operation::Get(number) => Some(store.get(&workload.key(number), None)),
        Operation::Miss(number) => Some(store.get(&workload.missing_key(number), None)),
        Operation::Scan(number) => {
            let entries = workload.scan_entries as u64;
            Some(store.scan(&workload.key(number), None, entries, u64::MAX, None))
        }
    }
}

fn check(workload: &Workload, keys: &Range<u64>, operation: Operation, outcome: Outcome) {
    match (operation, outcome) {
        (Operation::Put(_), Outcome::Write(result)) => drop(result.expect("a put succeeds")),
        (Operation::Get(number), Outcome::Get(Ok(Some(value)))) => {
            assert!(workload.is_value(number, &value.bytes), "a wrong value");
        }
        (Operation::Miss(_), Outcome::Get(Ok(None))) => {}
        // A scan ends where the engine's keys end.
        (Operation::Scan(number), Outcome::Scan(Ok(page))) => {
            let expected = (keys.end - number).min(workload.scan_entries as u64);
            assert_eq!(page.items.len() as u64, expected);
        }
        (operation, outcome) => panic!("{operation:?} ended with {outcome:?}"),
    }
}
