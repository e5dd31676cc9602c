//! The keys of a workload, each with its meaning and the parser of its value.

use super::draft::{Draft, Numbered};
use crate::{Arrivals, Distribution, Precondition};
use flashlane_base::units::{Quantity, UnitError, parse_bytes, parse_count, parse_duration, parse_share};
use flashlane_base::{Duration, Seed};

/// Whether a key belongs to a job or to the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One job: in a job file, inside `[[job]]`.
    Job,
    /// The whole run: in a job file, before the first `[[job]]`.
    Run,
}

/// A key of the written forms.
pub struct Key {
    /// Name in the written forms.
    pub name: &'static str,
    /// Job or run.
    pub scope: Scope,
    /// Its meaning and default, for help texts.
    pub meaning: &'static str,
    /// An example of a value.
    pub example: &'static str,
    /// Quantity of its numbers; `None` where it takes words.
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

    /// Returns whether it is a flag: true or false, and true without a value.
    pub fn is_flag(&self) -> bool {
        self.example == FLAG
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
const FLAG: &str = "true";

/// All keys; flags ([`Key::is_flag`]) need no value.
pub const KEYS: &[Key] = &[
    Key::job("size", SIZE, "4k", "bytes per access; 4k unless given", |d, v| {
        set(&mut d.size_bytes, bytes(v))
    }),
    Key::job("depth", COUNT, "32", "accesses in flight per job; 1 unless given", |d, v| {
        set(&mut d.depth, count(v, DEPTH_MAX))
    }),
    Key::job("jobs", COUNT, "4", "number of equal jobs, each in its own area; 1 unless given", |d, v| {
        set(&mut d.jobs, count(v, JOBS_MAX))
    }),
    Key::job("shared", None, FLAG, "the equal jobs share one area", |d, v| set(&mut d.shared, yes_or_no(v))),
    Key::job(
        "area",
        SIZE,
        "1GiB",
        "length of the part that a job accesses; to the device's end unless given",
        |d, v| set(&mut d.area_bytes, bytes(v)),
    ),
    Key::job("offset", SIZE, "0", "where the (first) area begins; 0 unless given", |d, v| {
        set(&mut d.offset_bytes, any_bytes(v))
    }),
    Key::job(
        "shift",
        SIZE,
        "512B",
        "added to the offset of every access, at most the size; 0 unless given",
        |d, v| set(&mut d.shift_bytes, any_bytes(v)),
    ),
    Key::job(
        "incr",
        COUNT,
        "-1",
        "ordered: from one access to the next, in accesses; -1 goes backwards, 0 stays in place",
        |d, v| set(&mut d.incr, signed(v, parse_count)),
    ),
    Key::job("stride", SIZE, "1MiB", "ordered: the same distance as a size, from start to start", |d, v| {
        set(&mut d.stride_bytes, signed(v, parse_bytes))
    }),
    Key::job("partitions", COUNT, "8", "partitioned: number of parts of the area", |d, v| {
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
        "accesses between two pauses, counted for each one in flight; 1 unless given",
        |d, v| set(&mut d.burst, count(v, u32::MAX.into())),
    ),
    Key::job(
        "turns",
        COUNT,
        "4",
        "jobs with this key share one stream: this number of accesses of one job, then the next job's, and around",
        |d, v| set(&mut d.turns, count(v, u32::MAX.into())),
    ),
    Key::job(
        "reads",
        SHARE,
        "70%",
        "share of reads among writes or trims; 70% for mixed, else 0%",
        |d, v| set(&mut d.reads, share(v)),
    ),
    Key::job(
        "zipf",
        COUNT,
        "0.99",
        "random: the k-th most frequent position is visited k^-zipf as often as the first",
        |d, v| set(&mut d.zipf, exponent(v)),
    ),
    Key::job(
        "pareto",
        SHARE,
        "20%",
        "random: this share of the space gets the rest of the accesses (20%: 80%), and within it again",
        |d, v| set(&mut d.pareto, part(v)),
    ),
    Key::job(
        "hotspot",
        None,
        "20%:80%",
        "random: this share of the space gets this share of the accesses",
        |d, v| set(&mut d.hotspot, hotspot(v)),
    ),
    Key::job(
        "scatter",
        None,
        FLAG,
        "with zipf, pareto or hotspot: frequent positions are scattered over the area, not at its beginning; true \
        unless given, false for hotspot",
        |d, v| set(&mut d.scatter, yes_or_no(v)),
    ),
    Key::job(
        "rate",
        None,
        "1000/s",
        "accesses arrive at this rate, at most 'depth' in flight (256 unless given); latency counts from the arrival",
        |d, v| set(&mut d.rate, rate(v)),
    ),
    Key::job("arrivals", None, "poisson", "with rate: constant or poisson; constant unless given", |d, v| {
        set(&mut d.arrivals, arrivals(v))
    }),
    Key::job("fsync", COUNT, "1", "writes between two flushes; no flush unless given", |d, v| {
        set(&mut d.fsync, count(v, u32::MAX.into()))
    }),
    Key::job("fua", None, FLAG, "writes complete when they are on flash (force unit access)", |d, v| {
        set(&mut d.fua, yes_or_no(v))
    }),
    Key::job(
        "accesses",
        COUNT,
        "10k",
        "the job ends after this number of accesses; with the run unless given",
        |d, v| set(&mut d.accesses, count(v, u64::MAX)),
    ),
    Key::job(
        "queue",
        None,
        "1",
        "submission queue of a device with several, from 0; 'each' gives each of equal jobs its own, in their order; 0 \
         unless given",
        |d, v| set(&mut d.queue, queue(v)),
    ),
    Key::job(
        "placement",
        None,
        "1",
        "placement handle of the writes, on a device with several (FDP), from 0; 'each' gives each of equal jobs its \
         own, in their order; 0 unless given",
        |d, v| set(&mut d.placement, handle(v)),
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
    Key::run(
        "precondition",
        None,
        "steady",
        "before measuring, write twice the capacity, then as the workload does until SNIA's rule holds; \
         mixed:1GiB instead writes that much at random in requests of 4 KiB to 256 KiB",
        |d, v| set(&mut d.precondition, precondition(v)),
    ),
    Key::run(
        "verify",
        None,
        FLAG,
        "writes carry a header that reads check; all is read back at the end. For devices that keep bytes",
        |d, v| set(&mut d.verify, yes_or_no(v)),
    ),
];

/// Bounds, so that a typing error does not exhaust memory.
const DEPTH_MAX: u64 = 1 << 16;
pub(super) const JOBS_MAX: u64 = 1 << 10;
/// One access in eleven days, and one per nanosecond, the resolution of the clock.
const RATE_MIN: f64 = 1e-6;
const RATE_MAX: f64 = 1e9;

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

/// Parses the number of a submission queue, or `each`.
fn queue(value: &str) -> Result<Numbered, String> {
    numbered(value, "queue")
}

/// Parses the number of a placement handle, or `each`.
fn handle(value: &str) -> Result<Numbered, String> {
    numbered(value, "placement handle")
}

/// Parses the number of one of the device's parts called `part`, or `each`.
fn numbered(value: &str, part: &str) -> Result<Numbered, String> {
    match value {
        "each" => Ok(Numbered::Each),
        _ => value.parse().map(Numbered::Number).map_err(|_| {
            let parts = part.rsplit(' ').next().unwrap_or(part);
            format!("'{value}' is no {part}: the number of one, from 0, or 'each' for as many {parts}s as equal jobs")
        }),
    }
}

/// Parses a number that may be negative.
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

/// Parses a pause of at most a day: the clock of 64-bit nanoseconds holds two hundred thousand of those.
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
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(format!("'{value}' is neither 'true' nor 'false'")),
    }
}

fn exponent(value: &str) -> Result<f64, String> {
    // Not a count: exponents are fractions, and have no unit.
    let number = value.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(|| {
        format!("'{value}' is not an exponent: a number above 0 and at most 10, as in 0.99")
    })?;
    checked(Distribution::Zipf { exponent: number }, value).map(|_| number)
}

fn hotspot(value: &str) -> Result<(f64, f64), String> {
    let (space, accesses) = value
        .split_once(':')
        .ok_or_else(|| format!("'{value}' is not SPACE:ACCESSES, two shares as in 20%:80%"))?;
    let (space, accesses) = (share(space)?, share(accesses)?);
    checked(Distribution::Hotspot { space, accesses }, value).map(|_| (space, accesses))
}

fn checked(distribution: Distribution, value: &str) -> Result<Distribution, String> {
    distribution
        .unfit()
        .map_or(Ok(distribution), |allowed| Err(format!("'{value}' is not allowed: {allowed}")))
}

/// Parses a rate of accesses per second.
fn rate(value: &str) -> Result<f64, String> {
    let example = "a number of accesses a second, as in 1000/s or 50k/s";
    let number = value.strip_suffix("/s").ok_or_else(|| format!("'{value}' is not a rate: {example}"))?;
    match Quantity::Count.parse(number).map_err(text)? {
        rate if (RATE_MIN..=RATE_MAX).contains(&rate) => Ok(rate),
        _ => Err(format!("'{value}' is not a rate: from {RATE_MIN}/s to {RATE_MAX}/s")),
    }
}

fn arrivals(value: &str) -> Result<Arrivals, String> {
    match value {
        "constant" => Ok(Arrivals::Constant),
        "poisson" => Ok(Arrivals::Poisson),
        _ => Err(format!("'{value}' is neither 'constant' nor 'poisson'")),
    }
}

fn precondition(value: &str) -> Result<Option<Precondition>, String> {
    match value {
        "steady" => Ok(Some(Precondition::Steady)),
        "none" => Ok(None),
        _ => match value.strip_prefix("mixed:").map(parse_bytes) {
            Some(Ok(bytes @ 1..)) => Ok(Some(Precondition::Mixed { bytes })),
            Some(Ok(0)) => Err("'mixed:0' writes nothing: a size above 0, as in mixed:1GiB".into()),
            Some(Err(error)) => Err(text(error)),
            None => Err(format!("'{value}' is neither 'steady' nor 'mixed:SIZE' nor 'none'")),
        },
    }
}

fn seed(value: &str) -> Result<Seed, String> {
    // Not a count: counts are parsed as floats, which do not keep all 64 bits of a seed.
    let number =
        value.trim().parse().map_err(|_| format!("'{value}' is no seed: a whole number below 2^64"))?;
    Ok(Seed(number))
}
