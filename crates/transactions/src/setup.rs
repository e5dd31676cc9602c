//! How transactions are run, and what must fit.

use crate::recording::{Header, Refused};
use flashlane_base::units::exact_bytes;
use flashlane_base::{Duration, Seed};
use flashlane_device::DeviceInfo;
use flashlane_policy::pool::{FAMILY, Replacement, Shape};
use flashlane_policy::{OptionError, Options};

/// Most clients.
pub const CLIENTS_MOST: u32 = 1024;
/// Most pages of the pool.
pub const POOL_PAGES_MOST: u32 = 1 << 30;
/// Largest factor of processor time: then a day is 3,000 years, which the clock still counts.
pub const CPU_FACTOR_MOST: f64 = 1e6;
/// Most pages of a window of readahead.
const READAHEAD_PAGES_MOST: u64 = 1 << 14;

/// When a client begins its next transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Pace {
    /// When its last one has committed: a closed loop without think time.
    #[default]
    Closed,
    /// At the recorded time, `speed` times as fast as recorded. A transaction for which no client is free then begins
    /// as soon as one is, and its response time counts from the recorded time.
    Open {
        /// Above zero; 1 is as recorded.
        speed: f64,
    },
}

impl Pace {
    /// The pace's name, as `flashlane transactions --pace` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open { .. } => "open",
        }
    }

    /// The factor by which recorded times are shortened; `None` where they are ignored.
    pub fn speed(self) -> Option<f64> {
        match self {
            Self::Closed => None,
            Self::Open { speed } => Some(speed),
        }
    }

    /// Checks the speed.
    ///
    /// # Errors
    /// [`Refused`] with the value given and the allowed ones.
    pub fn check(self) -> Result<(), Refused> {
        match self {
            Self::Open { speed } if !(speed.is_finite() && speed > 0.0) => {
                Err(Refused::new("the speed", speed, "a number above 0, where 1 is as recorded"))
            }
            _ => Ok(()),
        }
    }
}

/// How transactions are run.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Clients, each of which runs one transaction after another: 1 to [`CLIENTS_MOST`].
    pub clients: u32,
    /// When they begin a transaction.
    pub pace: Pace,
    /// Pages of the buffer pool: at least one for each client and those of its readahead, and at most
    /// [`POOL_PAGES_MOST`].
    pub pool_pages: u32,
    /// Replacement policy of the pool: a name of [`flashlane_policy::pool::REGISTRY`].
    pub buffer: String,
    /// Options of this policy.
    pub buffer_options: Vec<(String, String)>,
    /// The largest window of the operating system's readahead: two pages at least, or 0 for none.
    pub readahead_bytes: u64,
    /// Processors that the clients share; `None` for one each.
    pub processors: Option<u32>,
    /// Processor time of a transaction, in times of what was recorded; above 0, at most [`CPU_FACTOR_MOST`].
    pub cpu_factor: f64,
    /// Longest wait for a lock, above zero: then the transaction restarts, unless it is the oldest.
    pub lock_wait: Duration,
    /// Transactions that are not measured, before those that are.
    pub warmup: u64,
    /// Transactions measured; `None` for all that there are.
    pub transactions: Option<u64>,
    /// Device time after which no further transaction begins, from the end of the warm-up.
    pub time: Option<Duration>,
    /// Seed with which the device was opened, for the result; the clients use no randomness.
    pub seed: Seed,
}

impl Default for Setup {
    /// he14's: ten clients without think time, a processor each, 1024 pages, least recently used, without readahead; a
    /// lock is waited for a second.
    fn default() -> Self {
        Self {
            clients: 10,
            pace: Pace::Closed,
            pool_pages: 1024,
            buffer: "lru".into(),
            buffer_options: Vec::new(),
            readahead_bytes: 0,
            processors: None,
            cpu_factor: 1.0,
            lock_wait: Duration::from_s(1),
            warmup: 0,
            transactions: None,
            time: None,
            seed: Seed(0),
        }
    }
}

/// Transactions cannot be run this way; no request was submitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// A number is out of range, or does not fit the device.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The policy of the pool is refused.
    #[error(transparent)]
    Buffer(#[from] OptionError),
}

impl Setup {
    /// Checks the setup for a recording, and its fit to a device.
    ///
    /// # Errors
    /// [`Unfit`] with the number, the value given, and the allowed ones.
    pub fn check(&self, header: &Header, info: &DeviceInfo) -> Result<(), Unfit> {
        self.check_numbers()?;
        let page = u64::from(header.page_bytes);
        self.check_readahead(page)?;
        for (unit, what) in [(info.read_unit_bytes, "read"), (info.write_unit_bytes, "write")] {
            if !page.is_multiple_of(unit.max(1)) {
                let allowed = format!(
                    "a multiple of the {} that device '{}' {what}s at once",
                    exact_bytes(unit),
                    info.name
                );
                return Err(
                    Refused::new("the page size of the recording", exact_bytes(page), &allowed).into()
                );
            }
        }
        if info.erase_unit_bytes > 0 {
            let allowed = "0: pages are written in place, and units must be erased first";
            return Err(Refused::new("the device's erase unit", info.erase_unit_bytes, allowed).into());
        }
        if header.bytes() > info.capacity_bytes {
            let allowed = format!(
                "at most {}, the capacity of device '{}': use a larger device, or record a smaller database",
                exact_bytes(info.capacity_bytes),
                info.name
            );
            return Err(
                Refused::new("the size of the database", exact_bytes(header.bytes()), &allowed).into()
            );
        }
        self.policy(header)?;
        Ok(())
    }

    /// Checks the window of readahead, and the pool for the pages that it holds.
    fn check_readahead(&self, page: u64) -> Result<(), Refused> {
        let most = page * READAHEAD_PAGES_MOST;
        let is_whole = self.readahead_bytes.is_multiple_of(page);
        if self.readahead_bytes != 0 && !((2 * page..=most).contains(&self.readahead_bytes) && is_whole) {
            let allowed = format!(
                "0 for none, or {} to {} in multiples of {}",
                exact_bytes(2 * page),
                exact_bytes(most),
                exact_bytes(page)
            );
            return Err(Refused::new("the readahead", exact_bytes(self.readahead_bytes), &allowed));
        }
        let least = u64::from(self.clients) * (1 + self.readahead_bytes / page);
        if u64::from(self.pool_pages) < least {
            let with = if self.readahead_bytes == 0 { "" } else { " and its readahead" };
            let allowed = format!("at least {least}, enough for each client{with}");
            return Err(Refused::new("the number of pages of the pool", self.pool_pages, &allowed));
        }
        Ok(())
    }

    fn check_numbers(&self) -> Result<(), Refused> {
        let within = |field: &str, given: u32, least: u32, most: u32| {
            if (least..=most).contains(&given) {
                return Ok(());
            }
            Err(Refused::new(field, given, &format!("from {least} to {most}")))
        };
        within("the number of clients", self.clients, 1, CLIENTS_MOST)?;
        if let Some(processors) = self.processors {
            within("the number of processors", processors, 1, CLIENTS_MOST)?;
        }
        if !(self.cpu_factor > 0.0 && self.cpu_factor <= CPU_FACTOR_MOST) {
            let allowed = "a number above 0 and at most 1000000, where 1 is as recorded";
            return Err(Refused::new("the factor of processor time", self.cpu_factor, allowed));
        }
        within("the number of pages of the pool", self.pool_pages, 1, POOL_PAGES_MOST)?;
        self.pace.check()?;
        if self.lock_wait.is_zero() {
            return Err(Refused::new("the longest wait for a lock", self.lock_wait, "above 0"));
        }
        for (given, what) in
            [(self.transactions == Some(0), "transactions"), (self.time == Some(Duration::ZERO), "time")]
        {
            if given {
                return Err(Refused::new(&format!("the {what} to measure"), 0, "above 0"));
            }
        }
        Ok(())
    }

    /// Builds the policy of the pool.
    pub(crate) fn policy(&self, header: &Header) -> Result<Box<dyn Replacement>, OptionError> {
        let shape = Shape { frames: self.pool_pages, pages: header.pages };
        FAMILY.build(&self.buffer, shape, &Options::new(self.buffer_options.iter().cloned()))
    }

    /// Requests that may be in flight: of each client one, and one of its readahead.
    pub(crate) fn requests(&self) -> u32 {
        if self.readahead_bytes == 0 { self.clients } else { 2 * self.clients }
    }

    /// Formats the policy with its options: `cflru-e,window=25%`.
    pub fn buffer_text(&self) -> String {
        let options = self.buffer_options.iter().map(|(name, value)| format!(",{name}={value}"));
        std::iter::once(self.buffer.clone()).chain(options).collect()
    }
}
