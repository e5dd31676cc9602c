//! What a conventional drive counts, under the names that results have.

use super::read::ReadCounts;
use super::replication::ReplicationCounts;
use super::request::HostRequest;
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
pub(super) fn list(kernel: &Kernel<HostRequest>, translation: &Translation, counts: &Counts) -> Counters {
    let Counts { reads, writes, lock_waits } = counts;
    let (flash, ftl, drains) = (kernel.flash().counters(), translation.counters(), &writes.drains);
    let programmed = ftl.host_units + ftl.moved_units + ftl.parity_units + ftl.padded_units;
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
        ("buffer_pages_drained_full", drains.units_for(DrainCause::Full)),
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
    if translation.pads_pages() {
        list.push(("pages_left_empty", ftl.padded_units));
    }
    if let Some(counts) = translation.rebuilds() {
        list.extend([
            ("reads_rebuilt", counts.blocked),
            ("unreadable_pages_rebuilt", counts.unreadable),
            ("pages_read_to_rebuild", counts.read),
        ]);
    }
    if let Some((counts, expected)) = translation.replication() {
        list.extend(of_replication(&counts, expected));
    }
    Counters(list)
}

/// The counters of replication, which only drives that replicate have.
fn of_replication(counts: &ReplicationCounts, expected: f64) -> [(&'static str, u64); 14] {
    let ReplicationCounts { reads, writes, .. } = counts;
    [
        ("reads_of_one_copy", reads[0]),
        ("reads_of_two_copies", reads[1]),
        ("reads_of_more_copies", reads[2]),
        ("writes_of_one_copy", writes[0]),
        ("writes_of_two_copies", writes[1]),
        ("writes_of_more_copies", writes[2]),
        ("reads_answered_by_copies", counts.reads_by_copies),
        ("writes_answered_by_copies", counts.writes_by_copies),
        ("copies_written", counts.for_writes + counts.for_reads),
        ("copies_written_for_reads", counts.for_reads),
        ("copies_expected", expected.round() as u64),
        ("copies_dropped", counts.dropped),
        ("copies_evicted", counts.evicted),
        ("copies_interference_ns", counts.interference.as_ns()),
    ]
}
