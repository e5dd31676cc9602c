//! Recordings of real programs, each on a drive or a database created for it. Options are checked here first; the
//! recording is done by a script in `scripts/record`.

use crate::script::{self, Variables};
use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use flashlane_base::units::{exact_bytes, parse_bytes, parse_count};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The program to record.
#[derive(Clone, Debug, Subcommand)]
pub enum Program {
    /// The build of a Linux kernel, with its sources on the drive and not cached at the start
    #[command(mut_arg("size", |arg| arg.default_value("6GiB")))]
    KernelBuild {
        /// A tar file of the sources; by default Debian's linux-source is downloaded
        #[arg(long, value_name = "FILE")]
        source: Option<PathBuf>,
        /// Settings over allnoconfig, or the name of a make target such as defconfig; by default
        /// scripts/record/kernel.config
        #[arg(long)]
        config: Option<String>,
        /// The make target to record
        #[arg(long, default_value = "vmlinux")]
        target: String,
        /// Compilers at a time; by default one per core
        #[arg(long, value_parser = count)]
        jobs: Option<u64>,
        #[command(flatten)]
        drive: Drive,
    },
    /// A word count over a text in memory, with less memory than text, so that the drive is swap space
    #[command(mut_arg("memory", |arg| arg.default_value("640MiB")), mut_arg("size", |arg| arg.default_value("4GiB")))]
    WordCount {
        /// Bytes of text
        #[arg(long, default_value = "1GB", value_parser = size)]
        text: u64,
        /// Different words
        #[arg(long, default_value = "200000", value_parser = count)]
        words: u64,
        /// Threads that count
        #[arg(long, default_value = "4", value_parser = count)]
        threads: u64,
        /// Seed of the text
        #[arg(long, default_value_t = 1)]
        seed: u64,
        #[command(flatten)]
        drive: Drive,
    },
    /// Copies of many small files to a used ext4
    ///
    /// In the trace of ruan12 (table III) every tenth request is a read, as on a used drive whose file system reads no
    /// inode tables ahead.
    #[command(
        mut_arg("count", |arg| arg.default_value("10000")),
        mut_arg("least", |arg| arg.default_value("100KB")),
        mut_arg("most", |arg| arg.default_value("100KB")),
        mut_arg("before", |arg| arg.default_value("2")),
        mut_arg("ahead", |arg| arg.default_value("0")),
        mut_arg("memory", |arg| arg.default_value("512MiB")),
        mut_arg("request", |arg| arg.default_value("64KiB")),
        mut_arg("size", |arg| arg.default_value("3GiB"))
    )]
    SmallFiles(Copying),
    /// Copies of files of the size of music to a fresh ext4: 5.7 GB by default
    #[command(
        mut_arg("memory", |arg| arg.default_value("512MiB")),
        mut_arg("request", |arg| arg.default_value("64KiB")),
        mut_arg("count", |arg| arg.default_value("1036")),
        mut_arg("least", |arg| arg.default_value("3MB")),
        mut_arg("most", |arg| arg.default_value("8MB"))
    )]
    Mp3Files(Copying),
    /// Copies of a few large files to a fresh ext4: long sequential runs
    #[command(
        mut_arg("memory", |arg| arg.default_value("512MiB")),
        mut_arg("request", |arg| arg.default_value("64KiB"))
    )]
    LargeFiles(Copying),
    /// pgbench on PostgreSQL, with its data on a fresh ext4 and less memory than data
    #[command(mut_arg("size", |arg| arg.default_value("4GiB")))]
    Pgbench {
        /// Scale factor of pgbench: 15 MB each
        #[arg(long, default_value = "50", value_parser = count)]
        scale: u64,
        /// Connections
        #[arg(long, default_value = "8", value_parser = count)]
        clients: u64,
        /// Duration of pgbench in seconds
        #[arg(long, default_value = "60", value_parser = count)]
        seconds: u64,
        /// shared_buffers of PostgreSQL; at least 128KiB
        #[arg(long, default_value = "32MiB", value_parser = size)]
        buffers: u64,
        /// The directory of PostgreSQL's programs; by default Debian's
        #[arg(long, value_name = "DIR")]
        postgres: Option<PathBuf>,
        #[command(flatten)]
        drive: Drive,
    },
    /// Page accesses of PostgreSQL by transaction: pgbench's own benchmark, "inspired by TPC-B"; the scale is 15.7 MB
    /// each
    #[command(mut_arg("scale", |arg| arg.default_value("140")))]
    TpcB(Transactions),
    /// Page accesses of PostgreSQL by transaction: TATP (TM-1); the scale is subscribers, 0.86 kB each
    #[command(mut_arg("scale", |arg| arg.default_value("2800000")))]
    Tatp(Transactions),
    /// Page accesses of PostgreSQL by transaction: derived from TPC-C, no rating claimed; the scale is warehouses, 101
    /// MB each
    #[command(mut_arg("scale", |arg| arg.default_value("24")))]
    TpcC(Transactions),
    /// Page accesses of PostgreSQL by sub-query: queries of the Star Schema Benchmark as index joins and as hash joins,
    /// in 1 to 16 sub-queries each
    Ssb(Queries),
}

/// Queries on a PostgreSQL made for them.
#[derive(Args, Clone, Debug)]
pub struct Queries {
    /// Scale of the database: 0.8 GB each
    #[arg(long, default_value = "5", value_parser = scale)]
    scale: f64,
    /// shared_buffers of PostgreSQL; at least 128KiB. The recorded accesses are above them
    #[arg(long, default_value = "256MiB", value_parser = size)]
    buffers: u64,
    /// The directory of PostgreSQL's programs, of version 15 at most; by default Debian's
    #[arg(long, value_name = "DIR")]
    postgres: Option<PathBuf>,
    /// The recording to write; ends in .pages and a compression
    #[arg(long, default_value = "ssb.pages.zst", value_name = "FILE")]
    out: PathBuf,
    /// A directory with space for the database
    #[arg(long, default_value = "/var/tmp", value_name = "DIR")]
    work: PathBuf,
}

/// A benchmark of transactions on a PostgreSQL made for it.
#[derive(Args, Clone, Debug)]
pub struct Transactions {
    /// Scale of the database
    #[arg(long, default_value = "1", value_parser = count)]
    scale: u64,
    /// Connections
    #[arg(long, default_value = "10", value_parser = count)]
    clients: u64,
    /// Seconds that are recorded
    #[arg(long, default_value = "120", value_parser = count)]
    seconds: u64,
    /// Seconds before that are not recorded
    #[arg(long, default_value = "20", value_parser = parse_count)]
    warm: u64,
    /// shared_buffers of PostgreSQL; at least 128KiB. The recorded accesses are above them
    #[arg(long, default_value = "256MiB", value_parser = size)]
    buffers: u64,
    /// The directory of PostgreSQL's programs, of version 15 at most; by default Debian's
    #[arg(long, value_name = "DIR")]
    postgres: Option<PathBuf>,
    /// A second file to write, with --transactions of the recording after the first --skip
    #[arg(long, value_name = "FILE")]
    excerpt: Option<PathBuf>,
    /// Transactions of the excerpt
    #[arg(long, default_value = "10000", value_parser = count)]
    transactions: u64,
    /// Transactions before the excerpt
    #[arg(long, default_value = "1000", value_parser = parse_count)]
    skip: u64,
    /// The recording to write, PROGRAM.pages.zst by default; ends in .pages and a compression
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// A directory with space for the database and its log
    #[arg(long, default_value = "/var/tmp", value_name = "DIR")]
    work: PathBuf,
}

/// Files created elsewhere and copied to the drive.
#[derive(Args, Clone, Debug)]
pub struct Copying {
    /// Number of files
    #[arg(long, default_value = "3", value_parser = count)]
    count: u64,
    /// Size of the smallest file
    #[arg(long, default_value = "1.9GB", value_parser = size_or_none)]
    least: u64,
    /// Size of the largest file
    #[arg(long, default_value = "1.9GB", value_parser = size_or_none)]
    most: u64,
    /// Number of earlier copies of the same files on the drive, each with every second file deleted
    #[arg(long, default_value = "0", value_parser = parse_count)]
    before: u64,
    /// Blocks of an inode table read at once, ext4's inode_readahead_blks: 0 or a power of two
    #[arg(long, default_value = "32", value_parser = parse_count)]
    ahead: u64,
    /// Seed of the sizes between the smallest and the largest
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    drive: Drive,
}

/// The drive to create and record, and the trace.
#[derive(Args, Clone, Debug)]
pub struct Drive {
    /// Size of the drive
    #[arg(long, default_value = "8GiB", value_parser = size)]
    size: u64,
    /// Memory of the recorded program, with its page cache; 0 for no limit
    #[arg(long, default_value = "192MiB", value_parser = size_or_none)]
    memory: u64,
    /// The largest request of the drive, at least 4KiB; 0 for the kernel's default
    ///
    /// In the traces of ruan12 (table III) files of 5.7 GB take 94,000 requests: none is larger than 64 KiB.
    #[arg(long, default_value = "0", value_parser = size_or_none)]
    request: u64,
    /// The trace to write, PROGRAM.blktrace.zst by default; its extensions select format and compression, as in
    /// x.msr.gz
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// A directory with space for the drive, not on a memory file system
    #[arg(long, default_value = "/var/tmp", value_name = "DIR")]
    work: PathBuf,
}

/// Limit of sizes and counts, so that shell arithmetic stays within 63 bits.
const MOST: u64 = 1_000_000_000_000_000;

pub(crate) fn count(text: &str) -> Result<u64, String> {
    within(parse_count(text).map_err(|error| error.to_string())?, 1)
}

pub(crate) fn size(text: &str) -> Result<u64, String> {
    within(parse_bytes(text).map_err(|error| error.to_string())?, 1)
}

pub(crate) fn size_or_none(text: &str) -> Result<u64, String> {
    if text == "0" { Ok(0) } else { within(parse_bytes(text).map_err(|error| error.to_string())?, 0) }
}

fn within(number: u64, least: u64) -> Result<u64, String> {
    match number {
        _ if number < least => Err(format!("at least {least} is required")),
        MOST.. => Err(format!("less than {MOST} is allowed")),
        _ => Ok(number),
    }
}

impl Drive {
    fn check(&self, program: &str) -> Result<Variables> {
        if self.request != 0 && self.request < 4096 {
            bail!("--request {}: allowed are at least 4 KiB, or 0 for the kernel's default", self.request);
        }
        let out = self.out.clone().unwrap_or_else(|| format!("{program}.blktrace.zst").into());
        Ok(vec![
            ("SIZE", number(self.size)),
            ("MEMORY", number(self.memory)),
            ("REQUEST", number(self.request)),
            ("OUT", new_file("--out", &out)?.into()),
            ("WORK_IN", work(&self.work)?),
        ])
    }
}

impl Transactions {
    fn check(&self, benchmark: &'static str) -> Result<Variables> {
        check_buffers(self.buffers)?;
        let out = self.out.clone().unwrap_or_else(|| format!("{benchmark}.pages.zst").into());
        let excerpt = self.excerpt.as_deref().map(|excerpt| new_file("--excerpt", excerpt)).transpose()?;
        let mut variables: Variables = vec![
            ("BENCHMARK", benchmark.into()),
            ("OUT", new_file("--out", &out)?.into()),
            ("EXCERPT", excerpt.unwrap_or_default().into()),
            ("POSTGRES", self.postgres.clone().unwrap_or_default().into()),
            ("WORK_IN", work(&self.work)?),
        ];
        let all = [
            ("SCALE", self.scale),
            ("CLIENTS", self.clients),
            ("RUN_SECONDS", self.seconds),
            ("WARM_SECONDS", self.warm),
            ("BUFFERS", self.buffers),
            ("TRANSACTIONS", self.transactions),
            ("SKIP", self.skip),
        ];
        variables.extend(all.map(|(name, value)| (name, number(value))));
        Ok(variables)
    }
}

impl Queries {
    fn check(&self) -> Result<Variables> {
        check_buffers(self.buffers)?;
        Ok(vec![
            ("SCALE", self.scale.to_string().into()),
            ("PARTS", number(parts(self.scale))),
            ("BUFFERS", number(self.buffers)),
            ("POSTGRES", self.postgres.clone().unwrap_or_default().into()),
            ("OUT", new_file("--out", &self.out)?.into()),
            ("WORK_IN", work(&self.work)?),
        ])
    }
}

/// Parts of the Star Schema Benchmark: 200,000 x floor(1 + log2 scale), and below scale 1 in proportion to scale 5, the
/// paper's.
pub(crate) fn parts(scale: f64) -> u64 {
    if scale < 1.0 { (600_000.0 * scale / 5.0) as u64 } else { 200_000 * (1 + scale.log2() as u64) }
}

pub(crate) fn scale(text: &str) -> Result<f64, String> {
    let scale = text.parse().ok().filter(|scale| (0.01..=100.0).contains(scale));
    scale.ok_or_else(|| "allowed: 0.01 to 100".into())
}

/// Returns the absolute path of a file to write.
fn new_file(option: &str, path: &Path) -> Result<PathBuf> {
    let path = std::path::absolute(path)?;
    if !path.parent().is_some_and(Path::is_dir) {
        bail!("{option}: the directory of '{}' does not exist", path.display());
    }
    if path.exists() {
        bail!("{option}: '{}' exists and is not overwritten", path.display());
    }
    Ok(path)
}

/// Returns the directory to work in.
pub(crate) fn work(path: &Path) -> Result<OsString> {
    if !path.is_dir() {
        bail!("--work: there is no directory '{}'", path.display());
    }
    Ok(path.into())
}

pub(crate) fn check_buffers(bytes: u64) -> Result<()> {
    if bytes < 128 << 10 {
        bail!("--buffers {}: PostgreSQL requires at least 128 KiB", exact_bytes(bytes));
    }
    Ok(())
}

impl Copying {
    fn check(&self, program: &str) -> Result<Variables> {
        let Self { count, least, most, before, ahead, seed, drive } = self;
        if least > most {
            bail!("--least {} is more than --most {}", exact_bytes(*least), exact_bytes(*most));
        }
        // Each file takes at least a block of the file system.
        if *count > drive.size / (*least).max(4096) {
            bail!(
                "--count {count}: files of --least {} do not all fit into --size {}",
                exact_bytes(*least),
                exact_bytes(drive.size)
            );
        }
        if *ahead != 0 && !ahead.is_power_of_two() {
            bail!("--ahead {ahead} is invalid: ext4 allows 0 and powers of two");
        }
        let mut variables = drive.check(program)?;
        let all = [
            ("COUNT", count),
            ("LEAST", least),
            ("MOST", most),
            ("BEFORE", before),
            ("AHEAD", ahead),
            ("SEED", seed),
        ];
        variables.extend(all.map(|(name, value)| (name, number(*value))));
        Ok(variables)
    }
}

impl Program {
    /// Returns the script's name and variables.
    fn check(&self) -> Result<(&'static str, Variables)> {
        let (script, variables, own): (_, _, Variables) = match self {
            Self::KernelBuild { source, config, target, jobs, drive } => {
                let own = vec![
                    ("SOURCE", source.clone().unwrap_or_default().into()),
                    ("CONFIG", config.clone().unwrap_or_default().into()),
                    ("TARGET", target.into()),
                    ("JOBS", number(jobs.unwrap_or_else(cores))),
                ];
                ("kernel-build", drive.check("kernel-build")?, own)
            }
            Self::WordCount { text, words, threads, seed, drive } => {
                let all = [("TEXT", text), ("WORDS", words), ("THREADS", threads), ("SEED", seed)];
                let own = all.map(|(name, value)| (name, number(*value))).into();
                ("word-count", drive.check("word-count")?, own)
            }
            Self::SmallFiles(copying) => ("copying", copying.check("small-files")?, Vec::new()),
            Self::Mp3Files(copying) => ("copying", copying.check("mp3-files")?, Vec::new()),
            Self::LargeFiles(copying) => ("copying", copying.check("large-files")?, Vec::new()),
            Self::TpcB(transactions) => ("transactions", transactions.check("tpc-b")?, Vec::new()),
            Self::Tatp(transactions) => ("transactions", transactions.check("tatp")?, Vec::new()),
            Self::TpcC(transactions) => ("transactions", transactions.check("tpc-c")?, Vec::new()),
            Self::Ssb(queries) => ("ssb", queries.check()?, Vec::new()),
            Self::Pgbench { scale, clients, seconds, buffers, postgres, drive } => {
                check_buffers(*buffers)?;
                let all =
                    [("SCALE", scale), ("CLIENTS", clients), ("RUN_SECONDS", seconds), ("BUFFERS", buffers)];
                let mut own: Variables = all.map(|(name, value)| (name, number(*value))).into();
                own.push(("POSTGRES", postgres.clone().unwrap_or_default().into()));
                ("pgbench", drive.check("pgbench")?, own)
            }
        };
        Ok((script, variables.into_iter().chain(own).collect()))
    }
}

fn cores() -> u64 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64)
}

pub(crate) fn number(value: u64) -> OsString {
    value.to_string().into()
}

/// Records a program.
///
/// # Errors
/// Where an option is out of range, or the script fails.
pub fn run(root: &Path, program: &Program) -> Result<()> {
    let (script, variables) = program.check()?;
    script::run(root, &format!("record/{script}"), variables, &[])
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

    fn checked(line: &str) -> Result<(&'static str, Variables), String> {
        let words = std::iter::once("record").chain(line.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        line.program.check().map_err(|error| error.to_string())
    }

    #[test]
    fn every_program_has_a_script_and_valid_defaults() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for name in [
            "kernel-build",
            "word-count",
            "small-files",
            "mp3-files",
            "large-files",
            "pgbench",
            "tpc-b",
            "tatp",
            "tpc-c",
            "ssb",
        ] {
            let (script, variables) = checked(name).unwrap();
            let text = std::fs::read_to_string(root.join("scripts/record").join(script)).unwrap();
            let shared = ["record/lib.sh", "lib.sh", "postgres.sh", "ssb.sh", "transactions.sh"]
                .map(|name| std::fs::read_to_string(root.join("scripts").join(name)).unwrap());
            for (variable, _) in variables {
                assert!(text.contains(variable) || shared.concat().contains(variable), "{name}: {variable}");
            }
        }
    }

    #[test]
    fn defaults_match_the_recordings_in_traces() {
        let value = |line: &str, name: &str| {
            let (_, variables) = checked(line).unwrap();
            let found = variables.into_iter().find(|(variable, _)| *variable == name).unwrap();
            found.1.into_string().unwrap()
        };
        assert_eq!(value("small-files", "BEFORE"), "2");
        assert_eq!(value("small-files", "REQUEST"), "65536");
        assert_eq!(value("mp3-files", "LEAST"), "3000000");
        assert_eq!(value("large-files", "MEMORY"), "536870912");
        assert_eq!(value("pgbench", "SIZE"), (4_u64 << 30).to_string());
        assert_eq!(value("kernel-build", "SIZE"), (6_u64 << 30).to_string());
        assert_eq!(value("word-count", "TEXT"), "1000000000");
        assert_eq!(value("word-count --memory 0", "MEMORY"), "0");
        assert_eq!(value("tpc-b", "SCALE"), "140");
        assert_eq!(value("tatp", "SCALE"), "2800000");
        assert_eq!(value("tpc-c", "SCALE"), "24");
    }

    #[test]
    fn parts_grow_with_the_logarithm_of_the_scale() {
        assert_eq!([0.5, 1.0, 2.0, 5.0, 8.0].map(parts), [60_000, 200_000, 400_000, 600_000, 800_000]);
    }

    #[test]
    fn options_out_of_range_are_refused_with_the_range() {
        for (line, parts) in [
            ("small-files --count 0", &["--count", "at least 1"][..]),
            ("small-files --count 1.5", &["--count", "1.5"]),
            ("small-files --size 4x", &["--size", "4x"]),
            ("small-files --size 1000TB", &["--size", "less than"]),
            ("small-files --least 2MB", &["--least 2 MB is more than --most 100 KB"]),
            ("small-files --count 1M", &["--count 1000000", "do not all fit into --size 3 GiB"]),
            ("small-files --request 100B", &["--request 100", "4 KiB"]),
            ("small-files --ahead 3", &["--ahead 3", "powers of two"]),
            ("small-files --work /no/such/folder", &["no directory '/no/such/folder'"]),
            ("small-files --out /no/such/folder/x.msr.gz", &["'/no/such/folder/x.msr.gz'"]),
            ("small-files --out /proc/version", &["'/proc/version' exists"]),
            ("pgbench --buffers 64KiB", &["--buffers 64 KiB", "128 KiB"]),
            ("tpc-c --buffers 64KiB", &["--buffers 64 KiB", "128 KiB"]),
            ("tpc-c --scale 0", &["--scale", "at least 1"]),
            ("ssb --scale 0", &["--scale", "0.01 to 100"]),
            ("ssb --buffers 64KiB", &["--buffers 64 KiB", "128 KiB"]),
            ("tatp --excerpt /proc/version", &["--excerpt: '/proc/version' exists"]),
            ("tatp --work /no/such/folder", &["no directory '/no/such/folder'"]),
        ] {
            let error = checked(line).unwrap_err();
            for part in parts {
                assert!(error.contains(part), "{line} lacks '{part}': {error}");
            }
        }
    }
}
