//! The reader of the metadata of lanes on a device: superblocks and the table of units. Opening any content must give
//! usable lanes or an error with a reason, and must not panic.
//!
//! An input is a list of changes to a small device with lanes: a block (which superblock or slot; 8 makes its checksum
//! valid afterwards), an offset (two bytes), a count, and that number of bytes.

use crate::Target;
use flashlane_base::{Instant, Seed};
use flashlane_device::{Buffer, DataDevice, Device, Lane, NullDevice, Request, RequestId, UnitState};
use flashlane_layer::lanes::{Lanes, SECTOR_BYTES, Shape, seal};
use flashlane_layer::{Backed, LanesError};

pub(crate) const TARGET: Target = Target {
    name: "lanes_table",
    body,
    seeds: &[
        // Another version, another shape, another length; records of every state, out of range, without a checksum.
        "\x08\x10\x00\x01\x02\x0b\x10\x00\x01\x02",
        "\x08\x14\x00\x04\x03\x00\x00\x00\x0b\x14\x00\x04\x03\x00\x00\x00",
        "\x08\x18\x00\x08\x00\x10\x00\x00\x00\x00\x00\x00",
        "\x08\x31\x00\x01\x20\x08\x38\x00\x01\x20",
        "\x09\x20\x00\x11\x01\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02",
        "\x09\x28\x00\x02\x00\x10\x09\x10\x00\x01\x09\x0a\x10\x00\x01\x09",
        "\x0a\x28\x00\x03\x00\x20\x01\x0a\x10\x00\x08\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f",
        // The copy contains another device length than its position implies, and is the only one.
        "\x0b\x31\x00\x01\x20\x00\x01\x00\x01\x20",
        "\x01\x20\x00\x01\x01\x02\x20\x00\x01\x01\x00\x00\x00\x01\x00",
    ],
};

type SmallLanes = Lanes<Backed<NullDevice>>;

const DEVICE_BYTES: u64 = 32 * SECTOR_BYTES;
const SHAPE: Shape = Shape { lanes: 2, unit_bytes: 8192, read_unit_bytes: 512, write_unit_bytes: 4096 };

/// The superblock, the two slots of the table's single sector, the copy of the superblock.
const BLOCKS: [u64; 4] = [0, SECTOR_BYTES, DEVICE_BYTES - 2 * SECTOR_BYTES, DEVICE_BYTES - SECTOR_BYTES];

fn body(data: &[u8]) {
    let lanes = Lanes::format(Backed::new(NullDevice::new(DEVICE_BYTES)), SHAPE, Seed(1));
    let mut device = lanes.unwrap_or_else(|error| panic!("{error}")).into_inner();
    for (at, block) in altered(&mut device, data) {
        let write = Request::write(u64::MAX, at, SECTOR_BYTES);
        device.submit_with(write, block).unwrap_or_else(|(error, _)| panic!("{error}"));
        device.reap(Instant::FAR, &mut Vec::new());
    }
    // The checked ones also read the heads of erased units, and tell records of foreign data.
    for open in [Lanes::open, Lanes::open_checked, Lanes::open_checked_parts] {
        match open(device.clone()) {
            Ok(lanes) => exercise(lanes, open),
            Err(error) => assert!(error.to_string().contains(' '), "{error:?} gives no reason"),
        }
    }
}

/// Returns the four blocks with the input's changes.
fn altered(device: &mut Backed<NullDevice>, mut data: &[u8]) -> Vec<(u64, Buffer)> {
    let mut blocks: Vec<(u64, Buffer)> = Vec::new();
    for at in BLOCKS {
        let read = Request::read(u64::MAX, at, SECTOR_BYTES);
        let room = Buffer::zeroed(SECTOR_BYTES as usize);
        device.submit_with(read, room).unwrap_or_else(|(error, _)| panic!("{error}"));
        device.reap(Instant::FAR, &mut Vec::new());
        blocks.push((at, device.take_buffer(RequestId(u64::MAX)).expect("a read gives its buffer back")));
    }
    while let [which, low, high, count, rest @ ..] = data {
        let block = blocks[usize::from(which % 4)].1.as_mut_slice();
        let at = usize::from(u16::from_le_bytes([*low, *high])) % block.len();
        let count = usize::from(*count).min(rest.len()).min(block.len() - at);
        block[at..at + count].copy_from_slice(&rest[..count]);
        if which & 8 != 0 {
            seal(block);
        }
        data = &rest[count..];
    }
    blocks
}

/// Checks that all states are possible, that the first and last unit, unless bad, can be erased, written and read, and
/// that reopening finds the same states.
fn exercise(mut lanes: SmallLanes, open: fn(Backed<NullDevice>) -> Result<SmallLanes, LanesError>) {
    let p = lanes.info().clone();
    let units = p.capacity_bytes / p.erase_unit_bytes;
    let all = (0..p.lanes).flat_map(|lane| (0..units).map(move |index| (Lane(lane), index)));
    let all: Vec<_> = all.collect();
    for &(lane, index) in &all {
        let unit = lanes.unit(lane, index).expect("the unit exists");
        if let UnitState::Written { bytes } = unit.state {
            assert!(bytes <= p.erase_unit_bytes && bytes.is_multiple_of(p.write_unit_bytes), "{unit:?}");
        }
    }
    for &(lane, index) in [all.first(), all.last()].into_iter().flatten() {
        let unit = lanes.unit(lane, index).expect("the unit exists");
        let at = index * p.erase_unit_bytes;
        for request in [
            Request::erase(1, at, p.erase_unit_bytes),
            Request::write(1, at, p.write_unit_bytes),
            Request::read(1, at, p.read_unit_bytes),
        ] {
            let answer = lanes.submit(request.on(lane));
            assert_eq!(answer.is_ok(), unit.state != UnitState::Bad, "{request:?}: {answer:?}");
            drain(&mut lanes);
        }
    }
    let left =
        |lanes: &Lanes<_>| all.iter().map(|&(lane, index)| lanes.unit(lane, index)).collect::<Vec<_>>();
    let before = left(&lanes);
    let again = open(lanes.into_inner()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(left(&again), before);
}

/// Waits for requests in flight, and for background work shortly after.
fn drain(lanes: &mut Lanes<Backed<NullDevice>>) {
    lanes.reap(Instant::FAR, &mut Vec::new());
    for _ in 0..2 {
        let soon = lanes.now() + flashlane_base::Duration::from_us(1);
        lanes.reap(soon, &mut Vec::new());
    }
}
