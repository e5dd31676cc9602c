//! Where the time of queued operations goes: what of their way is told to their paths, where paths are kept.

use super::Queued;
use crate::ids::DieId;
use crate::nand::die::Die;
use crate::nand::operation::Work;
use crate::nand::paths::QueuedPaths;
use crate::nand::queue::OpSlot;
use crate::path::Path;
use flashlane_base::Instant;
use flashlane_device::Part;

impl Queued {
    /// Keeps the paths of operations from now on.
    pub(super) fn keep_paths(&mut self, now: Instant) {
        let mut paths = QueuedPaths::new(self.dies.len());
        paths.set_next(Path::new(now));
        for die in (0..self.rules.dies).map(DieId) {
            (0..self.groups.waiting(die)).for_each(|_| paths.waits_for_group(die));
        }
        for op in self.ops.slots_in_use() {
            paths.queued(op, self.media.die_of(self.ops[op].operation.plane), now);
        }
        self.paths = Some(Box::new(paths));
        (0..self.rules.dies).for_each(|die| self.record_occupant(DieId(die), now));
    }

    /// Calls `record` for each operation that shares the array time of `first`, where paths are kept. Nothing waits for
    /// GC but the operations behind it, which have paths of their own.
    #[inline]
    pub(super) fn each_path(&mut self, first: OpSlot, record: impl Fn(&mut QueuedPaths, OpSlot)) {
        let Some(paths) = &mut self.paths else { return };
        if let Work::Gc(_) = self.ops[first].operation.work {
            return;
        }
        let mut op = first;
        while op.is_some() {
            record(paths, op);
            op = self.ops[op].partner;
        }
    }

    /// Records what occupies a die from now on, where paths are kept.
    #[inline]
    pub(super) fn record_occupant(&mut self, die: DieId, now: Instant) {
        let Some(paths) = &mut self.paths else { return };
        let Die { array, register, .. } = self.dies[die.index()];
        let op = if array.is_some() { array } else { register };
        paths.occupies(die, op.is_some().then(|| &self.ops[op].operation), now);
    }

    /// Records that the data of an operation have crossed the bus, where paths are kept: of a program, those of all that
    /// share its array time when the last of them have.
    #[inline]
    pub(super) fn record_bus_end(&mut self, die: DieId, op: OpSlot, now: Instant) {
        let Some(paths) = &mut self.paths else { return };
        let is_last = !self.ops[op].partner.is_some();
        if is_last && self.ops[op].operation.is_program() {
            let first = self.dies[die.index()].register;
            self.each_path(first, |paths, op| paths.charge(op, Part::Bus, now));
        } else {
            paths.charge(op, Part::Bus, now);
        }
    }

    /// Records that an operation and those that share its array time leave the array, where paths are kept.
    #[inline]
    pub(super) fn record_array_end(&mut self, first: OpSlot, now: Instant) {
        if self.paths.is_none() {
            return;
        }
        if self.ops[first].operation.is_read() {
            let retries = self.retries(first);
            self.each_path(first, |paths, op| paths.sensed(op, retries, now));
        } else {
            self.each_path(first, |paths, op| paths.leaves_array(op, first, now));
        }
    }
}
