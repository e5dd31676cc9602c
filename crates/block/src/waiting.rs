//! Procedures that wait for the device: loops over [`Engine::step`].

use crate::engine::Engine;
use crate::operation::{Finished, Ticket};
use flashlane_base::Instant;
use flashlane_device::DataDevice;

/// Waits until nothing is in flight.
pub(crate) fn settle<D: DataDevice>(engine: &mut Engine<D>) {
    while !engine.is_idle() {
        engine.step(Instant::FAR);
    }
    if cfg!(debug_assertions) {
        engine.assert_consistent();
    }
}

/// Waits for one operation. `None` where none with this ticket is pending.
pub(crate) fn wait<D: DataDevice>(engine: &mut Engine<D>, ticket: Ticket) -> Option<Finished> {
    loop {
        if let Some(finished) = engine.take(ticket) {
            return Some(finished);
        }
        if engine.is_idle() {
            return None;
        }
        engine.step(Instant::FAR);
    }
}

/// Waits until every put and delete has completed, and stops erasing.
pub(crate) fn close<D: DataDevice>(engine: &mut Engine<D>) {
    while !engine.blocks().has_no_changes() && !engine.is_idle() {
        engine.step(Instant::FAR);
    }
    engine.close();
    settle(engine);
}

/// Erases all units of a device that is formatted, and writes the first superblock.
pub(crate) fn format<D: DataDevice>(engine: &mut Engine<D>) {
    engine.become_ready();
    engine.dispatch_all(0);
    settle(engine);
    engine.start_renewal();
    wait_for_superblock(engine);
}

/// Makes the device ready for its first put or delete. Erases blocks that have a newer copy, which would come back when
/// that is deleted, and torn units, which keep zones of a zoned drive open.
pub(crate) fn prepare_for_writes<D: DataDevice>(engine: &mut Engine<D>) {
    if engine.is_ready() {
        return;
    }
    settle(engine);
    for address in engine.units().leftovers() {
        engine.queue_leftover(address);
        while !engine.erase_next(address.lane) {
            engine.step(Instant::FAR);
        }
    }
    settle(engine);
    engine.become_ready();
}

/// Returns whether the superblock records the gap above the ids that are unknown. Writes one if it does not and one can
/// be written.
pub(crate) fn record_id_gap<D: DataDevice>(engine: &mut Engine<D>) -> bool {
    let floor = engine.ids().pending_floor();
    if engine.superblocks().recorded_floor() < floor {
        engine.mark_superblock_stale();
        engine.renew_superblock_if_due();
        wait_for_superblock(engine);
    }
    engine.superblocks().recorded_floor() >= floor
}

/// Writes the superblock anew, if it can be written, and waits until nothing is in flight.
pub(crate) fn renew_superblock<D: DataDevice>(engine: &mut Engine<D>) {
    engine.mark_superblock_stale();
    engine.renew_superblock_if_due();
    settle(engine);
}

fn wait_for_superblock<D: DataDevice>(engine: &mut Engine<D>) {
    while engine.superblocks().is_renewing() && !engine.is_idle() {
        engine.step(Instant::FAR);
    }
}
