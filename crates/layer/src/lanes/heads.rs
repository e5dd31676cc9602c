//! The heads of the units, their first sectors. They reveal foreign data in a unit that the table has as erased, before
//! a write would overwrite it.
//!
//! An erase moves no bytes, so an erased unit keeps its old content. Where formatting cleared the heads (from version 3
//! of the layout on) and the user begins each unit with [`UNIT_MAGIC`](flashlane_device::UNIT_MAGIC) and the unit's
//! address, as the block layer does, a head is zeros, ones (discarded), or such a beginning. Anything else was written
//! around the lanes, unless the unit's content is the recorded one (`content::drop_recorded`): a user of striped lanes
//! begins one unit of several so. Foreign data behind the heads is found before the first write to its unit
//! (`content`).

use super::ErasedCheck;
use super::blocking::Blocking;
use super::constants::SECTOR_BYTES;
use super::disk::Record;
use super::error::LanesError;
use super::layout::Layout;
use super::ours;
use flashlane_base::Instant;
use flashlane_device::{Buffer, Completion, DataDevice, Failure, Operation, Request, RequestId, UnitState};
use std::collections::{BTreeMap, BTreeSet};

/// Requests in flight at once.
const DEPTH: u32 = 64;

/// Clears the head of every unit.
pub(super) fn clear<D: DataDevice>(
    blocking: &mut Blocking<'_, D>,
    layout: &Layout,
) -> Result<(), LanesError> {
    const ACTION: &str = "clear the beginnings of the units";
    each(blocking, ACTION, layout, Operation::Write, 0..layout.units(), |_, outcome, _| {
        outcome.map_err(|failure| LanesError::Failed { action: ACTION, failure })
    })
}

/// Returns the units that the table has as erased or torn, but that begin with foreign data. Unreadable heads count as
/// ours, as do those of parts whose content is unknown: any bytes begin a part, so what a torn write left of one is not
/// told from foreign data.
pub(super) fn foreign<D: DataDevice>(
    blocking: &mut Blocking<'_, D>,
    layout: &Layout,
    records: &[Record],
    check: ErasedCheck,
) -> Result<BTreeSet<u64>, LanesError> {
    const ACTION: &str = "read the beginnings of the erased units";
    let is_known = |record: &Record| {
        let will_be_written = matches!(record.state, UnitState::ERASED | UnitState::Torn);
        let is_unknown_part = check == ErasedCheck::Parts && record.content.is_none();
        // Before version 3, a unit that was never used holds the data from before the format.
        will_be_written
            && !is_unknown_part
            && (layout.heads_are_cleared() || record.erases.is_some_and(|erases| erases > 0))
    };
    let units: Vec<u64> =
        (0_u64..).zip(records).filter(|(_, record)| is_known(record)).map(|(n, _)| n).collect();
    let mut foreign = BTreeSet::new();
    each(blocking, ACTION, layout, Operation::Read, units.into_iter(), |number, outcome, head| {
        match outcome {
            Err(Failure::DeviceLost) => {
                return Err(LanesError::Failed { action: ACTION, failure: Failure::DeviceLost });
            }
            Err(_) => {}
            Ok(()) => {
                let (lane, unit) = layout.lane_and_unit(number);
                if !ours::is_our_head(head, lane, unit) {
                    foreign.insert(number);
                }
            }
        }
        Ok(())
    })?;
    Ok(foreign)
}

/// Calls `visit` with the head of every unit; `None` where the device cannot read it.
pub(super) fn read_all<D: DataDevice>(
    blocking: &mut Blocking<'_, D>,
    layout: &Layout,
    mut visit: impl FnMut(u64, Option<&[u8]>),
) -> Result<(), LanesError> {
    const ACTION: &str = "read the beginnings of the units";
    each(blocking, ACTION, layout, Operation::Read, 0..layout.units(), |number, outcome, head| {
        if outcome == Err(Failure::DeviceLost) {
            return Err(LanesError::Failed { action: ACTION, failure: Failure::DeviceLost });
        }
        visit(number, outcome.is_ok().then_some(head));
        Ok(())
    })
}

/// Reads or zeroes the heads of `units`, several at once, and calls `ended` with each outcome.
fn each<D: DataDevice>(
    blocking: &mut Blocking<'_, D>,
    action: &'static str,
    layout: &Layout,
    operation: Operation,
    mut units: impl Iterator<Item = u64>,
    mut ended: impl FnMut(u64, Result<(), Failure>, &[u8]) -> Result<(), LanesError>,
) -> Result<(), LanesError> {
    let depth = blocking.device.info().depth.min(DEPTH) as usize;
    let mut in_flight: BTreeMap<RequestId, u64> = BTreeMap::new();
    let (mut spare, mut out): (Vec<Buffer>, Vec<Completion>) = (Vec::new(), Vec::new());
    let mut result = Ok(());
    loop {
        while result.is_ok()
            && in_flight.len() < depth
            && let Some(number) = units.next()
        {
            let id = RequestId(*blocking.next);
            *blocking.next += 1;
            let request = Request { operation, ..Request::read(id.0, layout.head(number), SECTOR_BYTES) };
            let request = if operation == Operation::Write { request.durable() } else { request };
            let buffer = spare.pop().unwrap_or_else(|| Buffer::zeroed(SECTOR_BYTES as usize));
            match blocking.device.submit_with(request, buffer) {
                Ok(()) => drop(in_flight.insert(id, number)),
                Err((error, _)) => result = Err(LanesError::Refused { action, error }),
            }
        }
        if in_flight.is_empty() {
            return result;
        }
        blocking.device.reap(Instant::FAR, &mut out);
        for completion in out.drain(..) {
            let Some(number) = in_flight.remove(&completion.id) else { continue };
            let buffer = blocking.device.take_buffer(completion.id);
            let bytes = buffer.as_ref().map_or(&[][..], Buffer::as_slice);
            let answer = ended(number, completion.outcome, bytes);
            result = result.and(answer);
            spare.extend(buffer);
        }
    }
}
