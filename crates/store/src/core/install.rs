//! Puts what an opening found into the parts: see `recovery`.

use super::Core;
use crate::entry::Version;
use crate::error::OpenError;
use crate::footer::{Origin, PatchFooter};
use crate::log::Recovered;
use crate::loss::Loss;
use crate::patch::Patch;
use crate::salvage::Salvage;
use crate::slice::Slice;
use crate::statement::Census;
use flashlane_device::DataDevice;
use std::collections::{BTreeMap, BTreeSet};

impl<D: DataDevice, L: DataDevice> Core<D, L> {
    /// Installs the patches that count, and notes the dead ones to be deleted, `dropped` among them.
    pub(crate) fn install(
        &mut self,
        patches: BTreeMap<u64, PatchFooter>,
        dead: &BTreeSet<u64>,
        dropped: &BTreeSet<u64>,
    ) -> Result<(), OpenError> {
        dropped.iter().for_each(|&id| self.dropped.found(id));
        let mut generation = 0;
        for (id, patch) in patches {
            let PatchFooter { fields, statement, .. } = &patch;
            let number = fields.slice;
            let is_ours = self
                .slices
                .get(number as usize)
                .is_some_and(|slice| (slice.lower() == fields.lower) && (slice.upper() == fields.upper));
            if !is_ours {
                let reason =
                    format!("it belongs to slice {number}, whose bounds differ from those in the log");
                return Err(OpenError::Block { id, reason });
            }
            let merge = match fields.origin {
                Origin::Container => 0,
                Origin::Merge { number, .. } => number,
            };
            self.next_number = self.next_number.max(fields.creation.max(merge).max(fields.run) + 1);
            if let Some(statement) = statement {
                self.next_number = self.next_number.max(statement.next_number);
                generation = generation.max(statement.generation);
            }
            self.last_sequence = self.last_sequence.max(fields.sequences.1);
            let slice = &mut self.slices[number as usize];
            if dead.contains(&id) {
                slice.superseded(id);
                self.found_dead.push((number, id));
            } else {
                slice.install(Patch::new(id, patch));
            }
        }
        self.opened_generation = generation + 1;
        Ok(())
    }

    /// Adds the records of the log to the containers.
    pub(crate) fn replay(&mut self, recovered: Recovered) {
        let next_page = recovered.next_page;
        for record in recovered.records {
            let slice = record.slice as usize;
            self.last_sequence = self.last_sequence.max(record.sequence);
            if !self.slices[slice].fits(&self.shape, &record.entries) {
                self.freeze(slice);
            }
            // The page of its end is not known; all of them are behind it.
            let pages = record.page..next_page;
            self.slices[slice].add(&self.shape, record.entries, pages, &self.snapshots);
        }
    }

    /// Returns a write of the log whose value is in a piece that is not there, and that piece. A write that a later one
    /// replaced may lack its pieces, and so may one that has expired, or is from before a salvage.
    pub(crate) fn write_without_piece(&self, pieces: &BTreeSet<u64>) -> Option<(u64, u64)> {
        let given_up_to = self.salvage.as_ref().map_or(0, |salvage| salvage.last_write);
        let is_newest = |slice: &Slice, key: &[u8], version: &Version| {
            let newest = slice.containers().filter_map(|container| container.get(key, u64::MAX));
            newest.map(|other| other.sequence).max() == Some(version.sequence)
        };
        self.slices.iter().find_map(|slice| {
            let all = slice.containers().flat_map(|container| container.range(b"", u64::MAX));
            all.filter(|(_, version)| version.expiry_ms == 0 && version.sequence > given_up_to).find_map(
                |(key, version)| {
                    let missing = version.body.pieces().iter().find(|&piece| !pieces.contains(piece))?;
                    is_newest(slice, key, version).then_some((version.sequence, *missing))
                },
            )
        })
    }

    /// Notes the pieces to be deleted that no entry refers to, once the log that says so is durable.
    pub(crate) fn delete_unknown(&mut self, pieces: &BTreeSet<u64>) {
        let known = self.known_pieces();
        let page = self.log.position();
        self.freed_pieces.extend(pieces.difference(&known).map(|&piece| (page, piece)));
    }

    /// These blocks of the store are there, and what they hold is not known. Nothing is written then.
    pub(crate) fn lose_blocks(&mut self, lost: Vec<u64>) {
        self.lost_blocks = lost;
    }

    /// Returns the blocks of which it is not known what they hold.
    pub(crate) fn lost_blocks(&self) -> &[u64] {
        &self.lost_blocks
    }

    /// Patches of this census are missing: all statements of this store will count them.
    pub(crate) fn state_missing(&mut self, missing: Census) {
        self.missing_patches = missing;
    }

    /// Blocks or records of the store are not there. Nothing is written then.
    pub(crate) fn miss_blocks(&mut self, why: OpenError) {
        self.missing = Some(why);
    }

    /// The store was salvaged when it was last damaged.
    pub(crate) fn set_salvage(&mut self, salvage: Option<Salvage>) {
        if let Some(salvage) = &salvage {
            self.next_number = self.next_number.max(salvage.number + 1);
            self.skip_writes(salvage.last_write);
        }
        self.salvage = salvage;
    }

    /// Returns the last salvage.
    pub(crate) fn last_salvage(&self) -> Option<&Salvage> {
        self.salvage.as_ref()
    }

    /// Gives later writes numbers above this one.
    pub(crate) fn skip_writes(&mut self, last: u64) {
        self.last_sequence = self.last_sequence.max(last);
    }

    /// Returns why keys may be missing or have older values.
    pub(crate) fn loss(&self) -> Option<Loss> {
        let loss = Loss {
            blocks: self.lost_blocks.clone(),
            units: self.blocks.damaged_since_written().count() as u64,
            missing: self.missing.clone(),
            stated: self.salvage.as_ref().and_then(Salvage::stated).cloned(),
        };
        (!loss.is_none()).then_some(loss)
    }

    /// Returns the loss, where it may have taken the newest version of a key. `write` is the number of the newest one
    /// that was found.
    pub(super) fn loss_of(&self, key: &[u8], write: Option<u64>) -> Option<Loss> {
        // Most gets find a version, and nothing is stated of its key: what is damaged is not counted for these.
        let stated = self.salvage.as_ref().and_then(Salvage::stated);
        if stated.is_some_and(|stated| stated.may_hold(key, write)) {
            return self.loss();
        }
        write.is_none().then(|| self.loss())?.filter(Loss::is_open)
    }

    /// Returns why blocks or records are missing, where they are.
    pub(crate) fn missing(&self) -> Option<&OpenError> {
        self.missing.as_ref()
    }

    /// Returns the pieces that patches and containers refer to.
    pub(super) fn known_pieces(&self) -> BTreeSet<u64> {
        let patches = self.slices.iter().flat_map(|slice| slice.levels().patches());
        let of_patches = patches.flat_map(|patch| patch.fields.pieces.iter().copied());
        let containers = self.slices.iter().flat_map(|slice| slice.containers());
        of_patches.chain(containers.flat_map(|container| container.pieces())).collect()
    }
}
