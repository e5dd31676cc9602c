//! Merging in the background: asks the policy, runs the merges, installs their results and deletes what they replace.
//!
//! Invariants:
//! - A slice has at most one merge.
//! - A merge begins only where blocks for all its outputs are free and not promised to others, so it can always end.
//!   Where they are too few for what the policy chose, a part of it is merged (`flashlane_policy::merge`,
//!   `View::within`). While merges run, [`MERGE_BLOCKS`] are left to them, which suffice for parts: so a full store
//!   always gives space back.
//! - The buffers of merges take a quarter of the memory at most, and each its share ([`Share`]).
//! - A merge reads all of its inputs, but for what the last salvage gave up; otherwise it is given up itself.
//! - Inputs are deleted only when all outputs are durable. From then on they are `undeleted` until the erase is
//!   confirmed.

use super::Core;
use super::memory::Share;
use crate::cursor::{Cursor, ReadBytes, Wanted};
use crate::error::Gap;
use crate::merging::{Context, MERGE_BLOCKS, Merge, Output, PART_BLOCKS, Plan};
use crate::patch::Patch;
use crate::routes::Purpose;
use flashlane_block::{BlockBytes, GetFailure, Payload, PutFailure};
use flashlane_device::DataDevice;
use flashlane_policy::merge::{Choice, View};
use std::cmp::Reverse;
use std::sync::Arc;

impl<D: DataDevice, L: DataDevice> Core<D, L> {
    /// Begins the merges that are due, and goes on with those that run.
    pub(super) fn compact(&mut self) {
        if self.blocks.device().info().read_only {
            return;
        }
        (0..self.slices.len()).for_each(|slice| self.run_merge(slice));
        // Slices that lag behind most go first: not all may merge at once.
        let mut due: Vec<usize> = (0..self.slices.len()).filter(|&nth| self.may_be_due(nth)).collect();
        due.sort_by_key(|&nth| Reverse(self.slices[nth].levels().level_0_patches()));
        for slice in due {
            self.begin_merge(slice);
            self.run_merge(slice);
        }
        (0..self.slices.len()).for_each(|slice| self.drop_tombstones(slice));
    }

    /// Returns whether a merge of a slice may begin, as far as is known without asking the policy.
    fn may_be_due(&self, nth: usize) -> bool {
        self.slices[nth].may_merge(|| self.merge_blocks())
    }

    /// Returns whether a merge runs.
    pub(super) fn is_merging(&self) -> bool {
        self.slices.iter().any(|slice| slice.merge().is_some())
    }

    /// Free blocks that are not promised to merges that run.
    pub(super) fn unpromised_blocks(&self) -> u64 {
        let merges = self.slices.iter().filter_map(|slice| slice.merge());
        self.blocks.free_blocks().saturating_sub(merges.map(|merge| merge.outputs_left()).sum())
    }

    /// Blocks that a merge may write: those that are spare, and those that containers leave to merges.
    pub(super) fn merge_blocks(&self) -> u64 {
        self.spare_blocks().max(self.unpromised_blocks().min(MERGE_BLOCKS))
    }

    fn begin_merge(&mut self, nth: usize) {
        let slice = &self.slices[nth];
        let running = self.slices.iter().filter(|slice| slice.merge().is_some()).count() as u64;
        if running >= self.merges_max() || self.are_puts_held() {
            return;
        }
        let (blocks, patches) =
            (self.merge_blocks(), slice.levels().for_policy(self.snapshots.oldest(), self.now_ms));
        let is_space_scarce = self.is_space_scarce();
        let most = self.options.merge_blocks_max.min(slice.merge_blocks_max());
        let patch_bytes = self.shape.block_bytes;
        let view = View { patches: &patches, patch_bytes, merge_blocks: blocks.min(most), is_space_scarce };
        let Some(whole) = self.policy.choose(view) else {
            self.slices[nth].set_in_shape(u64::MAX);
            return;
        };
        assert_eq!(view.legality(&whole), Ok(()), "the policy '{}' chose {whole:?}", self.options.merge);
        // Where there is no part so small, versions of one key fill several patches.
        let part = view.within(whole.clone(), blocks.min(most));
        let Some(choice) = part.or_else(|| view.within(whole.clone(), blocks)) else {
            self.slices[nth].set_in_shape(blocks);
            return;
        };
        debug_assert_eq!(view.legality(&choice), Ok(()), "a part of a merge is {choice:?}");
        let inputs = choice.inputs.iter().map(|&nth| &slice.levels().patches()[nth]);
        if !slice.may_read(inputs) {
            self.slices[nth].set_in_shape(u64::MAX);
            return;
        }
        let (outputs_max, is_part) = (view.blocks_written_max(&choice), choice != whole);
        self.counters.merge_parts += u64::from(is_part);
        self.start_merge(nth, choice, outputs_max);
    }

    /// Starts a merge that writes at most `outputs_max` patches.
    pub(super) fn start_merge(&mut self, nth: usize, choice: Choice, outputs_max: u64) {
        let patches = self.slices[nth].levels().patches();
        let inputs: Vec<Arc<Patch>> = choice.inputs.iter().map(|&nth| patches[nth].clone()).collect();
        let number = self.allocate_number();
        let slice = &mut self.slices[nth];
        let plan = Plan {
            slice: slice.number(),
            lower: slice.lower().to_vec(),
            upper: slice.upper().to_vec(),
            number,
            structure_version: slice.structure_version(),
            level: choice.level,
            run: choice.run.unwrap_or(number),
            until: choice.until,
            stale: slice.undeleted().iter().copied().collect(),
        };
        // Outputs are placed as if the inputs were gone, so that what stays is evenly spread over the lanes.
        inputs.iter().for_each(|patch| self.blocks.set_expiring(patch.id, true));
        let merge = Merge::new(plan, inputs, slice.levels().patches(), outputs_max);
        slice.set_merge(Box::new(merge));
    }

    /// Goes on with a merge: starts reads, merges what was read, and puts outputs.
    fn run_merge(&mut self, slice: usize) {
        let Some(mut merge) = self.slices[slice].take_merge() else { return };
        if merge.is_aborted() {
            self.discard_unplaced(&mut merge);
        }
        if !self.are_puts_held() {
            for Output { nth, payload } in std::mem::take(&mut merge.unplaced) {
                self.put_output(&mut merge, nth, payload);
            }
        }
        if !merge.unplaced.is_empty() && self.blocks.is_idle() {
            return self.give_up_full(slice, *merge);
        }
        let share = self.merge_share();
        loop {
            self.read_for_merge(&mut merge, share);
            if merge.writing.len() >= share.writes || !merge.unplaced.is_empty() {
                break;
            }
            let (slices, dropped, generation) = (&self.slices, &self.dropped, self.generation());
            let (blocks, payloads, next_number) = (&self.blocks, &mut self.payloads, &mut self.next_number);
            let (own, missing) = (merge.plan.number, self.missing_patches);
            let mut context = Context {
                shape: self.shape,
                store: self.store,
                now_ms: self.now_ms,
                snapshots: &self.snapshots,
                payload: &mut || payloads.pop().unwrap_or_else(|| blocks.payload()),
                number: &mut || {
                    *next_number += 1;
                    let mut statement =
                        super::statement((generation, *next_number, missing), slices, dropped);
                    statement.merges.push(own);
                    (*next_number - 1, statement)
                },
            };
            let output = merge.advance(&mut context);
            self.reuse_spent(&mut merge.cursors);
            let Some(Output { nth, payload }) = output else { break };
            self.put_output(&mut merge, nth, payload);
        }
        if merge.is_complete() {
            self.merged(slice, *merge);
        } else if merge.is_aborted()
            && merge.writing.is_empty()
            && !merge.cursors.iter().any(Cursor::is_reading)
        {
            self.abort(slice, &merge);
            merge.unread.iter().for_each(|&id| self.slices[slice].merge_could_not_read(id));
        } else {
            self.slices[slice].set_merge(merge);
        }
    }

    fn read_for_merge(&mut self, merge: &mut Merge, share: Share) {
        let chunk_bytes = self.options.merge_chunk_bytes;
        for nth in 0..merge.cursors.len() {
            if merge.is_aborted() {
                return;
            }
            if let Some(wanted) = merge.cursors[nth].start_read(chunk_bytes) {
                self.read_input(merge, nth, wanted);
            }
        }
        // Of all runs the one whose entries end first is read ahead (forecasting: Knuth, The Art of Computer
        // Programming, volume 3, section 5.4.6).
        while merge.held_bytes() + chunk_bytes <= share.ahead_bytes && !merge.is_aborted() {
            let ahead = merge.cursors.iter().enumerate().flat_map(|(cursor, own)| {
                own.ahead(share.ahead_patches).map(move |(patch, key)| (key, cursor, patch))
            });
            let Some((_, cursor, patch)) = ahead.min() else { break };
            let wanted = merge.cursors[cursor].start_read_ahead(patch, chunk_bytes);
            self.read_input(merge, cursor, wanted);
        }
    }

    /// Starts a read that is due.
    fn read_input(&mut self, merge: &mut Merge, cursor: usize, wanted: Wanted) {
        self.counters.merge_bytes_read += wanted.range.end - wanted.range.start;
        let purpose = Purpose::MergeRead { slice: merge.plan.slice, cursor };
        if self.read_block(wanted.block, wanted.range, purpose).is_err() {
            merge.cursors[cursor].read_failed(wanted.block);
            merge.unread.insert(wanted.block);
        }
    }

    pub(super) fn merge_read(
        &mut self,
        slice: u32,
        (cursor, block): (usize, u64),
        result: Result<BlockBytes, GetFailure>,
    ) {
        let merge = self.slices[slice as usize].merge_mut().expect("a merge waits for its reads");
        let cursor = &mut merge.cursors[cursor];
        let groups = cursor.groups_in_flight(block);
        let is_read = match result {
            Ok(data) => cursor.read_ended(block, ReadBytes::Device(data)).is_ok(),
            Err(_) => {
                cursor.read_failed(block);
                false
            }
        };
        if !is_read {
            let given_up = self.salvage.as_ref().map(|salvage| &salvage.lost);
            let is_given_up = |keys: &Gap| given_up.is_some_and(|lost| lost.encloses(keys));
            if !cursor.leave_out(block, groups, is_given_up) {
                merge.unread.insert(block);
            }
        }
    }

    fn put_output(&mut self, merge: &mut Merge, nth: u32, payload: Payload) {
        let id = self.blocks.next_id();
        match self.blocks.put(id, payload) {
            Ok(ticket) => self.routes.add(ticket, Purpose::MergeWrite { slice: merge.plan.slice, nth, id }),
            // Blocks were promised; units may have gone bad meanwhile. The next pump tries again.
            Err((_, payload)) => merge.unplaced.push(Output { nth, payload }),
        }
    }

    /// Drops the outputs for which there is no block.
    fn discard_unplaced(&mut self, merge: &mut Merge) {
        for Output { nth, payload } in std::mem::take(&mut merge.unplaced) {
            merge.writing.remove(&nth);
            self.reuse_payload(payload);
        }
    }

    pub(super) fn merge_written(
        &mut self,
        number: u32,
        nth: u32,
        id: u64,
        result: Result<(), PutFailure>,
        payload: Payload,
    ) {
        let slice = &mut self.slices[number as usize];
        let merge = slice.merge_mut().expect("a merge waits for its outputs");
        match result {
            Ok(()) => {
                merge.output_written(nth, id);
                self.counters.merge_bytes_written += self.shape.block_bytes;
                self.reuse_payload(payload);
            }
            Err(_) => {
                merge.unplaced.push(Output { nth, payload });
                // What the failed put may have left is superseded by the next attempt.
                slice.superseded(id);
            }
        }
    }

    /// All outputs are durable: they replace the inputs.
    fn merged(&mut self, number: usize, merge: Merge) {
        let inputs: Vec<u64> = merge.inputs.iter().map(|patch| patch.id).collect();
        assert!(
            merge.writing.is_empty() && !merge.written.is_empty(),
            "a complete merge has durable outputs"
        );
        let pieces: Vec<u64> = merge.freed_pieces().collect();
        let slice = &mut self.slices[number];
        let result = (merge.plan.level, Reverse(merge.plan.run));
        let is_rewrite = inputs.len() > 1 && merge.inputs.iter().all(|patch| patch.age() == result);
        let is_in_vain = is_rewrite && merge.written.len() >= inputs.len();
        let is_unchanged = slice.structure_version() == merge.plan.structure_version;
        slice.replace(&inputs, merge.written);
        slice.set_merge_blocks_max(u64::MAX);
        if is_in_vain && is_unchanged {
            // Patches of a run that were to become fewer did not. It is tried again when the slice has changed.
            slice.set_dense();
        }
        self.counters.merges += 1;
        if let Some(generation) = merge.stated {
            self.stated(generation);
        }
        inputs.into_iter().for_each(|id| self.delete_block(id, Some(number as u32)));
        pieces.into_iter().for_each(|id| self.delete_block(id, None));
    }

    /// Gives a merge up for whose outputs there is no room, though blocks were promised: values of half a block fill
    /// patches badly, units go bad, and puts fail one after the other. A smaller part is tried next.
    fn give_up_full(&mut self, number: usize, mut merge: Merge) {
        self.discard_unplaced(&mut merge);
        assert!(
            merge.writing.is_empty() && !merge.cursors.iter().any(Cursor::is_reading),
            "an idle block layer has nothing in flight"
        );
        self.abort(number, &merge);
        let slice = &mut self.slices[number];
        slice.set_merge_blocks_max(merge.outputs_max / 2);
        if slice.merge_blocks_max() >= PART_BLOCKS {
            slice.ask_again();
        }
    }

    /// Deletes the patches of a slice that have nothing but tombstones above nothing older, among them those that only
    /// carry the record of a merge: once every block that was superseded is erased, nothing can come back. Each is
    /// erased when a later patch states that it is not needed: see `statement`.
    fn drop_tombstones(&mut self, number: usize) {
        let room = self.dropped.room();
        let slice = &mut self.slices[number];
        if room == 0 || !slice.begin_pruning() {
            return;
        }
        let patches = slice.levels().patches();
        let is_useless = |patch: &&Arc<Patch>| {
            let (own, age) = (&patch.fields, patch.age());
            let is_older = |other: &&Arc<Patch>| other.age() >= age && other.id != patch.id;
            own.tombstones == own.entries
                && !patches.iter().filter(is_older).any(|other| other.overlaps(patch))
        };
        // Another patch has to cover the writes that it stands for.
        let mut kept: Vec<&Arc<Patch>> = patches.iter().filter(|patch| !is_useless(patch)).collect();
        let mut useless = Vec::new();
        let mut candidates: Vec<&Arc<Patch>> = patches.iter().filter(is_useless).collect();
        candidates.sort_by_key(|patch| (patch.fields.sequences.0, Reverse(patch.fields.sequences.1)));
        for patch in candidates {
            if kept.iter().any(|other| other.fields.covers_writes_of(&patch.fields)) {
                useless.push(patch.id);
            } else {
                kept.push(patch);
            }
        }
        useless.truncate(room);
        if useless.is_empty() {
            return;
        }
        slice.replace(&useless, []);
        let generation = self.generation();
        useless.into_iter().for_each(|id| self.dropped.add(id, number as u32, generation));
    }

    /// Gives a merge up. It is tried again when the slice has changed.
    fn abort(&mut self, number: usize, merge: &Merge) {
        let outputs: Vec<u64> = merge.written.iter().map(|patch| patch.id).collect();
        let slice = &mut self.slices[number];
        slice.set_in_shape(u64::MAX);
        // A later merge of the inputs must not be taken for this one's completion.
        outputs.iter().for_each(|&id| slice.superseded(id));
        merge.inputs.iter().for_each(|patch| self.blocks.set_expiring(patch.id, false));
        outputs.into_iter().for_each(|id| self.delete_block(id, Some(number as u32)));
    }
}
