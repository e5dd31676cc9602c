//! How long flash operations take.

use crate::config::DriveConfig;
use flashlane_base::{Duration, Random, Seed};

/// Array times and the bus, with the drive's timing noise.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Array to register, for a page that is not in the SLC cache.
    pub read: Duration,
    /// Register to array, for a page that is not in the SLC cache.
    pub program: Duration,
    /// Erase of a block.
    pub erase: Duration,
    /// Array to register and register to array, for a page of the SLC cache.
    slc_read: Duration,
    slc_program: Duration,
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
        let mut timing = Self {
            read: flash.read.0,
            program: flash.program.0,
            erase: flash.erase.0,
            slc_read: config.slc.as_ref().map_or(flash.read.0, |slc| slc.read.0),
            slc_program: config.slc.as_ref().map_or(flash.program.0, |slc| slc.program.0),
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

    /// Array to register; `slc`: of a page of the SLC cache.
    #[inline]
    pub fn reading(&self, slc: bool) -> Duration {
        if slc { self.slc_read } else { self.read }
    }

    /// Register to array, and with a block's last data page its summary; `slc` as above.
    #[inline]
    pub fn programming(&self, slc: bool, fills_block: bool) -> Duration {
        let program = if slc { self.slc_program } else { self.program };
        program + if fills_block { self.summary } else { Duration::ZERO }
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
