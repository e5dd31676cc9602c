//! Ending damage: finds what cannot be read, states durably that it is lost, and rewrites the rest.
//!
//! # The order, and why a power cut at any time is safe
//! 1. The header of the log records what is given up. Before that nothing has changed; from then on openings do not
//!    compare what is from before ([`Salvage`]), and merges leave out what is given up.
//! 2. Blocks that cannot be recognised and damaged units are erased. Where a power cut brings one back it is damage
//!    again, which a further salvage ends; all later patches name those that may come back whole (`dropped`).
//! 3. Patches of which a part cannot be read are rewritten, by merges of one input. Those that are left when the
//!    power is cut, or for which there is no room, wait for other merges.
//! 4. Keys whose values have pieces that cannot be read are deleted, and then these pieces. A further salvage finds
//!    those that are left.

use super::Core;
use crate::bytes::Reader;
use crate::entry::EntryRef;
use crate::error::{Gap, ReadFailure, SalvageError};
use crate::log::{Durability, LogConfig};
use crate::operation::{Batch, Outcome};
use crate::patch::Patch;
use crate::routes::Purpose;
use crate::salvage::{Damage, LostKeys, LostRange, Salvage};
use crate::slice::Slice;
use crate::statement::Census;
use flashlane_base::Instant;
use flashlane_block::{Outcome as BlockOutcome, Ticket as BlockTicket};
use flashlane_device::DataDevice;
use flashlane_policy::merge::Choice;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// Reads of a scrub in flight on each lane.
const READS_PER_LANE: usize = 4;

/// Blocks that the rewriting of a patch writes at most: a merge writes one more than it has inputs.
const REWRITE_BLOCKS: u64 = 2;

/// What of a value in pieces cannot be read.
#[derive(Default)]
struct DamagedValues {
    keys: BTreeSet<Vec<u8>>,
    pieces: Vec<u64>,
}

/// Groups of a patch that are to be read.
struct Part {
    patch: Arc<Patch>,
    groups: Range<usize>,
    /// Whether they are read at once; otherwise in chunks.
    is_chunk: bool,
}

impl<D: DataDevice, L: DataDevice> Core<D, L> {
    /// Reads all that is stored, and returns what cannot be read, and what is missing.
    pub(crate) fn scrub(&mut self) -> Damage {
        self.settle();
        let (mut lost, blocks) = self.scrub_patches();
        let DamagedValues { keys, pieces } = self.scrub_values();
        // Until the loss is acknowledged the deletes do not count.
        let last_write = self.last_sequence + keys.len() as u64;
        let range = |key: &Vec<u8>| LostRange { keys: Gap::of_key(key.clone()), last_write };
        let ranges = keys.iter().map(range).collect();
        lost.extend(LostKeys { ranges, blocks: 0 });
        let units = self.blocks.damaged_since_written().count() as u64;
        let known = self.missing_patches.blocks.max(self.missing.is_some().into());
        lost.blocks = known.max(self.lost_blocks.len() as u64 + units);
        let keys = keys.into_iter().collect();
        Damage { lost, blocks, keys, pieces, missing: self.missing.clone(), log: self.log.overwritten() }
    }

    /// Reads all patches. Returns the keys of groups that cannot be read, and the blocks with such.
    fn scrub_patches(&mut self) -> (LostKeys, Vec<u64>) {
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
        (lost, blocks)
    }

    /// Reads all pieces. Returns those that cannot be read, and the keys of their values, where these are the newest.
    fn scrub_values(&mut self) -> DamagedValues {
        let known = self.known_pieces();
        let is_there = |piece: &u64| self.blocks.info(*piece).is_some();
        let (there, mut damaged): (Vec<u64>, BTreeSet<u64>) = (
            known.iter().copied().filter(is_there).collect(),
            known.iter().copied().filter(|id| !is_there(id)).collect(),
        );
        damaged.extend(self.unreadable_pieces(there));
        let mut keys = self.keys_of_pieces(&damaged);
        // A value is told from one that is stated to be lost already.
        let salvage = self.salvage.take();
        keys.retain(|key| {
            let ticket = self.get(key, None);
            self.settle();
            let finished = self.take(ticket).expect("a get completes when nothing is in flight");
            let is_damaged = |failure: &ReadFailure| !matches!(failure, ReadFailure::MayBeLost(_));
            matches!(finished.outcome, Outcome::Get(Err(failure)) if is_damaged(&failure))
        });
        self.salvage = salvage;
        damaged.retain(|piece| self.blocks.info(*piece).is_some());
        DamagedValues { keys, pieces: damaged.into_iter().collect() }
    }

    /// Reads these pieces, and returns those that cannot be read.
    fn unreadable_pieces(&mut self, pieces: Vec<u64>) -> BTreeSet<u64> {
        let chunk_bytes = self.options.merge_chunk_bytes;
        let length = |id: u64| self.blocks.info(id).map_or(0, |info| info.length_bytes);
        let mut left: VecDeque<(u64, Range<u64>)> =
            pieces.into_iter().map(|id| (id, 0..length(id))).collect();
        let most = self.blocks.status().layout.lanes as usize * READS_PER_LANE;
        let (mut reading, mut damaged, mut out) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
        loop {
            while reading.len() < most
                && let Some((id, Range { start, end })) = left.pop_front()
            {
                let to = end.min(start + chunk_bytes);
                if to < end {
                    left.push_back((id, to..end));
                }
                let ticket = self.blocks.get(id, start, to - start);
                reading.insert(ticket.expect("the pieces are there"), id);
            }
            if reading.is_empty() {
                return damaged;
            }
            self.blocks.reap(Instant::FAR, &mut out);
            for finished in out.drain(..) {
                let id = reading.remove(&finished.ticket).expect("a read of a scrub");
                let BlockOutcome::Get(result) = finished.outcome else {
                    unreachable!("only reads are in flight")
                };
                damaged.extend(result.is_err().then_some(id));
                self.reuse(result);
            }
        }
    }

    /// Returns the keys of which a version has one of these pieces, as far as they can be read.
    fn keys_of_pieces(&mut self, pieces: &BTreeSet<u64>) -> BTreeSet<Vec<u8>> {
        let mut keys = BTreeSet::new();
        if pieces.is_empty() {
            return keys;
        }
        for container in self.slices.iter().flat_map(Slice::containers) {
            let all = container.range(b"", u64::MAX);
            let with = all.filter(|(_, version)| version.body.pieces().iter().any(|id| pieces.contains(id)));
            keys.extend(with.map(|(key, _)| key.to_vec()));
        }
        let patches = self.slices.iter().flat_map(|slice| slice.levels().patches());
        let refers = |patch: &&Arc<Patch>| patch.fields.pieces.iter().any(|id| pieces.contains(id));
        let patches: Vec<Arc<Patch>> = patches.filter(refers).cloned().collect();
        for (patch, group) in
            patches.iter().flat_map(|patch| (0..patch.index.groups()).map(move |group| (patch, group)))
        {
            let range = patch.index.range(group..group + 1);
            let ticket = self.blocks.get(patch.id, range.start, range.end - range.start);
            let ticket = ticket.expect("the blocks of patches are there");
            let outcome = self.blocks.wait(ticket).expect("a read completes").outcome;
            let BlockOutcome::Get(Ok(data)) = outcome else { continue };
            let mut reader = Reader::new(data.as_slice());
            while let Ok(Some(entry)) = EntryRef::read(&mut reader) {
                if entry.has_pieces() && entry.pieces().iter().any(|id| pieces.contains(id)) {
                    keys.insert(entry.key.to_vec());
                }
            }
            self.blocks.reuse(data);
        }
        keys
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

    /// Returns why nothing can be given up: a damaged log says nothing of what it lost.
    pub(crate) fn check_salvage(&self) -> Result<(), SalvageError> {
        match self.missing.as_ref().filter(|error| error.is_of_log()) {
            Some(error) => Err(SalvageError::Log(Box::new(error.clone()))),
            None => Ok(()),
        }
    }

    /// Gives up what a scrub found damaged: see the header of this file.
    pub(crate) fn salvage(&mut self, damage: &Damage) -> Result<(), SalvageError> {
        self.check_salvage()?;
        if damage.is_none() {
            return Ok(());
        }
        self.settle();
        if damage.log.is_some() {
            if self.log.device().info().read_only {
                return Err(SalvageError::ReadOnly);
            }
            self.log.erase_foreign().map_err(|reason| SalvageError::Foreign { reason })?;
        }
        if damage.is_none_of_blocks() {
            return Ok(());
        }
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
        self.delete_values(damage);
        Ok(())
    }

    /// Deletes keys whose values have pieces that cannot be read, and these pieces. Where the device is full the keys
    /// stay, and cannot be read.
    fn delete_values(&mut self, damage: &Damage) {
        for key in &damage.keys {
            let mut batch = Batch::default();
            batch.delete(key.clone());
            if self.write(batch, Durability::Device).is_err() {
                return;
            }
            self.settle();
        }
        damage.pieces.iter().for_each(|&piece| self.delete_block(piece, None));
        self.settle();
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
        let is_read_only = self.blocks.device().info().read_only || self.log.device().info().read_only;
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
        self.slices.iter_mut().for_each(Slice::forget_unread);
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
