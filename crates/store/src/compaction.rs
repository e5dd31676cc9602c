//! Merging in the background: asks the policy, runs the merges, installs their results and deletes what they replace.
//!
//! Invariants:
//! - A slice has at most one merge.
//! - A merge begins only where blocks for all its outputs are free and not promised to others, so it can always end.
//! - Inputs are deleted only when all outputs are durable. From then on they are `undeleted` until the erase is confirmed.

use crate::core::{Core, Purpose};
use crate::cursor::{Bounds, Cursor};
use crate::merging::{Context, Merge, Output, Plan};
use crate::patch::Patch;
use flashlane_block::{Data, GetFailure, Payload, PutFailure};
use flashlane_device::DataDevice;
use flashlane_policy::merge::View;
use std::sync::Arc;

impl<D: DataDevice, L: DataDevice> Core<D, L> {
    /// Begins the merges that are due, and goes on with those that run.
    pub(crate) fn compact(&mut self) {
        if self.blocks.device().profile().read_only {
            return;
        }
        for slice in 0..self.slices.len() {
            if self.slices[slice].merge.is_none() {
                self.begin_merge(slice);
            }
            self.run_merge(slice);
        }
    }

    /// Merges that may run at once: their buffers take a quarter of the memory at most.
    fn merges_max(&self) -> u64 {
        let buffers = (1 + u64::from(self.options.merge_writes)) * self.shape.block_bytes;
        (self.options.memory_bytes / 4 / buffers).max(1)
    }

    fn begin_merge(&mut self, nth: usize) {
        let slice = &self.slices[nth];
        if slice.in_shape == Some(slice.structure) || slice.is_placing() {
            return;
        }
        let running = self.slices.iter().filter(|slice| slice.merge.is_some()).count() as u64;
        if running >= self.merges_max() {
            return;
        }
        let patches = slice.levels.for_policy(self.snapshots.oldest());
        let scarce_blocks = self.is_space_scarce().then(|| self.spare_blocks());
        let view = View { patches: &patches, patch_bytes: self.shape.block_bytes, scarce_blocks };
        let Some(choice) = self.policy.choose(view) else {
            self.slices[nth].in_shape = Some(self.slices[nth].structure);
            return;
        };
        assert_eq!(view.legality(&choice), Ok(()), "the policy '{}' chose {choice:?}", self.options.merge);
        let inputs: Vec<Arc<Patch>> =
            choice.inputs.iter().map(|&nth| slice.levels.patches()[nth].clone()).collect();
        if self.spare_blocks() < inputs.len() as u64 + 1 {
            return;
        }
        let joined = slice.levels.newest_run(choice.level).filter(|_| choice.joins);
        let number = self.allocate_number();
        let slice = &mut self.slices[nth];
        let plan = Plan {
            slice: slice.number,
            lower: slice.lower.clone(),
            upper: slice.upper.clone(),
            number,
            level: choice.level,
            run: joined.unwrap_or(number),
            stale: slice.undeleted.iter().copied().collect(),
        };
        // Outputs are placed as if the inputs were gone, so that what stays is evenly spread over the lanes.
        inputs.iter().for_each(|patch| self.blocks.set_expiring(patch.id, true));
        let merge = Merge::new(plan, inputs, slice.levels.patches(), self.options.merge_chunk_bytes);
        slice.merge = Some(Box::new(merge));
    }

    /// Goes on with a merge: starts reads, merges what was read, and puts outputs.
    fn run_merge(&mut self, slice: usize) {
        let Some(mut merge) = self.slices[slice].merge.take() else { return };
        for Output { nth, payload } in std::mem::take(&mut merge.unplaced) {
            if merge.is_aborted {
                merge.writing.remove(&nth);
                self.reuse_payload(payload);
            } else {
                self.put_output(&mut merge, nth, payload);
            }
        }
        loop {
            self.read_for_merge(&mut merge);
            if merge.writing.len() >= self.options.merge_writes as usize || !merge.unplaced.is_empty() {
                break;
            }
            let (blocks, payloads, next_number) = (&self.blocks, &mut self.payloads, &mut self.next_number);
            let mut context = Context {
                shape: self.shape,
                store: self.store,
                now_ms: self.now_ms,
                snapshots: &self.snapshots,
                payload: &mut || payloads.pop().unwrap_or_else(|| blocks.payload()),
                number: &mut || {
                    *next_number += 1;
                    *next_number - 1
                },
            };
            let Some(Output { nth, payload }) = merge.advance(&mut context) else { break };
            self.put_output(&mut merge, nth, payload);
        }
        if merge.is_complete() {
            self.merged(slice, *merge);
        } else if merge.is_aborted
            && merge.writing.is_empty()
            && !merge.cursors.iter().any(Cursor::is_reading)
        {
            self.abort(slice, &merge);
        } else {
            self.slices[slice].merge = Some(merge);
        }
    }

    fn read_for_merge(&mut self, merge: &mut Merge) {
        if merge.is_aborted {
            return;
        }
        for nth in 0..merge.cursors.len() {
            let Some(wanted) = merge.cursors[nth].start_read(Bounds::NONE) else { continue };
            self.counters.merge_bytes_read += wanted.range.end - wanted.range.start;
            let purpose = Purpose::MergeRead { slice: merge.plan.slice, cursor: nth };
            if !self.read_block(wanted.block, wanted.range, purpose) {
                merge.cursors[nth].read_failed();
                merge.is_aborted = true;
                return;
            }
        }
    }

    pub(crate) fn merge_read(&mut self, slice: u32, cursor: usize, result: Result<Data, GetFailure>) {
        let merge = self.slices[slice as usize].merge.as_mut().expect("a merge waits for its reads");
        match &result {
            Ok(data) => {
                let is_sound = merge.cursors[cursor].read_ended(data.as_slice()).is_ok();
                merge.is_aborted |= !is_sound;
            }
            Err(_) => {
                merge.cursors[cursor].read_failed();
                merge.is_aborted = true;
            }
        }
        self.reuse(result);
    }

    fn put_output(&mut self, merge: &mut Merge, nth: u32, payload: Payload) {
        let id = self.blocks.next_id();
        match self.blocks.put(id, payload) {
            Ok(ticket) => self.route(ticket, Purpose::MergeWrite { slice: merge.plan.slice, nth, id }),
            // Blocks were promised; units may have gone bad meanwhile. The next pump tries again.
            Err((_, payload)) => merge.unplaced.push(Output { nth, payload }),
        }
    }

    pub(crate) fn merge_written(
        &mut self,
        number: u32,
        nth: u32,
        id: u64,
        result: Result<(), PutFailure>,
        payload: Payload,
    ) {
        let slice = &mut self.slices[number as usize];
        let merge = slice.merge.as_mut().expect("a merge waits for its outputs");
        match result {
            Ok(()) => {
                merge.output_written(nth, id);
                self.counters.merge_bytes_written += self.shape.block_bytes;
                self.reuse_payload(payload);
            }
            Err(_) => {
                // What the failed put may have left is superseded by the next attempt.
                slice.undeleted.insert(id);
                merge.unplaced.push(Output { nth, payload });
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
        slice.levels.replace(&inputs, merge.written);
        slice.structure += 1;
        slice.undeleted.extend(&inputs);
        self.counters.merges += 1;
        inputs.into_iter().for_each(|id| self.delete_block(id, Some(number as u32)));
        pieces.into_iter().for_each(|id| self.delete_block(id, None));
    }

    /// Gives a merge up whose inputs could not be read. It is tried again when the slice has changed.
    fn abort(&mut self, number: usize, merge: &Merge) {
        let outputs: Vec<u64> = merge.written.iter().map(|patch| patch.id).collect();
        let slice = &mut self.slices[number];
        slice.in_shape = Some(slice.structure);
        // A later merge of the inputs must not be taken for this one's completion.
        slice.undeleted.extend(&outputs);
        merge.inputs.iter().for_each(|patch| self.blocks.set_expiring(patch.id, false));
        outputs.into_iter().for_each(|id| self.delete_block(id, Some(number as u32)));
    }
}
