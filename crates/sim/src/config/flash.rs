//! `[flash]`: the flash array, its timing, and how it wears.

use super::refusal::{Refusal, range, refusals, unused};
use super::section::{Facts, Section};
use super::{Bytes, DriveConfig, Rate, Share, Time, limits};
use flashlane_policy::Policies;
use serde::Deserialize;

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
    /// Array to register; of page types, where `read_by_type` does not have the time of each.
    pub read: Time,
    /// Register to array, of a page, or of all pages of a word line where those are programmed at once.
    pub program: Time,
    /// Bits of a cell; where absent all pages take the same times, whatever their cells are.
    pub cell: Option<Cell>,
    /// `read` of each page type: lower, middle, upper and top.
    #[serde(default)]
    pub read_by_type: Vec<Time>,
    /// `program` of each page type, where pages are programmed one by one.
    #[serde(default)]
    pub program_by_type: Vec<Time>,
    /// What is programmed at once.
    #[serde(default)]
    pub programming: Programming,
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
    /// Time from one point at which a program can be suspended to the next, from its begin on: a read waits for the
    /// next one. At any time where absent.
    pub suspend_step: Option<Time>,
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

/// Bits of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cell {
    /// One.
    Slc,
    /// Two.
    Mlc,
    /// Three.
    Tlc,
    /// Four.
    Qlc,
}

impl Cell {
    /// Their number.
    pub fn bits(self) -> u32 {
        self as u32 + 1
    }
}

/// What is programmed at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Programming {
    /// A page.
    #[default]
    Page,
    /// All pages of a word line, one for each bit of its cells.
    OneShot,
}

/// The most erases that a block may survive: far beyond any flash.
const MOST_ERASES: u32 = 1_000_000_000;

fn one() -> u32 {
    1
}

impl Section for FlashConfig {
    fn facts() -> Facts {
        Facts {
            room: &[
                "flash.factory_bad",
                "flash.channels",
                "flash.packages",
                "flash.dies",
                "flash.planes",
                "flash.pages",
                "flash.page",
            ],
            ..Facts::of("flash")
        }
    }

    fn ranges(&self) -> Vec<Refusal> {
        let longest = |times: &[Time]| times.iter().copied().max().unwrap_or_default();
        refusals([
            limits::time("flash.read_by_type", longest(&self.read_by_type)),
            limits::time("flash.program_by_type", longest(&self.program_by_type)),
            limits::time("flash.read", self.read),
            limits::time("flash.program", self.program),
            limits::time("flash.erase", self.erase),
            limits::time("flash.bus_command", self.bus_command),
            limits::time("flash.suspend", self.suspend.unwrap_or_default()),
            limits::time("flash.suspend_step", self.suspend_step.unwrap_or_default()),
            limits::rate("flash.bus", self.bus),
            range("flash.channels", self.channels, 1, 1024),
            range("flash.packages", self.packages, 1, 64),
            range("flash.dies", self.dies, 1, 64),
            range("flash.planes", self.planes, 1, 64),
            range("flash.blocks", self.blocks, 4, 1 << 20),
            range("flash.pages", self.pages, 1, 8192),
            range("flash.endurance", self.endurance.unwrap_or(1), 1, MOST_ERASES),
        ])
    }

    fn without_effect(&self, _drive: &DriveConfig) -> Vec<Refusal> {
        unused([
            (
                self.multi_plane,
                "flash.multi_plane",
                self.planes > 1,
                "a die has one plane; allowed: with flash.planes above 1",
            ),
            (
                self.endurance_spread.0 > 0.0,
                "flash.endurance_spread",
                self.endurance.is_some(),
                "blocks do not wear out; allowed: with flash.endurance",
            ),
        ])
    }

    fn is_random(&self, _policies: &Policies) -> bool {
        self.noise.0 > 0.0
            || self.read_retry.0 > 0.0
            || self.uncorrectable.0 > 0.0
            || self.factory_bad.0 > 0.0
            || (self.endurance.is_some() && self.endurance_spread.0 > 0.0)
    }
}

impl FlashConfig {
    /// Pages of a block that are programmed at once.
    pub(crate) fn pages_per_program(&self) -> u32 {
        match (self.programming, self.cell) {
            (Programming::OneShot, Some(cell)) => cell.bits(),
            _ => 1,
        }
    }

    /// The planes of a channel.
    pub(crate) fn planes_per_channel(&self) -> u64 {
        u64::from(self.packages) * u64::from(self.dies) * u64::from(self.planes)
    }

    /// Bytes of an erase block on each plane of a channel: a unit of software-defined flash.
    pub(crate) fn channel_block_bytes(&self) -> u64 {
        self.page.0 * u64::from(self.pages) * self.planes_per_channel()
    }
}
