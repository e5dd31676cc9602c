//! d-choice: the emptiest of d blocks drawn at random; between random (d = 1) and greedy (d = all) (Van Houdt,
//! "A mean field model for a class of garbage collection algorithms in flash-based solid state drives",
//! SIGMETRICS 2013). Option `d`, 1 to 1024, default 10.

use super::{Cleaning, View};
use crate::{OptionError, Options};
use flashlane_base::{Random, Seed};

struct DChoice {
    d: u32,
    random: Random,
}

impl Cleaning for DChoice {
    fn choose(&mut self, view: View<'_>) -> Option<usize> {
        let blocks = view.valid.len() as u64;
        let drawn = (0..self.d)
            .map(|_| self.random.below(blocks) as usize)
            .filter(|&block| view.is_candidate(block))
            .min_by_key(|&block| view.valid[block]);
        // Where no drawn block is a candidate, take the first candidate after a random position.
        drawn.or_else(|| {
            let start = self.random.below(blocks);
            (0..blocks).map(|i| ((start + i) % blocks) as usize).find(|&block| view.is_candidate(block))
        })
    }
}

pub(super) fn build(seed: Seed, options: &Options) -> Result<Box<dyn Cleaning>, OptionError> {
    let d = options.get("d", 10, "a count from 1 to 1024", |d| (1..=1024).contains(&d))?;
    Ok(Box::new(DChoice { d, random: seed.derive("d-choice").source() }))
}
