//! The cells of a drive whose pages have types: which type a mapping unit's page has, and which word line it is a part of.
//!
//! Where all pages of a word line are programmed at once, a unit of the host waits for those that complete its word line; with
//! superblocks for those of the word lines of all planes, which go together. What a flush leaves of a word line stays empty, as
//! what it leaves of a page does.

use super::Placed;
use crate::config::DriveConfig;
use crate::divisor::Divisor;
use crate::ids::{Ppn, WordLine};
use crate::nand::{Geometry, PageType, page_types};

pub(super) struct Cells {
    /// By page of a block.
    types: Box<[PageType]>,
    /// Mapping units of a block that have one page number: one page on each plane of a superblock.
    page_units: Divisor,
    /// Mapping units of a word line, likewise, where its pages are programmed at once.
    word_line: Option<(u32, Divisor)>,
}

impl Cells {
    /// Those of a drive whose pages have types. `geometry` counts superblocks as blocks.
    pub(super) fn new(config: &DriveConfig, geometry: &Geometry) -> Option<Self> {
        config.flash.cell?;
        let page_units = geometry.block_units / config.flash.pages;
        let pages = config.flash.pages_per_program();
        Some(Self {
            types: page_types(config),
            page_units: Divisor::new(page_units),
            word_line: (pages > 1).then(|| (page_units * pages, Divisor::new(page_units * pages))),
        })
    }

    /// The type of the page of the unit with this number in its block.
    pub(super) fn page_type(&self, number_in_block: u32) -> PageType {
        self.types[self.page_units.of(number_in_block) as usize]
    }

    /// Mapping units that are programmed at once, where they are those of word lines.
    pub(super) fn word_line_units(&self) -> Option<u32> {
        self.word_line.map(|(units, _)| units)
    }

    /// Completes the description of a place.
    pub(super) fn describe(&self, number_in_block: u32, ppn: Ppn, placed: &mut Placed) {
        placed.page_type = self.page_type(number_in_block);
        if let Some((units, of_units)) = self.word_line {
            let word_line = of_units.of(ppn.0);
            placed.word_line = WordLine(word_line);
            placed.waits_for_group = ppn.0 + 1 < (word_line + 1) * units;
        }
    }
}
