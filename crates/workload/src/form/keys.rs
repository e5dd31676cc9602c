//! The keys of a workload, each with its meaning and the one place where its value is read.

use super::draft::Draft;
use flashlane_base::units::{Quantity, UnitError, parse_bytes, parse_count, parse_duration, parse_share};
use flashlane_base::{Duration, Seed};

/// What a key belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One job: in a job file, inside `[[job]]`.
    Job,
    /// The whole run: in a job file, before the first `[[job]]`.
    Run,
}

/// A key of the written forms.
pub struct Key {
    /// How it is written.
    pub name: &'static str,
    /// What it belongs to.
    pub scope: Scope,
    /// What it sets, for help texts; with its default.
    pub meaning: &'static str,
    /// A value that would do.
    pub example: &'static str,
    /// What its numbers are of; `None` where it takes words.
    pub quantity: Option<Quantity>,
    pub(super) set: fn(&mut Draft, &str) -> Result<(), String>,
}

impl Key {
    const fn job(
        name: &'static str,
        quantity: Option<Quantity>,
        example: &'static str,
        meaning: &'static str,
        set: fn(&mut Draft, &str) -> Result<(), String>,
    ) -> Self {
        Self { name, scope: Scope::Job, meaning, example, quantity, set }
    }

    const fn run(
        name: &'static str,
        quantity: Option<Quantity>,
        example: &'static str,
        meaning: &'static str,
        set: fn(&mut Draft, &str) -> Result<(), String>,
    ) -> Self {
        Self { name, scope: Scope::Run, meaning, example, quantity, set }
    }
}

const SIZE: Option<Quantity> = Some(Quantity::Size);
const TIME: Option<Quantity> = Some(Quantity::Time);
const SHARE: Option<Quantity> = Some(Quantity::Share);
const COUNT: Option<Quantity> = Some(Quantity::Count);

/// All keys. `shared` is the one that may stand without a value.
pub const KEYS: &[Key] = &[
    Key::job("size", SIZE, "4k", "bytes an access; 4k unless given", |d, v| set(&mut d.size_bytes, bytes(v))),
    Key::job("depth", COUNT, "32", "accesses in flight at a time, each job; 1 unless given", |d, v| {
        set(&mut d.depth, count(v, DEPTH_MAX))
    }),
    Key::job(
        "jobs",
        COUNT,
        "4",
        "like jobs side by side, each in an area of its own; 1 unless given",
        |d, v| set(&mut d.jobs, count(v, JOBS_MAX)),
    ),
    Key::job("shared", None, "true", "the like jobs share one area", |d, v| set(&mut d.shared, yes_or_no(v))),
    Key::job(
        "area",
        SIZE,
        "1GiB",
        "length of the part a job keeps to; to the device's end unless given",
        |d, v| set(&mut d.area_bytes, bytes(v)),
    ),
    Key::job("offset", SIZE, "0", "where the (first) area begins; 0 unless given", |d, v| {
        set(&mut d.offset_bytes, any_bytes(v))
    }),
    Key::job(
        "shift",
        SIZE,
        "512B",
        "every access starts this far behind its place, at most the size; 0 unless given",
        |d, v| set(&mut d.shift_bytes, any_bytes(v)),
    ),
    Key::job(
        "incr",
        COUNT,
        "-1",
        "ordered: from one access to the next, in accesses; -1 goes backwards, 0 stays in place",
        |d, v| set(&mut d.incr, signed(v, parse_count)),
    ),
    Key::job("stride", SIZE, "1MiB", "ordered: the same as a size, from start to start", |d, v| {
        set(&mut d.stride_bytes, signed(v, parse_bytes))
    }),
    Key::job("partitions", COUNT, "8", "partitioned: how many parts the area has", |d, v| {
        set(&mut d.partitions, count(v, u64::MAX))
    }),
    Key::job(
        "align",
        SIZE,
        "4k",
        "random, permutation: starts are multiples of this; the size unless given",
        |d, v| set(&mut d.align_bytes, bytes(v)),
    ),
    Key::job(
        "think",
        TIME,
        "100us",
        "pause between a completion and the next access; none unless given",
        |d, v| set(&mut d.think, pause(v)),
    ),
    Key::job(
        "burst",
        COUNT,
        "10",
        "the pause comes only after so many accesses, those of each in flight by themselves; 1 unless given",
        |d, v| set(&mut d.burst, count(v, u32::MAX.into())),
    ),
    Key::job(
        "turns",
        COUNT,
        "4",
        "jobs that have this share one stream: so many accesses of this one, then the next one's, and around",
        |d, v| set(&mut d.turns, count(v, u32::MAX.into())),
    ),
    Key::job(
        "reads",
        SHARE,
        "70%",
        "share of reads among writes or trims; 70% for mixed, else 0%",
        |d, v| set(&mut d.reads, share(v)),
    ),
    Key::run("requests", COUNT, "1M", "stop after this many; 100k unless another stop is given", |d, v| {
        set(&mut d.requests, count(v, u64::MAX))
    }),
    Key::run("time", TIME, "30s", "stop after this much device time", |d, v| set(&mut d.time, time(v))),
    Key::run(
        "confidence",
        SHARE,
        "1%",
        "stop when the 95% confidence interval of the mean latency is within this share of it, to each side; \
         alone, it gives up after 10M requests",
        |d, v| set(&mut d.confidence, part(v)),
    ),
    Key::run("warmup", COUNT, "10k", "completions to ignore before measuring; none unless given", |d, v| {
        set(&mut d.warmup, parse_count(v).map_err(text))
    }),
    Key::run("seed", COUNT, "7", "root of all randomness; 0 unless given", |d, v| set(&mut d.seed, seed(v))),
];

/// Bounds that only keep a slip of the pen from exhausting memory.
const DEPTH_MAX: u64 = 1 << 16;
pub(super) const JOBS_MAX: u64 = 1 << 10;

fn set<T>(field: &mut Option<T>, value: Result<T, String>) -> Result<(), String> {
    *field = Some(value?);
    Ok(())
}

fn text(error: UnitError) -> String {
    error.to_string()
}

fn any_bytes(value: &str) -> Result<u64, String> {
    parse_bytes(value).map_err(text)
}

fn bytes(value: &str) -> Result<u64, String> {
    match any_bytes(value)? {
        0 => Err(format!("'{value}' is no size here: at least one byte")),
        bytes => Ok(bytes),
    }
}

fn count(value: &str, most: u64) -> Result<u64, String> {
    match parse_count(value).map_err(text)? {
        0 => Err(format!("'{value}' is too few: at least 1")),
        n if n > most => Err(format!("'{value}' is too many: at most {most}")),
        n => Ok(n),
    }
}

/// A number that may go backwards.
fn signed(value: &str, parse: fn(&str) -> Result<u64, UnitError>) -> Result<i64, String> {
    let (sign, digits) = value.strip_prefix('-').map_or((1, value), |digits| (-1, digits));
    let number = i64::try_from(parse(digits).map_err(text)?);
    number.map(|number| sign * number).map_err(|_| format!("'{value}' is too far: less than 2^63"))
}

fn any_time(value: &str) -> Result<Duration, String> {
    parse_duration(value).map_err(text)
}

fn time(value: &str) -> Result<Duration, String> {
    match any_time(value)? {
        Duration::ZERO => Err(format!("'{value}' is no time to run for: more than zero")),
        time => Ok(time),
    }
}

/// A pause of at most a day: a clock of 64-bit nanoseconds holds two hundred thousand of those.
fn pause(value: &str) -> Result<Duration, String> {
    match any_time(value)? {
        time if time > Duration::from_s(86_400) => Err(format!("'{value}' is too long a pause: at most 24h")),
        time => Ok(time),
    }
}

fn share(value: &str) -> Result<f64, String> {
    parse_share(value).map_err(text)
}

fn part(value: &str) -> Result<f64, String> {
    match share(value)? {
        share if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err(format!("'{value}' is no interval: above 0% and below 100%")),
    }
}

fn yes_or_no(value: &str) -> Result<bool, String> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("'{value}' is neither 'true' nor 'false'")),
    }
}

fn seed(value: &str) -> Result<Seed, String> {
    // Not a count: a seed uses all 64 bits, which a count read through a float would not keep.
    let number =
        value.trim().parse().map_err(|_| format!("'{value}' is no seed: a whole number below 2^64"))?;
    Ok(Seed(number))
}
