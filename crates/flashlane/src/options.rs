//! Options that several commands share, and parsers of their values.

use crate::device_argument::DeviceArgument;
use crate::suggest::quoted;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use flashlane_base::units::{parse_bytes, parse_count, parse_duration};
use flashlane_base::{Duration, Seed};
use flashlane_open::{AccessMode, Consent};
use flashlane_sweep::METRICS;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

/// Where and how to output a result.
#[derive(Clone, Debug, Args)]
pub struct OutputOptions {
    /// Format of the printed result
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub format: Format,
    /// Also write result.json, report.html, the plots, and the samples of a run into DIR
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Write into DIR even if it holds other files, and replace those with names of result files
    #[arg(long, requires = "out", help_heading = "Output")]
    pub force: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Human-readable text
    #[default]
    Text,
    /// JSON, described in docs/json.md
    Json,
    /// The main table as CSV
    Csv,
}

/// The repeated path of a device that looks used. A command that takes it takes `--destroy-data` too.
#[derive(Clone, Debug, Args)]
pub struct ReallyOption {
    /// Confirm, by repeating its path, that a device that looks used may be overwritten
    #[arg(long, value_name = "PATH", requires = "destroy_data", help_heading = "Real drives")]
    pub really: Option<PathBuf>,
}

/// Permissions for a real device.
#[derive(Clone, Debug, Args)]
pub struct SafetyOptions {
    /// Allow DEVICE to be overwritten; all data on it may be lost
    #[arg(long, help_heading = "Real drives")]
    pub destroy_data: bool,
    #[command(flatten)]
    pub repeated: ReallyOption,
    /// Create DEVICE first, as a new file of this size filled with random data, and allow it to be overwritten
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "Real drives")]
    pub create: Option<u64>,
    /// Measure through the page cache if the file system has no direct I/O; results then show memory, not the drive
    #[arg(long, help_heading = "Real drives")]
    pub allow_page_cache: bool,
}

impl ReallyOption {
    /// Returns the consent of a command with this option, if it has `--destroy-data` too.
    pub fn consent_to_destroy(&self) -> Consent {
        self.really.clone().map_or(Consent::Destroy, Consent::DestroyUsed)
    }
}

impl SafetyOptions {
    /// Returns what the user has agreed to lose on DEVICE.
    pub fn consent(&self) -> Consent {
        match self.create {
            Some(_) => Consent::NewFile,
            None if self.destroy_data => self.repeated.consent_to_destroy(),
            None => Consent::ReadOnly,
        }
    }

    /// Returns the options, each after a space, that allow a printed command to measure the same device again, with the
    /// `access` that it needs. A file that `--create` made exists by then.
    pub fn to_repeat(&self, access: AccessMode) -> String {
        let mut options = String::new();
        if access == AccessMode::ReadWrite {
            options += " --destroy-data";
            if let Some(path) = &self.repeated.really {
                options += &format!(" --really {}", quoted(&path.to_string_lossy()));
            }
        }
        if self.allow_page_cache {
            options += " --allow-page-cache";
        }
        options
    }
}

/// Length of the measurement.
#[derive(Clone, Copy, Debug, Args)]
pub struct EffortOptions {
    /// Measure less: faster, with less certain results
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// Measure everything: slower, with more complete results
    #[arg(long)]
    pub full: bool,
}

/// Options of sweeps.
#[derive(Clone, Debug, Args)]
pub struct SweepOptions {
    /// Measure at each value of KEY: KEY=A,B,C, KEY=A..B*FACTOR or KEY=A..B+STEP; if given more than once, at every
    /// combination
    #[arg(long = "sweep", id = "sweep", value_name = "KEY=VALUES", help_heading = "Sweeps")]
    pub keys: Vec<String>,
    /// Measurements per point, each with another seed; default: 5, or 1 if nothing is random, if the seed is swept, and
    /// for uflip
    #[arg(long, value_name = "N", help_heading = "Sweeps", requires = "sweep", value_parser = at_least_one::<NonZeroUsize>)]
    pub repeat: Option<NonZeroUsize>,
    /// Metric to compare and plot; default: mean, or iops if a depth is swept, or rw for uflip, or
    /// transactions for transactions
    #[arg(
        long = "sweep-y", id = "sweep-y", value_name = "METRIC", help_heading = "Sweeps", requires = "sweep",
        value_parser = PossibleValuesParser::new(METRICS.iter().map(|metric| metric.name))
    )]
    pub y: Option<String>,
    /// Points measured in parallel; default: the number of cores
    #[arg(long, value_name = "N", help_heading = "Sweeps", requires = "sweep", value_parser = at_least_one::<NonZeroUsize>)]
    pub jobs: Option<NonZeroUsize>,
}

/// Parses a number of at least 1.
pub fn at_least_one<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "allowed: a whole number, at least 1".to_owned())
}

/// Parses a count: `20`, `20k`.
pub fn count(text: &str) -> Result<u64, String> {
    parse_count(text).map_err(|error| error.to_string())
}

/// Parses a count of at least 1: `1`, `32`, `100k`.
pub fn positive_count(text: &str) -> Result<u64, String> {
    match count(text)? {
        0 => Err("allowed: at least 1".into()),
        some => Ok(some),
    }
}

/// Parses a time above 0.
pub fn positive_time(text: &str) -> Result<Duration, String> {
    match parse_duration(text).map_err(|error| error.to_string())? {
        Duration::ZERO => Err("allowed: a time above 0".into()),
        some => Ok(some),
    }
}

/// Parses an address to listen on.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "allowed: a numeric address and a port, like 127.0.0.1:6379 or [::1]:6379; port 0 chooses a free one".to_owned()
    })
}

/// Parses a seed.
pub fn seed(text: &str) -> Result<Seed, String> {
    text.parse().map(Seed).map_err(|_| "allowed: a whole number from 0 to 18446744073709551615".to_owned())
}

/// A selection of the devices of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceDevice {
    /// The device with this number.
    Number(u32),
    /// All devices, laid side by side.
    All,
}

/// Parses a selection of the devices of a trace.
pub fn device_of_trace(text: &str) -> Result<TraceDevice, String> {
    let reason = || {
        format!(
            "allowed: a device number in decimal, from 0 to {}, as listed by 'flashlane trace info', or 'all'",
            u32::MAX
        )
    };
    if text == "all" {
        return Ok(TraceDevice::All);
    }
    text.parse().map(TraceDevice::Number).map_err(|_| reason())
}

/// Parses a device spec.
pub fn device(text: &str) -> Result<DeviceArgument, String> {
    text.parse().map(DeviceArgument::new).map_err(|error: flashlane_device::spec::SpecError| {
        format!("at character {}: {}", error.position + 1, error.reason)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_command_has_the_permissions_it_needs() {
        let mut safety = SafetyOptions {
            destroy_data: false,
            repeated: ReallyOption { really: None },
            create: Some(1 << 20),
            allow_page_cache: false,
        };
        let repeated = |safety: &SafetyOptions| {
            [AccessMode::ReadOnly, AccessMode::ReadWrite].map(|access| safety.to_repeat(access))
        };
        assert_eq!(repeated(&safety), ["", " --destroy-data"]);
        safety = SafetyOptions { destroy_data: true, create: None, allow_page_cache: true, ..safety };
        safety.repeated.really = Some("/dev/my disk".into());
        let all = " --destroy-data --really \"/dev/my disk\" --allow-page-cache";
        assert_eq!(repeated(&safety), [" --allow-page-cache", all]);
    }

    #[test]
    fn consent_is_no_more_than_the_options_say() {
        let consent = |destroy_data: bool, really: Option<&str>, create: Option<u64>| {
            let repeated = ReallyOption { really: really.map(PathBuf::from) };
            SafetyOptions { destroy_data, repeated, create, allow_page_cache: false }.consent()
        };
        assert_eq!(consent(false, None, None), Consent::ReadOnly);
        assert_eq!(consent(true, None, None), Consent::Destroy);
        assert_eq!(consent(true, Some("/dev/sdb"), None), Consent::DestroyUsed("/dev/sdb".into()));
        assert_eq!(consent(false, None, Some(1 << 20)), Consent::NewFile);
        // The file is new, whatever else may be lost.
        assert_eq!(consent(true, Some("/dev/sdb"), Some(1 << 20)), Consent::NewFile);
    }
}
