//! The array's shape: how mapping units, blocks, planes, dies and channels are numbered.
//!
//! Planes count with the channel first, then package, die and plane; a physical number is
//! `(plane * blocks + block) * block_units + unit`, 32 bits.

use crate::config::array_size::ArraySize;
use crate::config::{DriveConfig, FlashConfig, LevelName};
use flashlane_base::Seed;
use flashlane_policy::allocation::{Array, Level};

/// Counts and sizes, all derived from a profile.
#[derive(Clone, Debug)]
pub struct Geometry {
    /// Channels.
    pub channels: u32,
    /// Packages on a channel.
    pub packages_per_channel: u32,
    /// Dies in a package.
    pub dies_per_package: u32,
    /// Planes of a die.
    pub planes_per_die: u32,
    /// Dies in all.
    pub dies: u32,
    /// Planes in all.
    pub planes: u32,
    /// Planes of an allocation pool: neighbours, since they count with the channel first.
    pub pool_planes: u32,
    /// Erase blocks on a plane.
    pub blocks_per_plane: u32,
    /// Mapping units of an erase block.
    pub block_units: u32,
    /// Mapping units of an erase block that hold data.
    pub data_units: u32,
    /// Bytes of a mapping unit.
    pub unit_bytes: u64,
    /// Mapping units of a flash page.
    pub units_per_page: u32,
    /// Flash pages of a mapping unit that is larger than one; 1 where it is not.
    pub pages_per_unit: u32,
    /// Mapping units that a plane programs at once: those of a page, or of all pages of a word line.
    pub units_per_program: u32,
    /// Mapping units that the host sees.
    pub logical_units: u32,
    /// Mapping units of sections of the configuration that are on flash beside the host's once the host has written all
    /// of its own.
    pub section_units: u32,
    /// Mapping units of theirs that come once they are needed, the same number on each die.
    pub later_units: u32,
    /// Mapping units of a chunk.
    pub chunk_units: u32,
    /// A plane with no more free blocks than this garbage-collects before it is written.
    pub low_watermark_blocks: u32,
    /// Channels of a row beside the one with its parity, where there is parity.
    pub parity: Option<u32>,
    /// Planes of a die whose blocks are filled and garbage-collected together.
    pub joined_planes: u32,
    /// Blocks of each plane that sections of the configuration take from the start.
    pub reserved_blocks: u32,
    /// Blocks of each plane that they take once they are needed.
    pub later_blocks: u32,
    /// Blocks of each plane that are bad from the start.
    pub factory_bad_per_plane: u32,
}

impl Geometry {
    /// Requires: the profile's counts and sizes are in range (validation checks them first).
    pub fn new(config: &DriveConfig) -> Self {
        let flash = &config.flash;
        let array = config.array_size();
        let ArraySize { dies, planes, unit_bytes, units_per_page, pages_per_unit, logical_units, .. } = array;
        let room = config.room(&array);
        let low_watermark_blocks = ((config.cleaning.low.0 * f64::from(flash.blocks)) as u32).max(1);
        Self {
            channels: flash.channels,
            packages_per_channel: flash.packages,
            dies_per_package: flash.dies,
            planes_per_die: flash.planes,
            dies,
            planes,
            pool_planes: match config.compat.disksim.pool {
                LevelName::Plane => 1,
                LevelName::Die => flash.planes,
                LevelName::Package => flash.dies * flash.planes,
                LevelName::Channel => flash.packages * flash.dies * flash.planes,
            },
            blocks_per_plane: flash.blocks,
            block_units: array.units_of(flash.pages),
            data_units: array.units_of(flash.pages - config.compat.disksim.summary_pages),
            unit_bytes,
            units_per_page,
            pages_per_unit,
            units_per_program: units_per_page * flash.pages_per_program(),
            logical_units,
            section_units: room.stored_units,
            later_units: room.later_units,
            chunk_units: (config.mapping.chunk.0 / unit_bytes) as u32,
            low_watermark_blocks,
            parity: config.mapping.parity,
            joined_planes: if config.cleaning.multi_plane { flash.planes } else { 1 },
            reserved_blocks: room.reserved_blocks,
            later_blocks: room.later_blocks,
            factory_bad_per_plane: (flash.factory_bad.0 * f64::from(flash.blocks)).ceil() as u32,
        }
    }

    /// The array as a translation layer with superblocks sees it: planes whose blocks go together count as one, whose
    /// blocks have the data units of all of them. The same array where there are none.
    pub fn of_superblocks(mut self) -> Self {
        let (protected, row) = self.parity.map_or((1, 1), |protected| (protected, protected + 1));
        let joined = self.joined_planes;
        (self.channels, self.dies, self.planes) =
            (self.channels / row, self.dies / row, self.planes / row / joined);
        self.planes_per_die /= joined;
        self.block_units *= protected * joined;
        self.data_units *= protected * joined;
        self.chunk_units *= protected;
        self
    }

    /// Mapping units that are programmed at once on all planes of a superblock; one, where that is several pages.
    pub fn step_units(&self, flash: &FlashConfig) -> u32 {
        (self.block_units * self.pages_per_unit / flash.pages).max(1) * flash.pages_per_program()
    }

    /// Bytes of a mapping unit on one flash page.
    pub fn page_part_bytes(&self) -> u64 {
        self.unit_bytes / u64::from(self.pages_per_unit)
    }

    /// Whether blocks of several planes are filled and garbage-collected together.
    pub fn has_superblocks(&self) -> bool {
        self.parity.is_some() || self.joined_planes > 1
    }

    /// Mapping units that the flash array has room for.
    pub fn physical_units(&self) -> u64 {
        u64::from(self.planes) * u64::from(self.blocks_per_plane) * u64::from(self.block_units)
    }

    /// Mapping units that flash holds once the host has written all of its own: those and the ones of sections.
    pub fn stored_units(&self) -> u32 {
        self.logical_units.saturating_add(self.section_units)
    }

    /// Mapping units that translation numbers: all that may ever be on flash.
    pub fn numbered_units(&self) -> u32 {
        self.stored_units() + self.later_units
    }

    /// Mapping units that a plane has to hold at most when addresses are striped over the planes, with those that come
    /// later.
    pub fn stored_units_per_plane(&self) -> u32 {
        let stored = self.stored_units();
        let chunks = stored.div_ceil(self.chunk_units);
        let own = chunks.div_ceil(self.planes).saturating_mul(self.chunk_units).min(stored);
        own.saturating_add(self.later_units.div_ceil(self.planes))
    }

    /// The view of allocation policies.
    pub fn array(&self, order: &[LevelName; 4], seed: Seed) -> Array {
        Array {
            counts: [self.channels, self.packages_per_channel, self.dies_per_package, self.planes_per_die],
            order: order.map(|level| match level {
                LevelName::Channel => Level::Channel,
                LevelName::Package => Level::Package,
                LevelName::Die => Level::Die,
                LevelName::Plane => Level::Plane,
            }),
            seed,
        }
    }
}
