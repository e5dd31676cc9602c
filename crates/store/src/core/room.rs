//! Room for writes: the blocks that values leave to merges and deletes, and merges that are asked for more.
//!
//! Invariants, as long as no unit goes bad:
//! - A value is admitted only where [`kept_blocks`](Core::kept_blocks) stay free: the reserve, a block for each slice's
//!   container and one more. A delete needs one.
//! - So a frozen container always has its block, and merges have [`MERGE_BLOCKS`](crate::merging::MERGE_BLOCKS), which
//!   the least reserve exceeds by a part of a merge: each tombstone reaches what it deletes, and its block is erased.
//! - Of a slice without keys at most one patch is left, which records its last merge. The least store
//!   (`requirements`) has a block for each of these beside the reserve and one more, which is what a value needs where
//!   the containers are empty: so a store without keys takes values again, whatever filled it.
//! - All of this is done by merges, which are asked for by the refused write itself: it allows the store to write, as
//!   an accepted one does. A refusal is final only where nothing in flight can give a block back.
//! - Merges for a refused value begin again only once something has changed since they last did: more blocks are free,
//!   a delete was accepted, or a snapshot released. So refused values wear no device, and waiting for merges ends.

use super::Core;
use crate::entry::Entry;
use crate::error::WriteError;
use crate::slice::Slice;
use crate::writes::Relief;
use flashlane_device::DataDevice;

impl<D: DataDevice, L: DataDevice> Core<D, L> {
    /// Returns whether a write has room. One that has none asks merges for it: a delete waits for them in its queue,
    /// and a value is refused as busy until they have ended.
    pub(super) fn admit_or_relieve(&mut self, entries: &[Entry], pieces: u64) -> Result<(), WriteError> {
        let is_delete = entries.iter().all(|entry| entry.version.body.is_tombstone());
        let blocks_free = if is_delete { self.spare_blocks() } else { self.admissible_blocks() };
        // Writes that wait were admitted, and need blocks too.
        let needed = match is_delete {
            true => 1 + self.waiting_blocks(),
            false => self.kept_blocks() + self.waiting_blocks() + pieces,
        };
        if !is_delete {
            self.writes.set_wanted_blocks(if blocks_free < needed { needed } else { 0 });
        }
        if blocks_free >= needed {
            if !is_delete {
                self.writes.relief_ends();
            }
            return Ok(());
        }
        let is_relieved = self.is_being_relieved();
        // Merges that gave nothing back are not begun again for the next value.
        let begins = is_delete || (!is_relieved && self.relief_begins(blocks_free));
        if begins {
            // Merges write, also where the first write since an opening is refused.
            self.allow_writes();
            self.writes.request_relief();
            self.pump();
        }
        if is_delete && self.is_merging() {
            Ok(())
        } else if !is_delete && (is_relieved || (begins && self.is_being_relieved())) {
            Err(WriteError::Busy { waiting_bytes: self.writes.waiting_bytes() })
        } else {
            let blocks_left = blocks_free.saturating_sub(needed - pieces);
            let room_bytes = if pieces > 0 { blocks_left * self.piece_bytes() } else { 0 };
            Err(WriteError::Full {
                blocks_free,
                blocks_needed: needed,
                room_bytes,
                failure: self.put_failure,
            })
        }
    }

    /// Returns whether merges are to make room for a value now.
    fn relief_begins(&mut self, blocks_free: u64) -> bool {
        let (last_write, snapshot) = (self.last_sequence, self.snapshots.oldest());
        self.writes.relief_begins(Relief { blocks_free, last_write, snapshot })
    }

    /// Returns whether what is in flight may give blocks back.
    fn is_being_relieved(&self) -> bool {
        let waits_for_log = || {
            let (durable_to, mut frozen) =
                (self.log.durable_to(), self.slices.iter().flat_map(Slice::frozen));
            !self.log.is_idle() && frozen.any(|frozen| frozen.container().end_page() > durable_to)
        };
        self.is_merging() || self.flushes_in_flight() > 0 || self.routes.has_deletes() || waits_for_log()
    }

    /// Returns the bytes of values that have room now, beside the blocks kept for deletes and merges; at 0 small ones
    /// may still be admitted.
    pub(crate) fn room_bytes(&self) -> u64 {
        let kept = self.kept_blocks() + self.waiting_blocks();
        self.admissible_blocks().saturating_sub(kept) * self.piece_bytes()
    }

    /// Blocks that are spare, and those that the next patch gives back. The blocks kept for merges suffice until then.
    fn admissible_blocks(&self) -> u64 {
        self.spare_blocks() + self.dropped.waiting() as u64
    }

    /// Blocks that the writes in queues will need.
    fn waiting_blocks(&self) -> u64 {
        self.writes.waiting_blocks(self.shape.block_bytes)
    }

    /// Blocks that the containers will need, and one more.
    fn container_blocks(&self) -> u64 {
        self.slices.iter().filter(|slice| !slice.container().is_empty()).count() as u64 + 1
    }

    /// Returns whether values are refused, or the last one was, as blocks are scarce.
    pub(super) fn is_space_scarce(&self) -> bool {
        self.spare_blocks() < self.kept_blocks().max(self.writes.wanted_blocks())
    }

    /// Blocks without which values are refused, beside those for writes that wait.
    pub(super) fn kept_blocks(&self) -> u64 {
        self.options.reserve_blocks + self.container_blocks()
    }

    /// Where a value was refused, writes the containers with tombstones, so that merges give space back, and those
    /// without while blocks wait for the next patch.
    pub(super) fn relieve_space(&mut self) {
        if !self.writes.take_relief_request() {
            return;
        }
        for nth in 0..self.slices.len() {
            // The policy is asked again: blocks are scarce now.
            self.slices[nth].ask_again_for_space();
            let slice = &self.slices[nth];
            let gives_back = slice.container().has_tombstones() || self.dropped.waiting() > 0;
            let frozen = slice.frozen().len();
            match gives_back && !slice.container().is_empty() {
                true if frozen == 0 => self.freeze(nth),
                // Tried again when those before it are written.
                true => self.writes.request_relief(),
                false => {}
            }
        }
    }

    /// Blocks that are free and not needed for what has begun: outputs of merges, and frozen containers.
    pub(super) fn spare_blocks(&self) -> u64 {
        let frozen = self.slices.iter().flat_map(Slice::frozen);
        let waiting = frozen.filter(|frozen| frozen.is_waiting()).count() as u64;
        self.unpromised_blocks().saturating_sub(waiting)
    }
}
