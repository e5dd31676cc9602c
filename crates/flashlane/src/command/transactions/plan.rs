//! Options of a run of transactions, and the setup made from them.

use super::Recorded;
use crate::failure::Failure;
use crate::options::positive_count;
use anyhow::anyhow;
use clap::ValueEnum;
use flashlane_base::units::{parse_bytes, parse_count, parse_duration, parse_share};
use flashlane_base::{Duration, Seed};
use flashlane_transactions::{CLIENTS_MOST, POOL_PAGES_MOST, Pace, Setup};

/// The options, each of which can be swept.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct PlanOptions {
    /// Clients, each of which runs one transaction after another; default: as many as were recorded
    #[arg(long, value_name = "N", value_parser = clients)]
    pub(super) clients: Option<u32>,
    /// When a client begins a transaction
    #[arg(long, value_enum, default_value_t, value_name = "PACE")]
    pub(super) pace: PaceName,
    /// Run the transactions FACTOR times as fast as recorded, like 2 or 0.5; only with --pace open; default: 1
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    pub(super) speed: Option<f64>,
    /// Pages of the buffer pool
    #[arg(long, value_name = "PAGES", default_value = "1024", value_parser = pool)]
    pub(super) pool: u32,
    /// Replacement policy of the pool: lru, or cflru-e with the option window (a share of the pool)
    #[arg(long, value_name = "POLICY[,KEY=VALUE]", default_value = "lru", value_parser = buffer)]
    pub(super) buffer: Buffer,
    /// The operating system's readahead: the largest window that a sequential reader has read ahead, like 128KiB; 0 for
    /// none
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = readahead)]
    pub(super) readahead: u64,
    /// Processors that the clients share; default: one for each client
    #[arg(long, value_name = "N", value_parser = clients)]
    pub(super) processors: Option<u32>,
    /// Let transactions take FACTOR times the recorded processor time, like 3 for a slower processor
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = factor)]
    pub(super) cpu_factor: f64,
    /// Longest wait for a lock, after which a transaction restarts
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = lock_wait)]
    pub(super) lock_wait: Duration,
    /// Transactions to run before those measured: their number, or a share of the recording
    #[arg(long, value_name = "SHARE|N", default_value = "10%", value_parser = warmup)]
    pub(super) warmup: Warmup,
    /// Transactions to measure; where the recording has fewer, it begins again; default: the rest of the recording, or
    /// no limit if --time is given
    #[arg(long, value_name = "N", value_parser = positive_count)]
    pub(super) transactions: Option<u64>,
    /// Device time to measure, after which no transaction begins
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(super) time: Option<Duration>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum PaceName {
    /// When its last one has committed
    #[default]
    Closed,
    /// At its recorded time, or as soon after as a client is free; its response time counts from its recorded time
    Open,
}

/// A policy of the pool and its options.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    name: String,
    options: Vec<(String, String)>,
}

/// Length of the warm-up.
#[derive(Clone, Copy, Debug)]
pub(super) enum Warmup {
    Share(f64),
    Transactions(u64),
}

pub(super) fn clients(text: &str) -> Result<u32, String> {
    let given = positive_count(text)?;
    let within = u32::try_from(given).ok().filter(|clients| *clients <= CLIENTS_MOST);
    within.ok_or_else(|| format!("allowed: 1 to {CLIENTS_MOST}"))
}

/// Parses a factor of speed or time.
pub(super) fn factor(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|factor: &f64| factor.is_finite() && *factor > 0.0);
    factor.ok_or_else(|| "allowed: a number above 0, like 10 or 0.5".into())
}

pub(super) fn readahead(text: &str) -> Result<u64, String> {
    if text == "0" { Ok(0) } else { parse_bytes(text).map_err(|error| error.to_string()) }
}

pub(super) fn pool(text: &str) -> Result<u32, String> {
    let given = positive_count(text)?;
    let within = u32::try_from(given).ok().filter(|pages| *pages <= POOL_PAGES_MOST);
    within.ok_or_else(|| format!("allowed: 1 to {POOL_PAGES_MOST}"))
}

pub(super) fn buffer(text: &str) -> Result<Buffer, String> {
    let mut parts = text.split(',');
    let name = parts.next().unwrap_or_default().to_owned();
    let option = |part: &str| match part.split_once('=') {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err(format!("'{part}' is no option; allowed: KEY=VALUE, as in cflru-e,window=50%")),
    };
    let buffer = Buffer { name, options: parts.map(option).collect::<Result<_, _>>()? };
    // The size of the pool does not matter here.
    let shape = flashlane_policy::pool::Shape { frames: 1, pages: 1 };
    let options = flashlane_policy::Options::new(buffer.options.iter().cloned());
    let built = flashlane_policy::pool::FAMILY.build(&buffer.name, shape, &options);
    built.map(|_| buffer).map_err(|error| error.to_string())
}

pub(super) fn lock_wait(text: &str) -> Result<Duration, String> {
    time(text)
}

pub(super) fn time(text: &str) -> Result<Duration, String> {
    match parse_duration(text) {
        Ok(time) if time.is_zero() => Err("allowed: a time above 0, like 100ms".into()),
        time => time.map_err(|error| error.to_string()),
    }
}

pub(super) fn warmup(text: &str) -> Result<Warmup, String> {
    if !text.ends_with('%') {
        return parse_count(text).map(Warmup::Transactions).map_err(|error| error.to_string());
    }
    parse_share(text).map(Warmup::Share).map_err(|error| error.to_string())
}

impl PlanOptions {
    /// Makes the setup for a recording.
    pub(super) fn setup(&self, recorded: &Recorded, seed: Seed) -> Result<Setup, Failure> {
        let pace = match (self.pace, self.speed) {
            (PaceName::Closed, Some(speed)) => {
                return Err(Failure::unusable(anyhow!(
                    "--speed {speed} has no effect with --pace closed, which ignores recorded times; omit it, or use --pace \
                     open"
                )));
            }
            (PaceName::Closed, None) => Pace::Closed,
            (PaceName::Open, speed) => Pace::Open { speed: speed.unwrap_or(1.0) },
        };
        let all = recorded.survey.totals.transactions;
        let warmup = match self.warmup {
            Warmup::Share(share) => (share * all as f64) as u64,
            Warmup::Transactions(number) => number,
        };
        let transactions = match (self.transactions, self.time) {
            (None, None) if warmup >= all => {
                return Err(Failure::unusable(anyhow!(
                    "--warmup leaves none of the {all} transactions of the recording to measure: shorten it, or give \
                     --transactions, for which the recording begins again"
                )));
            }
            (None, None) => Some(all - warmup),
            (transactions, _) => transactions,
        };
        Ok(Setup {
            clients: self.clients.unwrap_or(u32::from(recorded.header.clients).min(CLIENTS_MOST)),
            pace,
            pool_pages: self.pool,
            buffer: self.buffer.name.clone(),
            buffer_options: self.buffer.options.clone(),
            readahead_bytes: self.readahead,
            processors: self.processors,
            cpu_factor: self.cpu_factor,
            lock_wait: self.lock_wait,
            warmup,
            transactions,
            time: self.time,
            seed,
        })
    }
}
