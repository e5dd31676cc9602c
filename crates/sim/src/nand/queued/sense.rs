//! Reads: the array senses a flash page into the register, from where the bus takes the mapping units that are asked
//! for.
//!
//! Reads of one flash page share a sense, whether they wait together or one comes while the page is sensed or in the
//! register: a controller then asks for another column of the page (ONFI: change read column).

use super::QueuedScheduler;
use crate::event::EventQueue;
use crate::ids::DieId;
use crate::nand::die::DieState;
use crate::nand::operation::{FlashOperation, Work};
use crate::nand::queue::{Node, OpSlot};
use flashlane_base::Instant;
use flashlane_device::Part;

impl QueuedScheduler {
    /// Joins a read to those of its flash page that are under way at its die. Returns false where there are none, or
    /// where it needs more array reads than they.
    #[inline]
    pub(super) fn join_sense(&mut self, die: DieId, operation: &FlashOperation, now: Instant) -> bool {
        let Work::Read(read) = operation.work else { return false };
        if self.rules.units_per_page == 1 {
            return false;
        }
        let DieState { array, register, .. } = self.dies[die.index()];
        for first in [array, register] {
            let (mut op, mut last, mut is_under_way) = (first, first, false);
            while op.is_some() {
                is_under_way |= operation.shares_sense(&self.ops[op].operation);
                (last, op) = (op, self.ops[op].partner);
            }
            if is_under_way && (read.retries == 0 || u32::from(read.retries) <= self.retries(first)) {
                let joined = self.ops.insert(Node::new(*operation));
                self.ops[last].partner = joined;
                if let Some(accounts) = &mut self.accounts {
                    accounts.queued(joined, operation, die, now);
                    accounts.begins(joined, die, now);
                }
                return true;
            }
        }
        false
    }

    /// Array reads beyond the first of a read and those that share its array time: the most that one of them needs.
    pub(super) fn retries(&self, mut op: OpSlot) -> u32 {
        let mut most = 0;
        while op.is_some() {
            let node = &self.ops[op];
            if let Work::Read(read) = node.operation.work {
                most = most.max(u32::from(read.retries));
            }
            op = node.partner;
        }
        most
    }

    /// A read's data go into the register.
    pub(super) fn start_read_transfer(
        &mut self,
        die: DieId,
        op: OpSlot,
        now: Instant,
        events: &mut EventQueue,
    ) {
        let state = &mut self.dies[die.index()];
        debug_assert!(!state.register.is_some(), "the register is free");
        state.register = op;
        // It may have waited in the array for the register, which a read before it held.
        self.each_account(op, |accounts, op| accounts.charge(op, Part::BehindReads, now));
        self.want_bus(die, op, now, events);
    }
}
