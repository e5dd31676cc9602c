//! Programs on a drive that `flashlane serve fuse` serves: the options of `scripts/served`.

mod benchmark;
mod replication;

use crate::record::{check_buffers, count, number, parts, scale, size, size_or_none, work};
use crate::script::{self, Variables};
use anyhow::{Result, bail};
use benchmark::{Measured, advice_table, sub_queries_table};
use clap::{Args, Subcommand};
use replication::replication_table;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The program to run.
#[derive(Clone, Debug, Subcommand)]
pub enum Program {
    /// A fresh ext4 on the drive, and a command in it; without one, until Ctrl-C
    FileSystem {
        #[command(flatten)]
        drive: Drive,
        /// The command; its directory, also in $DIRECTORY, is that of the file system
        #[arg(last = true, value_name = "COMMAND")]
        command: Vec<OsString>,
    },
    /// pgbench on a PostgreSQL whose data lies on the drive
    Pgbench {
        #[command(flatten)]
        drive: Drive,
        /// Scale factor of pgbench: 15 MB each
        #[arg(long, default_value = "10", value_parser = count)]
        scale: u64,
        /// Connections
        #[arg(long, default_value = "4", value_parser = count)]
        clients: u64,
        /// Duration of pgbench in seconds
        #[arg(long, default_value = "30", value_parser = count)]
        seconds: u64,
        /// Another setting of PostgreSQL, as in `max_wal_size=1GB`; may be repeated
        #[arg(long, value_name = "NAME=VALUE")]
        set: Vec<String>,
        #[command(flatten)]
        database: Database,
    },
    /// A PostgreSQL on the drive whose clients, server and drive are killed at random times, and which then has to have
    /// everything that was committed
    Crashes {
        #[command(flatten)]
        drive: Drive,
        /// Duration in seconds
        #[arg(long, default_value = "300", value_parser = count)]
        seconds: u64,
        /// Seed of what is killed, and when
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=32_767))]
        seed: u64,
        /// Clients that each insert rows, and note what they are told is committed
        #[arg(long, default_value = "2", value_parser = count)]
        writers: u64,
        /// Transactions of pgbench a second beside them
        #[arg(long, default_value = "100", value_parser = count)]
        rate: u64,
        /// Settings of the layer `faulty` for the drive, like lost-writes=0.01%: shows that a drive that loses data is
        /// found
        #[arg(long, default_value = "")]
        faults: String,
        #[command(flatten)]
        database: Database,
    },
    /// Queries of the Star Schema Benchmark with PostgreSQL's defaults and with the settings that `flashlane advise`
    /// proposes for the drive, in turn, with cold caches
    Advice {
        /// The drives, one after the other; by default ssd-s, nvme-tlc and a slow flash card, each with its slowdown
        #[arg(value_name = "DEVICE")]
        devices: Vec<String>,
        /// Simulated times are this many times as long; by default 4, or what the default drive requires
        #[arg(long, value_parser = count, value_name = "N")]
        slowdown: Option<u64>,
        /// Largest share of index accesses whose page is found in memory, as for `flashlane advise`
        #[arg(long, default_value = "90%", value_name = "SHARE")]
        cached: String,
        /// Times that each query is run with each settings
        #[arg(long, default_value = "3", value_parser = count)]
        rounds: u64,
        #[command(flatten)]
        benchmark: Benchmark,
    },
    /// Transactions on fragmented drives with the layer `replicated` and without, in turn (he14, figure 7)
    Replication {
        /// The drives, one after the other; by default two of the paper's kinds without their write caches
        #[arg(value_name = "DEVICE")]
        devices: Vec<String>,
        /// Simulated times are this many times as long
        #[arg(long, default_value = "4", value_parser = count, value_name = "N")]
        slowdown: u64,
        /// Settings of the layer
        #[arg(long, default_value = "partitions=16,copies=3", value_name = "SETTINGS")]
        layer: String,
        /// Connections
        #[arg(long, default_value = "10", value_parser = count)]
        clients: u64,
        /// Duration of each run in seconds, after half as long to warm up
        #[arg(long, default_value = "60", value_parser = count)]
        seconds: u64,
        /// Times that each is run
        #[arg(long, default_value = "1", value_parser = count)]
        rounds: u64,
        /// Memory of PostgreSQL, with its page cache; 0 for no limit
        #[arg(long, default_value = "96MiB", value_parser = size_or_none)]
        memory: u64,
        #[command(flatten)]
        served: ServedDatabase,
    },
    /// Queries of the Star Schema Benchmark as index joins and as hash joins, in 1, 2, 4, 8 and 16 sub-queries (chen11,
    /// figures 8 and 9), with cold caches
    SubQueries {
        /// The drive
        #[arg(default_value = SSD_S)]
        device: String,
        /// Simulated times are this many times as long
        #[arg(long, default_value = "8", value_parser = count, value_name = "N")]
        slowdown: u64,
        /// Run PostgreSQL under valgrind, with some 4 times the processor time
        #[arg(long)]
        slow_processor: bool,
        /// Times that each query is run
        #[arg(long, default_value = "1", value_parser = count)]
        rounds: u64,
        #[command(flatten)]
        benchmark: Benchmark,
    },
}

/// SSD-S with an eighth of its blocks, which is prepared sooner.
const SSD_S: &str = "sim:ssd-s,flash.blocks=1024,capacity=4GB";
/// Drives of three kinds with the slowdowns at which this machine keeps up; nvme-tlc with a 32nd of its blocks.
const DRIVES: [(&str, u64); 3] =
    [(SSD_S, 4), ("sim:nvme-tlc,flash.blocks=43,capacity=31GB", 25), ("sim:transcend-module-like", 1)];
const SLOWDOWN: u64 = 4;

/// Drives of he14, section 5.3, a tenth of their size: their GC collects whole blocks before a write goes on.
const REPLICATED: [&str; 2] = [
    "sim:vector-like,flash.blocks=206,capacity=24576MiB,cleaning.pacing=watermark,buffer.policy=none",
    "sim:ssd-s,flash.blocks=1649,capacity=6144MiB,cleaning.pacing=watermark,buffer.policy=none",
];
/// Benchmarks and their scales: databases of some 300 MB.
const TRANSACTIONS: &str = "tpc-b 20\ntatp 300000\ntpc-c 3";
/// Size of the file system, with room for rows and the log.
const TRANSACTIONS_MIB: u64 = 2048;

/// The Star Schema Benchmark on a PostgreSQL whose data lies on a drive.
#[derive(Args, Clone, Debug)]
#[command(mut_arg("buffers", |arg| arg.default_value("1MiB")))]
pub struct Benchmark {
    /// Scale of the database: 0.8 GB each
    #[arg(long, default_value = "0.1", value_parser = scale)]
    scale: f64,
    #[command(flatten)]
    served: ServedDatabase,
}

impl Benchmark {
    fn check(&self, rounds: u64) -> Result<Variables> {
        let mut variables = self.served.check()?;
        variables.extend([
            ("SCALE", self.scale.to_string().into()),
            ("PARTS", number(parts(self.scale))),
            ("ROUNDS", number(rounds)),
        ]);
        Ok(variables)
    }
}

/// A PostgreSQL whose database is made once and then lies on served drives.
#[derive(Args, Clone, Debug)]
pub struct ServedDatabase {
    /// An argument of `flashlane serve fuse`, as in `--serve=--record --serve=TRACE`; may be repeated
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    serve: Vec<String>,
    /// A directory for the database, mount points and sockets
    #[arg(long, default_value = "/var/tmp", value_name = "DIR")]
    work: PathBuf,
    #[command(flatten)]
    database: Database,
}

impl ServedDatabase {
    fn check(&self) -> Result<Variables> {
        let mut variables = self.database.check()?;
        variables.extend([("OPTIONS", lines("--serve", &self.serve)?), ("WORK_IN", work(&self.work)?)]);
        Ok(variables)
    }
}

/// A PostgreSQL.
#[derive(Args, Clone, Debug)]
pub struct Database {
    /// shared_buffers; at least 128KiB
    #[arg(long, default_value = "32MiB", value_parser = size)]
    buffers: u64,
    /// The directory of PostgreSQL's programs; by default Debian's
    #[arg(long, value_name = "DIR")]
    postgres: Option<PathBuf>,
}

impl Database {
    fn check(&self) -> Result<Variables> {
        check_buffers(self.buffers)?;
        let postgres = self.postgres.clone().unwrap_or_default();
        Ok(vec![("BUFFERS", number(self.buffers)), ("POSTGRES", postgres.into())])
    }
}

/// The served drive.
#[derive(Args, Clone, Debug)]
pub struct Drive {
    /// The device to serve; a real one requires `--serve=--destroy-data`
    #[arg(default_value = "sim:ssd-s,capacity=1GiB")]
    device: String,
    /// An argument of `flashlane serve fuse`, as in `--serve=--slowdown --serve=4`; may be repeated
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    serve: Vec<String>,
    /// Memory of the program, with its page cache; 0 for no limit
    #[arg(long, default_value = "0", value_parser = size_or_none)]
    memory: u64,
    /// A directory for mount points and sockets
    #[arg(long, default_value = "/var/tmp", value_name = "DIR")]
    work: PathBuf,
}

impl Drive {
    fn check(&self) -> Result<Variables> {
        Ok(vec![
            ("DEVICE", self.device.clone().into()),
            ("OPTIONS", lines("--serve", &self.serve)?),
            ("MEMORY", number(self.memory)),
            ("WORK_IN", work(&self.work)?),
        ])
    }
}

/// Returns arguments as lines.
fn lines(option: &str, arguments: &[String]) -> Result<OsString> {
    if let Some(argument) = arguments.iter().find(|argument| argument.contains('\n')) {
        bail!("{option} {argument:?}: line breaks are not passed on");
    }
    Ok(arguments.join("\n").into())
}

impl Program {
    /// Returns the script's name, variables and arguments.
    fn check(&self) -> Result<(&'static str, Variables, &[OsString])> {
        Ok(match self {
            Self::FileSystem { drive, command } => ("file-system", drive.check()?, command),
            Self::Pgbench { drive, scale, clients, seconds, set, database } => {
                if let Some(setting) = set.iter().find(|setting| !setting.contains('=')) {
                    bail!("--set {setting}: a setting is NAME=VALUE");
                }
                let all = [("SCALE", scale), ("CLIENTS", clients), ("RUN_SECONDS", seconds)];
                let mut variables = [drive.check()?, database.check()?].concat();
                variables.extend(all.map(|(name, value)| (name, number(*value))));
                variables.push(("SETTINGS", lines("--set", set)?));
                ("pgbench", variables, &[])
            }
            Self::Crashes { drive, seconds, seed, writers, rate, faults, database } => {
                let all = [("RUN_SECONDS", seconds), ("SEED", seed), ("WRITERS", writers), ("RATE", rate)];
                let mut variables = [drive.check()?, database.check()?].concat();
                variables.extend(all.map(|(name, value)| (name, number(*value))));
                variables.push(("FAULTS", faults.into()));
                ("crashes", variables, &[])
            }
            Self::Advice { devices, slowdown, cached, rounds, benchmark } => {
                let drives: Vec<_> = match devices.as_slice() {
                    [] => DRIVES.iter().map(|(device, own)| (*device, slowdown.unwrap_or(*own))).collect(),
                    given => {
                        given.iter().map(|device| (device.as_str(), slowdown.unwrap_or(SLOWDOWN))).collect()
                    }
                };
                let lined: Vec<_> =
                    drives.iter().map(|(device, slowdown)| format!("{slowdown} {device}")).collect();
                let mut variables = benchmark.check(*rounds)?;
                variables.extend([("DEVICES", lines("DEVICE", &lined)?), ("CACHED", cached.into())]);
                ("advice", variables, &[])
            }
            Self::Replication { devices, slowdown, layer, clients, seconds, rounds, memory, served } => {
                let devices: Vec<_> = match devices.as_slice() {
                    [] => REPLICATED.to_vec(),
                    given => given.iter().map(String::as_str).collect(),
                };
                let lined: Vec<_> = devices.iter().map(|device| format!("{slowdown} {device}")).collect();
                let all = [
                    ("CLIENTS", *clients),
                    ("RUN_SECONDS", *seconds),
                    ("WARM_SECONDS", seconds / 2),
                    ("ROUNDS", *rounds),
                    ("MEMORY", *memory),
                    ("IMAGE_MIB", TRANSACTIONS_MIB),
                ];
                let mut variables = served.check()?;
                variables.extend(all.map(|(name, value)| (name, number(value))));
                variables.extend([
                    ("DEVICES", lines("DEVICE", &lined)?),
                    ("LAYER", layer.into()),
                    ("BENCHMARKS", TRANSACTIONS.into()),
                ]);
                ("replication", variables, &[])
            }
            Self::SubQueries { device, slowdown, slow_processor, rounds, benchmark } => {
                let mut variables = benchmark.check(*rounds)?;
                let processor = if *slow_processor { "slow" } else { "native" };
                variables.extend([
                    ("DEVICE", device.into()),
                    ("SLOWDOWN", number(*slowdown)),
                    ("PROCESSOR", processor.into()),
                ]);
                ("sub-queries", variables, &[])
            }
        })
    }
}

/// Runs a program on a served drive.
///
/// # Errors
/// Where an option is out of range, or the script fails.
pub fn run(root: &Path, program: &Program) -> Result<()> {
    let (script, variables, arguments) = program.check()?;
    let script = format!("served/{script}");
    let table = match program {
        Program::Advice { .. } => advice_table,
        Program::SubQueries { .. } => sub_queries_table,
        Program::Replication { .. } => replication_table,
        Program::FileSystem { .. } | Program::Pgbench { .. } | Program::Crashes { .. } => {
            return script::run(root, &script, variables, arguments);
        }
    };
    print!("{}", table(&Measured::read(&script::output(root, &script, variables)?)?));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        program: Program,
    }

    fn checked(line: &str) -> Result<(&'static str, Variables, Vec<OsString>), String> {
        let words = std::iter::once("served").chain(line.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        let (script, variables, arguments) = line.program.check().map_err(|error| error.to_string())?;
        Ok((script, variables, arguments.to_vec()))
    }

    #[test]
    fn every_program_has_a_script_that_reads_its_variables() {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts");
        let read = |name: &str| std::fs::read_to_string(scripts.join(name)).unwrap();
        for name in ["file-system", "pgbench", "crashes", "replication", "advice", "sub-queries"] {
            let (script, variables, _) = checked(name).unwrap();
            let shared = ["lib.sh", "postgres.sh", "ssb.sh", "transactions.sh", "served/database.sh"]
                .map(read)
                .concat();
            let text = read(&format!("served/{script}")) + &shared;
            for (variable, _) in variables {
                assert!(text.contains(variable), "{name}: {variable}");
            }
        }
    }

    #[test]
    fn arguments_of_the_server_and_the_command_are_passed_on() {
        let (_, variables, command) =
            checked("file-system sim:ssd-m --serve=--slowdown --serve=4 -- dd if=/dev/zero").unwrap();
        let value_of = |variables: &Variables, of: &str| {
            variables.iter().find(|(name, _)| *name == of).unwrap().1.clone()
        };
        let value = |of| value_of(&variables, of);
        assert_eq!((value("DEVICE"), value("OPTIONS")), ("sim:ssd-m".into(), "--slowdown\n4".into()));
        assert_eq!(command, ["dd", "if=/dev/zero"]);
        let settings = checked("pgbench --set a=1 --set b=2").unwrap().1;
        assert!(settings.contains(&("SETTINGS", "a=1\nb=2".into())));
        assert!(checked("pgbench --set a").unwrap_err().contains("NAME=VALUE"));
        let devices = |line| value_of(&checked(line).unwrap().1, "DEVICES");
        assert_eq!(devices("advice sim:a sim:b"), "4 sim:a\n4 sim:b");
        assert_eq!(devices("advice --slowdown 7 sim:a"), "7 sim:a");
        assert!(devices("advice").to_str().unwrap().ends_with("\n1 sim:transcend-module-like"));
        assert!(checked("pgbench --buffers 1k").unwrap_err().contains("128 KiB"));
    }
}
