//! Tests of patches: added entries are found, and entries that a container takes fit.

use super::*;
use crate::bytes::Reader;
use crate::container::Container;
use crate::core::shape_of;
use crate::entry::{Body, Entry, EntryRef, Pieces};
use crate::footer::Footer;
use crate::patch::Patch;
use crate::snapshots::Snapshots;
use flashlane_base::{Random, Seed};
use flashlane_block::{BlockOptions, Blocks};
use flashlane_device_testing::MemoryLanes;
use std::sync::Arc;

fn head() -> Head {
    let (lower, upper) = (Vec::new(), Vec::new());
    Head {
        slice: 0,
        lower,
        upper,
        level: 0,
        run: 1,
        sequences: (0, u64::MAX),
        creation: 1,
        origin: Origin::Container,
        stale: Vec::new(),
        statement: crate::statement::tests::statement(),
    }
}

fn entry(random: &mut Random, key_bytes: u64, value_bytes: u64) -> Entry {
    let key = (0..1 + random.below(key_bytes)).map(|_| random.bits() as u8).collect();
    let body = match random.below(20) {
        0 => Body::Tombstone,
        1 => Body::Pieces(Box::new(Pieces {
            value_bytes: 9000,
            ids: vec![random.bits(); 3],
            tail: vec![1; 10],
        })),
        _ => Body::Value(Arc::new(vec![random.bits() as u8; random.below(value_bytes) as usize])),
    };
    let expiry_ms = if random.chance(0.2) { random.bits() } else { 0 };
    Entry { key, version: Version { sequence: random.bits() >> 1, expiry_ms, body } }
}

#[test]
fn container_that_fits_becomes_one_patch_in_which_all_is_found() {
    for seed in 0..40 {
        let mut random = Seed(seed).source();
        let (unit_bytes, granule) =
            [(4096, 512), (64 << 10, 512), (64 << 10, 4096)][random.below(3) as usize];
        let blocks =
            Blocks::format(MemoryLanes::new(1, 6, unit_bytes, granule, Seed(1)), 1, BlockOptions::default());
        let blocks = blocks.expect("the lanes suit");
        let shape = shape_of(blocks.block_bytes(), granule, &[]).expect("the blocks suit");
        let (key_bytes, value_bytes) =
            (1 + random.below(shape.key_bytes_max()), 1 + random.below(shape.inline_bytes_max()));
        let value_bytes = if random.chance(0.5) { 100.min(value_bytes) } else { value_bytes };
        let (mut container, snapshots) = (Container::default(), Snapshots::default());
        let mut entries = Vec::new();
        loop {
            let entry = entry(&mut random, key_bytes, value_bytes);
            let mut size = Size::default();
            size.add(&shape, &entry.key, &entry.version);
            if !container.fits(&shape, &size) {
                break;
            }
            if entries.iter().all(|other: &Entry| other.key != entry.key) {
                container.add(&shape, vec![entry.clone()], 0..1, &snapshots);
                entries.push(entry);
            }
        }
        let (payload, footer) = container.to_patch(shape, blocks.payload(), head(), 7);
        let Ok(Footer::Patch(read)) = Footer::decode(payload.as_slice(), 7) else {
            panic!("seed {seed}: no footer")
        };
        assert_eq!(*read, footer, "seed {seed}");
        let patch = Patch::new(0, footer);
        for Entry { key, version } in &entries {
            assert!(patch.may_hold(key, hash_key(key)), "seed {seed}: {key:?} is denied");
            let range = patch.range_of(key);
            let mut reader = Reader::new(&payload.as_slice()[range.start as usize..range.end as usize]);
            let found = std::iter::from_fn(|| EntryRef::read(&mut reader).expect("entries"))
                .find(|found| found.key == key);
            assert_eq!(found.map(|found| found.version()).as_ref(), Some(version), "seed {seed}: {key:?}");
            // A small entry costs one group, which is one stretch at most.
            let is_small = version.encoded_bytes(key) <= shape.small_bytes();
            assert!(!is_small || range.end - range.start <= shape.group_bytes, "seed {seed}: {range:?}");
        }
        if value_bytes == 100 && unit_bytes > 4096 && key_bytes < 50 {
            let used = container.entry_bytes() as f64 / shape.block_bytes as f64;
            assert!(used > 0.8, "seed {seed}: entries take {used:.2} of the block");
        }
    }
}

#[test]
fn memory_of_a_key_is_below_eight_bytes() {
    // Keys of 16 bytes with values of 1 KB, in blocks of 8 MB read in units of 8 KB, as the paper's.
    let device = MemoryLanes::new(1, 5, 8 << 20, 8 << 10, Seed(1));
    let blocks = Blocks::format(device, 1, BlockOptions::default()).expect("the lanes suit");
    let shape = shape_of(blocks.block_bytes(), 8 << 10, &[]).expect("the blocks suit");
    let mut random = Seed(2).source();
    let mut keys: Vec<[u8; 16]> = (0..8000)
        .map(|_| (u128::from(random.bits()) << 64 | u128::from(random.bits())).to_be_bytes())
        .collect();
    keys.sort_unstable();
    let mut builder = Builder::new(shape, blocks.payload(), 0);
    let version = Version { sequence: 1 << 30, expiry_ms: 0, body: Body::Value(Arc::new(vec![7; 1000])) };
    let count = keys.iter().take_while(|key| {
        let fits = builder.fits(&key[..], std::iter::once((version.encoded_bytes(&key[..]), 0)));
        if fits {
            builder.push(&key[..], &version);
        }
        fits
    });
    let count = count.count();
    let (_, footer) = builder.finish(head(), 7);
    let bytes = Patch::new(0, footer).memory_bytes() as f64 / count as f64;
    assert!(count > 7000 && bytes < 8.0, "{bytes:.2} bytes of memory for each of {count} keys");
}
