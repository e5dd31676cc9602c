//! `[flash]`: the flash array, its timing, and how it wears.

use super::refusal::{Refusal, range, require};
use super::{Bytes, DriveConfig, Rate, Share, Time, limits};
use flashlane_base::units::exact_bytes;
use serde::Deserialize;

/// The most mapping units that a drive may have: their numbers are 32 bits, with one value kept for "none".
const MOST_UNITS: u64 = u32::MAX as u64 - 1;

/// The flash array and its timing.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlashConfig {
    /// Channels, each with a bus.
    pub channels: u32,
    /// Packages on a channel.
    pub packages: u32,
    /// Dies in a package.
    #[serde(default = "one")]
    pub dies: u32,
    /// Planes of a die.
    #[serde(default = "one")]
    pub planes: u32,
    /// Erase blocks on a plane.
    pub blocks: u32,
    /// Pages of an erase block.
    pub pages: u32,
    /// Size of a page.
    pub page: Bytes,
    /// Bytes that a page stores beside its data (checksums, firmware records): they cross the bus with it.
    #[serde(default)]
    pub spare: Bytes,
    /// Array to register.
    pub read: Time,
    /// Register to array.
    pub program: Time,
    /// Erase of a block.
    pub erase: Time,
    /// Payload rate of a channel's bus.
    pub bus: Rate,
    /// Time that each transfer holds the bus beside its data: command and address cycles, status.
    #[serde(default)]
    pub bus_command: Time,
    /// Whether like operations on several planes of a die share one array time.
    #[serde(default)]
    pub multi_plane: bool,
    /// Whether GC moves a page within its plane without the bus.
    #[serde(default)]
    pub copyback: bool,
    /// Whether a second register lets the bus and the array work on neighbouring operations at once.
    #[serde(default)]
    pub cache_mode: bool,
    /// Cost of suspending and resuming a program or erase for a read; off where absent.
    pub suspend: Option<Time>,
    /// Erases a block survives; unlimited where absent.
    pub endurance: Option<u32>,
    /// Spread of the endurance between blocks, as a share of it.
    #[serde(default)]
    pub endurance_spread: Share,
    /// Share of the host's page reads whose errors take another array read to correct, on a block at the end of its
    /// endurance; in proportion to its wear before. Where endurance is unlimited, the share on every block.
    #[serde(default)]
    pub read_retry: Share,
    /// Share of the host's page reads that cannot be corrected, on a worn block as above.
    #[serde(default)]
    pub uncorrectable: Share,
    /// Share of blocks that are bad from the start.
    #[serde(default)]
    pub factory_bad: Share,
    /// Uniform spread of every array time around its value, as a share of it.
    #[serde(default)]
    pub noise: Share,
}

fn one() -> u32 {
    1
}

impl FlashConfig {
    pub(super) fn ranges(&self) -> Result<(), Refusal> {
        limits::time("flash.read", self.read)?;
        limits::time("flash.program", self.program)?;
        limits::time("flash.erase", self.erase)?;
        limits::time("flash.bus_command", self.bus_command)?;
        limits::time("flash.suspend", self.suspend.unwrap_or_default())?;
        limits::rate("flash.bus", self.bus)?;
        range("flash.channels", self.channels, 1, 1024)?;
        range("flash.packages", self.packages, 1, 64)?;
        range("flash.dies", self.dies, 1, 64)?;
        range("flash.planes", self.planes, 1, 64)?;
        range("flash.blocks", self.blocks, 4, 1 << 20)?;
        range("flash.pages", self.pages, 1, 8192)
    }

    pub(super) fn is_random(&self) -> bool {
        self.noise.0 > 0.0
            || self.read_retry.0 > 0.0
            || self.uncorrectable.0 > 0.0
            || self.factory_bad.0 > 0.0
            || (self.endurance.is_some() && self.endurance_spread.0 > 0.0)
    }
}

/// Sector and page.
pub(super) fn page(config: &DriveConfig) -> Result<(), Refusal> {
    let (sector, page) = (config.sector.0, config.flash.page.0);
    require(sector.is_power_of_two() && (512..=65536).contains(&sector), "sector", || {
        format!("it is {}; allowed: a power of two from 512 B to 64 KiB", exact_bytes(sector))
    })?;
    require(page.is_multiple_of(sector) && page > 0 && page <= 1 << 20, "flash.page", || {
        format!(
            "it is {}; allowed: a multiple of the sector of {}, up to 1 MiB",
            exact_bytes(page),
            exact_bytes(sector)
        )
    })
}

/// Requires: [`FlashConfig::ranges`] and [`page`] hold.
pub(super) fn sizes(config: &DriveConfig) -> Result<(), Refusal> {
    let flash = &config.flash;
    let planes = u64::from(flash.channels) * u64::from(flash.packages * flash.dies * flash.planes);
    require(planes <= 1 << 16, "flash.channels", || {
        format!("channels * packages * dies * planes is {planes}; allowed: at most 65536")
    })?;
    let unit = config.mapping.unit.unwrap_or(flash.page).0;
    require(
        unit > 0 && flash.page.0.is_multiple_of(unit) && unit.is_multiple_of(config.sector.0),
        "mapping.unit",
        || {
            format!(
                "it is {}; allowed: a whole fraction of the flash page of {} in whole sectors",
                exact_bytes(unit),
                exact_bytes(flash.page.0)
            )
        },
    )?;
    require(flash.spare.0 <= flash.page.0, "flash.spare", || {
        let (given, page) = (exact_bytes(flash.spare.0), exact_bytes(flash.page.0));
        format!("it is {given}; allowed: at most the page of {page}")
    })?;
    let units = flash.page.0 / unit;
    require(u64::from(flash.pages) * units < 1 << 15, "flash.pages", || {
        format!("a block has {} mapping units; allowed: at most 32767", u64::from(flash.pages) * units)
    })?;
    let units = planes * u64::from(flash.blocks) * u64::from(flash.pages) * units;
    require(units <= MOST_UNITS, "flash.blocks", || {
        format!("the drive has {units} mapping units; allowed: at most {MOST_UNITS}")
    })?;
    require(flash.endurance != Some(0), "flash.endurance", || {
        "it is 0; allowed: at least one erase, or none given where blocks never wear out".into()
    })?;
    require(flash.noise.0 < 1.0, "flash.noise", || "it is 100%; allowed: below 100%".into())
}
