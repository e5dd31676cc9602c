//! Deep trials of the block layer: millions of power cuts, on new seeds.

use anyhow::{Context, Result, bail};
use flashlane_block_trial::{Tally, trial_of_seed};
use rayon::prelude::*;
use std::fs::File;
use std::io::Read;
use std::panic::catch_unwind;

/// Trials per batch.
const BATCH: u64 = 512;

/// Runs trials from seed `first` on (a random one if not given) until `trials` trials or `cuts` power cuts are done.
pub fn run(first: Option<u64>, trials: Option<u64>, cuts: u64) -> Result<()> {
    let first = first.map_or_else(fresh_seed, Ok)?;
    println!("trials of the block layer from seed {first} on");
    let (mut tally, mut done) = (Tally::default(), 0);
    while trials.map_or(tally.cuts < cuts, |trials| done < trials) {
        let count = trials.map_or(BATCH, |trials| BATCH.min(trials - done));
        let seeds = (0..count).map(|nth| first.wrapping_add(done + nth)).collect::<Vec<_>>();
        let results: Vec<_> =
            seeds.into_par_iter().map(|seed| (seed, catch_unwind(|| trial_of_seed(seed)).ok())).collect();
        let failed: Vec<u64> =
            results.iter().filter(|(_, tally)| tally.is_none()).map(|&(seed, _)| seed).collect();
        if let Some(seed) = failed.first() {
            bail!(
                "{} of {count} trials break a promise; the first again: cargo xtask sim --first {seed} --trials 1",
                failed.len()
            );
        }
        results.iter().filter_map(|(_, tally)| *tally).for_each(|of_seed| tally += of_seed);
        done += count;
    }
    let Tally { cuts, blocks_compared, puts, gets, deletes, failures, restarts, damaged, discarded } = tally;
    println!(
        "{done} trials, {cuts} power cuts, {restarts} restarts: no acknowledged block lost, none half-written\n\
         {puts} puts, {gets} gets, {deletes} deletes, {failures} lawful failures, {blocks_compared} blocks compared\n\
         {damaged} units damaged, {discarded} of them discarded"
    );
    Ok(())
}

fn fresh_seed() -> Result<u64> {
    let mut bytes = [0; 4];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .context("cannot draw a seed")?;
    Ok(u32::from_le_bytes(bytes).into())
}
