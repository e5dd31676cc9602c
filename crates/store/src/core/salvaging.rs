//! Ending damage: finds what cannot be read, states durably that it is lost, and rewrites the rest.
//!
//! # The order, and why a power cut at any time is safe
//! 1. The header of the log records what is given up. Before that nothing has changed; from then on openings do not
//!    compare what is from before ([`Salvage`]), and merges leave out what is given up.
//! 2. Blocks that cannot be recognised and damaged units are erased. Where a power cut brings one back it is damage again,
//!    which a further salvage ends; all later patches name those that may come back whole (`dropped`).
//! 3. Patches of which a part cannot be read are rewritten, by merges of one input. Those that are left when the power is
//!    cut, or for which there is no room, wait for other merges.

use super::Core;
use crate::bytes::Reader;
use crate::entry::EntryRef;
use crate::error::SalvageError;
use crate::log::LogConfig;
use crate::patch::Patch;
use crate::routes::Purpose;
use crate::salvage::{Damage, LostKeys, LostRange, Salvage};
use crate::statement::Census;
use flashlane_base::Instant;
use flashlane_block::{Outcome as BlockOutcome, Ticket as BlockTicket};
use flashlane_device::DataDevice;
use flashlane_policy::merge::Choice;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// Reads of a scrub in flight on each lane.
const READS_PER_LANE: usize = 4;

/// Blocks that the rewriting of a patch writes at most: a merge writes one more than it has inputs.
const REWRITE_BLOCKS: u64 = 2;

/// Groups of a patch that are to be read.
struct Part {
    patch: Arc<Patch>,
    groups: Range<usize>,
    /// Whether they are read at once; otherwise in chunks.
    is_chunk: bool,
}

impl<D: DataDevice, L: DataDevice> Core<D, L> {
    /// Reads all patches, and returns what cannot be read, and what is missing.
    pub(crate) fn scrub(&mut self) -> Damage {
        self.settle();
        let patches = self.slices.iter().flat_map(|slice| slice.levels().patches());
        let whole = |patch: &Arc<Patch>| Part {
            patch: patch.clone(),
            groups: 0..patch.index.groups(),
            is_chunk: false,
        };
        let mut left: VecDeque<Part> = patches.map(whole).collect();
        let mut reading: BTreeMap<BlockTicket, Part> = BTreeMap::new();
        let (mut lost, mut blocks, mut out) = (LostKeys::default(), Vec::new(), Vec::new());
        let most = self.blocks.status().layout.lanes as usize * READS_PER_LANE;
        loop {
            while reading.len() < most
                && let Some(part) = self.next_part(&mut left)
            {
                let range = part.patch.index.range(part.groups.clone());
                let ticket = self.blocks.get(part.patch.id, range.start, range.end - range.start);
                reading.insert(ticket.expect("the blocks of patches are there"), part);
            }
            if reading.is_empty() {
                break;
            }
            self.blocks.reap(Instant::FAR, &mut out);
            for finished in out.drain(..) {
                let part = reading.remove(&finished.ticket).expect("a read of a scrub");
                let BlockOutcome::Get(result) = finished.outcome else {
                    unreachable!("only reads are in flight")
                };
                let is_sound = result.as_ref().is_ok_and(|data| are_entries(&part, data.as_slice()));
                self.reuse(result);
                match part.groups.len() {
                    _ if is_sound => {}
                    1 => {
                        let (keys, last_write) =
                            (part.patch.keys_of(part.groups.start), part.patch.fields.sequences.1);
                        lost.extend(LostKeys { ranges: vec![LostRange { keys, last_write }], blocks: 0 });
                        blocks.push(part.patch.id);
                    }
                    _ => left.extend(part.groups.clone().map(|group| Part {
                        patch: part.patch.clone(),
                        groups: group..group + 1,
                        is_chunk: true,
                    })),
                }
            }
        }
        blocks.sort_unstable();
        blocks.dedup();
        let units = self.blocks.damaged().count() as u64;
        let known = self.missing_patches.blocks.max(self.missing.is_some().into());
        lost.blocks = known.max(self.lost_blocks.len() as u64 + units);
        Damage { lost, blocks, missing: self.missing.clone() }
    }

    /// Takes the next groups to be read: of all patches in turn.
    fn next_part(&self, left: &mut VecDeque<Part>) -> Option<Part> {
        let part = left.pop_front()?;
        let Part { patch, groups: Range { start, end }, is_chunk } = part;
        let to = if is_chunk { end } else { patch.index.groups_about(start, self.options.merge_chunk_bytes) };
        if to < end {
            left.push_back(Part { patch: patch.clone(), groups: to..end, is_chunk: false });
        }
        Some(Part { patch, groups: start..to, is_chunk: true })
    }

    fn settle(&mut self) {
        while self.step(Instant::FAR) {}
    }

    /// Gives up what a scrub found damaged: see the header of this file.
    pub(crate) fn salvage(&mut self, damage: &Damage) -> Result<(), SalvageError> {
        if let Some(error) = self.missing.as_ref().filter(|error| error.is_of_log()) {
            return Err(SalvageError::Log(Box::new(error.clone())));
        }
        if damage.is_none() {
            return Ok(());
        }
        self.settle();
        let mut lost = self.salvage.as_ref().and_then(Salvage::stated).cloned().unwrap_or_default();
        lost.extend(damage.lost.clone());
        let (last_write, number) = (self.last_sequence, self.allocate_number());
        self.record_salvage(Salvage { last_write, number, is_acknowledged: false, lost })?;
        (self.missing, self.missing_patches) = (None, Census::default());
        self.erase_lost()?;
        for slice in &mut self.slices {
            slice.ask_again();
        }
        self.settle();
        for &id in &damage.blocks {
            self.rewrite(id);
            self.settle();
        }
        Ok(())
    }

    /// Ends the statement of what was given up.
    pub(crate) fn acknowledge_loss(&mut self) -> Result<(), SalvageError> {
        self.settle();
        match self.salvage.clone().filter(|salvage| salvage.stated().is_some()) {
            Some(salvage) => self.record_salvage(Salvage { is_acknowledged: true, ..salvage }),
            None => Ok(()),
        }
    }

    /// Records a salvage durably. Requires: nothing is in flight.
    fn record_salvage(&mut self, mut salvage: Salvage) -> Result<(), SalvageError> {
        let is_read_only = self.blocks.device().profile().read_only || self.log.device().profile().read_only;
        if is_read_only || self.log.failure().is_some() {
            return Err(SalvageError::ReadOnly);
        }
        if self.log.damaged_header() == Some(false) {
            return Err(SalvageError::HeaderOverwritten);
        }
        let bounds = self.slices.iter().map(|slice| slice.lower().to_vec()).collect();
        let config = LogConfig::new(self.store, bounds);
        let room_bytes = self.log.layout().salvage_bytes_max(&config).ok_or(SalvageError::OldLog)?;
        if !salvage.fit(room_bytes) {
            return Err(SalvageError::NoRoom { room_bytes });
        }
        let config = LogConfig { salvage: Some(salvage.clone()), ..config };
        self.log.rewrite_header(&config).map_err(|reason| SalvageError::Header { reason })?;
        self.salvage = Some(salvage);
        Ok(())
    }

    /// Erases the blocks that cannot be recognised, and damaged units.
    fn erase_lost(&mut self) -> Result<(), SalvageError> {
        self.allow_writes();
        for id in std::mem::take(&mut self.lost_blocks) {
            if let Ok(ticket) = self.blocks.delete(id) {
                self.dropped.found(id);
                self.routes.add(ticket, Purpose::Delete { slice: Some(0), id });
            }
        }
        self.settle();
        self.blocks.discard_damaged()?;
        Ok(())
    }

    /// Begins to rewrite a patch, if it is still there, and there is room: what can be read of it takes its place.
    fn rewrite(&mut self, id: u64) {
        for nth in 0..self.slices.len() {
            let slice = &self.slices[nth];
            let Some(at) = slice.levels().patches().iter().position(|patch| patch.id == id) else { continue };
            let (blocks, outputs_max) = (self.merge_blocks(), REWRITE_BLOCKS);
            if outputs_max <= blocks && slice.merge().is_none() && !slice.is_placing() {
                let fields = &slice.levels().patches()[at].fields;
                let (level, run) = (fields.level, Some(fields.run));
                self.start_merge(nth, Choice { inputs: vec![at], level, run, until: None }, outputs_max);
            }
        }
    }
}

/// Returns whether the bytes of groups are entries.
fn are_entries(part: &Part, bytes: &[u8]) -> bool {
    let index = &part.patch.index;
    let base = index.range(part.groups.clone()).start;
    part.groups.clone().all(|group| {
        let range = index.range(group..group + 1);
        let mut reader = Reader::new(&bytes[(range.start - base) as usize..(range.end - base) as usize]);
        loop {
            match EntryRef::read(&mut reader) {
                Ok(Some(_)) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    })
}
