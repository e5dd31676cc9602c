//! Cost-benefit: the block with the largest age * (1 - u) / 2u, where u is its share of valid pages
//! (Rosenblum and Ousterhout, "The design and implementation of a log-structured file system", 1992, section
//! 3.6; Kawaguchi et al. use the same for flash). Age counts blocks closed since this one was.

use super::{Cleaning, View};
use crate::{OptionError, Options};
use flashlane_base::Seed;

struct CostBenefit;

impl Cleaning for CostBenefit {
    fn choose(&mut self, view: View<'_>) -> Option<usize> {
        let score = |block: usize| {
            let valid = f64::from(view.valid[block]);
            let age = f64::from(view.now.wrapping_sub(view.closed_at[block])) + 1.0;
            age * (f64::from(view.pages) - valid) / (2.0 * valid)
        };
        (0..view.valid.len())
            .filter(|&block| view.is_candidate(block))
            .map(|block| (block, score(block)))
            .reduce(|best, other| if other.1 > best.1 { other } else { best })
            .map(|(block, _)| block)
    }
}

pub(super) fn build(_: Seed, _: &Options) -> Result<Box<dyn Cleaning>, OptionError> {
    Ok(Box::new(CostBenefit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_block_wins_over_slightly_emptier_young_one() {
        let view = View { valid: &[30, 32], closed_at: &[990, 10], now: 1000, pages: 64 };
        assert_eq!(CostBenefit.choose(view), Some(1));
        let view = View { valid: &[0, 32], closed_at: &[990, 10], now: 1000, pages: 64 };
        assert_eq!(CostBenefit.choose(view), Some(0));
    }
}
