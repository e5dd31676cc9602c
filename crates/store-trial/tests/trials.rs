//! A few trials, so that a change that breaks a promise is seen at once; `cargo xtask sim store` runs millions of cuts.

use flashlane_store_trial::{Tally, trial_of_seed};

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
