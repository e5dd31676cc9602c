//! Lanes that have lost part of their table of units: what lay in other parts is there, what lay in this one is left
//! alone and reported, nothing of another formatting comes up and no id comes again. Once the damaged units are
//! discarded the device works as any other.

use flashlane_base::{Instant, Seed};
use flashlane_block::{BlockOptions, Blocks, Outcome, UnitAddress};
use flashlane_block_trial::payload_of;
use flashlane_device::{Buffer, DataDevice, Device, NullDevice, Request};
use flashlane_layer::Backed;
use flashlane_layer::lanes::{Lanes, RECORDS, SECTOR_BYTES, Shape};
use std::collections::BTreeMap;

/// 318 units, whose records take two sectors.
const SHAPE: Shape = Shape { lanes: 3, unit_bytes: 8192, read_unit_bytes: 512, write_unit_bytes: 8192 };
const DEVICE_BYTES: u64 = (106 * 3 * 8192) + 6 * SECTOR_BYTES;
const SECTORS: u64 = 2;

/// Puts and deletes at random, as far as there is room; `there` is what must be there, `ever` what was ever put.
fn use_it<D: DataDevice>(
    blocks: &mut Blocks<D>,
    seed: u64,
    there: &mut BTreeMap<u64, Vec<u8>>,
    ever: &mut BTreeMap<u64, Vec<u8>>,
) {
    let mut random = Seed(seed).derive("wishes").source();
    for _ in 0..10 + random.below(150) {
        let known = there.keys().copied().nth(random.below(there.len().max(1) as u64) as usize);
        if let (Some(id), true) = (known, random.chance(0.4)) {
            let ticket = blocks.delete(id).expect("it is there");
            let done = blocks.wait(ticket).expect("it was taken").outcome;
            assert!(matches!(done, Outcome::Delete(Ok(()))), "{done:?}");
            there.remove(&id);
        } else if blocks.status().blocks_free > 0 {
            let (fresh, bytes) =
                (blocks.next_id(), vec![random.bits() as u8; 1 + random.below(6000) as usize]);
            assert!(!ever.contains_key(&fresh), "id {fresh} comes again");
            // Some ids are chosen by the caller, at the end of a gap or far above.
            let id = match random.below(20) {
                0 => fresh + (1 << 32),
                1 => fresh + random.below(1 << 40),
                _ => fresh,
            };
            let payload = payload_of(blocks, &bytes);
            let ticket = blocks.put(id, payload).unwrap_or_else(|(error, _)| panic!("{error}"));
            let done = blocks.wait(ticket).expect("it was taken").outcome;
            assert!(matches!(done, Outcome::Put(Ok(()), _)), "{done:?}");
            there.insert(id, bytes.clone());
            ever.insert(id, bytes);
        }
    }
}

/// The blocks that are there have the bytes that were put.
fn check<D: DataDevice>(blocks: &mut Blocks<D>, ever: &BTreeMap<u64, Vec<u8>>) -> Vec<u64> {
    let found: Vec<u64> = blocks.list().map(|info| info.id).collect();
    for id in &found {
        let ticket = blocks.get(*id, 0, ever[id].len() as u64).unwrap_or_else(|error| panic!("{error}"));
        match blocks.wait(ticket).expect("it was taken").outcome {
            Outcome::Get(Ok(data)) => assert!(data.as_slice() == ever[id], "block {id} has other bytes"),
            other => panic!("block {id}: {other:?}"),
        }
    }
    found
}

fn open(below: Backed<NullDevice>) -> Blocks<Lanes<Backed<NullDevice>>> {
    let lanes = Lanes::open(below).unwrap_or_else(|error| panic!("{error}"));
    Blocks::open(lanes, BlockOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn units_of_a_lost_table_sector_are_left_alone() {
    let (mut kept, mut discarded) = (0, 0_u64);
    for seed in 0..60 {
        let mut below = Backed::new(NullDevice::new(DEVICE_BYTES));
        let (mut there, mut ever) = (BTreeMap::new(), BTreeMap::new());
        // An earlier formatting, whose bytes stay.
        for format in 0..2 {
            (there, ever) = (BTreeMap::new(), BTreeMap::new());
            let lanes = Lanes::format(below, SHAPE, Seed(seed)).unwrap_or_else(|error| panic!("{error}"));
            let name = u128::from(2 * seed + format);
            let mut blocks = Blocks::format(lanes, name, BlockOptions::default())
                .unwrap_or_else(|error| panic!("{error}"));
            use_it(&mut blocks, 2 * seed + format, &mut there, &mut ever);
            blocks.settle();
            below = blocks.into_device().into_inner();
        }
        let number = |place: UnitAddress| u64::from(place.unit) * 3 + u64::from(place.lane);
        let mut blocks = open(below);
        let places: BTreeMap<u64, u64> = blocks.list().map(|info| (info.id, number(info.address))).collect();
        assert_eq!(check(&mut blocks, &ever), there.keys().copied().collect::<Vec<_>>());
        below = blocks.into_device().into_inner();
        // A sector of the table, in both slots.
        let lost = seed % SECTORS;
        for slot in [0, 1] {
            let garbage = Buffer::from_slice(&vec![0xff; SECTOR_BYTES as usize]);
            let end = DEVICE_BYTES - (1 + SECTORS) * SECTOR_BYTES;
            let at = [SECTOR_BYTES, end][slot] + lost * SECTOR_BYTES;
            let write = Request::write(u64::MAX, at, SECTOR_BYTES);
            below.submit_with(write, garbage).unwrap_or_else(|(error, _)| panic!("{error}"));
            below.reap(Instant::FAR, &mut Vec::new());
        }
        let lanes = Lanes::open(below).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(lanes.damage().lost_sectors, 1);
        // One copy of the superblock lies among the units of each sector, so that it is sure which formatting is in
        // force.
        let mut blocks =
            Blocks::open(lanes, BlockOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        let found = check(&mut blocks, &ever);
        let sector_of = |id: &u64| places[id] / RECORDS;
        let expected: Vec<u64> = there.keys().filter(|id| sector_of(id) != lost).copied().collect();
        assert_eq!(found, expected, "seed {seed}");
        assert!(
            there
                .keys()
                .filter(|id| sector_of(id) == lost)
                .all(|id| { blocks.damaged().any(|place| number(place) == places[id]) })
        );
        kept += found.len();
        discarded += blocks.discard_damaged().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(blocks.damaged().count(), 0);
        there.retain(|id, _| found.contains(id));
        use_it(&mut blocks, seed + 1000, &mut there, &mut ever);
        blocks.settle();
        let mut blocks = open(blocks.into_device().into_inner());
        assert_eq!(check(&mut blocks, &ever), there.keys().copied().collect::<Vec<_>>());
    }
    assert!(kept > 100 && discarded > 4_000, "{kept} {discarded}");
}
