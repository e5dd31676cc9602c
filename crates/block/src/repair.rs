//! Repair: what is damaged and has a sound copy is written anew.
//!
//! A block of which the header or the footer is damaged is copied to another unit under the same id. Between the write and
//! the erase of the older unit both are there, and after a power cut the higher sequence counts, as always.

use crate::blocks::{Blocks, Outcome};
use crate::error::DeleteError;
use crate::lane::Write;
use crate::recovery::DamagedEnd;
use crate::superblock::COPIES;
use flashlane_device::DataDevice;

impl<D: DataDevice> Blocks<D> {
    /// Returns the units of which the header or the footer is damaged. Of footers only what
    /// [`Options::both_ends`](crate::Options::both_ends) looked at.
    pub fn damaged_ends(&self) -> impl Iterator<Item = DamagedEnd> + '_ {
        self.damaged_ends.iter().copied()
    }

    /// Writes anew the superblock where a copy of it is lost or damaged, and blocks with a damaged header or footer, and
    /// waits for that. Blocks that cannot be read, or for which there is no room, stay as they are. Where no unit is left
    /// for a superblock, as many damaged units are erased as it takes if `discard_damaged` allows that.
    ///
    /// # Errors
    /// [`DeleteError`] where nothing can be written, or no unit is left for a copy of the superblock.
    pub fn repair(&mut self, discard_damaged: bool) -> Result<(), DeleteError> {
        self.admit_change()?;
        self.wake();
        if self.damaged_ends.iter().any(|end| end.id.is_none()) {
            self.superblocks.outdated();
        }
        self.tend_superblock();
        self.settle();
        while discard_damaged
            && self.superblocks.copies() < COPIES
            && let Some(&place) = self.damaged.first()
        {
            self.enqueue_erase(place, None);
            self.settle();
            if self.gone || self.damaged.contains(&place) {
                break;
            }
            self.superblocks.outdated();
            self.tend_superblock();
            self.settle();
        }
        match self.superblocks.copies() {
            _ if self.gone => return Err(DeleteError::Gone),
            COPIES => {}
            _ => return Err(DeleteError::NoSuperblock),
        }
        let ends = std::mem::take(&mut self.damaged_ends);
        self.damaged_ends = ends.into_iter().filter(|end| !self.rewrite(end)).collect();
        self.counts.one_ended = self.damaged_ends.len() as u64;
        self.settle();
        if self.gone { Err(DeleteError::Gone) } else { Ok(()) }
    }

    /// Writes the block in such a unit to another one. Returns whether no such unit is left.
    fn rewrite(&mut self, end: &DamagedEnd) -> bool {
        // The superblock was renewed before.
        let Some(id) = end.id else { return true };
        let Some(length_bytes) =
            self.stored.get(&id).filter(|block| block.place == end.place).map(|block| block.length_bytes)
        else {
            return true;
        };
        let Ok(ticket) = self.get(id, 0, length_bytes) else { return false };
        let Some(Outcome::Get(Ok(data))) = self.wait(ticket).map(|finished| finished.outcome) else {
            return false;
        };
        let mut payload = self.payload();
        payload.set_len(length_bytes);
        payload.as_mut_slice().copy_from_slice(data.as_slice());
        let room = self.has_room_for_blocks();
        let Some(lane) = self.options.placement.lane(id, &self.lanes).filter(|_| room) else { return false };
        let asked = self.asked(id);
        let sequence = self.sequence;
        self.sequence += 1;
        self.putting.insert(id);
        let checksums = payload.seal(self.format, sequence);
        let write = Write::Block { asked, payload, sequence, checksums, attempts: 0, waited: false };
        self.enqueue_write(lane, write);
        self.give_up_what_is_stuck();
        let outcome = self.wait(asked.ticket).map(|finished| finished.outcome);
        matches!(outcome, Some(Outcome::Put(Ok(()), _)))
    }
}
