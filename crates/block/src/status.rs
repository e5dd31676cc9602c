//! Reports about the layer and its lanes.

use crate::layout::{Layout, UnitAddress};

/// A stored block, as known without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockInfo {
    /// Its id.
    pub id: u64,
    /// Its length in bytes.
    pub length_bytes: u64,
    /// The unit that holds it.
    pub address: UnitAddress,
}

/// Events counted since the device was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Writes that had to wait until a unit was erased.
    pub writes_that_waited_for_an_erase: u64,
    /// Blocks and copies of the superblock written again, to another unit, after a unit failed.
    pub rewrites: u64,
    /// Reads that were repeated since the first one failed or returned wrong bytes.
    pub rereads: u64,
    /// Units with a damaged header or footer whose other copy is valid, as found by the opening. Footers are read only
    /// with [`BlockOptions::verify_footers`](crate::BlockOptions::verify_footers).
    pub single_copy_units: u64,
    /// Damaged units of which the device could not read the header or the footer when it was opened.
    pub unreadable_units: u64,
}

/// A unit of which header or footer is damaged; the other one is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedEnd {
    /// The unit.
    pub address: UnitAddress,
    /// The block in it; `None` for a copy of the superblock.
    pub id: Option<u64>,
    /// Which one.
    pub end: End,
}

/// An end of a unit, where a record identifies its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The beginning.
    Header,
    /// The end.
    Footer,
}

/// State of the whole layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// Identifies the formatting.
    pub format_id: u128,
    /// Sizes and counts of the device.
    pub layout: Layout,
    /// Blocks that are stored.
    pub blocks: u64,
    /// Blocks for which there is room.
    pub blocks_free: u64,
    /// The id that is given out next.
    pub next_id: u64,
    /// Durable copies of the superblock: two, unless one is damaged.
    pub superblock_copies: usize,
    /// Whether no superblock was found, so that blocks are known by their headers, and the device is opened for
    /// writing by a repair only. Without a sound copy it may be known all the same, from one with other data in it.
    pub is_superblock_rebuilt: bool,
    /// Events since the device was opened.
    pub counts: Counts,
    /// State of each lane.
    pub lanes: Vec<LaneStatus>,
}

/// State of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LaneStatus {
    /// Units that hold a block.
    pub blocks: u64,
    /// Units that can be written at once.
    pub erased: u64,
    /// Units that have to be erased first.
    pub to_erase: u64,
    /// Units out of use.
    pub bad: u64,
    /// Units with no valid header or footer, which are left alone.
    pub damaged: u64,
    /// Least, mean and most erases of a unit, where the device counts.
    pub erases: Option<(u32, f64, u32)>,
    /// Reads and writes that wait for the device or are in flight, and whether a unit is being erased.
    pub queue: LaneLength,
}

/// Length of the queue of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneLength {
    /// Reads that are not submitted to the device yet.
    pub reads_waiting: u64,
    /// Reads that the device executes.
    pub reads_in_flight: u64,
    /// Writes of blocks and of the superblock that are not submitted to the device yet.
    pub writes_waiting: u64,
    /// Writes that the device executes.
    pub writes_in_flight: u64,
    /// Whether the device erases a unit.
    pub is_erasing: bool,
}

impl LaneStatus {
    pub(crate) fn set_erases(&mut self, erases: &[u32]) {
        let sum: u64 = erases.iter().copied().map(u64::from).sum();
        self.erases = erases
            .iter()
            .min()
            .zip(erases.iter().max())
            .map(|(&least, &most)| (least, sum as f64 / erases.len() as f64, most));
    }
}
