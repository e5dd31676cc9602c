//! Reads rebuilt from the rest of their row (GC-tolerant reads; Yan et al., "Tiny-Tail Flash", USENIX FAST 2017).
//!
//! A drive with parity over its channels has in each row one page more than data needs. A page that cannot be read is
//! the exclusive or of the others:
//!
//! ```text
//! cannot be corrected   its own page, with all of its retries; then the rest of the row
//! die garbage-collects  the rest of the row, if none of its dies garbage-collects, too; then its own page, if a page of
//!                       the row cannot be corrected
//! ```
//!
//! Price: a rebuilt page takes as many reads as the row has others. An incomplete row has its parity in the controller:
//! the pages that are not written yet are not read.
//!
//! Only host reads of whole or partial mapping units are rebuilt; readahead and the reads of partial writes wait.
//!
//! Invariant: a rebuild stays until all flash reads of its own have ended, and completes then, once.

use super::super::request::DriveKernel;
use super::tasks::REBUILD;
use crate::config::{DriveConfig, Rebuilding};
use crate::ftl::Ftl;
use crate::ids::{PlaneId, ids};
use crate::nand::{Correction, Defer, FlashOperation, Owner, Read, Work};
use crate::slab::Slab;
use flashlane_policy::scheduling::Class;

ids! {
    /// A read that is rebuilt from the rest of its row.
    RebuildSlot;
}

impl RebuildSlot {
    fn owner(self) -> Owner {
        Owner::Task(REBUILD, self.0)
    }
}

/// What rebuilding counted.
#[derive(Clone, Copy, Debug, Default)]
struct RebuildCounts {
    /// Pages rebuilt because their die garbage-collected.
    blocked: u64,
    /// Pages rebuilt because they could not be corrected.
    unreadable: u64,
    /// Pages read to rebuild others.
    read: u64,
}

/// A read that is, or may have to be, rebuilt.
#[derive(Clone, Copy, Debug)]
struct Rebuild {
    owner: Owner,
    /// The read of its own page.
    own: Read,
    /// Flash reads that have not ended.
    under_way: u32,
    /// Whether one of them cannot be corrected.
    failed: bool,
    /// Whether its own page, and the rest of the row, have been queued.
    own_queued: bool,
    row_queued: bool,
}

/// Rebuilds the reads of a drive with parity.
pub(super) struct Rebuilder {
    /// Whether a page is rebuilt, too, whose die garbage-collects.
    blocked: bool,
    rebuilds: Slab<RebuildSlot, Rebuild>,
    counts: RebuildCounts,
    /// An empty list, kept to spare its allocation.
    row: Vec<PlaneId>,
}

impl Rebuilder {
    /// `None` where reads are not rebuilt. Requires: `config` is validated.
    pub(super) fn new(config: &DriveConfig) -> Option<Self> {
        let blocked = match config.mapping.rebuild {
            Rebuilding::None => return None,
            Rebuilding::Unreadable => false,
            Rebuilding::Blocked => true,
        };
        Some(Self { blocked, rebuilds: Slab::new(), counts: RebuildCounts::default(), row: Vec::new() })
    }

    /// The counters, under the names that results have.
    pub(super) fn counters(&self) -> [(&'static str, u64); 3] {
        let RebuildCounts { blocked, unreadable, read } = self.counts;
        [
            ("reads_rebuilt", blocked),
            ("unreadable_pages_rebuilt", unreadable),
            ("pages_read_to_rebuild", read),
        ]
    }

    /// Reads a mapping unit that lies on `plane`, or the rest of its row.
    pub(super) fn read(
        &mut self,
        kernel: &mut DriveKernel,
        ftl: &Ftl,
        correction: &mut Option<Correction>,
        owner: Owner,
        plane: PlaneId,
        read: Read,
    ) {
        let mut row = std::mem::take(&mut self.row);
        let is_collecting = |plane: PlaneId| kernel.flash().is_collecting(kernel.flash().die_of(plane));
        let is_blocked = self.blocked && is_collecting(plane) && {
            ftl.rest_of_row(read.lpn, &mut row);
            !row.is_empty() && !row.iter().copied().any(is_collecting)
        };
        let rebuild =
            Rebuild { owner, own: read, under_way: 1, failed: false, own_queued: false, row_queued: false };
        if is_blocked {
            let slot = self.rebuilds.insert(rebuild);
            self.enqueue_row(kernel, ftl, correction, slot, &row);
        } else {
            let owner = match read.unreadable {
                true => self.rebuilds.insert(Rebuild { own_queued: true, ..rebuild }).owner(),
                false => owner,
            };
            enqueue(kernel, owner, plane, read);
        }
        row.clear();
        self.row = row;
    }

    /// Queues the reads of the rest of a row.
    fn enqueue_row(
        &mut self,
        kernel: &mut DriveKernel,
        ftl: &Ftl,
        correction: &mut Option<Correction>,
        slot: RebuildSlot,
        row: &[PlaneId],
    ) {
        let rebuild = &mut self.rebuilds[slot];
        (rebuild.under_way, rebuild.row_queued, rebuild.failed) = (row.len() as u32, true, false);
        self.counts.read += row.len() as u64;
        let wear = ftl.wear_of(rebuild.own.lpn);
        for &plane in row {
            let mut read = Read { retries: 0, unreadable: false, ..rebuild.own };
            if let Some(correction) = correction {
                // Superblocks are erased as one: the pages of a row are as worn as each other.
                correction.decide(&mut read, || wear);
            }
            enqueue(kernel, slot.owner(), plane, read);
        }
    }

    /// A flash read of a rebuild has ended. Returns the operation as its owner knows it, where it was the last.
    pub(super) fn operation_finished(
        &mut self,
        kernel: &mut DriveKernel,
        ftl: &Ftl,
        correction: &mut Option<Correction>,
        slot: RebuildSlot,
        operation: &FlashOperation,
    ) -> Option<FlashOperation> {
        let Work::Read(read) = operation.work else { unreachable!("{operation:?} is no read of a rebuild") };
        let rebuild = &mut self.rebuilds[slot];
        rebuild.under_way -= 1;
        rebuild.failed |= read.unreadable;
        if rebuild.under_way > 0 {
            return None;
        }
        let Rebuild { owner, own, failed, own_queued, row_queued, .. } = *rebuild;
        if failed && !row_queued {
            let mut row = std::mem::take(&mut self.row);
            // It may have been moved since, or trimmed.
            ftl.rest_of_row(own.lpn, &mut row);
            let can_rebuild = !row.is_empty();
            if can_rebuild {
                self.enqueue_row(kernel, ftl, correction, slot, &row);
            }
            row.clear();
            self.row = row;
            if can_rebuild {
                return None;
            }
        } else if failed
            && !own_queued
            && let Some(plane) = ftl.plane_of(own.lpn)
        {
            (rebuild.under_way, rebuild.own_queued, rebuild.failed) = (1, true, false);
            enqueue(kernel, slot.owner(), plane, own);
            return None;
        }
        self.rebuilds.remove(slot);
        if !failed && row_queued {
            match own_queued {
                true => self.counts.unreadable += u64::from(own.unreadable),
                false => self.counts.blocked += 1,
            }
        }
        Some(FlashOperation { owner, work: Work::Read(Read { unreadable: failed, ..own }), ..*operation })
    }

    /// Power is cut: nothing is being rebuilt any more.
    pub(super) fn cut_power(&mut self) {
        self.rebuilds = Slab::new();
    }
}

fn enqueue(kernel: &mut DriveKernel, owner: Owner, plane: PlaneId, read: Read) {
    let (work, class, defer) = (Work::Read(read), Class::HostRead, Defer::No);
    kernel.enqueue(FlashOperation { work, owner, class, defer, plane });
}
