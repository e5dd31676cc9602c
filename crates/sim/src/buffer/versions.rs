//! Versions of one mapping unit in the buffer: those that are programming, and the newest.

use super::drain_load::DrainCause;
use super::unit::{BufferedUnit, NO_WRITE, Stage};
use super::{Unflushed, WriteBuffer};
use crate::ids::{BufferSlot, Lpn};
use crate::pieces::UnitParts;

impl WriteBuffer {
    /// Whether the unit in `slot` is still to be programmed: not where a trim, a write that bypassed the buffer, or a
    /// newer version that drained first superseded it.
    pub(crate) fn is_wanted(&self, slot: BufferSlot) -> bool {
        self.entries[slot.index()].stage != Stage::Void
    }

    /// Whether the unit in `slot` is to collect further parts: the host has written only a part of it, and the version
    /// before it is not on flash.
    pub(super) fn collects(&self, slot: BufferSlot) -> bool {
        let entry = &self.entries[slot.index()];
        let is_leaving = |older: BufferSlot| {
            matches!(self.entries[older.index()].stage, Stage::Chosen(_) | Stage::Programming)
        };
        matches!(entry.stage, Stage::Chosen(_))
            && !entry.written.is_whole()
            && entry.older_version.is_some_and(is_leaving)
    }

    /// Returns the next unit that collects no more parts: the version before it is on flash, all of it is written, it
    /// was superseded, or a drain is `forced`.
    pub(super) fn next_collected(&mut self, forced: Option<DrainCause>) -> Option<BufferSlot> {
        let next = self.collecting.iter().position(|&slot| forced.is_some() || !self.collects(slot))?;
        Some(self.collecting.remove(next))
    }

    /// Voids or drops the buffered versions older than that in `slot`. This version inherits their first unflushed
    /// write, and their epoch, so that flushes still wait.
    pub(super) fn supersede(&mut self, slot: BufferSlot) {
        let mut next = self.entries[slot.index()].older_version.take();
        while let Some(slot_of_older) = next {
            let [newer, older] = self
                .entries
                .get_disjoint_mut([slot.index(), slot_of_older.index()])
                .expect("a version is not older than itself");
            next = older.older_version.take();
            let dirty = older.stage == Stage::Dirty;
            if !dirty && !matches!(older.stage, Stage::Chosen(_)) {
                // It is being programmed.
                continue;
            }
            newer.first_write = newer.first_write.min(older.first_write);
            // Each slot leaves an epoch when it is released. The older one is released first, and so has to leave the
            // newer epoch.
            if !older.pad {
                std::mem::swap(&mut newer.epoch, &mut older.epoch);
            }
            if dirty {
                self.policy.remove(slot_of_older.0);
                self.dirty -= 1;
                self.empty_slot(slot_of_older);
                self.free.push(slot_of_older);
            } else {
                older.stage = Stage::Void;
            }
        }
    }

    /// Drops the buffered versions of `lpn`, and voids those that are chosen: it was trimmed, or a write bypassed the
    /// buffer. Returns the version that was here and not on flash.
    pub(crate) fn forget(&mut self, lpn: Lpn) -> Option<Unflushed> {
        let slot = self.newest.remove(&lpn)?;
        self.supersede(slot);
        let entry = &mut self.entries[slot.index()];
        let unflushed = Unflushed {
            first_write: std::mem::replace(&mut entry.first_write, NO_WRITE),
            epoch: entry.epoch,
        };
        match entry.stage {
            Stage::Chosen(_) => entry.stage = Stage::Void,
            Stage::Clean | Stage::Dirty => {
                self.policy.remove(slot.0);
                self.dirty -= usize::from(self.entries[slot.index()].stage == Stage::Dirty);
                self.empty_slot(slot);
                self.free.push(slot);
            }
            _ => {}
        }
        (unflushed.first_write != NO_WRITE).then_some(unflushed)
    }

    /// Removes the unit in `slot`, for which no operation waits any more; the caller adds the slot to those that are
    /// free.
    pub(super) fn empty_slot(&mut self, slot: BufferSlot) {
        let entry = std::mem::take(&mut self.entries[slot.index()]);
        self.unlink(slot, &entry);
        if !entry.pad && entry.stage != Stage::Clean {
            self.epochs.leave(entry.epoch);
        }
    }

    /// Takes the version that was in `slot` out of the list of its unit's versions, if it is there.
    fn unlink(&mut self, slot: BufferSlot, entry: &BufferedUnit) {
        let Some(&newest) = self.newest.get(&entry.lpn) else { return };
        if newest == slot {
            match entry.older_version {
                Some(older) => self.newest.insert(entry.lpn, older),
                None => self.newest.remove(&entry.lpn),
            };
            return;
        }
        let mut at = newest;
        while let Some(older) = self.entries[at.index()].older_version {
            if older == slot {
                let newer = &mut self.entries[at.index()];
                newer.older_version = entry.older_version;
                if entry.stage == Stage::Programming {
                    // It was here whole.
                    newer.present = UnitParts::WHOLE;
                }
                return;
            }
            at = older;
        }
    }
}
