//! The kinds of faults and their rates, as plain data.

use super::ENTRY;
use crate::error::LayerError;
use crate::options::{OptionHelp, Options};
use flashlane_base::units::{parse_count, parse_duration, parse_share, typed_duration};
use flashlane_base::{Duration, Random};
use flashlane_device::{DeviceInfo, Operation};
use std::fmt;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A read fails with [`Failure::Unreadable`](flashlane_device::Failure::Unreadable).
    ReadError,
    /// A write fails with an I/O error; it may have written anything.
    WriteError,
    /// A request completes later than it should.
    Delay,
    /// A write is acknowledged but not executed.
    LostWrite,
    /// A write is acknowledged although only its beginning, a whole number of write units, was written. A write of a
    /// single unit is atomic and cannot tear.
    TornWrite,
    /// A read returns one wrong bit.
    BitFlip,
    /// A read returns the data of another offset.
    MisdirectedRead,
    /// A write goes to another offset.
    MisdirectedWrite,
}

/// Properties of a kind of fault.
pub(super) struct Kind {
    pub fault: Fault,
    /// Key of its setting.
    pub key: &'static str,
    /// The operation that it affects; `None` for all.
    pub operation: Option<Operation>,
    /// Whether it needs data.
    pub needs_bytes: bool,
    /// Name of its counter.
    pub counter: &'static str,
    pub summary: &'static str,
}

const READ: Option<Operation> = Some(Operation::Read);
const WRITE: Option<Operation> = Some(Operation::Write);

/// Every kind, in the order of [`Fault`].
#[rustfmt::skip]
pub(super) const KINDS: [Kind; 8] = [
    Kind { fault: Fault::ReadError, key: "read-errors", operation: READ, needs_bytes: false,
        counter: "injected_read_errors", summary: "reads that fail as unreadable" },
    Kind { fault: Fault::WriteError, key: "write-errors", operation: WRITE, needs_bytes: false,
        counter: "injected_write_errors", summary: "writes that fail with an I/O error" },
    Kind { fault: Fault::Delay, key: "delays", operation: None, needs_bytes: false,
        counter: "injected_delays", summary: "requests that complete late, by 'delay'" },
    Kind { fault: Fault::LostWrite, key: "lost-writes", operation: WRITE, needs_bytes: true,
        counter: "injected_lost_writes", summary: "writes that are acknowledged and never done" },
    Kind { fault: Fault::TornWrite, key: "torn-writes", operation: WRITE, needs_bytes: true,
        counter: "injected_torn_writes", summary: "acknowledged writes of which only the beginning is done" },
    Kind { fault: Fault::BitFlip, key: "bit-flips", operation: READ, needs_bytes: true,
        counter: "injected_bit_flips", summary: "reads in which one bit is wrong" },
    Kind { fault: Fault::MisdirectedRead, key: "misdirected-reads", operation: READ, needs_bytes: true,
        counter: "injected_misdirected_reads", summary: "reads that bring the bytes of another place" },
    Kind { fault: Fault::MisdirectedWrite, key: "misdirected-writes", operation: WRITE, needs_bytes: true,
        counter: "injected_misdirected_writes", summary: "writes that land in another place" },
];

/// Rate of a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Rate {
    /// Never.
    #[default]
    Never,
    /// On each request that it can affect, with this probability (0 to 1).
    Share(f64),
    /// Once: on the n-th request that it can affect, counted from 1.
    Nth(u64),
}

impl Rate {
    /// Returns whether the fault happens to the `nth` request, counted from 1.
    pub(super) fn happens(self, nth: u64, random: &mut Random) -> bool {
        match self {
            Self::Never => false,
            Self::Share(share) => random.chance(share),
            Self::Nth(n) => n == nth,
        }
    }

    /// Parses `1%` or `@1000`.
    fn parse(text: &str) -> Result<Self, String> {
        let example = "write '1%' for a share or '@1000' for the thousandth";
        match text.strip_prefix('@') {
            Some(count) => match parse_count(count) {
                Ok(0) => Err("requests are counted from 1".into()),
                Ok(n) => Ok(Self::Nth(n)),
                Err(error) => Err(format!("{error}; {example}")),
            },
            None => parse_share(text).map(Self::Share).map_err(|error| format!("{error}; {example}")),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("0%"),
            // Rounded, because binary fractions of a percent would show.
            Self::Share(share) => write!(f, "{}%", (share * 1e11).round() / 1e9),
            Self::Nth(n) => write!(f, "@{n}"),
        }
    }
}

/// The faults of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Faults {
    rates: [Rate; KINDS.len()],
    pub(super) delay: Duration,
    /// A stuck lane, and the delay of its requests.
    pub(super) stuck: Option<(u32, Duration)>,
    pub(super) vanish_after: Option<u64>,
}

/// Default delay on a stuck lane: Linux's timeout of a command (`/sys/block/*/queue/io_timeout`).
const STUCK: Duration = Duration::from_s(30);

impl Default for Faults {
    /// No faults; delays, where enabled, of 10 ms.
    fn default() -> Self {
        Self { rates: Default::default(), delay: Duration::from_ms(10), stuck: None, vanish_after: None }
    }
}

impl Faults {
    /// Sets the rate of `fault`.
    pub fn with(mut self, fault: Fault, rate: Rate) -> Self {
        self.rates[fault as usize] = rate;
        self
    }

    /// Sets the delay of delayed requests.
    pub fn late_by(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Sets a lane on which every request is delayed by `time`, like one that hangs until a reset.
    pub fn stuck(self, lane: u32, time: Duration) -> Self {
        Self { stuck: Some((lane, time)), ..self }
    }

    /// Makes the device vanish after `count` completed requests: those in flight then fail with
    /// [`Failure::DeviceLost`](flashlane_device::Failure::DeviceLost), and later ones are refused.
    pub fn vanishing_after(self, count: u64) -> Self {
        Self { vanish_after: Some(count), ..self }
    }

    /// Returns the rate of `fault`.
    pub fn rate(&self, fault: Fault) -> Rate {
        self.rates[fault as usize]
    }

    /// Returns the key of a fault that needs data, if one is enabled.
    pub(super) fn needs_bytes(&self) -> Option<&'static str> {
        KINDS
            .iter()
            .find(|kind| kind.needs_bytes && self.rate(kind.fault) != Rate::Never)
            .map(|kind| kind.key)
    }

    /// Checks that `below` has the lane that is stuck.
    ///
    /// # Errors
    /// [`LayerError::Unsuited`] where it has not.
    pub(super) fn check_lane(&self, below: &DeviceInfo) -> Result<(), LayerError> {
        let Some((lane, _)) = self.stuck.filter(|&(lane, _)| lane >= below.lanes) else { return Ok(()) };
        let lanes = match below.lanes {
            1 => "it has only lane 0".to_owned(),
            lanes => format!("it has lanes 0 to {}", lanes - 1),
        };
        let reason = format!("stuck-lane={lane}: {lanes}");
        Err(LayerError::Unsuited { layer: ENTRY.name, device: below.name.clone(), reason })
    }

    /// Reads the settings of the layer.
    pub(super) fn parse(options: &Options<'_>) -> Result<Self, LayerError> {
        let mut faults = Self::default();
        for kind in &KINDS {
            if let Some(rate) = options.read(kind.key, Rate::parse)? {
                faults = faults.with(kind.fault, rate);
            }
        }
        let delays = faults.rate(Fault::Delay);
        let delay = options.read("delay", |text| match delays {
            Rate::Never => Err("it needs 'delays', which says how often".to_owned()),
            _ => parse_duration(text).map_err(|error| error.to_string()),
        })?;
        faults.delay = delay.unwrap_or(faults.delay);
        let lane = options.read("stuck-lane", |text| {
            let lane = parse_count(text).map_err(|error| error.to_string())?;
            u32::try_from(lane).map_err(|_| "no device has so many lanes".to_owned())
        })?;
        let time = options.read("stuck-for", |text| match lane {
            None => Err("it needs 'stuck-lane', which says where".to_owned()),
            Some(_) => parse_duration(text).map_err(|error| error.to_string()),
        })?;
        faults.stuck = lane.map(|lane| (lane, time.unwrap_or(STUCK)));
        faults.vanish_after = options.read("vanish-after", parse_count)?;
        Ok(faults)
    }

    /// Returns the help texts of the settings that [`Faults::parse`] reads.
    pub(super) fn options() -> Vec<OptionHelp> {
        let rates = KINDS.iter().map(|k| OptionHelp { key: k.key, value: "SHARE|@N", summary: k.summary });
        rates
            .chain([
                OptionHelp {
                    key: "delay",
                    value: "TIME",
                    summary: "by how much a delayed request is late (10ms)",
                },
                OptionHelp {
                    key: "stuck-lane",
                    value: "LANE",
                    summary: "a lane on which every request hangs",
                },
                OptionHelp { key: "stuck-for", value: "TIME", summary: "for how long it hangs (30s)" },
                OptionHelp {
                    key: "vanish-after",
                    value: "COUNT",
                    summary: "completed requests after which the device is gone",
                },
            ])
            .collect()
    }
}

impl fmt::Display for Faults {
    /// Formats the settings for a spec, each after a comma.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for kind in &KINDS {
            match self.rate(kind.fault) {
                Rate::Never => {}
                rate => write!(f, ",{}={rate}", kind.key)?,
            }
            if kind.fault == Fault::Delay && self.rate(Fault::Delay) != Rate::Never {
                write!(f, ",delay={}", typed_duration(self.delay))?;
            }
        }
        if let Some((lane, time)) = self.stuck {
            write!(f, ",stuck-lane={lane},stuck-for={}", typed_duration(time))?;
        }
        self.vanish_after.map_or(Ok(()), |count| write!(f, ",vanish-after={count}"))
    }
}
