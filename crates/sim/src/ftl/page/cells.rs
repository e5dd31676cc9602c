//! The cells of a drive whose pages have types: which type a mapping unit's page has, and which word line it is a part
//! of.
//!
//! Where all pages of a word line are programmed at once, a unit of the host waits for those that complete its word
//! line; with superblocks for those of the word lines of all planes, which go together. What a flush leaves of a word
//! line stays empty, as what it leaves of a page does.

use super::Placed;
use crate::config::DriveConfig;
use crate::divisor::Divisor;
use crate::ids::{Ppn, ProgramGroup};
use crate::nand::{Geometry, PageType, page_types};

pub(super) struct Cells {
    /// By page of a block.
    types: Box<[PageType]>,
    /// Mapping units of a block that have one page number: one page on each plane of a superblock.
    page: Group,
    /// Mapping units of a word line, likewise, where its pages are programmed at once.
    word_line: Option<Group>,
}

/// Mapping units that follow each other: how many, and what divides by this.
#[derive(Clone, Copy)]
struct Group {
    units: u32,
    of_units: Divisor,
}

impl Group {
    fn new(units: u32) -> Self {
        Self { units, of_units: Divisor::new(units) }
    }

    /// Describes a place whose unit is programmed with those of its group.
    #[inline(always)]
    fn described(self, ppn: Ppn, placed: Placed) -> Placed {
        let first = self.of_units.of(ppn.0) * self.units;
        let waits_for_others = ppn.0 + 1 < first + self.units;
        Placed { program_group: ProgramGroup(first), waits_for_others, ..placed }
    }
}

impl Cells {
    /// Those of a drive whose pages have types. `geometry` counts superblocks as blocks.
    pub(super) fn new(config: &DriveConfig, geometry: &Geometry) -> Option<Self> {
        config.flash.cell?;
        let page_units = geometry.block_units / config.flash.pages;
        let pages = config.flash.pages_per_program();
        Some(Self {
            types: page_types(config),
            page: Group::new(page_units),
            word_line: (pages > 1).then(|| Group::new(page_units * pages)),
        })
    }

    /// The type of the page of the unit with this number in its block.
    pub(super) fn page_type(&self, number_in_block: u32) -> PageType {
        self.types[self.page.of_units.of(number_in_block) as usize]
    }

    /// Mapping units that have one page number.
    pub(super) fn page_units(&self) -> u32 {
        self.page.units
    }

    /// Mapping units that are programmed at once, where they are those of word lines.
    pub(super) fn word_line_units(&self) -> Option<u32> {
        self.word_line.map(|group| group.units)
    }

    /// Completes the description of a place that is not in the SLC cache.
    #[inline(always)]
    pub(super) fn described(&self, number_in_block: u32, ppn: Ppn, placed: Placed) -> Placed {
        let placed = Placed { page_type: self.page_type(number_in_block), ..placed };
        self.word_line.map_or(placed, |group| group.described(ppn, placed))
    }

    /// Completes the description of a place in the SLC cache: a page on each plane of a superblock is programmed at
    /// once.
    pub(super) fn described_slc(&self, ppn: Ppn, placed: Placed) -> Placed {
        let joins_pages = self.word_line.is_some() && self.page.units > 1;
        if joins_pages { self.page.described(ppn, placed) } else { placed }
    }
}
