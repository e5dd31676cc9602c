//! Which faults there are and how often each happens: plain data.

use crate::options::{LayerError, OptionHelp, Options};
use flashlane_base::units::{parse_count, parse_duration, parse_share, typed_duration};
use flashlane_base::{Duration, Random};
use flashlane_device::Operation;
use std::fmt;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A read fails with [`Failure::Unreadable`](flashlane_device::Failure::Unreadable).
    ReadError,
    /// A write fails with an I/O error; what it wrote is unspecified.
    WriteError,
    /// A request completes later than it should.
    Delay,
    /// A write is acknowledged and never done.
    LostWrite,
    /// A write is acknowledged when only its beginning was done, a whole number of write units. A write of a
    /// single unit is atomic and cannot tear.
    TornWrite,
    /// One bit of what is read is wrong.
    BitFlip,
    /// A read brings the bytes of another place.
    MisdirectedRead,
    /// A write lands in another place.
    MisdirectedWrite,
}

/// What is known of a kind of fault.
pub(super) struct Kind {
    pub fault: Fault,
    /// The setting that asks for it.
    pub key: &'static str,
    /// The operation it strikes; `None` for all.
    pub strikes: Option<Operation>,
    /// Whether it is about bytes.
    pub needs_bytes: bool,
    /// What it is counted under.
    pub counter: &'static str,
    pub summary: &'static str,
}

const READ: Option<Operation> = Some(Operation::Read);
const WRITE: Option<Operation> = Some(Operation::Write);

/// Every kind, in the order of [`Fault`].
#[rustfmt::skip]
pub(super) const KINDS: [Kind; 8] = [
    Kind { fault: Fault::ReadError, key: "read-errors", strikes: READ, needs_bytes: false,
        counter: "injected_read_errors", summary: "reads that fail as unreadable" },
    Kind { fault: Fault::WriteError, key: "write-errors", strikes: WRITE, needs_bytes: false,
        counter: "injected_write_errors", summary: "writes that fail with an I/O error" },
    Kind { fault: Fault::Delay, key: "delays", strikes: None, needs_bytes: false,
        counter: "injected_delays", summary: "requests that complete late, by 'delay'" },
    Kind { fault: Fault::LostWrite, key: "lost-writes", strikes: WRITE, needs_bytes: true,
        counter: "injected_lost_writes", summary: "writes that are acknowledged and never done" },
    Kind { fault: Fault::TornWrite, key: "torn-writes", strikes: WRITE, needs_bytes: true,
        counter: "injected_torn_writes", summary: "acknowledged writes of which only the beginning is done" },
    Kind { fault: Fault::BitFlip, key: "bit-flips", strikes: READ, needs_bytes: true,
        counter: "injected_bit_flips", summary: "reads in which one bit is wrong" },
    Kind { fault: Fault::MisdirectedRead, key: "misdirected-reads", strikes: READ, needs_bytes: true,
        counter: "injected_misdirected_reads", summary: "reads that bring the bytes of another place" },
    Kind { fault: Fault::MisdirectedWrite, key: "misdirected-writes", strikes: WRITE, needs_bytes: true,
        counter: "injected_misdirected_writes", summary: "writes that land in another place" },
];

/// How often a fault happens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Rate {
    /// Never.
    #[default]
    Never,
    /// To each request that it can strike, with this probability (0 to 1).
    Share(f64),
    /// Once: to the n-th request that it can strike, counted from 1.
    Nth(u64),
}

impl Rate {
    /// Whether it happens to the `nth` request, counted from 1.
    pub(super) fn happens(self, nth: u64, random: &mut Random) -> bool {
        match self {
            Self::Never => false,
            Self::Share(share) => random.chance(share),
            Self::Nth(n) => n == nth,
        }
    }

    /// Reads `1%` or `@1000`.
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
            // Rounded where binary fractions of a percent would show.
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
    /// A lane that is stuck, and for how long requests on it are.
    pub(super) stuck: Option<(u32, Duration)>,
    pub(super) vanish_after: Option<u64>,
}

/// As long as Linux waits before it gives a command up (`/sys/block/*/queue/io_timeout`), unless said otherwise.
const STUCK: Duration = Duration::from_s(30);

impl Default for Faults {
    /// None; a delay, where one is asked for, is 10 ms.
    fn default() -> Self {
        Self { rates: Default::default(), delay: Duration::from_ms(10), stuck: None, vanish_after: None }
    }
}

impl Faults {
    /// These, and `fault` as often as `rate` says.
    pub fn with(mut self, fault: Fault, rate: Rate) -> Self {
        self.rates[fault as usize] = rate;
        self
    }

    /// These, with delayed requests late by `delay`.
    pub fn late_by(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// These, with a lane on which every request completes late by `time`: as one that hangs until it is reset.
    pub fn stuck(self, lane: u32, time: Duration) -> Self {
        Self { stuck: Some((lane, time)), ..self }
    }

    /// These, with a device that vanishes once `count` requests have completed: those in flight then fail with
    /// [`Failure::DeviceLost`](flashlane_device::Failure::DeviceLost), and every later one is refused.
    pub fn vanishing_after(self, count: u64) -> Self {
        Self { vanish_after: Some(count), ..self }
    }

    /// How often `fault` happens.
    pub fn rate(&self, fault: Fault) -> Rate {
        self.rates[fault as usize]
    }

    /// The key of a fault that is about bytes, if there is one.
    pub(super) fn needs_bytes(&self) -> Option<&'static str> {
        KINDS
            .iter()
            .find(|kind| kind.needs_bytes && self.rate(kind.fault) != Rate::Never)
            .map(|kind| kind.key)
    }

    /// Reads a layer's settings.
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
        let lane = options.read("stuck-lane", parse_count)?;
        let time = options.read("stuck-for", |text| match lane {
            None => Err("it needs 'stuck-lane', which says where".to_owned()),
            Some(_) => parse_duration(text).map_err(|error| error.to_string()),
        })?;
        // A lane beyond the device's is one that nobody uses.
        let lane = lane.map(|lane| u32::try_from(lane).unwrap_or(u32::MAX));
        faults.stuck = lane.map(|lane| (lane, time.unwrap_or(STUCK)));
        faults.vanish_after = options.read("vanish-after", parse_count)?;
        Ok(faults)
    }

    /// The settings that [`Faults::parse`] reads.
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
    /// As settings of a spec, each after a comma.
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
