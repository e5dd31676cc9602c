//! A damaged region of a device: whatever a quarter of it holds afterwards, no block outside of it is lost, and the
//! device can be repaired and written again.

use flashlane_base::{Random, Seed};
use flashlane_block::{BlockOptions, Blocks, End, Outcome, UnitAddress};
use flashlane_block_trial::payload_of;
use flashlane_device::{Buffer, DataDevice, Device, NullDevice, Request};
use flashlane_layer::Backed;
use flashlane_layer::lanes::{Lanes, RECORDS, Repair, SECTOR_BYTES, Shape};
use std::collections::BTreeMap;

type Below = Backed<NullDevice>;
type Stored = BTreeMap<u64, Vec<u8>>;

const UNIT_BYTES: u64 = 8192;

fn shape(lanes: u32) -> Shape {
    Shape { lanes, unit_bytes: UNIT_BYTES, read_unit_bytes: 512, write_unit_bytes: UNIT_BYTES }
}

fn put<D: DataDevice>(blocks: &mut Blocks<D>, random: &mut Random) -> (u64, Vec<u8>) {
    let bytes = vec![random.bits() as u8; 1 + random.below(7000) as usize];
    let id = blocks.next_id();
    let payload = payload_of(blocks, &bytes);
    let ticket = blocks.put(id, payload).unwrap_or_else(|(error, _)| panic!("{error}"));
    let done = blocks.wait(ticket).expect("it was taken").outcome;
    assert!(matches!(done, Outcome::Put(Ok(()), _)), "{done:?}");
    (id, bytes)
}

fn get<D: DataDevice>(blocks: &mut Blocks<D>, id: u64, bytes: &[u8]) -> bool {
    let Ok(ticket) = blocks.get(id, 0, bytes.len() as u64) else { return false };
    match blocks.wait(ticket).expect("it was taken").outcome {
        Outcome::Get(Ok(data)) => {
            assert!(data.as_slice() == bytes, "block {id} has other bytes");
            true
        }
        _ => false,
    }
}

fn delete<D: DataDevice>(blocks: &mut Blocks<D>, id: u64) {
    let ticket = blocks.delete(id).unwrap_or_else(|error| panic!("{error}"));
    let done = blocks.wait(ticket).expect("it was taken").outcome;
    assert!(matches!(done, Outcome::Delete(Ok(()))), "{done:?}");
}

fn carry_out(device: &mut Below, request: Request, buffer: Buffer) {
    device.submit_with(request, buffer).unwrap_or_else(|(error, _)| panic!("{error}"));
    let mut out = Vec::new();
    device.reap(flashlane_base::Instant::FAR, &mut out);
    device.take_buffer(request.id);
}

/// Overwrites a region with zeros, ones, noise or text.
fn overwrite(device: &mut Below, (from, to): (u64, u64), random: &mut Random) {
    let kind = random.below(4);
    let bytes: Vec<u8> = (from..to)
        .map(|at| match kind {
            0 => 0,
            1 => 0xff,
            2 => random.bits() as u8,
            _ => b"Dear diary, nothing happened today. "[at as usize % 36],
        })
        .collect();
    carry_out(device, Request::write(u64::MAX, from, to - from), Buffer::from_slice(&bytes));
}

#[test]
fn damaged_quarter_loses_no_block_outside_of_it() {
    let (mut without_superblock, mut outside_blocks, mut repaired) = (0, 0, 0);
    for seed in 0..400 {
        let mut random = Seed(seed).derive("regions").source();
        let lanes = 1 + random.below(5) as u32;
        let units = 8 + random.below(40);
        let device_bytes = UNIT_BYTES * u64::from(lanes) * units + 4 * SECTOR_BYTES;
        let below = Backed::new(NullDevice::new(device_bytes));
        let below = Lanes::format(below, shape(lanes), Seed(seed)).unwrap_or_else(|error| panic!("{error}"));
        let mut blocks = Blocks::format(below, u128::from(seed) + 1, BlockOptions::default()).unwrap();
        let mut stored = Stored::new();
        let most = blocks.status().blocks_free;
        // Some devices are full, and some are used until every unit was written.
        let puts = if random.chance(0.4) { most } else { 1 + random.below(most) };
        for _ in 0..puts * (1 + random.below(3)) {
            let is_full = blocks.status().blocks_free == 0;
            if is_full || random.chance(0.2) {
                let highest = random.chance(0.3);
                let nth = if highest { 0 } else { random.below(stored.len().max(1) as u64) as usize };
                if let Some(id) = stored.keys().rev().nth(nth).copied() {
                    delete(&mut blocks, id);
                    stored.remove(&id);
                }
            }
            if blocks.status().blocks_free > 0 {
                let (id, bytes) = put(&mut blocks, &mut random);
                stored.insert(id, bytes);
            }
        }
        blocks.settle();
        let sectors = (units * u64::from(lanes)).div_ceil(RECORDS);
        let data = SECTOR_BYTES * (1 + sectors);
        let of_place = |place: UnitAddress| {
            let at = data + (u64::from(place.unit) * u64::from(lanes) + u64::from(place.lane)) * UNIT_BYTES;
            (at, at + UNIT_BYTES)
        };
        let places: BTreeMap<u64, UnitAddress> = blocks.list().map(|info| (info.id, info.address)).collect();
        let superblocks: Vec<UnitAddress> = blocks.superblock_units().collect();
        let mut below = blocks.into_device().into_inner();
        // In some trials both copies of the superblock are lost with it.
        for place in superblocks.into_iter().filter(|_| seed % 4 == 0) {
            overwrite(&mut below, of_place(place), &mut random);
        }
        let length = device_bytes / 4 / 512 * 512;
        let from = random.below((device_bytes - length) / 512 + 1) * 512;
        let region = (from, from + length);
        overwrite(&mut below, region, &mut random);
        let is_outside = |id: &u64| {
            let (begin, end) = of_place(places[id]);
            end <= region.0 || begin >= region.1
        };
        let outside: Stored =
            stored.iter().filter(|(id, _)| is_outside(id)).map(|(id, bytes)| (*id, bytes.clone())).collect();
        outside_blocks += outside.len();

        // As it is opened to be read.
        let options =
            BlockOptions { without_superblock: true, verify_footers: true, ..BlockOptions::default() };
        let opened =
            Lanes::open_to_repair(below, Repair::Overwrite).unwrap_or_else(|error| panic!("{error}"));
        let mut blocks = match Blocks::open(opened, options) {
            Ok(blocks) => blocks,
            Err(error) => {
                assert!(outside.is_empty(), "seed {seed}: {error}");
                continue;
            }
        };
        without_superblock += u32::from(blocks.status().superblock_copies == 0);
        for (id, bytes) in &outside {
            assert!(get(&mut blocks, *id, bytes), "seed {seed}: block {id} is lost");
        }
        // As it is repaired, and written again.
        let mut lanes = blocks.into_device();
        lanes.repair().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let mut blocks = Blocks::open(lanes, options).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        blocks.repair(true).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let lanes = blocks.into_device();
        let options = BlockOptions { verify_footers: true, ..BlockOptions::default() };
        let mut blocks = Blocks::open(lanes, options).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(blocks.status().superblock_copies, 2, "seed {seed}");
        blocks.discard_damaged().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let inside: Vec<u64> = blocks.list().map(|info| info.id).filter(|id| !is_outside(id)).collect();
        for id in inside {
            delete(&mut blocks, id);
        }
        let mut again = outside.clone();
        while blocks.status().blocks_free > 0 {
            let (id, bytes) = put(&mut blocks, &mut random);
            assert!(!stored.contains_key(&id), "seed {seed}: id {id} comes again");
            again.insert(id, bytes);
        }
        let lanes = Lanes::open(blocks.into_device().into_inner()).unwrap_or_else(|error| panic!("{error}"));
        let mut blocks = Blocks::open(lanes, options).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(blocks.damaged().count() == 0 && blocks.damaged_ends().count() == 0, "seed {seed}");
        assert_eq!(
            blocks.list().map(|info| info.id).collect::<Vec<_>>(),
            again.keys().copied().collect::<Vec<_>>()
        );
        for (id, bytes) in &again {
            assert!(get(&mut blocks, *id, bytes), "seed {seed}: block {id} is lost");
        }
        repaired += 1;
    }
    assert!(
        without_superblock > 80 && outside_blocks > 4000 && repaired > 380,
        "{without_superblock} {outside_blocks} {repaired}"
    );
}

#[test]
fn superblock_copies_lie_a_quarter_of_the_device_apart() {
    for (lanes, units) in [(1, 12), (2, 6), (8, 4), (44, 2), (44, 1)] {
        let device_bytes = UNIT_BYTES * u64::from(lanes) * units + 4 * SECTOR_BYTES;
        let below = Backed::new(NullDevice::new(device_bytes));
        let below = Lanes::format(below, shape(lanes), Seed(1)).unwrap_or_else(|error| panic!("{error}"));
        let mut blocks = Blocks::format(below, 1, BlockOptions::default()).unwrap();
        let mut random = Seed(1).source();
        for round in 0..20 {
            let places: Vec<u64> = blocks
                .superblock_units()
                .map(|place| u64::from(place.unit) * u64::from(lanes) + u64::from(place.lane))
                .collect();
            let all = units * u64::from(lanes);
            assert!(
                places.len() == 2 && places[0].abs_diff(places[1]) > all / 4,
                "round {round}: {places:?} of {all}"
            );
            // Deleting the block with the highest id renews the superblock.
            let (id, _) = put(&mut blocks, &mut random);
            delete(&mut blocks, id);
            blocks.settle();
        }
    }
}

#[test]
fn repair_copies_blocks_with_a_damaged_header_or_footer() {
    for (offset, id, end) in [(0, 3, End::Header), (UNIT_BYTES - 512, 5, End::Footer)] {
        let below = Backed::new(NullDevice::new(UNIT_BYTES * 32 + 4 * SECTOR_BYTES));
        let below = Lanes::format(below, shape(2), Seed(1)).unwrap_or_else(|error| panic!("{error}"));
        let mut blocks = Blocks::format(below, 1, BlockOptions::default()).unwrap();
        let mut random = Seed(1).source();
        let stored: Stored = (0..8).map(|_| put(&mut blocks, &mut random)).collect();
        let place = blocks.info(id).unwrap().address;
        let at = 2 * SECTOR_BYTES + u64::from(place.unit * 2 + place.lane) * UNIT_BYTES + offset;
        let mut below = blocks.into_device().into_inner();
        carry_out(&mut below, Request::write(u64::MAX, at, 512), Buffer::zeroed(512));
        let options = BlockOptions { verify_footers: true, ..BlockOptions::default() };
        let mut blocks = Blocks::open(Lanes::open(below).unwrap(), options).unwrap();
        let found: Vec<_> = blocks.damaged_ends().collect();
        assert!(found.len() == 1 && (found[0].id, found[0].end) == (Some(id), end), "{found:?}");
        blocks.repair(false).unwrap();
        let lanes = Lanes::open(blocks.into_device().into_inner()).unwrap();
        let mut blocks = Blocks::open(lanes, options).unwrap();
        assert_eq!((blocks.damaged_ends().count(), blocks.status().counts.single_copy_units), (0, 0));
        assert_eq!(blocks.list().count(), stored.len());
        for (id, bytes) in &stored {
            assert!(get(&mut blocks, *id, bytes), "block {id} is lost");
        }
    }
}
