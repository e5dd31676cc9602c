//! Units with wrong content: blocks that are damaged while the power is off are reported as damaged.

use crate::watched::Watched;
use crate::{Trial, options};
use flashlane_base::{Instant, Random};
use flashlane_block::{Blocks, DeleteError, UnitAddress};
use flashlane_device::{Buffer, DataDevice, Operation, Request, UnitState};
use std::collections::{BTreeMap, BTreeSet};

impl<D: DataDevice + Clone> Trial<'_, D> {
    /// Damages a few units while the power is off, and continues. One valid copy of the superblock is left.
    pub(crate) fn damage(&mut self) {
        let mut random = self.damage.take().expect("units are damaged in this trial");
        let mut copy = self.without_power(self.blocks.device().copy());
        let mut stored = self.compare_all(&mut copy);
        let mut damaged: BTreeSet<UnitAddress> = copy.damaged().collect();
        let layout = copy.status().layout;
        let mut superblocks: Vec<UnitAddress> = copy.superblock_units().collect();
        let blocks: BTreeMap<UnitAddress, u64> = copy.list().map(|info| (info.address, info.id)).collect();
        let mut device = copy.into_device().into_inner();
        for _ in 0..1 + random.below(3) {
            let [address, other] = [0; 2].map(|_| UnitAddress {
                lane: random.below(layout.lanes.into()) as u32,
                unit: random.below(layout.units.into()) as u32,
            });
            if superblocks == [address] {
                continue;
            }
            superblocks.retain(|copy| *copy != address);
            write_wrong(&mut device, address, other, &mut random);
            self.tally.damaged += u64::from(damaged.insert(address));
            stored.retain(|id, _| blocks.get(&address) != Some(id));
        }
        let options = options(&mut random);
        let copy = Blocks::open(Watched::new(device), options).expect("a copy of the superblock is left");
        let reported: BTreeSet<UnitAddress> = copy.damaged().collect();
        assert_eq!(reported, damaged, "damaged units as reported, and as expected");
        self.replace(copy, stored);
        self.damage = Some(random);
        self.cut();
    }

    /// Discards damaged units, with power cuts at every step.
    pub(crate) fn discard(&mut self) {
        self.blocks.device().watch();
        let before = self.model.damaged.len();
        let result = self.blocks.discard_damaged();
        if self.cut_within() {
            return;
        }
        self.collect();
        let left: BTreeSet<UnitAddress> = self.blocks.damaged().collect();
        self.model.damaged.retain(|address, _| left.contains(address));
        self.tally.discarded += (before - left.len()) as u64;
        match result {
            Ok(count) => assert_eq!((count as usize, left.len()), (before, 0), "discarded, and left"),
            Err(DeleteError::NoSuperblock) => assert!(!left.is_empty(), "no damaged unit is left"),
            Err(error) => panic!("damaged units cannot be discarded: {error}"),
        }
        self.cut();
    }
}

/// Writes wrong content to a unit: what it held before an erase, what another one holds, or random bytes.
fn write_wrong<D: DataDevice>(device: &mut D, address: UnitAddress, other: UnitAddress, random: &mut Random) {
    let unit_bytes = device.info().erase_unit_bytes as usize;
    let wrong = match random.below(3) {
        0 => whole(device, address),
        1 => whole(device, other).filter(|_| other != address),
        _ => None,
    };
    let wrong = wrong.unwrap_or_else(|| {
        let bytes: Vec<u8> = (0..unit_bytes).map(|_| random.bits() as u8).collect();
        Buffer::from_slice(&bytes)
    });
    if device.unit(address.device_lane(), address.unit.into()).map(|unit| unit.state)
        != Some(UnitState::ERASED)
    {
        execute(device, Operation::Erase, address, None);
    }
    execute(device, Operation::Write, address, Some(wrong));
}

/// Returns the bytes of a unit, if it is wholly written.
fn whole<D: DataDevice>(device: &mut D, address: UnitAddress) -> Option<Buffer> {
    let bytes = device.info().erase_unit_bytes;
    let state = device.unit(address.device_lane(), address.unit.into())?.state;
    let buffer = Buffer::zeroed(bytes as usize);
    if state == (UnitState::Written { bytes }) {
        execute(device, Operation::Read, address, Some(buffer))
    } else {
        None
    }
}

fn execute<D: DataDevice>(
    device: &mut D,
    operation: Operation,
    address: UnitAddress,
    buffer: Option<Buffer>,
) -> Option<Buffer> {
    let bytes = device.info().erase_unit_bytes;
    let request = Request { operation, ..Request::read(u64::MAX, u64::from(address.unit) * bytes, bytes) };
    let request = request.on(address.device_lane());
    let taken = match buffer {
        Some(buffer) => device.submit_with(request, buffer).map_err(|(error, _)| error),
        None => device.submit(request),
    };
    taken.unwrap_or_else(|error| panic!("{operation:?} of {address:?}: {error}"));
    let mut out = Vec::new();
    device.reap(Instant::FAR, &mut out);
    assert!(out.len() == 1 && out[0].outcome.is_ok(), "{operation:?} of {address:?}: {out:?}");
    device.take_buffer(request.id)
}
