//! A block that is not on the device any more is missed, or none of its keys was needed.

use super::copies::{Moment, moments};
use super::*;
use crate::{KeyValueStore, OpenError};
use flashlane_block::{BlockOptions, BlockStore, Blocks};
use flashlane_device::Lane;

/// Opens the store of a moment without one of its patches.
fn open_without(moment: &Moment, id: u64) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, OpenError> {
    let mut blocks = BlockStore::open(moment.device.clone()).expect("the device has blocks");
    blocks.delete(id).expect("the block is there");
    let mut store = Store::open(blocks.into_device(), moment.log.clone(), options())?;
    Ok(all(&mut store, None, &mut Seed(1).source()))
}

#[test]
fn missing_patches_are_missed() {
    let (mut tried, mut needless, mut stated) = (0, 0, 0);
    for seed in 0..12 {
        let slices = 1 + seed as u32 % 4;
        for (nth, moment) in moments(seed, slices, [200, 600, 1500][seed as usize % 3]).iter().enumerate() {
            let store = Store::open(moment.device.clone(), moment.log.clone(), options());
            let store = store.unwrap_or_else(|error| panic!("seed {seed}, moment {nth}: {error}"));
            let all = store.core.slices().iter().flat_map(|slice| slice.levels().patches());
            let patches: Vec<u64> = all.map(|patch| patch.id).collect();
            for id in patches {
                tried += 1;
                match open_without(moment, id) {
                    Ok(found) => {
                        assert!(found == moment.pairs, "seed {seed}, moment {nth}: block {id} is not missed");
                        needless += 1;
                    }
                    Err(error) => stated += u32::from(matches!(error, OpenError::PatchesMissing { .. })),
                }
            }
        }
    }
    assert!(
        tried > 300 && 2 * needless < tried && 2 * stated > tried - needless,
        "{tried} tried, {needless} needless, {stated} stated"
    );
}

#[test]
fn entries_name_values_whose_pieces_are_gone() {
    let mut store = KeyValueStore::from(create(2, 96, 1, 5));
    for key in ["a", "b", "c", "d"] {
        let length = if key == "b" || key == "c" { 30_000 } else { 10 };
        store.put(key.as_bytes(), &vec![1; length]).unwrap();
    }
    for is_flushed in [false, true] {
        if is_flushed {
            store.store().flush();
            store.store().settle();
            // The log says that it needs the earlier ones no more.
            store.put(b"d", b"again").unwrap();
        }
        // The store knows the pieces by their blocks.
        let (device, log) = store.into_store().into_devices();
        let mut blocks = BlockStore::open(device).expect("the device has blocks");
        if is_flushed {
            let piece = blocks.list().map(|info| info.id).min().expect("b has pieces");
            blocks.delete(piece).unwrap();
        }
        store = Store::open(blocks.into_device(), log, options()).unwrap().into();
        for with_values in [false, true] {
            let found: Vec<_> = store.entries(b"", None, with_values).collect();
            let keys: Vec<_> = found.iter().map(|item| item.as_ref().map(|item| &item.key[..])).collect();
            if is_flushed {
                let [Ok(b"a"), Err(StoreError::Scan(failure)), Ok(b"c"), Ok(b"d")] = keys[..] else {
                    panic!("{keys:?}")
                };
                assert_eq!(failure.gap, Some(Gap { from: b"b".into(), to: b"b\0".into() }));
            } else {
                assert_eq!(keys, [Ok(&b"a"[..]), Ok(b"b"), Ok(b"c"), Ok(b"d")]);
            }
        }
    }
    // Its key is there, and can be deleted.
    assert_eq!(store.contains(b"b"), Ok(true));
    store.delete(b"b").unwrap();
    assert!(store.entries(b"", None, false).all(|item| item.is_ok()));
}

/// Damages the unit of a patch, goes on with the store until its log has gone round, and discards the unit. Returns
/// what the store then holds of the moment.
fn write_on_and_discard(moment: &Moment, id: u64) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, OpenError> {
    let blocks = BlockStore::open(moment.device.clone()).expect("the device has blocks");
    let address = blocks.list().find(|info| info.id == id).expect("the block is there").address;
    let mut device = blocks.into_device();
    let unit = address.unit as usize * 8192;
    device.lane_mut(Lane(address.lane))[unit..unit + 8192].fill(0x5a);
    let mut store = Store::open(device, moment.log.clone(), options())?;
    for nth in 0..800_u32 {
        let mut batch = Batch::default();
        batch.put([&[(nth % 251) as u8][..], b"new", &nth.to_be_bytes()].concat(), vec![7; 500]);
        write(&mut store, batch).expect("there is room");
    }
    store.settle();
    let (device, log) = store.into_devices();
    let mut blocks = Blocks::open(device, BlockOptions::default()).expect("the device has blocks");
    blocks.discard_damaged().expect("damaged units can be erased");
    blocks.settle();
    let mut store = Store::open(blocks.into_device(), log, options())?;
    let mut found = all(&mut store, None, &mut Seed(1).source());
    found.retain(|key, _| key.get(1..4) != Some(b"new"));
    Ok(found)
}

#[test]
fn patch_of_a_damaged_unit_is_missed_after_writes() {
    let (mut tried, mut told) = (0, 0);
    for seed in 0..6 {
        let moment = moments(seed, 1 + seed as u32 % 3, 600).pop().expect("there is a last one");
        let store = Store::open(moment.device.clone(), moment.log.clone(), options()).expect("it is whole");
        let all = store.core.slices().iter().flat_map(|slice| slice.levels().patches());
        let patches: Vec<u64> = all.map(|patch| patch.id).collect();
        // The newest ones, and some others.
        for &id in patches.iter().rev().step_by(3).take(4).chain(patches.iter().max()) {
            tried += 1;
            match write_on_and_discard(&moment, id) {
                Ok(found) => assert!(found == moment.pairs, "seed {seed}: block {id} is not missed"),
                Err(_) => told += 1,
            }
        }
    }
    assert!(tried > 20 && 2 * told > tried, "{tried} tried, {told} told");
}
