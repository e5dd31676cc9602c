//! Defines a garbage collection policy and compares it with the built-in ones.
//!
//! ```sh
//! cargo run --release --example write_policy
//! ```

use flashlane::policy::cleaning::{self, Cleaning, View};
use flashlane::policy::registry::Entry;
use flashlane::policy::{OptionError, Options as PolicyOptions};
use flashlane::{Device, OpenOptions, Policies, RunOptions, Seed, Workload};
use std::error::Error;

/// Chooses the block that was closed first, in the order of a log.
struct Oldest;

impl Cleaning for Oldest {
    fn choose(&mut self, view: View<'_>) -> Option<usize> {
        // A policy looks at a view and returns a choice; the drive checks it and does the work.
        (0..view.valid.len())
            .filter(|&block| view.is_candidate(block))
            .min_by_key(|&block| view.closed_at[block])
    }
}

/// Builds the policy. The seed is for random policies; the options are `[cleaning.options]` of a profile.
fn build(_seed: Seed, _options: &PolicyOptions) -> Result<Box<dyn Cleaning>, OptionError> {
    Ok(Box::new(Oldest))
}

/// Returns the write amplification of random writes to a small full drive.
pub fn write_amplification(policy: &str) -> Result<f64, Box<dyn Error>> {
    let mut policies = Policies::default();
    policies.cleaning.add(Entry {
        name: "oldest",
        summary: "the block that was closed first",
        is_random: false,
        build: build as cleaning::Build,
    })?;
    // 320 MiB of flash, of which the host sees 256 MiB.
    let spec = format!(
        "sim:ssd-s,capacity=256MiB,flash.blocks=64,initial.state=fragmented,cleaning.policy={policy}"
    );
    let mut drive = OpenOptions::new().policies(policies).open(&spec)?.device;
    let workload = Workload::parse("random-write,size=4k,depth=8,requests=40k")?;
    flashlane::run(&mut *drive, &workload, RunOptions::default())?;
    Ok(drive.counters().write_amplification().ok_or("nothing was written")?)
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn Error>> {
    println!("{:<14} {:>20}", "policy", "write amplification");
    for policy in ["greedy", "cost-benefit", "d-choice", "oldest"] {
        println!("{policy:<14} {:>20.2}", write_amplification(policy)?);
    }
    Ok(())
}
