//! Copies: their slots, when they are written and when they end.
//!
//! While a write needs its copy, GC moves it like any other unit. Then the copy is released: it ends with its block,
//! since moving it would cost as much as writing it again, and its place counts as free space to GC.

use super::hedge::{HedgeKind, HedgeSlot};
use super::{COPY, CopyPlaced, DriveKernel, Replicator};
use crate::event::Event;
use crate::ftl::{Ftl, GcWork};
use crate::ids::{DieId, Lpn};
use flashlane_replication::{AccessKind, Slot};

impl Replicator {
    /// Queues the write of one more copy of a mapping unit whose home is on `home`. Returns its die, where it has one.
    pub(super) fn add_copy(
        &mut self,
        kernel: &DriveKernel,
        lpn: Lpn,
        home: DieId,
        write: Option<HedgeSlot>,
    ) -> Option<DieId> {
        let mut others = std::mem::take(&mut self.others);
        others.clear();
        others.extend((0..self.dies.len() as u32).filter(|&die| die != home.0));
        self.random.shuffle(&mut others);
        others.sort_by_key(|&die| kernel.flash().is_collecting(DieId(die)));
        let blocking = self.blocking_of_group(lpn);
        let slot = self.groups.reserve(lpn.0, &others, blocking, &mut self.freed);
        self.others = others;
        self.counts.evicted += self.freed.len() as u64;
        self.freed.drain(..).for_each(|slot| self.released[slot.0 as usize] = None);
        let slot = slot?;
        let die = self.groups.chip_of(slot);
        if !self.extra.push(die, slot, kernel.now()) {
            self.counts.dropped += 1;
            self.groups.abandon(slot);
            return None;
        }
        self.writes[slot.0 as usize] = write;
        self.causes[slot.0 as usize] = if write.is_some() { AccessKind::Write } else { AccessKind::Read };
        if let Some(write) = write
            && let HedgeKind::Write { copies, .. } = &mut self.hedged[write].kind
        {
            copies.push((slot, false));
            self.hedged[write].operations += 1;
        }
        Some(DieId(die))
    }

    /// Places the next copy that waits for an idle die, where it is due; otherwise starts the timer for it.
    pub(in crate::drive::translation) fn next_copy(
        &mut self,
        kernel: &mut DriveKernel,
        ftl: &mut Ftl,
        die: DieId,
        due: &mut Vec<GcWork>,
    ) -> Option<CopyPlaced> {
        if !kernel.flash().is_idle(die, kernel.now()) {
            return None;
        }
        let now = kernel.now();
        loop {
            let at = self.extra.due(die.0)?;
            if at > now {
                self.dies[die.index()].copy_timer =
                    kernel.start_timer(at.since(now), Event::Task(COPY, die.0));
                return None;
            }
            let slot = self.extra.take(die.0, now).expect("it is due");
            // Its write was completed by its home: a copy now would be for reads, and those ask for their own.
            let is_late =
                self.causes[slot.0 as usize] == AccessKind::Write && self.writes[slot.0 as usize].is_none();
            if is_late || !self.groups.is_wanted(slot) {
                self.counts.dropped += u64::from(is_late);
                self.abandon(slot);
                continue;
            }
            let (plane, lpn) = (self.plane_of_slot(slot), self.copy_lpn(slot));
            match ftl.can_take(plane, lpn).then(|| ftl.place_on(plane, lpn, due)) {
                Some(Ok(place)) => {
                    match self.causes[slot.0 as usize] {
                        AccessKind::Read => self.counts.for_reads += 1,
                        AccessKind::Write => self.counts.for_writes += 1,
                    }
                    self.dies[die.index()].copy_begins();
                    if let Some(write) = self.writes[slot.0 as usize] {
                        self.start_deadline(kernel, write);
                    }
                    return Some(CopyPlaced { place, lpn });
                }
                _ => {
                    self.counts.dropped += 1;
                    self.abandon(slot);
                }
            }
        }
    }

    /// The copy in a slot will not be written.
    fn abandon(&mut self, slot: Slot) {
        if let Some(write) = self.writes[slot.0 as usize].take()
            && let HedgeKind::Write { copies, .. } = &mut self.hedged[write].kind
        {
            copies.retain(|(other, _)| *other != slot);
        }
        self.groups.abandon(slot);
    }

    /// A copy and its home are on flash: it can be read as long as its group and its block stay.
    pub(super) fn copy_written(&mut self, ftl: &mut Ftl, slot: Slot) {
        let copy = self.copy_lpn(slot);
        if self.groups.written(slot) {
            self.released[slot.0 as usize] = Some(ftl.release(copy));
        } else {
            ftl.trim(copy);
        }
    }

    /// A mapping unit is written or trimmed: its copies are stale.
    pub(super) fn forget(&mut self, lpn: Lpn) {
        self.groups.forget(lpn.0, &mut self.freed);
        self.freed.drain(..).for_each(|slot| self.released[slot.0 as usize] = None);
    }

    /// The copies of a mapping unit whose blocks were erased are no more.
    pub(super) fn abandon_erased(&mut self, ftl: &Ftl, lpn: Lpn) {
        let mut erased = std::mem::take(&mut self.freed);
        let is_erased = |slot: &Slot| {
            let released = self.released[slot.0 as usize].expect("a readable copy is released");
            !ftl.holds(released)
        };
        erased.extend(self.groups.readable(lpn.0).filter(is_erased));
        for slot in erased.drain(..) {
            self.released[slot.0 as usize] = None;
            self.groups.abandon(slot);
        }
        self.freed = erased;
    }
}
