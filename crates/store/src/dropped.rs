//! Patches that are deleted without a merge: see `statement`.
//!
//! Invariants:
//! - A dropped patch is in no census. It is deleted only when a patch whose statement is of that census, or of a later
//!   one, is durable in the store.
//! - It is named until its erase is confirmed. There are at most [`DROPPED_MAX`] whose erase has not begun, or failed.

use std::collections::BTreeMap;

/// Most patches that are dropped, and whose erase is not confirmed: fewer than the blocks that are kept for merges.
const DROPPED_MAX: usize = 4;

/// How far a dropped patch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It waits for a statement of this generation.
    Waits { slice: u32, generation: u64 },
    /// It is being erased, or that failed.
    Erasing,
}

/// The dropped patches of a store, by their blocks.
#[derive(Debug, Default)]
pub(crate) struct Dropped(BTreeMap<u64, State>);

impl Dropped {
    /// Number of blocks that the next patch with a statement gives back.
    pub(crate) fn waiting(&self) -> usize {
        self.0.values().filter(|state| matches!(state, State::Waits { .. })).count()
    }

    /// Returns how many more may be dropped.
    pub(crate) fn room(&self) -> usize {
        DROPPED_MAX.saturating_sub(self.0.len())
    }

    /// Drops a patch of a slice. The census without it has this generation.
    pub(crate) fn add(&mut self, id: u64, slice: u32, generation: u64) {
        assert!(self.room() > 0, "block {id} is dropped, and {DROPPED_MAX} are already");
        let before = self.0.insert(id, State::Waits { slice, generation });
        assert!(before.is_none(), "block {id} is dropped twice");
    }

    /// An opening found a dropped patch.
    pub(crate) fn found(&mut self, id: u64) {
        self.0.insert(id, State::Erasing);
    }

    /// A statement of this generation is durable. Returns the patches to be erased now, each with its slice.
    pub(crate) fn stated(&mut self, durable: u64) -> Vec<(u32, u64)> {
        let mut ready = Vec::new();
        for (&id, state) in &mut self.0 {
            if let State::Waits { slice, generation } = *state
                && generation <= durable
            {
                *state = State::Erasing;
                ready.push((slice, id));
            }
        }
        ready
    }

    /// The erase of a block is confirmed.
    pub(crate) fn erased(&mut self, id: u64) {
        let state = self.0.remove(&id);
        assert!(!matches!(state, Some(State::Waits { .. })), "block {id} is erased before that is stated");
    }

    /// The blocks of all.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u64> {
        self.0.keys().copied()
    }
}
