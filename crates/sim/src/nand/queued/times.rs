//! How long the operations of a die occupy its array and the bus.

use super::QueuedScheduler;
use crate::nand::operation::Work;
use crate::nand::queue::{OpSlot, Operations};
use flashlane_base::Duration;

/// The planes of a die that work during the array time of `first` and those that share it.
pub(super) fn working_planes(ops: &Operations, first: OpSlot, planes_per_die: u32) -> u64 {
    if let Work::Gc(_) | Work::Erase(_) = ops[first].operation.work {
        return u64::from(ops[first].operation.planes());
    }
    // A die has at most 64 planes.
    let (mut planes, mut op) = (0_u64, first);
    while op.is_some() {
        let operation = &ops[op].operation;
        let plane = operation.plane.0 % planes_per_die;
        let end = (plane + operation.planes()).min(planes_per_die);
        (plane..end).for_each(|plane| planes |= 1 << plane);
        op = ops[op].partner;
    }
    u64::from(planes.count_ones())
}

impl QueuedScheduler {
    /// The array time of a read and those that share it: that of the slowest.
    pub(super) fn read_time(&self, op: OpSlot) -> Duration {
        let (mut slowest, mut next) = (Duration::ZERO, op);
        while next.is_some() {
            let node = &self.ops[next];
            if let Work::Read(read) = node.operation.work {
                slowest = slowest.max(self.media.timing().reading(read.page_type));
            }
            next = node.partner;
        }
        slowest * u64::from(1 + self.retries(op))
    }

    /// The array time of a program and those that share it: that of the slowest, with the summary, where one of them
    /// fills its block.
    pub(super) fn program_time(&self, mut op: OpSlot) -> Duration {
        let (mut slowest, mut fills_block) = (Duration::ZERO, false);
        while op.is_some() {
            let node = &self.ops[op];
            if let Work::Program(program) = node.operation.work {
                slowest = slowest.max(self.media.timing().programming(program.page_type, false));
                fills_block |= program.fills_block;
            }
            op = node.partner;
        }
        slowest + if fills_block { self.media.timing().summary } else { Duration::ZERO }
    }

    /// How long an operation, on all its planes, is on the bus.
    pub(super) fn bus_time(&self, op: OpSlot) -> Duration {
        let timing = self.media.timing();
        let (planes, bytes) = match self.ops[op].operation.work {
            Work::Gc(gc) => return self.rules.gc.bus_time(&gc, timing),
            Work::Erase(_) => unreachable!("an erase carries no data"),
            Work::Read(read) => (read.reads, read.bus_bytes),
            Work::Program(program) => (program.programs, program.bus_bytes),
        };
        match planes {
            // The pages of several planes, one after the other.
            2.. => timing.bus(bytes / u64::from(planes)) * u64::from(planes),
            _ => timing.bus(bytes),
        }
    }
}
