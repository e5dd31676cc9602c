//! Where the time of queued operations goes: what is charged to their accounts, where times are recorded.

use super::QueuedScheduler;
use crate::account::TimeAccount;
use crate::ids::DieId;
use crate::nand::accounts::QueuedAccounts;
use crate::nand::operation::Work;
use crate::nand::queue::OpSlot;
use flashlane_base::Instant;
use flashlane_device::Part;

impl QueuedScheduler {
    /// Keeps the accounts of operations from now on.
    pub(super) fn keep_accounts(&mut self, now: Instant) {
        let mut accounts = QueuedAccounts::new(self.dies.len());
        accounts.set_next(TimeAccount::new(now));
        for die in (0..self.rules.dies).map(DieId) {
            (0..self.held.waiting(die)).for_each(|_| accounts.waits_for_others(die));
        }
        for op in self.ops.slots_in_use() {
            let operation = &self.ops[op].operation;
            accounts.queued(op, operation, self.media.die_of(operation.plane), now);
        }
        self.accounts = Some(Box::new(accounts));
        (0..self.rules.dies).for_each(|die| self.record_occupant(DieId(die), now));
    }

    /// Calls `record` for each operation that shares the array time of `first`, where accounts are kept. Nothing waits
    /// for GC but the operations behind it, which have accounts of their own.
    #[inline]
    pub(super) fn each_account(&mut self, first: OpSlot, record: impl Fn(&mut QueuedAccounts, OpSlot)) {
        let Some(accounts) = &mut self.accounts else { return };
        if let Work::Gc(_) = self.ops[first].operation.work {
            return;
        }
        let mut op = first;
        while op.is_some() {
            record(accounts, op);
            op = self.ops[op].partner;
        }
    }

    /// Records what occupies a die from now on, where accounts are kept.
    #[inline]
    pub(super) fn record_occupant(&mut self, die: DieId, now: Instant) {
        let op = self.occupant(die);
        if let Some(accounts) = &mut self.accounts {
            accounts.occupies(die, op, now);
        }
    }

    /// Whether the occupant of a die is recorded, where accounts are kept.
    pub(super) fn is_occupant_recorded(&self, die: DieId) -> bool {
        self.accounts.as_ref().is_none_or(|accounts| accounts.is_occupied_by(die, self.occupant(die)))
    }

    /// The operation that occupies a die, if any.
    #[inline]
    fn occupant(&self, die: DieId) -> OpSlot {
        let state = &self.dies[die.index()];
        if state.array.is_some() { state.array } else { state.register }
    }

    /// Records that the data of an operation have crossed the bus, where accounts are kept: of a program, those of all
    /// that share its array time when the last of them have.
    #[inline]
    pub(super) fn record_bus_end(&mut self, die: DieId, op: OpSlot, now: Instant) {
        let Some(accounts) = &mut self.accounts else { return };
        let is_last = !self.ops[op].partner.is_some();
        if is_last && self.ops[op].operation.is_program() {
            let first = self.dies[die.index()].register;
            self.each_account(first, |accounts, op| accounts.charge(op, Part::Bus, now));
        } else {
            accounts.charge(op, Part::Bus, now);
        }
    }

    /// Records that an operation and those that share its array time leave the array, where accounts are kept.
    #[inline]
    pub(super) fn record_array_end(&mut self, first: OpSlot, now: Instant) {
        if self.accounts.is_none() {
            return;
        }
        if self.ops[first].operation.is_read() {
            let retries = self.retries(first);
            self.each_account(first, |accounts, op| accounts.sensed(op, retries, now));
        } else {
            self.each_account(first, |accounts, op| accounts.leaves_array(op, first, now));
        }
    }
}
