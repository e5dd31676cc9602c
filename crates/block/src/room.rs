//! Room on the lanes: which lane takes a block or a copy of the superblock.

use crate::lane::LaneQueue;
use crate::layout::{Layout, Region};
use crate::placement::{LaneLoad, Placement};
use crate::units::UnitTable;

/// What the durable superblock allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SuperblockLimits {
    /// Ids below this are recorded as given out, whatever is erased.
    pub(crate) recorded_below: u64,
    /// Units that blocks must leave for the superblock.
    pub(crate) superblock_units: u64,
}

/// The units and queues of all lanes, to look at.
pub(crate) struct Room<'a> {
    layout: &'a Layout,
    units: &'a UnitTable,
    lanes: &'a [LaneQueue],
}

impl<'a> Room<'a> {
    pub(crate) fn new(layout: &'a Layout, units: &'a UnitTable, lanes: &'a [LaneQueue]) -> Self {
        assert_eq!(lanes.len(), layout.lanes as usize, "a queue for each lane");
        Self { layout, units, lanes }
    }

    /// Returns the lane for a block, among those with room for a write.
    pub(crate) fn lane_for_block(&self, placement: Placement, id: u64) -> Option<u32> {
        placement.lane(id, self.layout.lanes, |lane| {
            let queue = &self.lanes[lane as usize];
            LaneLoad {
                room: self.of_lane(lane),
                load_units: (queue.load_bytes() + self.layout.unit_bytes / 2) / self.layout.unit_bytes,
                blocks: self.units.blocks(lane) + queue.waiting_writes() as u64,
                erased: self.units.erased(lane),
            }
        })
    }

    /// Returns the lane for a copy of the superblock in `region`, with a unit that can be written without waiting for a
    /// superblock: another lane than those of `taken` if possible, near the region, and one where no block needs the
    /// unit.
    pub(crate) fn lane_for_superblock(
        &self,
        region: Region,
        taken: &[u32],
        recorded_below: u64,
    ) -> Option<u32> {
        let with_unit = (0..self.layout.lanes).filter(|&lane| {
            let copies = taken.iter().filter(|&&other| other == lane).count();
            self.units.writable_before_superblock(lane, recorded_below) > copies
        });
        with_unit.min_by_key(|lane| {
            let distance = self.units.distance(region, *lane).unwrap_or(u64::MAX);
            let load_bytes = self.lanes[*lane as usize].load_bytes();
            (taken.contains(lane), distance, self.of_lane(*lane) == 0, load_bytes)
        })
    }

    /// Returns the number of units of a lane that a write can still be given, besides those that wait.
    fn of_lane(&self, lane: u32) -> u64 {
        self.units.writable(lane).saturating_sub(self.lanes[lane as usize].waiting_writes() as u64)
    }

    /// Returns the number of units over all lanes that a write can still be given. A lane may have more writes than
    /// units: another lane takes them.
    pub(crate) fn of_all_lanes(&self) -> u64 {
        let writes: usize = self.lanes.iter().map(LaneQueue::waiting_writes).sum();
        self.units.all_writable().saturating_sub(writes as u64)
    }

    /// Returns whether a block may take an erased unit. Those for the next superblock have to be there after a power
    /// cut too, when blocks whose delete had not completed are back.
    pub(crate) fn may_block_take_unit(&self, limits: SuperblockLimits) -> bool {
        self.has_superblock_units(limits, 1)
    }

    /// Returns whether blocks leave the units that they must, and `more`.
    pub(crate) fn has_superblock_units(&self, limits: SuperblockLimits, more: usize) -> bool {
        let copies: usize = self.lanes.iter().map(LaneQueue::waiting_superblocks).sum();
        let needed = limits.superblock_units as usize + copies + more;
        let erased = self.units.all_erased();
        erased >= needed || erased + self.units.all_to_erase_without_deletes() >= needed
    }
}
