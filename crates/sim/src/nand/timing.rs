//! How long flash operations take.

use super::cells::{MOST_BITS, PageType};
use crate::config::{DriveConfig, Time};
use flashlane_base::{Duration, Random, Seed};

/// Array times and the bus, with the drive's timing noise.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Array to register, of a page that no section has times for: the mean of the page types.
    pub read: Duration,
    /// Register to array, likewise.
    pub program: Duration,
    /// Erase of a block.
    pub erase: Duration,
    /// Array to register and register to array, by page type.
    reads: [Duration; PageType::COUNT],
    programs: [Duration; PageType::COUNT],
    /// Suspending and resuming a program or erase.
    pub suspend: Option<Duration>,
    /// Time that writing a block's summary pages takes beyond that of its last data page.
    pub summary: Duration,
    bus_command: Duration,
    /// Nanoseconds a byte in 32.32 fixed point: one multiplication a transfer instead of a division.
    bus_ns_per_byte: u64,
    noise: Option<Noise>,
}

/// How array times vary.
#[derive(Clone, Debug)]
struct Noise {
    /// The largest deviation, as a share.
    spread: f64,
    random: Random,
}

impl Timing {
    /// The timing of a profile's flash.
    pub fn new(config: &DriveConfig, seed: Seed) -> Self {
        let flash = &config.flash;
        // The spare bytes of a page go with its data, in proportion.
        let (page, bus) = (u128::from(flash.page.0), u128::from(flash.bus.0));
        let stored = page + u128::from(flash.spare.0);
        let ns_per_byte = ((1_000_000_000 * stored) << 32).checked_div(bus * page).unwrap_or(0);
        let own = config.own_page_times();
        let reads = by_type(flash.read, &flash.read_by_type, own.map(|times| times.read));
        let programs = by_type(flash.program, &flash.program_by_type, own.map(|times| times.program));
        let mean = PageType::MEAN.0 as usize;
        let mut timing = Self {
            read: reads[mean],
            program: programs[mean],
            erase: flash.erase.0,
            reads,
            programs,
            suspend: flash.suspend.map(|time| time.0),
            bus_command: flash.bus_command.0,
            bus_ns_per_byte: ns_per_byte as u64,
            summary: Duration::ZERO,
            noise: (flash.noise.0 > 0.0).then(|| {
                let random = seed.derive("flash noise").source();
                Noise { spread: flash.noise.0, random }
            }),
        };
        let disksim = &config.compat.disksim;
        if let Some(bytes) = disksim.summary {
            let each = flash.program.0 + timing.bus(bytes.0);
            timing.summary = each * u64::from(disksim.summary_pages);
        }
        timing
    }

    /// Time that `bytes` hold the channel's bus. Requires: at most 1 MiB, as the largest flash page that validation
    /// allows; on the slowest bus, with as many spare bytes, the product still has 64 bits.
    #[inline]
    pub fn bus(&self, bytes: u64) -> Duration {
        debug_assert!(bytes <= 1 << 20, "{bytes} bytes are more than a flash page has");
        let ns = (bytes * self.bus_ns_per_byte + (1 << 31)) >> 32;
        self.bus_command + Duration::from_ns(ns)
    }

    /// Array to register.
    #[inline]
    pub fn reading(&self, page: PageType) -> Duration {
        self.reads[usize::from(page.0)]
    }

    /// Register to array, and with a block's last data page its summary.
    #[inline]
    pub fn programming(&self, page: PageType, fills_block: bool) -> Duration {
        let program = self.programs[usize::from(page.0)];
        program + if fills_block { self.summary } else { Duration::ZERO }
    }

    /// The slowest read and program of a page that no section has times for, with its block's summary.
    pub fn slowest(&self) -> Duration {
        let of = |times: &[Duration]| times[..MOST_BITS].iter().copied().max().unwrap_or_default();
        of(&self.reads) + of(&self.programs) + self.summary
    }

    /// An array time as it turns out this time.
    #[inline]
    pub fn array(&mut self, nominal: Duration) -> Duration {
        match &mut self.noise {
            None => nominal,
            Some(Noise { spread, random, .. }) => {
                let factor = 1.0 + *spread * (2.0 * random.unit() - 1.0);
                Duration::from_ns((nominal.as_ns() as f64 * factor) as u64)
            }
        }
    }
}

/// The time of each page type: those of a list, or the same for all, and their mean.
fn by_type(same: Time, each: &[Time], of_section: Option<Time>) -> [Duration; PageType::COUNT] {
    let mut times = [same.0; PageType::COUNT];
    times.iter_mut().zip(each).for_each(|(time, of_type)| *time = of_type.0);
    times[usize::from(PageType::OF_SECTION.0)] = of_section.unwrap_or(same).0;
    if !each.is_empty() {
        let sum: u64 = each.iter().map(|time| time.0.as_ns()).sum();
        times[usize::from(PageType::MEAN.0)] = Duration::from_ns(sum / each.len() as u64);
    }
    times
}
