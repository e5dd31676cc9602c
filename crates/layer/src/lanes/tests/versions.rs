//! Version 1 of the layout, with adjacent slots, is still supported; since version 2, damage to one location loses no
//! record.

use super::*;

/// Converts `lanes` to version 1 as described in `docs/layout.md`, without the data.
pub(super) fn version_1(lanes: Lanes<Memory>) -> Lanes<Memory> {
    let shape = lanes.layout.shape;
    let length = lanes.layout.device_bytes;
    let superblock = Superblock { version: 1, ..lanes.superblock };
    let units = (length - 2 * SECTOR_BYTES - 2 * SECTOR_BYTES) / shape.unit_bytes / u64::from(shape.lanes);
    assert_eq!(units, lanes.layout.units_per_lane, "one sector of the table, and as many units");
    let mut device = memory(length);
    for slot in [0, 1] {
        let mut block = vec![0; SECTOR_BYTES as usize];
        let records: Vec<Record> =
            (0..lanes.layout.units()).map(|number| lanes.table.record(number)).collect();
        disk::TableSector { sector: 0, sequence: 5, records: &records }.encode(&superblock.id, &mut block);
        overwrite(&mut device, SECTOR_BYTES * (1 + slot), &block);
    }
    overwrite(&mut device, 0, &superblock.encode());
    overwrite(&mut device, length - SECTOR_BYTES, &superblock.encode());
    Lanes::open(device).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn version_1_keeps_its_layout() {
    let right = states(&mixed());
    let mut lanes = version_1(mixed());
    let (superblock, data) = (lanes.superblock, lanes.layout.data());
    assert_eq!((states(&lanes), lanes.damage(), superblock.version), (right, Damage::default(), 1));
    assert_eq!((lanes.layout.slot(0, 1), data), (2 * SECTOR_BYTES, 3 * SECTOR_BYTES));
    lanes.submit_with(Request::write(1, 8192, 8192), Buffer::from_slice(&[7; 8192])).expect("it is erased");
    drain(&mut lanes);
    let mut lanes = reopened(lanes);
    assert_eq!((lanes.superblock, lanes.damage()), (superblock, Damage::default()));
    assert_eq!(raw(&mut lanes.below, data + 2 * 8192, 8192), [7; 8192]);
    // A new format has the current version.
    let lanes = Lanes::format(lanes.into_inner(), shape(2, 8192, 512, 4096), Seed(2));
    let lanes = reopened(lanes.unwrap_or_else(|error| panic!("{error}")));
    assert_eq!((lanes.superblock.version, lanes.damage()), (VERSION, Damage::default()));
}

#[test]
fn any_damaged_8_kib_lose_no_record() {
    // Four sectors of the table.
    let mut lanes = fresh(shape(5, 4096, 512, 4096), 4 << 20);
    for number in 0..200 {
        lanes.submit(Request::write(number, number * 4096, 4096).on(Lane(1))).expect("it is erased");
        drain(&mut lanes);
    }
    let (right, layout) = (states(&lanes), lanes.layout);
    let device = lanes.into_inner();
    let (data, end) = (layout.data(), layout.slot(0, 1));
    let places: Vec<u64> = (0..=data - 8192).chain(end..=layout.device_bytes - 8192).step_by(512).collect();
    assert!(places.len() > 40, "{places:?}");
    for at in places {
        for byte in [0, 0x5a] {
            let mut device = device.clone();
            overwrite(&mut device, at, &[byte; 8192]);
            let lanes = Lanes::open(read_only(device)).unwrap_or_else(|error| panic!("at {at}: {error}"));
            assert_eq!((states(&lanes), lanes.damage().lost_sectors), (right.clone(), 0), "at {at}");
        }
    }
}
