//! What a conventional drive counts, under the names that results have.

use super::read::ReadCounts;
use super::request::RequestState;
use super::translation::Translation;
use super::write::WriteCounts;
use crate::buffer::DrainCause;
use crate::kernel::Kernel;
use flashlane_device::Counters;

/// What the volatile parts have counted, power cuts or not.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) reads: ReadCounts,
    pub(super) writes: WriteCounts,
    pub(super) lock_waits: u64,
}

/// All counters, in the order in which results have them.
pub(super) fn list(kernel: &Kernel<RequestState>, translation: &Translation, counts: &Counts) -> Counters {
    let Counts { reads, writes, lock_waits } = counts;
    let (flash, ftl, drains) = (kernel.flash().counters(), translation.counters(), &writes.drains);
    let programmed = ftl.host_units + ftl.moved_units + ftl.parity_units + ftl.left_empty_units;
    let mut list = vec![
        ("host_reads", reads.reads),
        ("host_writes", writes.writes),
        ("host_trims", writes.trims),
        ("host_flushes", writes.flushes),
        ("host_pages_read", reads.units),
        (Counters::HOST_PAGES_WRITTEN, writes.units),
        (Counters::HOST_PAGES_SETTLED, writes.units - writes.waiting_units),
        ("flash_pages_read", flash.reads + ftl.moved_units),
        (Counters::FLASH_PAGES_PROGRAMMED, programmed),
        ("pages_moved_by_cleaning", ftl.moved_units),
        ("pages_moved_below_target", ftl.units_below_target),
        ("parity_pages_programmed", ftl.parity_units),
        ("blocks_erased", ftl.erases),
        ("switch_merges", ftl.switch_merges),
        ("partial_merges", ftl.partial_merges),
        ("full_merges", ftl.full_merges),
        ("blocks_moved_by_wear_leveling", ftl.leveled_blocks),
        ("blocks_worn_out", ftl.worn_out_blocks),
        ("pages_lost", writes.lost),
        ("read_retries", translation.read_retries()),
        ("pages_unreadable", reads.unreadable),
        ("buffer_read_hits", reads.buffer_hits),
        ("buffer_writes_absorbed", writes.absorbed),
        ("buffer_stalls", writes.stalls),
        ("buffer_pages_drained", drains.units),
        ("buffer_pages_drained_full", drains.units_for(DrainCause::Room)),
        ("buffer_pages_drained_flush", drains.units_for(DrainCause::Flush)),
        ("buffer_pages_drained_idle", drains.units_for(DrainCause::Idle)),
        ("buffer_pages_drained_batch", drains.units_for(DrainCause::Batch)),
        ("buffer_pages_padded", drains.padded_units),
        ("buffer_drains", drains.drains),
        ("buffer_drains_on_all_packages", drains.drains_on_all),
        ("buffer_drain_ns", drains.ns),
        ("buffer_drain_on_all_packages_ns", drains.ns_on_all),
        ("readahead_pages_fetched", reads.read_ahead),
        ("readahead_page_hits", reads.cache_hits),
        ("read_write_exclusion_waits", *lock_waits),
        ("multi_plane_operations", flash.multi_plane),
        ("program_erase_suspends", flash.suspends),
        ("array_busy_ns", flash.array_busy_ns),
        ("bus_busy_ns", flash.bus_busy_ns),
        ("link_busy_ns", kernel.link().busy_ns()),
    ];
    if translation.leaves_units_empty() {
        list.push(("pages_left_empty", ftl.left_empty_units));
    }
    translation.add_counters_of_mechanisms(&mut list);
    Counters(list)
}
