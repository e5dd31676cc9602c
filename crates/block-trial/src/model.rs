//! The model that a trial compares the block layer with: a map of blocks, and the operations in flight.

use flashlane_base::Seed;
use flashlane_block::{Ticket, UnitAddress};
use std::collections::BTreeMap;

/// Content of a block: its bytes follow from this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Body {
    pub(crate) seed: u64,
    pub(crate) length_bytes: u64,
}

impl Body {
    pub(crate) fn fill(self, bytes: &mut [u8]) {
        let mut random = Seed(self.seed).source();
        for piece in bytes.chunks_mut(8) {
            let word = random.bits().to_le_bytes();
            piece.copy_from_slice(&word[..piece.len()]);
        }
    }
}

/// Blocks and operations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) stored: BTreeMap<u64, Body>,
    pub(crate) putting: BTreeMap<u64, (Ticket, Body)>,
    pub(crate) deleting: BTreeMap<u64, (Ticket, Body)>,
    pub(crate) getting: BTreeMap<Ticket, (Body, u64, u64)>,
    /// Blocks whose erase failed.
    pub(crate) uncertain: BTreeMap<u64, Body>,
    /// The highest id of a block that was ever acknowledged, or found.
    pub(crate) highest: Option<u64>,
    /// Damaged units, with their erase counts when they were damaged.
    pub(crate) damaged: BTreeMap<UnitAddress, Option<u32>>,
}

/// Asserts that a get of `length` bytes from `offset` returned the right ones.
pub(crate) fn compare(id: u64, body: Body, offset: u64, length: u64, seen: &[u8]) {
    let mut all = vec![0; body.length_bytes as usize];
    body.fill(&mut all);
    let expected = &all[offset as usize..(offset + length) as usize];
    assert!(seen == expected, "block {id} has other bytes than were put, within {length} from {offset}");
}
