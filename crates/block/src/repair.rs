//! Repair: writes damaged blocks with a valid copy anew, and gives up damaged units.
//!
//! A block whose header or footer is damaged is copied to another unit under the same id. Between that write and the
//! erase of the older unit both are there; after a power cut the one with the higher sequence number counts, as always.
//!
//! Which ids damaged units held is unknown. The id gap above them (`ids`) must be durable before these units are
//! erased: afterwards nothing else would show that there was a gap.

use crate::engine::Engine;
use crate::error::DeleteError;
use crate::layout::UnitAddress;
use crate::operation::Outcome;
use crate::payload::Payload;
use crate::status::DamagedEnd;
use crate::superblock::COPIES;
use crate::units::UnitUse;
use crate::waiting::{prepare_for_writes, renew_superblock, settle, wait};
use flashlane_device::DataDevice;

/// Writes the superblock anew where a copy is lost or damaged, then the blocks of `ends`, from which it removes those
/// repaired. Where no unit is left for a superblock, erases as many damaged units as it takes if `may_discard` allows
/// that.
pub(crate) fn repair<D: DataDevice>(
    engine: &mut Engine<D>,
    ends: &mut Vec<DamagedEnd>,
    may_discard: bool,
) -> Result<(), DeleteError> {
    prepare_for_writes(engine);
    if ends.iter().any(|end| end.id.is_none()) {
        renew_superblock(engine);
    } else {
        engine.renew_superblock_if_due();
        settle(engine);
    }
    while may_discard
        && engine.superblocks().copies().len() < COPIES
        && let Some(address) = discardable(engine).into_iter().next()
    {
        engine.discard(address);
        settle(engine);
        if engine.is_device_lost() || engine.units().damaged().contains(&address) {
            break;
        }
        renew_superblock(engine);
    }
    if engine.is_device_lost() {
        return Err(DeleteError::DeviceLost);
    }
    if engine.superblocks().copies().len() != COPIES {
        return Err(DeleteError::NoSuperblock);
    }
    let mut damaged = Vec::new();
    for end in ends.drain(..) {
        if !rewrite_block(engine, &end) {
            damaged.push(end);
        }
    }
    *ends = damaged;
    settle(engine);
    if engine.is_device_lost() { Err(DeleteError::DeviceLost) } else { Ok(()) }
}

/// Gives up the content of all damaged units and erases them. Returns how many were erased; the others stay damaged.
pub(crate) fn discard_damaged<D: DataDevice>(engine: &mut Engine<D>) -> Result<u64, DeleteError> {
    let before = engine.units().damaged().len();
    if before == 0 {
        return Ok(0);
    }
    prepare_for_writes(engine);
    loop {
        let damaged = discardable(engine);
        let Some(&first) = damaged.first() else { break };
        let is_recorded = |engine: &Engine<D>| engine.superblocks().recorded_floor() >= engine.ids().next();
        if !is_recorded(engine) {
            renew_superblock(engine);
        }
        if engine.is_device_lost() {
            return Err(DeleteError::DeviceLost);
        }
        let has_unit = engine.units().all_erased() > 0;
        if !is_recorded(engine) && (has_unit || damaged.len() == 1) {
            return Err(DeleteError::NoSuperblock);
        }
        // With no unit to write a superblock to, one damaged unit is erased for it. While another is left, an opening
        // adds a gap again.
        let chosen = if has_unit { damaged } else { vec![first] };
        chosen.iter().for_each(|&address| engine.discard(address));
        settle(engine);
        if chosen.iter().any(|address| engine.units().damaged().contains(address)) {
            break;
        }
    }
    // A copy of the superblock may have been in one of them.
    renew_superblock(engine);
    Ok((before - engine.units().damaged().len()) as u64)
}

/// Returns the damaged units that can be erased: not those whose erase failed.
fn discardable<D: DataDevice>(engine: &Engine<D>) -> Vec<UnitAddress> {
    let units = engine.units();
    let all = units.damaged().iter().copied();
    all.filter(|&address| units.state(address) == UnitUse::Damaged).collect()
}

/// Copies the block of a unit with a damaged header or footer to another unit. Returns whether the unit is no longer
/// needed.
fn rewrite_block<D: DataDevice>(engine: &mut Engine<D>, end: &DamagedEnd) -> bool {
    // The superblock was written anew before.
    let Some(id) = end.id else { return true };
    let stored = engine.blocks().get(id).filter(|block| block.address == end.address);
    let Some(length_bytes) = stored.map(|block| block.length_bytes) else { return true };
    let ticket = engine.get(id, 0, length_bytes);
    let Some(Outcome::Get(Ok(data))) = wait(engine, ticket).map(|finished| finished.outcome) else {
        return false;
    };
    if engine.is_device_lost() || !engine.has_room_for_blocks() {
        return false;
    }
    let Some(lane) = engine.lane_for_block(id) else { return false };
    let mut payload = Payload::new(*engine.layout());
    payload.copy_from(data.as_slice());
    let ticket = engine.put(id, lane, payload);
    matches!(wait(engine, ticket).map(|finished| finished.outcome), Some(Outcome::Put(Ok(()), _)))
}
