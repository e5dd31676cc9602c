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

proptest! {
    /// Data outside the units never changes, and units change only where every record of the lanes is ours.
    #[test]
    fn foreign_data_outside_the_units_never_changes(at in 0..LENGTH, length in 16..LENGTH, kind: u64, old: bool) {
        let lanes = if old { versions::version_1(mixed()) } else { mixed() };
        let layout = lanes.layout;
        let mut device = lanes.into_inner();
        let bytes = foreign(kind, length.min(LENGTH - at) as usize);
        overwrite(&mut device, at, &bytes);
        let before = raw(&mut device, 0, LENGTH);
        // Opening writes nothing, whether it succeeds or not.
        let opened = Lanes::open(device.clone());
        let reading = Lanes::open(read_only(device.clone()));
        if let Ok(mut reading) = reading {
            prop_assert_eq!(&raw(&mut reading.below.device, 0, LENGTH), &before);
        }
        if let Ok(mut lanes) = opened {
            prop_assert_eq!(&raw(&mut lanes.below, 0, LENGTH), &before);
            prop_assert_eq!(lanes.damage().foreign, 0);
            use_all(&mut lanes);
            let after = raw(&mut lanes.below, 0, LENGTH);
            let units = layout.data()..layout.data() + layout.units() * 8192;
            for (nth, &byte) in bytes.iter().enumerate() {
                let place = at + nth as u64;
                let changed = after[place as usize] != byte && byte != 0;
                prop_assert!(units.contains(&place) || !changed, "byte {place}");
            }
        }
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
