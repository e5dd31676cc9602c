//! Superblocks of devices whose length has changed, and interrupted formats.

use super::*;

#[test]
fn shorter_device_is_refused_and_longer_one_keeps_its_lanes() {
    let lanes = mixed();
    let right = states(&lanes);
    let length = 40 * 4096;
    let error = Lanes::open(Real::new(lanes.into_inner(), length - 4096, 8)).err().expect("its end is gone");
    let shorter = LanesError::Shorter {
        device: "backed(null:)".into(),
        recorded_bytes: length,
        found_bytes: length - 4096,
    };
    assert_eq!(error, shorter);
    let mut device = mixed().into_inner();
    let mut longer = memory(length + (1 << 20));
    let bytes = raw(&mut device, 0, length);
    overwrite(&mut longer, 0, &bytes);
    let lanes = Lanes::open(longer).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((states(&lanes), lanes.damage()), (right, Damage::default()));
}

/// Returns `device` extended by random bytes.
fn grown(mut device: Memory, by_bytes: u64) -> Memory {
    let length = device.info().capacity_bytes;
    let mut longer = memory(length + by_bytes);
    let bytes = raw(&mut device, 0, length);
    overwrite(&mut longer, 0, &bytes);
    if by_bytes == 0 {
        return longer;
    }
    let mut random = Seed(length).source();
    let anything: Vec<u8> = (0..by_bytes).map(|_| random.bits() as u8).collect();
    overwrite(&mut longer, length, &anything);
    longer
}

#[test]
fn grown_device_finds_the_copy_at_its_old_end() {
    // No write, a partly written unit, and a whole one: the table then gives ever better bounds for the search. The
    // tables of the first two shapes have one sector, that of the last one four.
    for (shape, length, writes) in [
        (shape(2, 8192, 512, 4096), 40 * 4096, &[][..]),
        (shape(2, 8192, 512, 4096), 40 * 4096, &[4096][..]),
        (shape(3, 1 << 20, 4096, 1 << 20), 32 << 20, &[1 << 20][..]),
        (shape(5, 4096, 512, 4096), 4 << 20, &[4096][..]),
    ] {
        for by_bytes in [4096, 3 << 20] {
            let mut lanes = fresh(shape, length);
            for &bytes in writes {
                lanes.submit(Request::write(1, 0, bytes).on(Lane(1))).expect("it is erased");
                drain(&mut lanes);
            }
            let right = states(&lanes);
            let sectors = lanes.layout.sectors();
            let mut device = grown(lanes.into_inner(), by_bytes);
            overwrite(&mut device, 0, &[0; 4096]);
            // The rest of the table identifies it.
            let damage = Damage { superblocks: 1, ..Damage::default() };
            let mut lanes = Lanes::open(device).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!((states(&lanes), lanes.damage()), (right.clone(), damage), "{sectors} sectors");
            lanes.repair().unwrap_or_else(|error| panic!("{error}"));
            let lanes = reopened(lanes);
            assert_eq!((states(&lanes), lanes.damage().superblocks), (right, 0));
        }
    }
}

#[test]
fn table_alone_is_reported_and_foreign_copy_is_refused() {
    let length = 40 * 4096;
    let mut lanes = fresh(shape(2, 8192, 512, 4096), length);
    drain(&mut lanes);
    let mut device = grown(lanes.into_inner(), 1 << 20);
    overwrite(&mut device, 0, &[0; 4096]);
    // A sound copy in the right location, but from another format.
    let other = Lanes::format(memory(length), shape(4, 4096, 512, 4096), Seed(2));
    let mut other = other.unwrap_or_else(|error| panic!("{error}")).into_inner();
    let copy = raw(&mut other, length - 4096, 4096);
    overwrite(&mut device, length - 4096, &copy);
    let error = Lanes::open(device).err().expect("there is no superblock");
    assert!(matches!(error, LanesError::NoSuperblock { .. }), "{error}");
    // The truncated end held the copy.
    let mut device = mixed().into_inner();
    overwrite(&mut device, 0, &[0; 4096]);
    let error = Lanes::open(Real::new(device, length - 4096, 8)).err().expect("there is no superblock");
    assert!(error.to_string().contains("make it as long as it was"), "{error}");
}

#[test]
fn copy_that_records_another_end_is_refused() {
    let mut device = mixed().into_inner();
    let end = 40 * 4096 - SECTOR_BYTES;
    let mut copy = raw(&mut device, end, SECTOR_BYTES);
    copy[48..56].copy_from_slice(&(80 * 4096_u64).to_le_bytes());
    seal(&mut copy);
    overwrite(&mut device, end, &copy);
    overwrite(&mut device, 0, &[0; 4096]);
    let error = Lanes::open(device).err().expect("neither can be used");
    assert!(
        matches!(error, LanesError::Damaged { first: Flaw::Foreign, last: Flaw::Nonsense, .. }),
        "{error}"
    );
}

/// Formats the device of `old` anew and interrupts that after each number of requests, leaving out most of those that
/// clear heads. Returns for each whether the old or the new lanes are found.
fn cut_short(old: impl Fn() -> Lanes<Memory>, by_bytes: u64, seed: Seed, torn: bool) -> Vec<&'static str> {
    let new_shape = shape(3, 4096, 512, 4096);
    let mut seen = Vec::new();
    let mut served = 0;
    loop {
        let old = old();
        let (old_shape, old_states) = (old.layout.shape, states(&old));
        let below = grown(old.into_inner(), by_bytes);
        let length = below.info().capacity_bytes;
        let mut real = Real { left: served, torn, ..Real::new(below, length, 8) };
        let mut blocking = Blocking { device: &mut real, next: &mut 0 };
        let whole = format::format_device(&mut blocking, new_shape, seed, false).is_ok();
        seen.push(match Lanes::open(real.device) {
            Ok(lanes) if lanes.layout.shape == old_shape => {
                assert!(states(&lanes) == old_states, "after {served} requests: {:?}", lanes.damage());
                "old"
            }
            Ok(lanes) => {
                assert_eq!(lanes.layout.shape, new_shape);
                let new = Unit { state: UnitState::ERASED, erases: Some(0) };
                assert!(states(&lanes).iter().all(|&unit| unit == new), "after {served} requests");
                "new"
            }
            Err(LanesError::NoSuperblock { .. }) => "none",
            Err(error) => panic!("after {served} requests: {error}"),
        });
        if whole {
            return seen;
        }
        let units = Layout::new(new_shape, length).expect("it is divided").units();
        served = if served == 12 { served + units - 12 } else { served + 1 };
    }
}

#[test]
fn interrupted_format_leaves_no_lanes_or_all() {
    // A format reads the old superblock, clears both, writes each slot of the table, clears the head of each unit, and
    // writes both superblocks.
    let runs = |seen: Vec<&'static str>| -> (Vec<&str>, Vec<usize>) {
        seen.chunk_by(|a, b| a == b).map(|same| (same[0], same.len())).unzip()
    };
    let seen = cut_short(mixed, 0, Seed(2), false);
    let (kinds, counts) = runs(seen);
    assert_eq!((kinds, counts[0], counts[2]), (vec!["old", "none", "new"], 3, 2));
    // On a grown device the copy at the old end is cleared first. The new table is longer, so that its slots 0 cover
    // both slots of the old one. From the same seed it gets the old id.
    let many = || {
        let mut lanes = fresh(shape(5, 4096, 512, 4096), 4 << 20);
        lanes.submit(Request::write(1, 0, 4096).on(Lane(1))).expect("it is erased");
        drain(&mut lanes);
        lanes
    };
    for (seed, torn) in [(1, false), (1, true), (2, false), (2, true)] {
        let seen = cut_short(many, 4 << 20, Seed(seed), torn);
        let (kinds, counts) = runs(seen);
        assert_eq!(kinds, ["old", "none", "new"], "seed {seed}, torn {torn}");
        assert_eq!((counts[0], counts[2]), (3, 2), "seed {seed}, torn {torn}");
    }
}

#[test]
fn copy_older_than_the_table_is_refused() {
    let (length, shorter) = (1 << 20, 1 << 19);
    let mut first = fresh(shape(5, 4096, 512, 4096), length).into_inner();
    let mut second = memory(shorter);
    overwrite(&mut second, 0, &raw(&mut first, 0, shorter));
    let second = Lanes::format(second, shape(2, 8192, 512, 4096), Seed(2));
    let mut second = second.unwrap_or_else(|error| panic!("{error}"));
    second.submit(Request::write(1, 0, 8192)).expect("it is erased");
    drain(&mut second);
    let right = states(&second);
    let mut second = second.into_inner();
    // Restore the first length, with the old data there.
    let mut device = memory(length);
    overwrite(&mut device, 0, &raw(&mut second, 0, shorter));
    overwrite(&mut device, shorter, &raw(&mut first, shorter, length - shorter));
    overwrite(&mut device, 0, &[0; 4096]);
    let lanes = Lanes::open(device.clone()).unwrap_or_else(|error| panic!("{error}"));
    assert!(states(&lanes) == right && lanes.damage().superblocks == 1, "{:?}", lanes.damage());
    // Without the right copy, no lanes are opened.
    overwrite(&mut device, shorter - 4096, &[0; 4096]);
    let error = Lanes::open(device).err().expect("there is no superblock of this table");
    assert!(
        matches!(error, LanesError::Damaged { first: Flaw::Foreign, last: Flaw::Nonsense, .. }),
        "{error}"
    );
}

#[test]
fn copy_is_accepted_where_no_table_is_left() {
    let lanes = mixed();
    let (shape, slots) = (lanes.layout.shape, [lanes.layout.slot(0, 0), lanes.layout.slot(0, 1)]);
    let mut device = lanes.into_inner();
    for at in [0, slots[0], slots[1]] {
        overwrite(&mut device, at, &[0x5a; 4096]);
    }
    let lanes = Lanes::open(read_only(device)).unwrap_or_else(|error| panic!("{error}"));
    let damage = Damage { superblocks: 1, sectors: 0, lost_sectors: 1, foreign: 3, foreign_units: 0 };
    assert_eq!((lanes.layout.shape, lanes.damage()), (shape, damage));
}
