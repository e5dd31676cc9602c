//! Units that hold nothing that can be told: what they may have held, and how they are given up.
//!
//! Which ids they held is not known. Fresh ids leap over them when the device is opened, and that they have must be durable
//! before one is used, and before the units are erased: afterwards nothing else would tell.

use crate::blocks::Blocks;
use crate::error::DeleteError;
use crate::header::Place;
use flashlane_base::Instant;
use flashlane_device::DataDevice;
use std::collections::BTreeSet;

impl<D: DataDevice> Blocks<D> {
    /// Units of ours that hold nothing that can be told, and are left as they are: damaged at both ends, or the device has
    /// forgotten whether they were erased since.
    pub fn damaged(&self) -> impl Iterator<Item = Place> + '_ {
        self.damaged.iter().copied()
    }

    /// Gives up what damaged units may hold, waits until they are erased, and says how many are. Those that are not stay
    /// damaged.
    ///
    /// # Errors
    /// [`DeleteError`] where nothing can be erased, or a superblock cannot be written: the ids that they held are
    /// forgotten with them, so it has to be durable that fresh ones are above.
    pub fn discard_damaged(&mut self) -> Result<u64, DeleteError> {
        self.admit_change()?;
        let before = self.damaged.len();
        if before == 0 {
            return Ok(0);
        }
        self.wake();
        while let Some(&first) = self.damaged.first() {
            if self.superblocks.floor() < self.next_id {
                self.settle_superblock();
            }
            if self.gone {
                return Err(DeleteError::Gone);
            }
            let has_unit = self.lanes.iter().any(|lane| lane.erased() > 0);
            if self.superblocks.floor() < self.next_id && (has_unit || self.damaged.len() == 1) {
                return Err(DeleteError::NoSuperblock);
            }
            // With no unit to write a superblock to, one of them is what it takes. While another is left an opening leaps.
            let discard = if has_unit { self.damaged.clone() } else { BTreeSet::from([first]) };
            for &place in &discard {
                self.enqueue_erase(place, None);
            }
            self.settle();
            if !discard.is_disjoint(&self.damaged) {
                break;
            }
        }
        // A copy of it may be one of those that the device has forgotten.
        self.settle_superblock();
        Ok((before - self.damaged.len()) as u64)
    }

    /// Writes the superblock anew, if it can be, and waits for all there is to do.
    fn settle_superblock(&mut self) {
        self.superblocks.outdated();
        self.tend_superblock();
        self.settle();
    }

    /// Whether a superblock says that fresh ids have leaped, or they have not. Waits for one where it can be written.
    pub(crate) fn has_durable_leap(&mut self) -> bool {
        let is_due = self.superblocks.floor() < self.leaped_to;
        if is_due {
            self.tend_superblock();
            while self.superblocks.is_renewing() && !self.flights.is_empty() {
                self.step(Instant::FAR);
            }
        }
        !is_due || self.superblocks.floor() >= self.leaped_to
    }
}
