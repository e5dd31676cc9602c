//! The options that several commands share, and how their values are read.

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use flashlane_base::Seed;
use flashlane_base::units::{parse_bytes, parse_count};
use flashlane_device::spec::Spec;
use flashlane_sweep::METRICS;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

/// How a result is shown and kept.
#[derive(Clone, Debug, Args)]
pub struct OutputOptions {
    /// How the result is printed
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub format: Format,
    /// Also write result.json, report.html, the plots, and the samples of a run into DIR
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Write into a DIR that holds other files, and replace those of a result's names
    #[arg(long, requires = "out", help_heading = "Output")]
    pub force: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Text,
    /// For programs: docs/json.md
    Json,
    /// The main table
    Csv,
}

/// The path of a device that looks used, repeated. Whoever takes it has `--destroy-data` too.
#[derive(Clone, Debug, Args)]
pub struct ReallyOption {
    /// Repeat the path of a device that looks used, to overwrite it all the same
    #[arg(long, value_name = "PATH", requires = "destroy_data", help_heading = "Real drives")]
    pub really: Option<PathBuf>,
}

/// How a real device may be used.
#[derive(Clone, Debug, Args)]
pub struct SafetyOptions {
    /// Allow DEVICE to be overwritten: all that is on it may be lost
    #[arg(long, help_heading = "Real drives")]
    pub destroy_data: bool,
    #[command(flatten)]
    pub repeated: ReallyOption,
    /// Make DEVICE first: a new file of this size, filled with random data, which may be overwritten
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "Real drives")]
    pub create: Option<u64>,
    /// Measure even where the file system has no direct I/O (and thus memory rather than the drive)
    #[arg(long, help_heading = "Real drives")]
    pub allow_page_cache: bool,
}

/// How long to take.
#[derive(Clone, Copy, Debug, Args)]
pub struct EffortOptions {
    /// A first look: less time, less certainty
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// All that can be found out: more time
    #[arg(long)]
    pub full: bool,
}

/// The same for many settings.
#[derive(Clone, Debug, Args)]
pub struct SweepOptions {
    /// Do it for each of several values: KEY=A,B,C or KEY=A..B*FACTOR or KEY=A..B+STEP; every combination where it is
    /// given more than once
    #[arg(long = "sweep", id = "sweep", value_name = "KEY=VALUES", help_heading = "Sweeps")]
    pub keys: Vec<String>,
    /// Measure each point N times, each time under another seed, and compare the points over these: 5 times unless
    /// given, once where nothing is random, where the seed is swept, and of uflip
    #[arg(long, value_name = "N", help_heading = "Sweeps", requires = "sweep", value_parser = at_least_one::<NonZeroUsize>)]
    pub repeat: Option<NonZeroUsize>,
    /// What points are compared by and the plot shows: the mean latency, of a swept depth the requests a second, of
    /// uflip the random writes, unless given
    #[arg(
        long = "sweep-y", id = "sweep-y", value_name = "METRIC", help_heading = "Sweeps", requires = "sweep",
        value_parser = PossibleValuesParser::new(METRICS.iter().map(|metric| metric.name))
    )]
    pub y: Option<String>,
    /// Points of a sweep measured at a time: as many as there are cores, unless given
    #[arg(long, value_name = "N", help_heading = "Sweeps", requires = "sweep", value_parser = at_least_one::<NonZeroUsize>)]
    pub jobs: Option<NonZeroUsize>,
}

/// A number of things that cannot be none, as it is typed.
pub fn at_least_one<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "allowed: a whole number, at least 1".to_owned())
}

/// How many of something, of which there must be one: `1`, `32`, `100k`.
pub fn positive_count(text: &str) -> Result<u64, String> {
    match parse_count(text) {
        Ok(0) => Err("allowed: at least 1".into()),
        count => count.map_err(|error| error.to_string()),
    }
}

/// A seed as it is typed.
pub fn seed(text: &str) -> Result<Seed, String> {
    text.parse().map(Seed).map_err(|_| "a seed is a whole number from 0 to 18446744073709551615".to_owned())
}

/// Which devices of a trace are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceDevice {
    /// The one of this number.
    Number(u32),
    /// All, laid side by side.
    All,
}

/// A device of a trace as it is typed.
pub fn device_of_trace(text: &str) -> Result<TraceDevice, String> {
    let reason = || {
        format!(
            "allowed: its number in decimal, from 0 to {}, as 'flashlane trace info' lists them; or 'all', which lays \
             them side by side",
            u32::MAX
        )
    };
    if text == "all" {
        return Ok(TraceDevice::All);
    }
    text.parse().map(TraceDevice::Number).map_err(|_| reason())
}

/// A device as it is typed.
pub fn device(text: &str) -> Result<Spec, String> {
    text.parse().map_err(|error: flashlane_device::spec::SpecError| {
        format!("at character {}: {}", error.position + 1, error.reason)
    })
}
