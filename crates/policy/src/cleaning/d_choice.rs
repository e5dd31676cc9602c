//! d-choice: the emptiest of d blocks drawn at random; between random (d = 1) and greedy (d = all) (Van Houdt,
//! "A mean field model for a class of garbage collection algorithms in flash-based solid state drives",
//! SIGMETRICS 2013). Option `d`, 1 to 1024, default 10.
//!
//! As there, all closed blocks are drawn from, with replacement: one without an invalid page is a victim where no
//! emptier one was drawn with it, which moves all its pages and gains none. So d = 1 has the write amplification of
//! random GC, alpha / (alpha - 1), where alpha is the flash over the data.

use super::{Cleaning, View};
use crate::{OptionError, Options};
use flashlane_base::{Random, Seed};

struct DChoice {
    d: u32,
    random: Random,
}

/// Draws for one closed block before the next one is taken: blocks that are not closed are few.
const DRAWS: u32 = 64;

impl DChoice {
    /// Draws one of the closed blocks, each alike.
    fn draw(&mut self, view: View<'_>) -> Option<usize> {
        let blocks = view.valid.len() as u64;
        let mut draws = (0..DRAWS).map(|_| self.random.below(blocks) as usize);
        draws.find(|&block| view.is_closed(block)).or_else(|| {
            let start = self.random.below(blocks);
            (0..blocks).map(|i| ((start + i) % blocks) as usize).find(|&block| view.is_closed(block))
        })
    }
}

impl Cleaning for DChoice {
    fn choose(&mut self, view: View<'_>) -> Option<usize> {
        let drawn = (0..self.d).filter_map(|_| self.draw(view)).min_by_key(|&block| view.valid[block])?;
        // GC ends where no block can gain anything.
        let gains = |block: usize| view.is_candidate(block);
        (gains(drawn) || (0..view.valid.len()).any(gains)).then_some(drawn)
    }
}

pub(super) fn build(seed: Seed, options: &Options) -> Result<Box<dyn Cleaning>, OptionError> {
    let d = options.get("d", 10, "a count from 1 to 1024", |d| (1..=1024).contains(&d))?;
    Ok(Box::new(DChoice { d, random: seed.derive("d-choice").source() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_choice_draws_all_closed_blocks_alike() {
        let mut random = build(Seed(1), &Options::new([("d".into(), "1".into())])).unwrap();
        let open = View::NOT_CLOSED + 3;
        let (valid, closed_at) = ([64, 10, open, 0], [1, 2, 3, 4]);
        let view = View { valid: &valid, closed_at: &closed_at, now: 4, pages: 64 };
        let mut chosen = [0; 4];
        (0..3000).for_each(|_| chosen[random.choose(view).unwrap()] += 1);
        assert_eq!(chosen[2], 0, "an open block is none");
        let closed = [chosen[0], chosen[1], chosen[3]];
        assert!(closed.iter().all(|times| (900..1100).contains(times)), "{chosen:?}");
        let full = View { valid: &[64, 64, open, 64], ..view };
        assert_eq!(random.choose(full), None, "GC gains nothing");
    }
}
