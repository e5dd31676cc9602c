//! Foreign data over lanes: opening and refused requests change no byte, and where foreign data has replaced a record,
//! nothing is written until the owner allows its loss.

use super::*;

const LENGTH: u64 = 40 * 4096;

/// Returns foreign data: text, the headers of an archive, or random bytes.
fn foreign(kind: u64, length: usize) -> Vec<u8> {
    let mut random = Seed(kind).source();
    match kind % 3 {
        0 => b"Dear diary, \n".iter().copied().cycle().take(length).collect(),
        1 => {
            let mut bytes = vec![0; length];
            let name = b"photos/2026/a.jpg";
            bytes[..name.len().min(length)].copy_from_slice(&name[..name.len().min(length)]);
            let magic = b"0000644\x000001750\x00ustar  ";
            for at in (100..length.saturating_sub(magic.len())).step_by(512) {
                bytes[at..at + magic.len()].copy_from_slice(magic);
            }
            bytes
        }
        _ => (0..length).map(|_| random.bits() as u8 | 1).collect(),
    }
}

/// Submits every request that may change a device, for every unit.
fn use_all(lanes: &mut Lanes<Memory>) {
    let units: Vec<_> =
        (0..2).flat_map(|lane| (0..lanes.layout.units_per_lane).map(move |at| (lane, at))).collect();
    for (lane, at) in units {
        for request in [
            Request::read(1, at * 8192, 512),
            Request::write(1, at * 8192, 4096),
            Request::write(1, at * 8192 + 4096, 4096),
            Request::erase(1, at * 8192, 8192),
        ] {
            let _ = lanes.submit(request.on(Lane(lane)));
            drain(lanes);
        }
    }
}

/// Returns whether the bytes of `run` in the record that begins at `record` may be damage of ours: a single byte, or
/// the checksum of a slot, which a torn write leaves with any value.
fn may_be_ours(run: &Range<u64>, record: u64, is_slot: bool) -> bool {
    let (from, to) = (run.start.max(record), run.end.min(record + SECTOR_BYTES));
    from < to && (to - from == 1 || is_slot && from >= record + SECTOR_BYTES - 4)
}

/// Checks that foreign data in `run` does not change outside the units, and that units change only where every record
/// of the lanes is ours.
fn check_run(lanes: Lanes<Memory>, run: Range<u64>, kind: u64) -> Result<(), TestCaseError> {
    let layout = lanes.layout;
    let mut device = lanes.into_inner();
    let bytes = foreign(kind, (run.end - run.start) as usize);
    overwrite(&mut device, run.start, &bytes);
    let before = raw(&mut device, 0, LENGTH);
    // Opening writes nothing, whether it succeeds or not.
    let opened = Lanes::open(device.clone());
    if let Ok(mut reading) = Lanes::open(read_only(device)) {
        prop_assert_eq!(&raw(&mut reading.below.device, 0, LENGTH), &before);
    }
    let Ok(mut lanes) = opened else { return Ok(()) };
    prop_assert_eq!(&raw(&mut lanes.below, 0, LENGTH), &before);
    prop_assert_eq!(lanes.damage().foreign, 0);
    use_all(&mut lanes);
    let after = raw(&mut lanes.below, 0, LENGTH);
    let units = layout.data()..layout.data() + layout.units() * 8192;
    let records =
        [(layout.slot(0, 0), true), (layout.slot(0, 1), true), (layout.last_superblock(), false), (0, false)];
    for (place, &byte) in run.clone().zip(&bytes) {
        let changed = after[place as usize] != byte && byte != 0;
        let record = records.iter().find(|(record, _)| (*record..record + SECTOR_BYTES).contains(&place));
        let is_ours = record.is_some_and(|&(record, is_slot)| may_be_ours(&run, record, is_slot));
        prop_assert!(!changed || units.contains(&place) || is_ours, "byte {}", place);
    }
    Ok(())
}

/// Lanes of the present version or of version 1, with a state of each kind.
fn of_version(old: bool) -> Lanes<Memory> {
    if old { versions::version_1(mixed()) } else { mixed() }
}

proptest! {
    /// Data outside the units never changes, and units change only where every record of the lanes is ours.
    #[test]
    fn foreign_data_outside_the_units_never_changes(at in 0..LENGTH, length in 16..LENGTH, kind: u64, old: bool) {
        check_run(of_version(old), at..(at + length).min(LENGTH), kind)?;
    }
}

/// Sixteen bytes that begin in a record or end there, by every number of bytes.
#[test]
fn foreign_data_across_a_records_edge_never_changes() {
    for old in [true, false] {
        let layout = of_version(old).layout;
        let records = [0, layout.slot(0, 0), layout.slot(0, 1), layout.last_superblock()];
        for edge in records.into_iter().flat_map(|record| [record, record + SECTOR_BYTES]) {
            for from in edge.saturating_sub(16)..edge.min(LENGTH - 16) {
                check_run(of_version(old), from..from + 16, 0)
                    .unwrap_or_else(|error| panic!("old {old}, edge {edge}, from {from}: {error}"));
            }
        }
    }
}

/// The fifth byte before the end of a slot is none that a torn write of ours changes.
#[test]
fn foreign_data_from_before_the_checksum_is_refused() {
    for (old, slot) in [(true, 1), (false, 0)] {
        let lanes = of_version(old);
        let end = lanes.layout.slot(0, slot) + SECTOR_BYTES;
        assert_eq!(end, lanes.layout.data(), "a unit follows");
        let mut device = lanes.into_inner();
        overwrite(&mut device, end - 5, &foreign(0, 16));
        let error = Lanes::open(device).err().expect("it is opened for writing");
        assert!(matches!(error, LanesError::Foreign { records: 1, .. }), "{error}");
    }
}

#[test]
fn foreign_data_over_a_record_is_overwritten_only_on_request() {
    let lanes = mixed();
    let (right, layout) = (states(&lanes), lanes.layout);
    let device = lanes.into_inner();
    let last = layout.last_superblock();
    for (at, length, first, records) in [
        (0, 4096, 0, 1),
        // The first sector is intact, as with a file system that reserves a boot sector.
        (1024, 1024, 1024, 1),
        (512, 4096, 512, 2),
        (4096, 100, 4096, 1),
        (layout.slot(0, 1), 4096, layout.slot(0, 1), 1),
        (last, 30, last, 1),
        (layout.slot(0, 1) + 4000, 200, last, 2),
    ] {
        let mut device = device.clone();
        overwrite(&mut device, at, &foreign(0, length));
        let before = raw(&mut device, 0, LENGTH);
        let error = Lanes::open(device.clone()).err().expect("it is opened for writing");
        let LanesError::Foreign { at: reported, records: count, .. } = &error else { panic!("{error}") };
        assert_eq!((*reported, *count), (first, records), "{at}: {error}");
        assert!(error.to_string().contains("repair=overwrite"), "{error}");
        let mut reading = Lanes::open(read_only(device.clone())).unwrap_or_else(|error| panic!("{error}"));
        assert!(reading.damage().foreign == records && states(&reading) == right, "{at}");
        assert_eq!(raw(&mut reading.below.device, 0, LENGTH), before);
        let refused = Lanes::open_to_repair(device.clone(), Repair::Ours).err();
        assert_eq!(refused, Some(error));
        let mut lanes =
            Lanes::open_to_repair(device, Repair::Overwrite).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(raw(&mut lanes.below, 0, LENGTH), before);
        lanes.repair().unwrap_or_else(|error| panic!("{error}"));
        let lanes = reopened(lanes);
        assert_eq!((lanes.damage(), states(&lanes)), (Damage::default(), right.clone()));
    }
}

#[test]
fn repair_settings_select_our_records_or_all() {
    let mut device = mixed().into_inner();
    overwrite(&mut device, 0, &[0; 4096]);
    assert!(by_spec(&[("repair", "yes")], device.clone()).is_ok());
    overwrite(&mut device, 0, b"Dear diary, nothing happened today");
    assert!(by_spec(&[("repair", "yes")], device.clone()).is_err());
    assert!(by_spec(&[], device.clone()).is_err());
    assert!(by_spec(&[("repair", "overwrite")], device.clone()).is_ok());
    let error = by_spec(&[("repair", "no")], device).err().expect("there is no such repair").to_string();
    assert!(error.contains("yes or overwrite"), "{error}");
}
