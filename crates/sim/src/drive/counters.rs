//! What a conventional drive counts, under the names that results have.

use super::read::ReadCounts;
use super::request::DriveKernel;
use super::translation::Translation;
use super::write::WriteCounts;
use flashlane_device::Counters;

/// What the volatile parts have counted, power cuts or not.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) reads: ReadCounts,
    pub(super) writes: WriteCounts,
    pub(super) lock_waits: u64,
}

/// All counters of a drive: each part lists its own.
pub(super) fn list(kernel: &DriveKernel, translation: &Translation, counts: &Counts) -> Counters {
    let Counts { reads, writes, lock_waits } = counts;
    let (flash, ftl) = (kernel.flash().counters(), translation.ftl_counters());
    let mut list = vec![
        ("flash_pages_read", flash.reads + ftl.moved_units),
        (Counters::FLASH_PAGES_PROGRAMMED, ftl.programmed_units()),
        (Counters::FLASH_BYTES_PROGRAMMED, ftl.programmed_units() * translation.unit_bytes()),
        ("read_write_exclusion_waits", *lock_waits),
        ("link_busy_ns", kernel.link().busy_ns()),
    ];
    list.extend(kernel.queued_commands().map(|count| ("commands_queued", count)));
    list.extend(reads.list());
    list.extend(writes.list());
    kernel.add_counters(&mut list);
    translation.add_counters(&mut list);
    Counters(list)
}
