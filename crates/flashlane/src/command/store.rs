//! `flashlane store`: keys and values on a device that exposes its erase units, with a log beside it.

mod backup;
mod bench;
mod damage;
mod device;
mod entries;
mod file;
mod import;
mod keys;
mod opened;
mod salvage;
mod serve;
mod stat;
mod table;

use crate::device_argument::DeviceArgument;
use crate::failure::{Failure, Status};
use crate::options::{self, Format, ReallyOption, SafetyOptions};
use device::{Place, not_created};
use flashlane_base::Seed;
use flashlane_base::units::parse_bytes;
use flashlane_open::{Consent, log_beside};
use flashlane_store::{Durability, Slices};
use flashlane_trace::is_standard_output;
use flashlane_ycsb::{CORE, Workload};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Keep keys and values on software-defined flash: create, put, get, rm, scan, import, backup, table, file, serve,
/// bench, stat, salvage
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

const EXAMPLES: &str = "\
Examples:
  flashlane store create 'lanes(./flash,channels=8)' --create 1GiB
  flashlane store put 'lanes(./flash)' greeting --value hello
  flashlane store get 'lanes(./flash)' greeting
  flashlane store put 'lanes(./flash)' photos/1 photo.jpg
  flashlane store scan 'lanes(./flash)' --prefix photos/
  flashlane store import 'lanes(./flash)' pairs.tsv
  flashlane store stat 'lanes(./flash)'
  flashlane store serve 'lanes(./flash)'

A store has its log on a second device or file: --log LOG, or else FILE.log beside the file of DEVICE.
A simulated device keeps nothing after the command: 'import' and 'serve' try a store on one.
docs/store.md describes durability and limits.";

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Format a device and a log for a store; all data on both is lost
    Create {
        #[command(flatten)]
        place: PlaceOptions,
        #[command(flatten)]
        slices: SliceOptions,
        #[command(flatten)]
        safety: CreateOptions,
        /// Output format
        #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
        format: Format,
    },
    /// Store a value under a key, replacing an earlier one
    Put {
        #[command(flatten)]
        place: PlaceOptions,
        /// Key
        key: OsString,
        /// File with the value; - for standard input
        #[arg(required_unless_present = "value", value_name = "FILE")]
        file: Option<PathBuf>,
        /// The value itself, instead of FILE
        #[arg(long, value_name = "TEXT", conflicts_with = "file", allow_hyphen_values = true)]
        value: Option<OsString>,
        #[command(flatten)]
        durability: DurabilityOption,
    },
    /// Write the value of a key to standard output or a file
    Get {
        #[command(flatten)]
        place: PlaceOptions,
        /// Key
        key: OsString,
        /// New file to write instead of standard output; - for standard output
        #[arg(long, value_name = "FILE", alias = "out")]
        output: Option<PathBuf>,
    },
    /// Delete keys
    Rm {
        #[command(flatten)]
        place: PlaceOptions,
        /// Keys
        #[arg(required = true, value_name = "KEY")]
        keys: Vec<OsString>,
        #[command(flatten)]
        durability: DurabilityOption,
    },
    /// List keys in order, one a line, in the form that 'import' reads
    Scan {
        #[command(flatten)]
        place: PlaceOptions,
        /// Begin with this key, or the next one
        #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
        from: Option<OsString>,
        /// End before this key
        #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
        to: Option<OsString>,
        /// Only keys that begin with this
        #[arg(long, value_name = "PREFIX", allow_hyphen_values = true)]
        prefix: Option<OsString>,
        /// Maximum number of keys
        #[arg(long, value_name = "N", value_parser = options::positive_count)]
        limit: Option<u64>,
        /// Add a tab and the value to each key
        #[arg(long)]
        values: bool,
    },
    /// Store a pair from each line (the key, a tab, the value), or the entries of a backup
    #[command(after_help = IMPORT_HELP)]
    Import {
        #[command(flatten)]
        place: PlaceOptions,
        /// File of pairs, or one that 'backup' wrote; - for standard input
        file: PathBuf,
        /// Print the number of stored lines, each time that it grows: no line up to there is missing
        #[arg(long)]
        acknowledge: bool,
        #[command(flatten)]
        durability: DurabilityOption,
    },
    /// Write all keys and values as of one moment to a file, with those of tables and files
    #[command(after_help = BACKUP_HELP)]
    Backup {
        #[command(flatten)]
        place: PlaceOptions,
        /// New file to write; - for standard output
        file: PathBuf,
    },
    /// Keep rows in tables: create, drop, ls, describe, add-column, insert, get, rm, scan, import
    Table(table::Arguments),
    /// Keep files in directories: put, get, cat, ls, stat, mkdir, mv, rm, truncate, mount, fsck
    File(file::Arguments),
    /// Serve Redis clients until Ctrl-C
    #[command(after_help = SERVE_HELP)]
    Serve {
        #[command(flatten)]
        place: PlaceOptions,
        #[command(flatten)]
        serve: ServeOptions,
        #[command(flatten)]
        durability: DurabilityOption,
    },
    /// Create a store, and run the core workloads of YCSB on it
    #[command(after_help = BENCH_HELP)]
    Bench {
        #[command(flatten)]
        place: PlaceOptions,
        #[command(flatten)]
        bench: BenchOptions,
        #[command(flatten)]
        durability: DurabilityOption,
        #[command(flatten)]
        safety: CreateOptions,
        /// Output format
        #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
        format: Format,
    },
    /// Show patches, space, memory and damage
    Stat {
        #[command(flatten)]
        place: PlaceOptions,
        /// Also count keys and their bytes, by reading all of them
        #[arg(long)]
        count: bool,
        /// Output format
        #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
        format: Format,
    },
    /// End the damage of a store: show what cannot be read, and give it up
    #[command(after_help = SALVAGE_HELP)]
    Salvage {
        #[command(flatten)]
        place: PlaceOptions,
        #[command(flatten)]
        salvage: salvage::SalvageOptions,
    },
}

const SALVAGE_HELP: &str = "\
Without an option nothing is changed. Damaged bytes hold up merges, so that the device fills up; a
block that is missing or cannot be recognised holds up all writes. --destroy-data ends both: what
can be read is kept. Every command says what was lost until --acknowledge. A copy of device and log
from before the damage loses nothing, and comes first.";

const IMPORT_HELP: &str = "\
In keys and values \\\\ is a backslash, \\t a tab, \\n a line feed, \\r a carriage return, \\xNN a
byte and \\uNNNN a character: 'flashlane store scan DEVICE --values' writes this form. Of several
lines with one key the last one counts. After Ctrl-C or a refused line, the lines before it are
stored; to go on, import the file again. A backup is restored to a store without keys only.";

const BACKUP_HELP: &str = "\
'flashlane store import' restores a backup to a store without keys, of any size and slices that have
room. The file has checksums, and an end without which it is not restored as a whole. A store that
has lost keys gives none. Of a store that is served, 'serve --backup' writes it.";

const SERVE_HELP: &str = "\
Clients: redis-cli, and any library for Redis. Without --listen or --socket the server listens on
127.0.0.1:6379. An address that other machines reach requires --password-file. A Unix socket can
be reached by the user of the server only. docs/store.md lists the commands, and what differs from
Redis. Ctrl-C, SIGTERM and the command SHUTDOWN end the server; nothing acknowledged is lost.";

const BENCH_HELP: &str = "\
Workloads: a (update heavy: 50% reads, 50% updates), b (read mostly: 95%, 5%), c (read only), d
(read latest: 95% reads, 5% inserts), e (short ranges: 95% scans, 5% inserts), f (50% reads, 50%
read-modify-writes). Each runs on the store as the one before left it. On a simulated device all
times are virtual, and the same each time. docs/store.md says what differs from YCSB's program.

Examples:
  flashlane store bench 'backed(sim:sdf)' --ycsb a,b,c,f,d,e
  flashlane store bench 'lanes(./bench,channels=8)' --create 4GiB --ycsb a \\
      --clients 64";

/// What a bench does.
#[derive(Debug, clap::Args)]
struct BenchOptions {
    /// Workloads, in their order
    #[arg(long, value_name = "LETTERS", value_delimiter = ',', value_parser = workload, default_value = "a")]
    ycsb: Vec<&'static Workload>,
    /// Records that are loaded first
    #[arg(long, value_name = "N", value_parser = options::positive_count, default_value = "100000")]
    records: u64,
    /// Operations of each workload
    #[arg(long, value_name = "N", value_parser = options::positive_count, default_value = "100000")]
    operations: u64,
    /// Clients, each with one operation in flight
    #[arg(long, value_name = "N", value_parser = options::positive_count, default_value = "16")]
    clients: u64,
    /// Bytes of a record
    #[arg(long, value_name = "SIZE", value_parser = value_size, default_value = "1000B")]
    value_size: u64,
    /// Maximum number of records in a scan
    #[arg(long, value_name = "N", value_parser = options::positive_count, default_value = "100")]
    scan: u64,
    /// Number of slices among which the keys are divided
    #[arg(long, value_name = "N", value_parser = slices, default_value = "1")]
    slices: u32,
    /// Memory of the store
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "1GiB")]
    memory: u64,
    /// Cache what is read in memory that the store does not need
    #[arg(long)]
    cache_reads: bool,
    #[command(flatten)]
    reads: ReadsOption,
    /// Seed of all choices
    #[arg(long, value_name = "N", value_parser = options::seed, default_value = "1")]
    seed: Seed,
}

/// Parses the letter of a workload.
fn workload(text: &str) -> Result<&'static Workload, String> {
    let found = CORE.iter().find(|workload| workload.name == text);
    found.ok_or_else(|| "the workloads are a, b, c, d, e and f".into())
}

/// Parses the size of a record.
fn value_size(text: &str) -> Result<u64, String> {
    let bytes = parse_bytes(text).map_err(|error| error.to_string())?;
    let is_allowed = (8..=1 << 30).contains(&bytes);
    if is_allowed { Ok(bytes) } else { Err("allowed: 8 B to 1 GiB".into()) }
}

/// Parses the length of a request: some commands are no shorter than the least.
fn request_size(text: &str) -> Result<u64, String> {
    let bytes = parse_bytes(text).map_err(|error| error.to_string())?;
    if bytes >= 1 << 10 { Ok(bytes) } else { Err("allowed: at least 1 KiB".into()) }
}

/// Where a server listens, and what clients may take of it.
#[derive(Debug, clap::Args)]
struct ServeOptions {
    /// Listen on this address; may be repeated
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = options::address)]
    listen: Vec<SocketAddr>,
    /// Listen on this Unix socket
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Serve metrics for Prometheus at http://ADDRESS:PORT/metrics
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = options::address)]
    metrics: Option<SocketAddr>,
    /// Require the password in the first line of this file
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Maximum number of clients
    #[arg(long, value_name = "N", value_parser = options::positive_count, default_value = "10000")]
    clients: u64,
    /// Memory of requests and replies of all clients; where they exceed it, the client that uses most is disconnected
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "256MiB")]
    client_memory: u64,
    /// Memory for recently used values
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "256MiB")]
    cache: u64,
    /// Write a backup to this file, which 'store import' restores, each time that a client sends BGSAVE; replaces only
    /// whole backups of this store
    #[arg(long, value_name = "FILE")]
    backup: Option<PathBuf>,
    #[command(flatten)]
    reads: ReadsOption,
    /// Longest request, and so longest value
    #[arg(long, value_name = "SIZE", value_parser = request_size, default_value = "64MiB")]
    request_size: u64,
}

/// How a store on a file is read.
#[derive(Clone, Copy, Debug, clap::Args)]
struct ReadsOption {
    /// Read a file with direct I/O, not through the page cache, which would keep what was read in free memory
    #[arg(long)]
    direct_reads: bool,
}

/// The two devices of a store.
#[derive(Debug, clap::Args)]
struct PlaceOptions {
    /// Software-defined flash: lanes(FILE,…), lanes(/dev/…), zoned(/dev/…), or simulated (sim:sdf)
    #[arg(value_parser = options::device)]
    device: DeviceArgument,
    /// Device or file of the log, without erase units; default: FILE.log beside the file of DEVICE
    #[arg(long, value_name = "LOG", value_parser = options::device)]
    log: Option<DeviceArgument>,
}

/// How the keys are divided.
#[derive(Debug, clap::Args)]
struct SliceOptions {
    /// Divide the keys evenly by their first two bytes into N slices, which are merged at the same time; default: 1
    #[arg(long, value_name = "N", value_parser = slices)]
    slices: Option<u32>,
    /// Instead, begin a slice at each KEY: --split g --split n makes three
    #[arg(long, value_name = "KEY", conflicts_with = "slices", allow_hyphen_values = true)]
    split: Vec<OsString>,
}

impl SliceOptions {
    fn slices(&self) -> Slices {
        let mut bounds = vec![Vec::new()];
        match self.slices {
            Some(count) => return Slices::even(count),
            None => bounds.extend(self.split.iter().map(|key| key.as_bytes().to_vec())),
        }
        Slices { bounds }
    }
}

/// Permissions and sizes of a new store.
#[derive(Debug, clap::Args)]
struct CreateOptions {
    /// Bytes of a log that is a new file; default: room for all that is in memory, twice
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    log_size: Option<u64>,
    /// Allow DEVICE and LOG to be overwritten; all data on them may be lost
    #[arg(long, help_heading = "Real drives")]
    destroy_data: bool,
    #[command(flatten)]
    repeated: ReallyOption,
    /// The same for the device or file of the log
    #[arg(long, value_name = "PATH", requires = "destroy_data", help_heading = "Real drives")]
    really_log: Option<PathBuf>,
    /// Create DEVICE first, as a new file of this size filled with random data, and allow it to be overwritten
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "Real drives")]
    create: Option<u64>,
}

impl CreateOptions {
    /// Returns the permissions for the device.
    fn safety(&self) -> SafetyOptions {
        SafetyOptions {
            destroy_data: self.destroy_data,
            repeated: self.repeated.clone(),
            create: self.create,
            allow_page_cache: true,
        }
    }

    /// Returns what the user has agreed to lose on an existing log. Creating the device is no consent to it.
    fn log_consent(&self) -> Consent {
        match self.destroy_data {
            true => self.really_log.clone().map_or(Consent::Destroy, Consent::DestroyUsed),
            false => Consent::ReadOnly,
        }
    }
}

#[derive(Clone, Copy, Debug, clap::Args)]
struct DurabilityOption {
    /// How safe a write is when it is acknowledged
    #[arg(long, value_enum, default_value_t, value_name = "LEVEL")]
    durability: Level,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Level {
    /// It is in memory and on its way to the log
    Memory,
    /// The operating system or the log's device has it: only a power cut may lose it
    System,
    /// No power cut loses it: the log's device has flushed it
    #[default]
    Device,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::System => "system",
            Self::Device => "device",
        }
    }
}

impl From<Level> for Durability {
    fn from(level: Level) -> Self {
        match level {
            Level::Memory => Self::Memory,
            Level::System => Self::System,
            Level::Device => Self::Device,
        }
    }
}

/// Parses a number of slices.
fn slices(text: &str) -> Result<u32, String> {
    let count = u32::try_from(options::positive_count(text)?).ok().filter(|&count| count <= 1 << 16);
    count.ok_or_else(|| format!("allowed: 1 to {}", 1 << 16))
}

/// Returns the file to create; `None` for standard output.
fn new_file(output: &Option<PathBuf>) -> Option<&Path> {
    output.as_deref().filter(|path| !is_standard_output(path))
}

impl Action {
    /// Returns whether reads bypass the page cache.
    fn direct_reads(&self) -> bool {
        match self {
            Self::Serve { serve, .. } => serve.reads.direct_reads,
            Self::Bench { bench, .. } => bench.reads.direct_reads,
            _ => false,
        }
    }

    fn place(&self) -> &PlaceOptions {
        match self {
            Self::Create { place, .. }
            | Self::Put { place, .. }
            | Self::Get { place, .. }
            | Self::Rm { place, .. }
            | Self::Scan { place, .. }
            | Self::Import { place, .. }
            | Self::Backup { place, .. }
            | Self::Serve { place, .. }
            | Self::Bench { place, .. }
            | Self::Stat { place, .. }
            | Self::Salvage { place, .. } => place,
            Self::Table(arguments) => arguments.place(),
            Self::File(arguments) => arguments.place(),
        }
    }
}

impl Arguments {
    /// Returns whether Ctrl-C lets the command report or clean up. Puts and deletes are atomic and need neither.
    pub fn handles_interrupt(&self) -> bool {
        match &self.action {
            Action::Import { .. } | Action::Create { .. } | Action::Serve { .. } => true,
            Action::Bench { .. } => true,
            Action::File(arguments) => arguments.handles_interrupt(),
            // Remove a partial file.
            Action::Get { output, .. } => new_file(output).is_some(),
            Action::Backup { .. } => true,
            Action::Stat { count, .. } => *count,
            Action::Put { .. }
            | Action::Rm { .. }
            | Action::Scan { .. }
            | Action::Table(_)
            | Action::Salvage { .. } => false,
        }
    }
}

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    let PlaceOptions { device, log } = arguments.action.place();
    let device = device.target()?.clone();
    let log_is_named = log.is_some();
    let log = match log {
        Some(log) => log.clone(),
        None => DeviceArgument::new(log_beside(&device).map_err(|error| not_created(&device, error))?),
    };
    let direct_reads = arguments.action.direct_reads();
    let place = Place::new(device, log.target()?.clone(), log_is_named, direct_reads);
    damage::ended(&place, run(&place, arguments))
}

fn run(place: &Place, arguments: &Arguments) -> Result<Status, Failure> {
    match &arguments.action {
        Action::Create { slices, safety, format, .. } => {
            stat::create(place, slices.slices(), safety, *format)
        }
        Action::Put { key, file, value, durability, .. } => {
            let value = match (value, file) {
                (Some(value), _) => keys::Value::Given(value.as_bytes()),
                (None, file) => keys::Value::File(file.as_deref().expect("one of both is required")),
            };
            keys::put(place, key.as_bytes(), value, durability.durability)
        }
        Action::Get { key, output, .. } => keys::get(place, key.as_bytes(), new_file(output)),
        Action::Rm { keys, durability, .. } => keys::remove(place, keys, durability.durability),
        Action::Scan { from, to, prefix, limit, values, .. } => {
            let bytes = |key: &Option<OsString>| key.as_ref().map(|key| key.as_bytes().to_vec());
            let range = entries::Range { from: bytes(from), to: bytes(to), prefix: bytes(prefix) };
            entries::scan(place, &range, limit.unwrap_or(u64::MAX), *values)
        }
        Action::Import { file, acknowledge, durability, .. } => {
            import::import(place, file, durability.durability, *acknowledge)
        }
        Action::Backup { file, .. } => {
            backup::backup(place, Some(&**file).filter(|path| !is_standard_output(path)))
        }
        Action::Table(arguments) => table::call(place, arguments),
        Action::File(arguments) => file::call(place, arguments),
        Action::Bench { bench, durability, safety, format, .. } => {
            bench::bench(place, safety, bench, durability.durability, *format)
        }
        Action::Serve { serve, durability, .. } => serve::serve(place, serve, durability.durability),
        Action::Stat { count, format, .. } => stat::stat(place, *count, *format),
        Action::Salvage { salvage, .. } => salvage::salvage(place, *salvage),
    }
}
