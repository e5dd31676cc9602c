//! Foreign data anywhere in an erased unit: the first write to the unit finds it. What the lanes left there is not
//! mistaken for it.

use super::*;
use flashlane_device::{Failure, UnitHead};

const UNIT: u64 = 16384;
const LENGTH: u64 = 24 * UNIT;

/// A unit as a user of the checks writes it.
fn unit_bytes(lane: u32, unit: u64, value: u8) -> Vec<u8> {
    let mut bytes = vec![value; UNIT as usize];
    let (kind, format) = (flashlane_device::UnitKind::Block, [7; 16]);
    UnitHead { version: 1, kind, format, lane, unit: unit as u32, erases: Some(0) }.encode(&mut bytes);
    bytes
}

fn write<D: DataDevice>(lanes: &mut Lanes<D>, lane: u32, unit: u64, value: u8) -> Result<(), Failure> {
    let bytes = Buffer::from_slice(&unit_bytes(lane, unit, value));
    lanes.submit_with(Request::write(1, unit * UNIT, UNIT).on(Lane(lane)), bytes).expect("it is erased");
    let outcome = drain(lanes)[0].outcome;
    assert!(lanes.take_buffer(RequestId(1)).is_some(), "a write gives its buffer back");
    outcome
}

fn erase<D: DataDevice>(lanes: &mut Lanes<D>, lane: u32, unit: u64) {
    lanes.submit(Request::erase(2, unit * UNIT, UNIT).on(Lane(lane))).expect("nothing is in flight");
    assert_eq!(drain(lanes)[0].outcome, Ok(()));
}

fn checked<D: DataDevice>(device: D) -> Lanes<D> {
    Lanes::open_checked(device).unwrap_or_else(|error| panic!("{error}"))
}

/// Lanes over random bytes, with an erased unit of each kind: new, erased by an earlier opening, and with an earlier
/// block.
fn prepared() -> Lanes<Memory> {
    let mut device = memory(LENGTH);
    let mut random = Seed(3).source();
    overwrite(&mut device, 0, &(0..LENGTH).map(|_| random.bits() as u8).collect::<Vec<_>>());
    let shape = shape(2, UNIT, 512, UNIT);
    let mut lanes = Lanes::format_checked(device, shape, Seed(1)).unwrap_or_else(|error| panic!("{error}"));
    erase(&mut lanes, 0, 1);
    for lane in [0, 1] {
        assert_eq!(write(&mut lanes, lane, 2, 9), Ok(()));
        erase(&mut lanes, lane, 2);
    }
    checked(lanes.into_inner())
}

#[test]
fn opening_that_formatted_reads_no_unit_again() {
    let shape = shape(2, UNIT, 512, UNIT);
    let format = || Lanes::format_checked(memory(LENGTH), shape, Seed(1));
    let mut lanes = format().unwrap_or_else(|error| panic!("{error}"));
    let at = lanes.unit_range(Lane(1), 2).start;
    overwrite(&mut lanes.below, at + 8192, b"foreign");
    assert_eq!(write(&mut checked(lanes.below.clone()), 1, 2, 5), Err(Failure::ForeignData));
    assert_eq!(write(&mut lanes, 1, 2, 5), Ok(()), "it was read by the format");
}

const ERASED: [(u32, u64); 4] = [(1, 0), (0, 1), (0, 2), (1, 2)];

#[test]
fn first_write_finds_foreign_data_anywhere_in_a_unit() {
    let device = prepared().into_inner();
    for (lane, unit) in ERASED {
        for (from, length) in [(8192_u64, 700_usize), (4096, 1), (UNIT - 1, 1), (100, 9000), (5000, 11_384)] {
            let mut device = device.clone();
            let at = checked(device.clone()).unit_range(Lane(lane), unit).start;
            let foreign = vec![b'~'; length];
            overwrite(&mut device, at + from, &foreign);
            let mut lanes = checked(device);
            if lanes.damage().foreign_units == 0 {
                assert_eq!(write(&mut lanes, lane, unit, 5), Err(Failure::ForeignData));
            }
            // It counts as written, after reopening too, until it is erased.
            for _ in 0..2 {
                let state = lanes.unit(Lane(lane), unit).unwrap().state;
                assert_eq!(state, UnitState::Written { bytes: UNIT }, "{from} in {lane}, {unit}");
                assert_eq!(raw(&mut lanes.below, at, UNIT)[from as usize..][..length], foreign);
                lanes = checked(lanes.into_inner());
            }
            erase(&mut lanes, lane, unit);
            let mut lanes = checked(lanes.into_inner());
            assert_eq!(write(&mut lanes, lane, unit, 6), Ok(()));
            assert_eq!(raw(&mut lanes.below, at, UNIT), unit_bytes(lane, unit, 6));
        }
    }
}

/// The first erase leaves foreign data in the head, and the second one gives it up.
#[test]
fn erase_of_a_written_unit_keeps_a_foreign_head() {
    for length in [16, 512, 4096, 9000] {
        let mut lanes = prepared();
        assert_eq!(write(&mut lanes, 0, 1, 3), Ok(()));
        let at = lanes.unit_range(Lane(0), 1).start;
        let mut device = lanes.into_inner();
        let foreign = vec![b'~'; length];
        overwrite(&mut device, at, &foreign);
        let mut lanes = checked(device);
        assert_eq!(lanes.damage().foreign_units, 0, "the unit is written");
        lanes
            .submit_with(Request::read(1, UNIT, 512).on(Lane(0)), Buffer::zeroed(512))
            .expect("it is written");
        assert_eq!(drain(&mut lanes)[0].outcome, Ok(()));
        assert!(!lanes.has_foreign_data(Lane(0), 1));
        let erases = lanes.unit(Lane(0), 1).unwrap().erases;
        erase(&mut lanes, 0, 1);
        for _ in 0..2 {
            assert_eq!(raw(&mut lanes.below, at, UNIT)[..length], foreign);
            let unit = lanes.unit(Lane(0), 1).unwrap();
            assert_eq!(
                (unit.state, unit.erases),
                (UnitState::Written { bytes: UNIT }, erases.map(|n| n + 1))
            );
            assert!(lanes.has_foreign_data(Lane(0), 1));
            lanes = checked(lanes.into_inner());
        }
        erase(&mut lanes, 0, 1);
        assert!(!lanes.has_foreign_data(Lane(0), 1));
        assert_eq!(lanes.unit(Lane(0), 1).unwrap().state, UnitState::ERASED);
        let mut lanes = checked(lanes.into_inner());
        assert_eq!(write(&mut lanes, 0, 1, 6), Ok(()));
    }
}

#[test]
fn own_remains_are_not_foreign_data() {
    let mut lanes = prepared();
    for round in 0..3 {
        for (lane, unit) in ERASED {
            assert_eq!(write(&mut lanes, lane, unit, round), Ok(()), "{round}: {lane}, {unit}");
            erase(&mut lanes, lane, unit);
        }
        lanes = checked(lanes.into_inner());
    }
    // A user who asks for no check writes in parts, and the unit is not compared afterwards.
    let mut lanes = Lanes::open(lanes.into_inner()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(write(&mut lanes, 0, 1, 3), Ok(()));
    erase(&mut lanes, 0, 1);
    assert_eq!(write(&mut checked(lanes.into_inner()), 0, 1, 4), Ok(()));
}

#[test]
fn empty_units_are_not_foreign_data() {
    for fill in [0, 0xff] {
        let mut device = prepared().into_inner();
        for (lane, unit) in ERASED {
            let at = checked(device.clone()).unit_range(Lane(lane), unit).start;
            overwrite(&mut device, at, &[fill; UNIT as usize]);
        }
        let mut lanes = checked(device);
        for (lane, unit) in ERASED {
            assert_eq!(write(&mut lanes, lane, unit, 5), Ok(()), "{fill}: {lane}, {unit}");
        }
    }
}

/// Foreign data behind the head of a written unit is found by the first write after the erase of the same opening.
#[test]
fn erase_of_a_written_unit_keeps_foreign_data_behind_its_head() {
    for (from, length) in [(5000, 1), (8192, 700), (UNIT - 4096, 4096), (UNIT - 1, 1)] {
        let mut lanes = prepared();
        assert_eq!(write(&mut lanes, 0, 1, 3), Ok(()));
        let at = lanes.unit_range(Lane(0), 1).start;
        let mut device = lanes.into_inner();
        let foreign = vec![b'~'; length];
        overwrite(&mut device, at + from, &foreign);
        let mut lanes = checked(device);
        erase(&mut lanes, 0, 1);
        assert_eq!(write(&mut lanes, 0, 1, 6), Err(Failure::ForeignData), "{length} bytes at {from}");
        assert_eq!(raw(&mut lanes.below, at, UNIT)[from as usize..][..length], foreign);
        // The content is given up, by this opening or a later one.
        for mut lanes in [checked(lanes.below.clone()), lanes] {
            erase(&mut lanes, 0, 1);
            assert_eq!(write(&mut lanes, 0, 1, 6), Ok(()), "{length} bytes at {from}");
        }
    }
}

#[test]
fn erase_of_content_that_is_given_up_keeps_no_foreign_data() {
    for from in [0, 100, 9000] {
        let mut lanes = prepared();
        assert_eq!(write(&mut lanes, 0, 1, 3), Ok(()));
        let at = lanes.unit_range(Lane(0), 1).start;
        let mut device = lanes.into_inner();
        overwrite(&mut device, at + from, b"foreign");
        let mut lanes = checked(device);
        lanes
            .submit_with(Request::read(1, UNIT, 512).on(Lane(0)), Buffer::zeroed(512))
            .expect("it is written");
        assert_eq!(drain(&mut lanes)[0].outcome, Ok(()));
        lanes.give_up_content(Lane(0), 1);
        erase(&mut lanes, 0, 1);
        assert!(!lanes.has_foreign_data(Lane(0), 1));
        for mut lanes in [checked(lanes.below.clone()), lanes] {
            assert_eq!(lanes.unit(Lane(0), 1).unwrap().state, UnitState::ERASED);
            assert_eq!(write(&mut lanes, 0, 1, 6), Ok(()), "foreign data at {from}");
        }
    }
}

/// In one opening, a unit is read once before it is written, and not again after its own writes.
#[test]
fn own_writes_are_not_compared() {
    let mut lanes = prepared();
    for round in 0..5 {
        assert_eq!(write(&mut lanes, 0, 1, round), Ok(()));
        erase(&mut lanes, 0, 1);
        assert_eq!(lanes.units_compared, 1, "after {} writes", round + 1);
    }
}

/// The user of striped lanes begins only one unit of several with a header.
#[test]
fn recorded_content_with_another_head_is_not_foreign() {
    let write_plain = |lanes: &mut Lanes<Memory>, value: u8| {
        let request = Request::write(1, UNIT, UNIT).on(Lane(0));
        let bytes = Buffer::from_slice(&vec![value; UNIT as usize]);
        lanes.submit_with(request, bytes).expect("it is erased");
        assert_eq!(drain(lanes)[0].outcome, Ok(()));
    };
    let read_head = |lanes: &mut Lanes<Memory>| {
        lanes
            .submit_with(Request::read(1, UNIT, 512).on(Lane(0)), Buffer::zeroed(512))
            .expect("it is written");
        assert_eq!(drain(lanes)[0].outcome, Ok(()));
    };
    for opens_between in [false, true] {
        let mut lanes = prepared();
        for value in 1..4 {
            write_plain(&mut lanes, value);
            if opens_between {
                lanes = checked(lanes.into_inner());
            }
            read_head(&mut lanes);
            erase(&mut lanes, 0, 1);
            assert_eq!(lanes.unit(Lane(0), 1).unwrap().state, UnitState::ERASED);
            if opens_between {
                lanes = checked(lanes.into_inner());
                assert_eq!(lanes.damage().foreign_units, 0);
            }
        }
        // Over such a head, foreign data is found.
        write_plain(&mut lanes, 9);
        let at = lanes.unit_range(Lane(0), 1).start;
        let mut device = lanes.into_inner();
        overwrite(&mut device, at + 100, b"foreign");
        let mut lanes = checked(device);
        read_head(&mut lanes);
        erase(&mut lanes, 0, 1);
        assert!(lanes.has_foreign_data(Lane(0), 1));
    }
}
