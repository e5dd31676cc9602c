//! Lanes that have lost their table of units: every block that was there still is, with its bytes, and after the damaged
//! units were discarded the device goes on as any other. Blocks that were deleted may be there again.

use flashlane_base::{Instant, Seed};
use flashlane_block::{Blocks, Options, Outcome, trial};
use flashlane_device::{Buffer, DataDevice, Device, NullDevice, Request};
use flashlane_layer::Backed;
use flashlane_layer::lanes::{Lanes, SECTOR_BYTES, Shape};
use std::collections::BTreeMap;

const SHAPE: Shape = Shape { lanes: 3, unit_bytes: 8192, read_unit_bytes: 512, write_unit_bytes: 8192 };
const DEVICE_BYTES: u64 = 512 << 10;

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
            let (id, bytes) = (blocks.next_id(), vec![random.bits() as u8; 1 + random.below(6000) as usize]);
            assert!(!ever.contains_key(&id), "id {id} comes again");
            let payload = trial::payload_of(blocks, &bytes);
            let ticket = blocks.put(id, payload).unwrap_or_else(|(error, _)| panic!("{error}"));
            let done = blocks.wait(ticket).expect("it was taken").outcome;
            assert!(matches!(done, Outcome::Put(Ok(()), _)), "{done:?}");
            there.insert(id, bytes.clone());
            ever.insert(id, bytes);
        }
    }
}

/// Every block that must be there is, and none has other bytes than were put.
fn check<D: DataDevice>(
    blocks: &mut Blocks<D>,
    there: &BTreeMap<u64, Vec<u8>>,
    ever: &BTreeMap<u64, Vec<u8>>,
) {
    let found: Vec<u64> = blocks.list().map(|info| info.id).collect();
    assert!(there.keys().all(|id| found.contains(id)), "{:?} are lost, {found:?} are there", there.keys());
    for id in found {
        let ticket = blocks.get(id, 0, ever[&id].len() as u64).unwrap_or_else(|error| panic!("{error}"));
        match blocks.wait(ticket).expect("it was taken").outcome {
            Outcome::Get(Ok(data)) => assert!(data.as_slice() == ever[&id], "block {id} has other bytes"),
            other => panic!("block {id}: {other:?}"),
        }
    }
}

#[test]
fn a_lost_table_costs_no_block() {
    let mut discarded = 0;
    for seed in 0..40 {
        let (mut there, mut ever) = (BTreeMap::new(), BTreeMap::new());
        let lanes = Lanes::format(Backed::new(NullDevice::new(DEVICE_BYTES)), SHAPE, Seed(seed));
        let lanes = lanes.unwrap_or_else(|error| panic!("{error}"));
        let mut blocks = Blocks::format(lanes, u128::from(seed), Options::default())
            .unwrap_or_else(|error| panic!("{error}"));
        use_it(&mut blocks, seed, &mut there, &mut ever);
        blocks.settle();
        let mut below = blocks.into_device().into_inner();
        // The table's one sector lies behind the superblock, in two slots.
        let garbage = Buffer::from_slice(&vec![0x5a; 2 * SECTOR_BYTES as usize]);
        let write = Request::write(u64::MAX, SECTOR_BYTES, 2 * SECTOR_BYTES);
        below.submit_with(write, garbage).unwrap_or_else(|(error, _)| panic!("{error}"));
        below.reap(Instant::FAR, &mut Vec::new());
        let lanes = Lanes::open(below).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(lanes.mended().lost_sectors, 1);
        let mut blocks = Blocks::open(lanes, Options::default()).unwrap_or_else(|error| panic!("{error}"));
        check(&mut blocks, &there, &ever);
        discarded += blocks.discard_damaged().unwrap_or_else(|error| panic!("{error}"));
        // What came back is there from now on.
        there = blocks.list().map(|info| (info.id, ever[&info.id].clone())).collect();
        use_it(&mut blocks, seed + 1000, &mut there, &mut ever);
        blocks.settle();
        let lanes = Lanes::open(blocks.into_device().into_inner()).unwrap_or_else(|error| panic!("{error}"));
        let mut blocks = Blocks::open(lanes, Options::default()).unwrap_or_else(|error| panic!("{error}"));
        check(&mut blocks, &there, &ever);
        assert_eq!(blocks.list().count(), there.len(), "what was deleted since stays deleted");
    }
    assert!(discarded > 40, "units that were never written hold no block");
}
