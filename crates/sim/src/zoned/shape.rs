//! How zones lie on the flash: a zone is striped over the planes of its dies in what is programmed at once.
//!
//! A *column* is what one die programs at once: a plane, or all planes of the die. Program `n` of a zone lies on column
//! `n + start`, around, where zones of a group start on neighbouring columns. Neighbouring columns are on other
//! channels.

use crate::config::{DriveConfig, ZonesConfig};
use crate::ids::PlaneId;
use flashlane_device::Lane;

/// The number of a zone on the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ZoneId(pub(super) u32);

impl ZoneId {
    #[inline]
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A page of a zone: its plane, its number in its block, and the program that writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PagePlace {
    pub(super) plane: PlaneId,
    pub(super) page_of_block: u32,
    pub(super) program: u32,
}

/// Counts and sizes.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) zones: u32,
    pub(super) lanes: u32,
    groups: u32,
    pub(super) zone_bytes: u64,
    pub(super) page_bytes: u64,
    /// What is programmed at once: pages of a plane, and planes.
    pages_at_once: u32,
    pub(super) planes_at_once: u32,
    pub(super) program_bytes: u64,
    block_pages: u32,
    /// The first plane of each column, by group.
    columns: Vec<Vec<PlaneId>>,
    /// Programs that the blocks of a zone have room for, which may be more than fill its capacity.
    pub(super) programs: u32,
    /// Pages of one read that are on their way at once: two for each plane of the zone.
    pub(super) window_pages: u32,
}

impl Shape {
    /// Requires: `config` is validated, and these are its zones.
    pub(super) fn new(config: &DriveConfig, zones: &ZonesConfig) -> Self {
        let flash = &config.flash;
        let dies_per_channel = flash.packages * flash.dies;
        let dies = flash.channels * dies_per_channel;
        let of_zone = zones.dies.unwrap_or(dies);
        let (groups, zone_bytes) = (dies / of_zone, zones.capacity.0);
        let planes_at_once = if flash.multi_plane { flash.planes } else { 1 };
        let sets = flash.planes / planes_at_once;
        let columns = |group: u32| -> Vec<PlaneId> {
            let column = |at: u32| {
                let nth = group * of_zone + at % of_zone;
                let die = nth % flash.channels * dies_per_channel + nth / flash.channels;
                PlaneId(die * flash.planes + at / of_zone * planes_at_once)
            };
            (0..of_zone * sets).map(column).collect()
        };
        let pages_at_once = flash.pages_per_program();
        let program_bytes = config.program_bytes();
        let block_programs = flash.pages / pages_at_once;
        // The blocks of one zone on each column.
        let of_column = u64::from(block_programs) * program_bytes * u64::from(of_zone * sets);
        let blocks = zone_bytes.div_ceil(of_column) as u32;
        Self {
            zones: (config.capacity.0 / zone_bytes) as u32,
            lanes: config.lane_count(),
            groups,
            zone_bytes,
            page_bytes: flash.page.0,
            pages_at_once,
            planes_at_once,
            program_bytes,
            block_pages: flash.pages,
            columns: (0..groups).map(columns).collect(),
            programs: blocks * block_programs * of_zone * sets,
            window_pages: 2 * of_zone * flash.planes,
        }
    }

    /// The zone that is unit `index` of a lane.
    #[inline]
    pub(super) fn zone(&self, lane: Lane, index: u64) -> ZoneId {
        ZoneId(index as u32 * self.lanes + lane.0)
    }

    /// The lane of a zone, and its unit there.
    pub(super) fn place(&self, zone: ZoneId) -> (Lane, u64) {
        (Lane(zone.0 % self.lanes), u64::from(zone.0 / self.lanes))
    }

    fn columns_of(&self, zone: ZoneId) -> &[PlaneId] {
        &self.columns[(zone.0 % self.groups) as usize]
    }

    /// Number of columns of a zone.
    pub(super) fn width(&self) -> u32 {
        self.columns[0].len() as u32
    }

    /// The first plane of a program.
    #[inline]
    pub(super) fn plane_of(&self, zone: ZoneId, program: u32) -> PlaneId {
        let columns = self.columns_of(zone);
        columns[((program + zone.0 / self.groups) % columns.len() as u32) as usize]
    }

    /// Where a page of a zone lies.
    #[inline]
    pub(super) fn page(&self, zone: ZoneId, page: u32) -> PagePlace {
        let at_once = self.pages_at_once * self.planes_at_once;
        let (program, within) = (page / at_once, page % at_once);
        let first = self.plane_of(zone, program);
        let row = program / self.width();
        PagePlace {
            plane: PlaneId(first.0 + within % self.planes_at_once),
            page_of_block: (row * self.pages_at_once + within / self.planes_at_once) % self.block_pages,
            program,
        }
    }

    /// Whether all pages of a word line are programmed at once.
    pub(super) fn programs_word_lines(&self) -> bool {
        self.pages_at_once > 1
    }

    /// Pages that a program writes, over all its planes.
    pub(super) fn program_pages(&self) -> u32 {
        self.pages_at_once * self.planes_at_once
    }

    /// The columns of a zone after its first `programs`: the first plane of each, and of how many blocks on it a page
    /// is programmed.
    pub(super) fn written_blocks(&self, zone: ZoneId, programs: u32) -> impl Iterator<Item = (PlaneId, u32)> {
        let (width, block_programs) = (self.width(), self.block_pages / self.pages_at_once);
        (0..width).filter_map(move |nth| {
            let rows = (programs + width - 1 - nth) / width;
            (rows > 0).then(|| (self.plane_of(zone, nth), rows.div_ceil(block_programs)))
        })
    }
}
