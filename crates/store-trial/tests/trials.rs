//! A few trials, so that a change that breaks a promise is seen at once; `cargo xtask sim store` runs millions of cuts.

use flashlane_base::Seed;
use flashlane_device_testing::{MemoryDisk, MemoryLanes};
use flashlane_store::{Slices, Store, StoreOptions};
use flashlane_store_trial::{Answer, HISTORY_BYTES_MAX, Tally, history, options, trial_of_seed};

#[test]
fn store_keeps_its_promises_through_power_cuts() {
    let mut tally = Tally::default();
    for seed in 0..32 {
        println!("seed {seed}");
        tally += trial_of_seed(seed);
    }
    println!("{tally}");
    let Tally {
        cuts,
        writes,
        gets,
        scans,
        merges,
        merge_parts,
        full,
        restarts,
        closes,
        salvages,
        foreign_runs,
        ..
    } = tally;
    assert!(
        cuts > 2000
            && writes > 500
            && gets > 200
            && scans > 50
            && merges > 50
            && merge_parts > 10
            && full > 10
            && restarts > 10
            && closes > 10
            && salvages > 10
            && foreign_runs > 100,
        "{tally:?}"
    );
}

/// Returns the answers of a store of this shape; its options change with each opening.
fn answers(history_seed: u64, shape: u64, (lanes, unit_bytes): (u32, u64), slices: u32) -> Vec<Answer> {
    let mut random = Seed(shape).derive("shape").source();
    let units = 4 * HISTORY_BYTES_MAX / unit_bytes / u64::from(lanes) + 64;
    let device = MemoryLanes::new(lanes, units, unit_bytes, 512, Seed(shape));
    let log = MemoryDisk::new((64 + random.below(64)) * unit_bytes.max(16 << 10), 512, Seed(shape));
    let mut next = || {
        let own = options(&mut random);
        let memory_bytes = own.memory_bytes / 4096 * unit_bytes;
        StoreOptions { memory_bytes, cache_reads: random.chance(0.5), ..own }
    };
    let store = Store::create(device, log, u128::from(shape) + 1, Slices::even(slices), next());
    let store = store.unwrap_or_else(|error| panic!("shape {shape}: {error}"));
    history(history_seed, 1500, store, &mut next)
}

#[test]
fn answers_are_equal_whatever_the_configuration() {
    let devices = [(1, 4096), (4, 4096), (7, 8192), (2, 16 << 10), (4, 64 << 10), (11, 256 << 10)];
    for seed in 0..3 {
        let mut expected: Option<Vec<Answer>> = None;
        for (shape, device) in (0..).zip(devices.into_iter().cycle().take(24)) {
            let slices = [1, 2, 3, 16][(shape / 6 + shape) as usize % 4];
            let found = answers(seed, 100 * seed + shape, device, slices);
            let expected = expected.get_or_insert_with(|| found.clone());
            let differs = expected.iter().zip(&found).position(|(a, b)| a != b);
            assert!(
                differs.is_none() && expected.len() == found.len(),
                "seed {seed}: of {device:?} with {slices} slices answer {differs:?} differs"
            );
        }
        let expected = expected.expect("stores have answered");
        let Some(Answer::Entries(last)) = expected.last() else { panic!("the last answer is a scan") };
        assert!(expected.len() > 1000 && last.len() > 100, "{} answers, {} keys", expected.len(), last.len());
    }
}
