//! Trials over lanes in memory, within a fixed budget; `cargo xtask sim` runs more.

use flashlane_block_trial::{Tally, trial_of_seed};
use std::panic::catch_unwind;

#[test]
fn power_cuts_lose_and_halve_no_block() {
    let mut tally = Tally::default();
    // The last seeds showed: a superblock that waited for a unit whose erase waited for it; a block with an id above
    // the gap before the gap was durable; and damaged units erased before it was durable that their ids were given out.
    for seed in (0..200).chain([8525, 760, 712]) {
        let of_seed = catch_unwind(|| trial_of_seed(seed));
        tally += of_seed
            .unwrap_or_else(|_| panic!("'cargo xtask sim --first {seed} --trials 1' breaks a promise"));
    }
    // A trial that does nothing finds nothing.
    assert!(tally.cuts > 40_000 && tally.puts > 7_000 && tally.deletes > 4_000, "{tally:?}");
    assert!(tally.restarts > 800 && tally.failures > 0, "{tally:?}");
    assert!(tally.damaged > 200 && tally.discarded > 150, "{tally:?}");
}

#[test]
fn trial_of_a_seed_repeats() {
    for seed in 0..8 {
        assert_eq!(trial_of_seed(seed), trial_of_seed(seed));
    }
}
