//! Flashlane's store beside RocksDB and fjall, on one file system: `cargo run --release` in this folder.
//!
//! Each store runs in a separate process, this program called again, so that memory and processor time are its own; the
//! stores take turns, and each round begins with another one. Before reads the pages of the files are dropped from the
//! page cache.

mod engine;
mod fjall;
mod flashlane;
mod measured;
#[cfg(rocksdb)]
mod rocksdb;
mod stores;
mod table;
mod workload;

use clap::{Parser, ValueEnum};
use engine::{Durability, Settings};
use measured::Measured;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use stores::Name;
use workload::{Phase, Workload};

/// Compares key-value stores on this machine's file system.
#[derive(Clone, Debug, Parser)]
struct Arguments {
    /// Sizes of values in bytes.
    #[arg(long, value_delimiter = ',', default_values_t = [100, 1024, 16 << 10, 256 << 10])]
    values: Vec<usize>,
    /// Bytes of all values together.
    #[arg(long, default_value_t = 1 << 30)]
    bytes: u64,
    /// Most keys.
    #[arg(long, default_value_t = 1_000_000)]
    keys_max: u64,
    /// Clients that each wait for their operation.
    #[arg(long, default_value_t = 16)]
    clients: usize,
    /// Engines of this project's store, each with a part of the keys: one for each core.
    #[arg(long, default_value_t = 2)]
    engines: usize,
    /// What an acknowledged write survives.
    #[arg(long, value_enum, default_value_t = Durability::System)]
    durability: Durability,
    /// Bytes of memory that a store may use for writes and caches.
    #[arg(long, default_value_t = 256 << 20)]
    memory: u64,
    /// Read past the page cache in the stores that can, which are all but fjall
    #[arg(long)]
    direct_reads: bool,
    /// Times that each store is measured.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Phases; all unless given. Those that read need `load-at-random`.
    #[arg(long, value_enum, value_delimiter = ',')]
    phases: Vec<Phase>,
    /// Stores; all unless given.
    #[arg(long, value_enum, value_delimiter = ',')]
    stores: Vec<Name>,
    /// Merge policy of this project's store, then its options as NAME=VALUE.
    #[arg(long, value_delimiter = ',')]
    merge: Vec<String>,
    /// Print to standard error what the parts of this project's store wrote and read in each phase.
    #[arg(long)]
    parts: bool,
    /// Folder in which the stores lie; a temporary one in the current folder unless given.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Measures one store in this process and prints a line of JSON for each phase.
    #[arg(long, hide = true)]
    child: bool,
}

fn main() {
    let arguments = Arguments::parse();
    if arguments.child {
        return child(&arguments);
    }
    let mut stores = vec![Name::Flashlane, Name::Rocksdb, Name::Fjall];
    stores.retain(|name| arguments.stores.is_empty() || arguments.stores.contains(name));
    if !cfg!(rocksdb) && stores.contains(&Name::Rocksdb) {
        println!("SKIPPED: RocksDB is not installed (Debian: librocksdb-dev)");
        stores.retain(|&name| name != Name::Rocksdb);
    }
    let dir = arguments.dir.clone().unwrap_or_else(|| PathBuf::from("."));
    let mut all = Vec::new();
    for &value_bytes in &arguments.values {
        for round in 0..arguments.rounds {
            for nth in 0..stores.len() {
                let name = stores[(round + nth) % stores.len()];
                eprintln!(
                    "round {} of {}: {name:?}, values of {value_bytes} bytes",
                    round + 1,
                    arguments.rounds
                );
                let place = tempfile::tempdir_in(&dir).expect("the folder is writable");
                all.extend(measure(&arguments, name, value_bytes, place.path()));
            }
        }
    }
    table::print(&all);
}

/// Measures a store in a separate process.
fn measure(arguments: &Arguments, name: Name, value_bytes: usize, dir: &Path) -> Vec<Measured> {
    let program = std::env::current_exe().expect("this program has a path");
    let mut command = Command::new(program);
    command.arg("--child").args(["--stores", &word(name), "--durability", &word(arguments.durability)]);
    command.args(["--values", &value_bytes.to_string(), "--bytes", &arguments.bytes.to_string()]);
    command.args(["--keys-max", &arguments.keys_max.to_string(), "--memory", &arguments.memory.to_string()]);
    command.args(["--clients", &arguments.clients.to_string()]);
    command.args(["--engines", &arguments.engines.to_string()]).arg("--dir").arg(dir);
    if arguments.direct_reads {
        command.arg("--direct-reads");
    }
    if arguments.parts {
        command.arg("--parts");
    }
    for word in &arguments.merge {
        command.args(["--merge", word]);
    }
    for &phase in &arguments.phases {
        command.args(["--phases", &word(phase)]);
    }
    let output = command.stderr(Stdio::inherit()).output().expect("this program can be started");
    assert!(output.status.success(), "{name:?} failed: {}", output.status);
    let lines = String::from_utf8(output.stdout).expect("lines of JSON");
    lines.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// Returns the word of a choice on the command line.
fn word(choice: impl ValueEnum) -> String {
    choice.to_possible_value().expect("no choice is hidden").get_name().to_owned()
}

fn child(arguments: &Arguments) {
    let ([name], [value_bytes]) = (&arguments.stores[..], &arguments.values[..]) else {
        panic!("a child measures one store with values of one size")
    };
    let dir = arguments.dir.as_ref().expect("a child is given a folder");
    let workload = Workload::new(*value_bytes, arguments.bytes, arguments.keys_max);
    let settings = Settings {
        durability: arguments.durability,
        clients: arguments.clients,
        engines: arguments.engines,
        memory_bytes: arguments.memory,
        direct_reads: arguments.direct_reads,
        separate_from_bytes: 16 << 10,
        merge: arguments.merge.clone(),
        parts: arguments.parts,
    };
    let is_asked = |phase: &Phase| arguments.phases.is_empty() || arguments.phases.contains(phase);
    let mut engine = None;
    for phase in Phase::ALL.into_iter().filter(is_asked) {
        if phase.is_load() {
            drop(engine.take());
            let place = dir.join(if phase == Phase::LoadInOrder { "in-order" } else { "at-random" });
            std::fs::create_dir(&place).expect("the folder is new");
            engine = Some((stores::open(*name, &place, &workload, &settings), place));
        }
        let (engine, place) = engine.as_mut().expect("a store is loaded before it is read");
        let measured = measured::measure(*name, &mut **engine, place, &workload, phase);
        println!("{}", serde_json::to_string(&measured).expect("figures can be written"));
        if phase == Phase::LoadInOrder {
            let _ = std::fs::remove_dir_all(place);
        }
    }
}
