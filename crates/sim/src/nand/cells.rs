//! Page types: a cell of several bits has a page for each of them, and which bit it is decides how long a page is read
//! and programmed.
//!
//! The pages of a block are numbered in the order in which they are programmed. Where all pages of a word line are
//! programmed at once, that is word line by word line, each with its lower, middle, upper and top page. Where pages are
//! programmed one by one, it is the *shadow sequence*: the next bit of a word line is programmed after the bit before
//! of the next word line, so that a neighbour disturbs a page as little as possible (MLC: L0 L1 U0 L2 U1 … U(n-1)).

use crate::config::{DriveConfig, Programming};

/// The times that a page takes: an index of `nand::Timing`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageType(pub(super) u8);

/// The most bits of a cell.
pub(super) const MOST_BITS: usize = 4;

impl PageType {
    /// A page that a section of the configuration has written in times of its own, as the SLC cache has.
    pub const OF_SECTION: Self = Self(MOST_BITS as u8);
    /// Pages of all types, of which the mean counts.
    pub const MEAN: Self = Self(MOST_BITS as u8 + 1);
    /// How many there are.
    pub(super) const COUNT: usize = MOST_BITS + 2;
}

/// The page types of a drive's blocks, page by page; empty where all are the same.
pub fn of_block(config: &DriveConfig) -> Box<[PageType]> {
    let Some(cell) = config.flash.cell else { return Box::default() };
    let (bits, pages) = (cell.bits(), config.flash.pages);
    match config.flash.programming {
        Programming::OneShot => (0..pages).map(|page| PageType((page % bits) as u8)).collect(),
        Programming::Page => shadow_sequence(bits, pages),
    }
}

/// The shadow sequence of a block. A last word line that lacks pages lacks those of its highest bits.
fn shadow_sequence(bits: u32, pages: u32) -> Box<[PageType]> {
    let word_lines = pages.div_ceil(bits);
    let has = |bit: u32, line: u32| line * bits + bit < pages;
    let steps = (0..word_lines + bits).flat_map(|step| {
        (0..bits.min(step + 1)).filter_map(move |bit| {
            let line = step - bit;
            (line < word_lines && has(bit, line)).then_some(PageType(bit as u8))
        })
    });
    let types: Box<[_]> = steps.collect();
    debug_assert_eq!(types.len(), pages as usize, "each page is programmed once");
    types
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(bits: u32, pages: u32) -> String {
        shadow_sequence(bits, pages).iter().map(|kind| ['L', 'M', 'U', 'T'][usize::from(kind.0)]).collect()
    }

    #[test]
    fn next_bit_follows_the_bit_before_of_the_next_word_line() {
        // L0; L1 M0; L2 M1; L3 M2; M3.
        assert_eq!(letters(2, 8), "LLMLMLMM");
        // L0; L1 M0; L2 M1 U0; L3 M2 U1; M3 U2; U3.
        assert_eq!(letters(3, 12), "LLMLMULMUMUU");
        assert_eq!(letters(1, 3), "LLL");
        assert_eq!(letters(3, 4), "LLMU");
    }
}
