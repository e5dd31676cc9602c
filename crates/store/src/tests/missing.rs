//! A block that is not on the device any more is missed, or none of its keys was needed.

use super::copies::{Moment, moments};
use super::*;
use crate::OpenError;
use flashlane_block::BlockStore;

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
    println!("{tried} tried, {needless} needless, {stated} stated");
}
