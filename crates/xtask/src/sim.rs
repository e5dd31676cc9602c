//! Deep trials of the block layer, of the store and of replication: millions of power cuts, on new seeds.

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use flashlane_block_trial as blocks;
use flashlane_replicated_trial as replicated;
use flashlane_store_trial as store;
use rayon::prelude::*;
use std::fs::File;
use std::io::Read;
use std::ops::AddAssign;
use std::panic::catch_unwind;

/// Trials per batch: few, as one trial of the store has hundreds of power cuts.
const BATCH: u64 = 16;

/// The subject of trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Subject {
    /// The block layer over lanes in memory
    Blocks,
    /// The layer `replicated` over a drive with a write cache
    Replicated,
    /// A simulated drive that replicates over its dies
    Drive,
    /// The key-value store over lanes and a disk in memory
    Store,
}

/// Runs trials from seed `first` on (a random one if not given) until `trials` trials or `cuts` power cuts are done.
pub fn run(subject: Subject, first: Option<u64>, trials: Option<u64>, cuts: u64) -> Result<()> {
    let first = first.map_or_else(fresh_seed, Ok)?;
    match subject {
        Subject::Blocks => {
            println!("trials of the block layer from seed {first} on");
            let of = |tally: &blocks::Tally| tally.cuts;
            let (tally, done) = trials_of("", blocks::trial_of_seed, of, first, trials, cuts)?;
            let blocks::Tally { cuts, blocks_compared, puts, gets, deletes, failures, .. } = tally;
            let blocks::Tally { restarts, damaged, discarded, .. } = tally;
            println!(
                "{done} trials, {cuts} power cuts, {restarts} restarts: no acknowledged block lost, none half-written\n\
                 {puts} puts, {gets} gets, {deletes} deletes, {failures} lawful failures, {blocks_compared} blocks \
                 compared\n{damaged} units damaged, {discarded} of them discarded"
            );
        }
        Subject::Replicated => {
            println!("trials of the layer 'replicated' from seed {first} on");
            let of = |tally: &replicated::Tally| tally.cuts;
            let (tally, done) = trials_of("replicated ", replicated::trial_of_seed, of, first, trials, cuts)?;
            println!("{done} trials, {tally}");
        }
        Subject::Drive => {
            println!("trials of a replicating drive from seed {first} on");
            let of = |tally: &replicated::Tally| tally.cuts;
            let (tally, done) = trials_of("drive ", replicated::trial_of_drive, of, first, trials, cuts)?;
            println!("{done} trials, {tally}");
        }
        Subject::Store => {
            println!("trials of the store from seed {first} on");
            let of = |tally: &store::Tally| tally.cuts;
            let (tally, done) = trials_of("store ", store::trial_of_seed, of, first, trials, cuts)?;
            println!("{done} trials, {tally}");
        }
    }
    Ok(())
}

/// Runs trials, and returns what they did and their number. `word` names the subject on the command line.
fn trials_of<T: Default + AddAssign + Copy + Send>(
    word: &str,
    trial: fn(u64) -> T,
    cuts_of: fn(&T) -> u64,
    first: u64,
    trials: Option<u64>,
    cuts: u64,
) -> Result<(T, u64)> {
    let (mut tally, mut done) = (T::default(), 0);
    while trials.map_or(cuts_of(&tally) < cuts, |trials| done < trials) {
        let count = trials.map_or(BATCH, |trials| BATCH.min(trials - done));
        let seeds = (0..count).map(|nth| first.wrapping_add(done + nth)).collect::<Vec<_>>();
        let results: Vec<_> =
            seeds.into_par_iter().map(|seed| (seed, catch_unwind(|| trial(seed)).ok())).collect();
        let failed: Vec<u64> =
            results.iter().filter(|(_, tally)| tally.is_none()).map(|&(seed, _)| seed).collect();
        if let Some(seed) = failed.first() {
            bail!(
                "{} of {count} trials break a promise; the first again: cargo xtask sim {word}--first {seed} --trials 1",
                failed.len()
            );
        }
        results.iter().filter_map(|(_, tally)| *tally).for_each(|of_seed| tally += of_seed);
        done += count;
    }
    Ok((tally, done))
}

fn fresh_seed() -> Result<u64> {
    let mut bytes = [0; 4];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .context("cannot draw a seed")?;
    Ok(u32::from_le_bytes(bytes).into())
}
