//! Placement handles (flexible data placement, NVMe TP4146): writes with different handles go to different blocks.
//!
//! A *reclaim unit* is a block on each plane, which GC empties one by one. Each plane has an open block for each
//! handle. That of the handle written last is the plane's open block for the host; those of others are parked here, and
//! change places with it when their handle is written again. Where data stay apart persistently, open blocks for moved
//! units change places likewise, by the handle of GC's victim; otherwise units of all handles are moved to one block.
//!
//! Costs an open block a handle on each plane (two, where isolation is persistent), and a byte a block.
//!
//! Invariants: a parked block is open, and so neither free nor a victim; the entry of the handle whose block is
//! in use has no block.

use super::PageMapped;
use super::gc::HOST_STREAM;
use crate::config::{DriveConfig, Isolation};
use crate::divisor::Divisor;
use crate::ftl::GcWork;
use crate::ftl::erase_blocks::OpenBlock;
use crate::ids::{BlockId, PlaneId, Ppn, ProgramGroup};
use crate::nand::Geometry;
use flashlane_device::PlacementHandle;

/// The handles of a drive.
pub(super) struct Handles {
    /// The handle of the units that the host writes next.
    current: u16,
    is_persistent: bool,
    planes: Vec<PlaneHandles>,
    /// By block, the handle whose units it has, where isolation is persistent.
    of_block: Vec<u8>,
    /// Mapping units of one page number: one page on each plane of a superblock.
    page_units: u32,
    of_page: Divisor,
}

/// The open blocks of a plane for the host's units, and for moved ones.
struct PlaneHandles {
    host: Parked,
    moved: Parked,
}

/// Open blocks of one kind that are not in use, by handle.
struct Parked {
    /// The handle whose block is in use.
    used: u16,
    blocks: Box<[OpenBlock]>,
}

impl Parked {
    fn new(handles: u32, none: OpenBlock) -> Self {
        Self { used: 0, blocks: vec![none; handles as usize].into() }
    }

    /// Puts the block of `handle` in place of the one that is in use.
    fn exchange(&mut self, handle: u16, in_use: &mut OpenBlock) {
        debug_assert_eq!(self.blocks[usize::from(self.used)].block, OpenBlock::NO_BLOCK, "it is in use");
        self.blocks[usize::from(self.used)] = *in_use;
        let none = OpenBlock { block: OpenBlock::NO_BLOCK, ..*in_use };
        *in_use = std::mem::replace(&mut self.blocks[usize::from(handle)], none);
        self.used = handle;
    }
}

impl Handles {
    /// Those of a drive, if it has some. `geometry` counts superblocks as blocks.
    pub(super) fn new(config: &DriveConfig, geometry: &Geometry) -> Option<Self> {
        let placement = config.placement?;
        let none = OpenBlock { block: OpenBlock::NO_BLOCK, written: geometry.data_units };
        let plane = || PlaneHandles {
            host: Parked::new(placement.handles, none),
            moved: Parked::new(placement.handles, none),
        };
        let page_units = (geometry.block_units / config.flash.pages).max(1);
        Some(Self {
            current: 0,
            is_persistent: placement.isolation == Isolation::Persistent,
            planes: (0..geometry.planes).map(|_| plane()).collect(),
            of_block: vec![0; geometry.planes as usize * geometry.blocks_per_plane as usize],
            page_units,
            of_page: Divisor::new(page_units),
        })
    }

    /// The group of units that may be programmed at once with that of this place: never those of other handles.
    pub(super) fn group_of(&self, ppn: Ppn) -> ProgramGroup {
        ProgramGroup(self.of_page.of(ppn.0) * self.page_units)
    }
}

impl PageMapped {
    /// The units that are placed from now on have this handle. Requires: the drive has it.
    pub fn use_handle(&mut self, handle: PlacementHandle) {
        let handles = self.handles.as_mut().expect("only drives with handles are given one");
        if std::mem::replace(&mut handles.current, handle.0) != handle.0 {
            // A flash page is not shared, and so a chunk is not, either.
            self.mapping.skip_to_chunk(self.geometry.chunk_units.into());
        }
    }

    /// Makes the open block of a plane for the host that of the current handle.
    #[inline(never)]
    pub(super) fn switch_host(&mut self, plane: PlaneId) {
        let handles = self.handles.as_ref().expect("asked only where there are handles");
        let handle = handles.current;
        if handles.planes[plane.index()].host.used == handle {
            return;
        }
        if self.is_full(plane) {
            self.close(plane, HOST_STREAM);
        }
        let (handles, state) = (self.handles.as_mut().expect("as above"), &mut self.planes[plane.index()]);
        handles.planes[plane.index()].host.exchange(handle, &mut state.open[HOST_STREAM]);
        self.free_units[plane.index()] = state.free_units(&self.geometry);
    }

    /// Makes the open block of a plane for moved units that of the handle of GC's victim.
    #[inline]
    pub(super) fn switch_moved(&mut self, plane: PlaneId, victim: BlockId) {
        if self.handles.as_ref().is_some_and(|handles| handles.is_persistent) {
            self.switch_moved_to(plane, victim);
        }
    }

    fn switch_moved_to(&mut self, plane: PlaneId, victim: BlockId) {
        let number = self.index_of(plane, victim);
        let (stream, data_units) = (self.moved_stream, self.geometry.data_units);
        let handles = self.handles.as_ref().expect("asked only where there are handles");
        let handle = u16::from(handles.of_block[number]);
        if handles.planes[plane.index()].moved.used == handle {
            return;
        }
        if self.planes[plane.index()].open[stream].written >= data_units {
            self.close(plane, stream);
        }
        let handles = self.handles.as_mut().expect("as above");
        let open = &mut self.planes[plane.index()].open[stream];
        handles.planes[plane.index()].moved.exchange(handle, open);
    }

    /// After a block of a plane was opened for a stream.
    #[inline]
    pub(super) fn opened(&mut self, plane: PlaneId, stream: usize, block: BlockId) {
        let number = self.index_of(plane, block);
        if let Some(handles) = &mut self.handles {
            let of_plane = &handles.planes[plane.index()];
            let used = if stream == HOST_STREAM { of_plane.host.used } else { of_plane.moved.used };
            handles.of_block[number] = used as u8;
        }
    }

    /// Leaves empty what is left of the flash pages that the next units of parked blocks would go to.
    pub(super) fn close_parked_pages(&mut self, page_units: u32, due: &mut Vec<GcWork>) {
        let Some(handles) = &mut self.handles else { return };
        let mut rests = vec![0; handles.planes.len()];
        for (plane, rest) in handles.planes.iter_mut().zip(&mut rests) {
            for open in plane.host.blocks.iter_mut().filter(|open| open.block != OpenBlock::NO_BLOCK) {
                *rest += open.close_page(page_units, self.geometry.data_units);
            }
        }
        for (plane, rest) in (0..).map(PlaneId).zip(rests).filter(|&(_, rest)| rest > 0) {
            self.counters.left_empty_units += u64::from(rest);
            if self.pacer.is_some() {
                self.pace(plane, rest, due);
            }
        }
    }

    /// The parked blocks of a plane.
    #[cfg(test)]
    pub(super) fn parked_blocks(&self, plane: usize) -> Vec<BlockId> {
        let Some(handles) = &self.handles else { return Vec::new() };
        let PlaneHandles { host, moved } = &handles.planes[plane];
        for parked in [host, moved] {
            assert_eq!(parked.blocks[usize::from(parked.used)].block, OpenBlock::NO_BLOCK, "it is in use");
        }
        let blocks = host.blocks.iter().chain(&moved.blocks).map(|open| open.block);
        blocks.filter(|&block| block != OpenBlock::NO_BLOCK).collect()
    }

    /// The handle whose units a block has.
    #[cfg(test)]
    pub(super) fn handle_of_block(&self, block: usize) -> u8 {
        self.handles.as_ref().map_or(0, |handles| handles.of_block[block])
    }
}

#[cfg(test)]
mod tests;
