//! What a trial holds the block layer to: a map, and what is on its way.

use crate::{Place, Ticket};
use flashlane_base::Seed;
use std::collections::BTreeMap;

/// What is known of a block: its bytes follow from this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) seed: u64,
    pub(super) length_bytes: u64,
}

impl Body {
    pub(super) fn fill(self, bytes: &mut [u8]) {
        let mut random = Seed(self.seed).source();
        for piece in bytes.chunks_mut(8) {
            let word = random.bits().to_le_bytes();
            piece.copy_from_slice(&word[..piece.len()]);
        }
    }
}

/// The simple model: a map, and what is on its way.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub(super) stored: BTreeMap<u64, Body>,
    pub(super) putting: BTreeMap<u64, (Ticket, Body)>,
    pub(super) deleting: BTreeMap<u64, (Ticket, Body)>,
    pub(super) getting: BTreeMap<Ticket, (Body, u64, u64)>,
    /// Blocks whose erase failed.
    pub(super) uncertain: BTreeMap<u64, Body>,
    /// The highest id of a block that was ever acknowledged, or found.
    pub(super) highest: Option<u64>,
    /// Damaged units, and how often each had been erased when it was damaged.
    pub(super) damaged: BTreeMap<Place, Option<u32>>,
}

pub(super) fn compare(id: u64, body: Body, offset: u64, length: u64, seen: &[u8]) {
    let mut all = vec![0; body.length_bytes as usize];
    body.fill(&mut all);
    let expected = &all[offset as usize..(offset + length) as usize];
    assert!(seen == expected, "block {id} has other bytes than were put, within {length} from {offset}");
}
