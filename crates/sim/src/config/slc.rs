//! `[slc]`: the SLC cache: blocks that are written with one bit a cell, which is fast, and folded into others later.

use super::refusal::{Refusal, range, refusals, require};
use super::{Bytes, Cell, Share, Time, limits};
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
    /// Bits of a cell in all other blocks: a block of the cache holds one page of so many. Those of `flash.cell`, or three,
    /// where absent.
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
    /// While their die is idle.
    #[default]
    Idle,
    /// Beside the host's writes, as much as it writes, and while their die is idle.
    AtOnce,
    /// Only where other data need the blocks.
    WhenNeeded,
}

impl SlcConfig {
    /// Bits of a cell in all other blocks of a drive with these cells.
    pub(crate) fn bits(&self, cell: Option<Cell>) -> u32 {
        self.bits.unwrap_or(cell.map_or(3, Cell::bits))
    }

    pub(crate) fn ranges(&self) -> Vec<Refusal> {
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
}
