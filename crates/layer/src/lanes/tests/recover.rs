//! Lanes without superblocks are read in the given shape, and in no other.

use super::*;

const LENGTH: u64 = 4 << 20;
const SHAPE: Shape = Shape { lanes: 5, unit_bytes: 4096, read_unit_bytes: 512, write_unit_bytes: 4096 };

/// Returns a unit that begins as the block layer writes it.
fn unit(lane: u32, unit: u32, erases: u32, format: u8) -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    bytes[..8].copy_from_slice(b"FLBLOCKS");
    bytes[8..16].copy_from_slice(&[1, 0, 0, 0, 1, 0, 0, 0]);
    bytes[16..32].fill(format);
    for (at, field) in [(40, lane), (44, unit), (48, erases)] {
        bytes[at..at + 4].copy_from_slice(&field.to_le_bytes());
    }
    bytes
}

/// Returns lanes with three written units in the table's first sector, one of them of another formatting, and one in
/// its last.
fn used() -> Lanes<Memory> {
    let mut lanes = fresh(SHAPE, LENGTH);
    let last = lanes.layout.units_per_lane as u32 - 1;
    for (lane, at, format) in [(0, 0, 7), (3, 1, 7), (2, 4, 9), (4, last, 7)] {
        for erases in 0..=lane {
            if erases > 0 {
                lanes
                    .submit(Request::erase(1, u64::from(at) * 4096, 4096).on(Lane(lane)))
                    .expect("it is written");
                drain(&mut lanes);
            }
            let bytes = Buffer::from_slice(&unit(lane, at, erases, format));
            let write = Request::write(1, u64::from(at) * 4096, 4096).on(Lane(lane));
            lanes.submit_with(write, bytes).expect("it is erased");
            drain(&mut lanes);
        }
    }
    lanes
}

fn in_shape<D: DataDevice>(device: D, repair: Repair, shape: Option<Shape>) -> Result<Lanes<D>, LanesError> {
    let recovery = RecoverOptions { shape, looks_for_blocks: true };
    Lanes::open_if(device, repair, ErasedCheck::Units, recovery, |_| Ok(()))
}

#[test]
fn lost_superblocks_are_rewritten_in_the_given_shape() {
    let lanes = used();
    let (right, layout) = (states(&lanes), lanes.layout);
    assert!(layout.sectors() > 2);
    let device = lanes.into_inner();
    // The first sector of the table is lost too, or all of it.
    for lost in [1, layout.sectors()] {
        let mut device = device.clone();
        overwrite(&mut device, 0, &[b'x'; 4096]);
        overwrite(&mut device, layout.last_superblock(), &[b'x'; 4096]);
        for (sector, slot) in (0..lost).flat_map(|sector| [(sector, 0), (sector, 1)]) {
            overwrite(&mut device, layout.slot(sector, slot), &[b'x'; 4096]);
        }
        let before = raw(&mut device, 0, LENGTH);
        let error = in_shape(device.clone(), Repair::Ours, Some(SHAPE)).err();
        assert!(matches!(error, Some(LanesError::Recovered { .. })), "{error:?}");
        let mut reading = in_shape(read_only(device.clone()), Repair::Ours, Some(SHAPE))
            .unwrap_or_else(|error| panic!("{error}"));
        let found = states(&reading);
        for (number, (found, right)) in found.iter().zip(&right).enumerate() {
            let (lane, at) = (number as u64 / layout.units_per_lane, number as u64 % layout.units_per_lane);
            let is_lost = at * 5 + lane < lost * RECORDS;
            let expected = match right.state {
                UnitState::ERASED if is_lost => Unit { erases: None, ..*right },
                // Its formatting is not the most frequent one.
                _ if is_lost && (lane, at) == (2, 4) => Unit { erases: None, ..*right },
                _ => *right,
            };
            assert_eq!(*found, expected, "unit {at} of lane {lane}, {lost} sectors lost");
        }
        assert!(raw(&mut reading.below.device, 0, LENGTH) == before);
        let mut repaired =
            in_shape(device, Repair::Overwrite, Some(SHAPE)).unwrap_or_else(|error| panic!("{error}"));
        repaired.repair().unwrap_or_else(|error| panic!("{error}"));
        let lanes = reopened(repaired);
        assert_eq!((states(&lanes), lanes.damage()), (found, Damage::default()));
    }
}

#[test]
fn wrong_shape_is_refused() {
    let lanes = used();
    let layout = lanes.layout;
    let mut device = lanes.into_inner();
    overwrite(&mut device, 0, &[b'x'; 8192]);
    overwrite(&mut device, layout.last_superblock(), &[b'x'; 4096]);
    for other in [
        None,
        Some(Shape { lanes: 4, ..SHAPE }),
        Some(Shape { lanes: 6, ..SHAPE }),
        Some(Shape { unit_bytes: 8192, write_unit_bytes: 8192, ..SHAPE }),
    ] {
        let error = in_shape(read_only(device.clone()), Repair::Ours, other).err();
        match other {
            None => assert!(matches!(error, Some(LanesError::OnlyBlocks { shape: None, .. })), "{error:?}"),
            Some(_) => {
                assert!(
                    matches!(error, Some(LanesError::OtherPlaces { found: None, .. })),
                    "{other:?}: {error:?}"
                );
            }
        }
    }
    // Without blocks nothing is recovered.
    let error = in_shape(memory(LENGTH), Repair::Ours, Some(SHAPE)).err();
    assert!(matches!(error, Some(LanesError::NotFormatted { .. })), "{error:?}");
}

#[test]
fn lost_table_is_rewritten_in_the_shape_of_the_superblock() {
    let lanes = used();
    let (right, layout) = (states(&lanes), lanes.layout);
    let device = lanes.into_inner();
    let mut random: Random = Seed(1).source();
    let noise: Vec<u8> = (0..4096).map(|_| random.bits() as u8).collect();
    for (lost, bytes) in [1, layout.sectors()]
        .into_iter()
        .flat_map(|lost| [vec![0; 4096], vec![0xff; 4096], noise.clone()].map(|bytes| (lost, bytes)))
    {
        let mut device = device.clone();
        for (sector, slot) in (0..lost).flat_map(|sector| [(sector, 0), (sector, 1)]) {
            overwrite(&mut device, layout.slot(sector, slot), &bytes);
        }
        // A head that belongs to another unit is not a block's.
        let misplaced = layout.head(2 * 5 + 1);
        overwrite(&mut device, misplaced, &unit(4, 9, 0, 7));
        let before = raw(&mut device, 0, LENGTH);
        let error = in_shape(device.clone(), Repair::Ours, None).err();
        let is_partial = lost < layout.sectors();
        let expected = LanesError::NoTable { device: device.info().name.clone(), is_partial, unreadable: 0 };
        match error {
            Some(LanesError::Foreign { .. }) if bytes == noise => {}
            error => assert_eq!(error, Some(expected), "{lost} sectors lost"),
        }
        let mut reading =
            in_shape(read_only(device.clone()), Repair::Ours, None).unwrap_or_else(|error| panic!("{error}"));
        assert!(reading.is_recovered && reading.damage().lost_sectors == lost);
        let found = states(&reading);
        for (number, (found, right)) in found.iter().zip(&right).enumerate() {
            let (lane, at) = (number as u64 / layout.units_per_lane, number as u64 % layout.units_per_lane);
            let is_lost = at * 5 + lane < lost * RECORDS;
            let expected = match right.state {
                _ if is_lost && (lane, at) == (1, 2) => {
                    Unit { state: UnitState::Written { bytes: 4096 }, erases: None }
                }
                UnitState::ERASED if is_lost => Unit { erases: None, ..*right },
                // Its formatting is not the most frequent one.
                _ if is_lost && (lane, at) == (2, 4) => Unit { erases: None, ..*right },
                _ => *right,
            };
            assert_eq!(*found, expected, "unit {at} of lane {lane}, {lost} sectors lost");
        }
        assert!(raw(&mut reading.below.device, 0, LENGTH) == before);
        let mut repaired =
            in_shape(device, Repair::Overwrite, None).unwrap_or_else(|error| panic!("{error}"));
        repaired.repair().unwrap_or_else(|error| panic!("{error}"));
        let lanes = reopened(repaired);
        assert_eq!((states(&lanes), lanes.damage()), (found, Damage::default()));
    }
}
