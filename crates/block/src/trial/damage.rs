//! Units that hold what they should not: what is told as damaged, whatever device it is.

use super::watched::Watched;
use super::{Trial, options};
use crate::{Blocks, DeleteError, Place};
use flashlane_base::{Instant, Random};
use flashlane_device::{Buffer, DataDevice, Operation, Request, UnitState};
use std::collections::{BTreeMap, BTreeSet};

impl<D: DataDevice + Clone> Trial<'_, D> {
    /// Damages a few units while the power is off, and goes on. One sound copy of the superblock is left.
    pub(super) fn damage(&mut self) {
        let mut random = self.damage.take().expect("units are damaged in this trial");
        let mut copy = self.without_power(self.blocks.device().copy());
        let mut stored = self.compare_all(&mut copy);
        let mut damaged: BTreeSet<Place> = copy.damaged().collect();
        let layout = copy.layout;
        let mut superblocks = copy.superblocks.places().to_vec();
        let blocks: BTreeMap<Place, u64> = copy.list().map(|info| (info.place, info.id)).collect();
        let mut device = copy.into_device().into_inner();
        for _ in 0..1 + random.below(3) {
            let [place, other] = [0; 2].map(|_| Place {
                lane: random.below(layout.lanes.into()) as u32,
                unit: random.below(layout.units.into()) as u32,
            });
            if superblocks == [place] {
                continue;
            }
            superblocks.retain(|copy| *copy != place);
            put_wrong(&mut device, place, other, &mut random);
            self.tally.damaged += u64::from(damaged.insert(place));
            stored.retain(|id, _| blocks.get(&place) != Some(id));
        }
        let options = options(&mut random);
        let copy = Blocks::open(Watched::new(device), options).expect("a copy of the superblock is left");
        let told: BTreeSet<Place> = copy.damaged().collect();
        assert_eq!(told, damaged, "these are told as damaged, and those are");
        self.go_on(copy, stored);
        self.damage = Some(random);
        self.cut();
    }

    /// Erases damaged units, with cuts at every step of it.
    pub(super) fn discard(&mut self) {
        self.blocks.device.watch();
        let before = self.model.damaged.len();
        let result = self.blocks.discard_damaged();
        if self.cut_within() {
            return;
        }
        self.collect();
        let left: BTreeSet<Place> = self.blocks.damaged().collect();
        self.model.damaged.retain(|place, _| left.contains(place));
        self.tally.discarded += (before - left.len()) as u64;
        match result {
            Ok(count) => assert_eq!((count as usize, left.len()), (before, 0), "discarded, and left"),
            Err(DeleteError::NoSuperblock) => assert!(!left.is_empty(), "nothing was left to say"),
            Err(error) => panic!("damaged units cannot be discarded: {error}"),
        }
        self.cut();
    }
}

/// Puts something wrong into a unit: what it held before an erase, what another one holds, or nothing of ours at all.
fn put_wrong<D: DataDevice>(device: &mut D, place: Place, other: Place, random: &mut Random) {
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
