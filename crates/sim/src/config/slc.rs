//! `[slc]`: the SLC cache: blocks that are written with one bit a cell, which is fast, and folded into others later.

use super::array_size::ArraySize;
use super::refusal::{Refusal, range, refusals, require};
use super::section::{Exclusions, Facts, Other, PageTimes, Room, Section};
use super::{Bytes, Share, Time, limits};
use flashlane_base::units::exact_bytes;
use flashlane_policy::Policies;
use serde::Deserialize;

/// The SLC cache.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlcConfig {
    /// The part of the cache that is always kept for it, in bytes that it holds.
    #[serde(default)]
    pub size: Bytes,
    /// The share of the blocks that are erased or in the cache that it may take beyond `size`.
    #[serde(default)]
    pub free_blocks: Share,
    /// Bits of a cell in all other blocks: a block of the cache holds one page of so many. Those of `flash.cell`, or
    /// three, where absent.
    pub bits: Option<u32>,
    /// Array to register, for a page of the cache.
    pub read: Time,
    /// Register to array, for a page of the cache.
    pub program: Time,
    /// When its blocks are folded.
    #[serde(default)]
    pub fold: Fold,
    /// Where the host's writes go while it has no room.
    #[serde(default)]
    pub when_full: WhenFull,
}

/// Where the host's writes go while the SLC cache has no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhenFull {
    /// To other blocks.
    #[default]
    Direct,
    /// To the cache, whose oldest block is folded first.
    Fold,
    /// To other blocks while more of them are erased than GC needs, then to the cache.
    DirectThenFold,
}

/// When blocks of the SLC cache are folded: their valid units moved to other blocks, and they erased.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fold {
    /// While the host and their die are idle.
    #[default]
    Idle,
    /// Beside the host's writes, as much as it writes, and while these are idle.
    AtOnce,
    /// Only where other data need the blocks.
    WhenNeeded,
}

impl Fold {
    /// Whether blocks are folded while the drive is idle.
    pub(crate) fn is_when_idle(self) -> bool {
        self != Self::WhenNeeded
    }
}

impl SlcConfig {
    /// Bits of a cell in all other blocks.
    fn bits(&self, array: &ArraySize) -> u32 {
        self.bits.unwrap_or(array.cell_bits.unwrap_or(3))
    }

    /// Mapping units of a block of the cache.
    pub(crate) fn block_units(&self, array: &ArraySize) -> u32 {
        array.units_of(array.pages / self.bits(array))
    }

    /// Blocks of each plane that are kept for the cache.
    pub(crate) fn kept_blocks(&self, array: &ArraySize) -> u32 {
        // One at least: it is open for long, and not folded.
        self.size.0.div_ceil(self.blocks_bytes(array)).clamp(1, u64::from(array.blocks)) as u32
    }

    /// Bytes that a block of the cache on each plane holds.
    fn blocks_bytes(&self, array: &ArraySize) -> u64 {
        u64::from(self.block_units(array).max(1)) * array.unit_bytes * u64::from(array.planes)
    }
}

impl Section for SlcConfig {
    fn facts() -> Facts {
        Facts {
            room: &["slc.size", "slc.free_blocks"],
            example: &[
                ("slc.read", "20us"),
                ("slc.program", "100us"),
                ("slc.size", "64KiB"),
                ("slc.free_blocks", "50%"),
            ],
            ..Facts::of_translation("slc")
        }
    }

    fn ranges(&self) -> Vec<Refusal> {
        let (size, free_blocks) = (self.size.0, self.free_blocks.0);
        refusals([
            require(size > 0 || free_blocks > 0.0, "slc.size", || {
                "it and slc.free_blocks are 0; allowed: one of them above 0, or no section".into()
            }),
            // Nothing would ever empty it: other data may not have what is kept for the cache.
            require(size == 0 || self.fold != Fold::WhenNeeded, "slc.fold", || {
                "it is 'when-needed', and slc.size is kept for the cache; allowed with a slc.size: 'idle' or 'at-once'".into()
            }),
            range("slc.bits", self.bits.unwrap_or(2), 2, 5),
            limits::time("slc.read", self.read),
            limits::time("slc.program", self.program),
        ])
    }

    fn exclusions(&self) -> Option<Exclusions> {
        Some(Exclusions {
            reason: "there is an SLC cache ([slc]); allowed with it".into(),
            others: &[
                Other::BlockMapping,
                Other::Parity,
                Other::Section("replication"),
                Other::DeferredGc,
                Other::SharedPools,
                Other::Summaries,
            ],
        })
    }

    fn check(&self, array: &ArraySize, _policies: &Policies) -> Result<(), Refusal> {
        let bits = self.bits(array);
        let units = array.pages / array.pages_per_unit;
        require(units >= bits, "slc.bits", || {
            format!(
                "it is {bits}, but a block has {units} pages, or larger mapping units; allowed: at most these"
            )
        })?;
        let of_cell = array.cell_bits.unwrap_or(bits);
        require(bits == of_cell, "slc.bits", || {
            format!("it is {bits}, and a flash.cell has {of_cell}; allowed: these, or leave it away")
        })?;
        require(of_cell > 1, "flash.cell", || {
            "it is 'slc', beside an SLC cache; allowed with one: more bits".into()
        })?;
        require(self.kept_blocks(array) < array.blocks, "slc.size", || {
            let block = self.blocks_bytes(array);
            format!(
                "it is {}, and a block of each plane holds {} in it; allowed: less than {}",
                exact_bytes(self.size.0),
                exact_bytes(block),
                exact_bytes(block * u64::from(array.blocks))
            )
        })
    }

    fn room(&self, array: &ArraySize) -> Room {
        Room { reserved_blocks: self.kept_blocks(array), ..Room::default() }
    }

    fn reserve(&mut self, blocks: u32, array: &ArraySize) -> Option<String> {
        self.size = Bytes(u64::from(blocks) * self.blocks_bytes(array));
        Some(format!("an slc.size of at most {}", exact_bytes(self.size.0)))
    }

    fn page_times(&self) -> Option<PageTimes> {
        Some(PageTimes { read: self.read, program: self.program })
    }
}
