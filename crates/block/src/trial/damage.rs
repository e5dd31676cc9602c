//! Units that hold what they should not: what is told as damaged, whatever device it is.

use crate::header::Place;
use flashlane_base::{Instant, Random};
use flashlane_device::{Buffer, DataDevice, Operation, Request, UnitState};

/// Puts something wrong into a unit: what it held before an erase, what another one holds, or nothing of ours at all.
pub(super) fn damage<D: DataDevice>(device: &mut D, place: Place, other: Place, random: &mut Random) {
    let unit_bytes = device.profile().erase_unit_bytes as usize;
    let wrong = match random.below(3) {
        0 => whole(device, place),
        1 => whole(device, other).filter(|_| other != place),
        _ => None,
    };
    let wrong = wrong.unwrap_or_else(|| {
        let bytes: Vec<u8> = (0..unit_bytes).map(|_| random.bits() as u8).collect();
        Buffer::from_slice(&bytes)
    });
    if device.unit(place.on(), place.unit.into()).map(|unit| unit.state) != Some(UnitState::ERASED) {
        carry_out(device, Operation::Erase, place, None);
    }
    carry_out(device, Operation::Write, place, Some(wrong));
}

/// All that a unit holds, if it is wholly written.
fn whole<D: DataDevice>(device: &mut D, place: Place) -> Option<Buffer> {
    let bytes = device.profile().erase_unit_bytes;
    let state = device.unit(place.on(), place.unit.into())?.state;
    let buffer = Buffer::zeroed(bytes as usize);
    if state == (UnitState::Written { bytes }) {
        carry_out(device, Operation::Read, place, Some(buffer))
    } else {
        None
    }
}

fn carry_out<D: DataDevice>(
    device: &mut D,
    operation: Operation,
    place: Place,
    buffer: Option<Buffer>,
) -> Option<Buffer> {
    let bytes = device.profile().erase_unit_bytes;
    let request = Request { operation, ..Request::read(u64::MAX, u64::from(place.unit) * bytes, bytes) };
    let request = request.on(place.on());
    let taken = match buffer {
        Some(buffer) => device.submit_with(request, buffer).map_err(|(error, _)| error),
        None => device.submit(request),
    };
    taken.unwrap_or_else(|error| panic!("{operation:?} of {place:?}: {error}"));
    let mut out = Vec::new();
    device.reap(Instant::FAR, &mut out);
    assert!(out.len() == 1 && out[0].outcome.is_ok(), "{operation:?} of {place:?}: {out:?}");
    device.take_buffer(request.id)
}
