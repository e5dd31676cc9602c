//! Proportional: spreads the moves of the victim's valid pages evenly over the pages that the host can write until the
//! victim has to be erased.
//!
//! Erasing the victim leaves `free` erased pages, of which `target` are kept: the host can write the difference
//! meanwhile. So each page that the host writes takes `to_move / (free - target)` moves. In steady state this is the
//! ratio of a victim's valid to its invalid pages, which is write amplification less one. Every step computes the rate
//! again, so that overwrites and trims are accounted for.
//!
//! A victim with few invalid pages (one that wear leveling moves has none) would need hundreds of moves at once. The
//! moves per host page are at most `most` while the free space is at its target; below it the bound grows as the free
//! space above the floor shrinks, without limit at the floor. A deficit is thus made up over many pages, and a drive
//! whose victims gain little settles at the free space where the bound equals its need.
//!
//! Option `most`, 1 to 1,000 moves per host page, default 16. Cost: a division per flash page.

use super::{Pacing, View};
use crate::{OptionError, Options};

pub(super) const MOST: u32 = 16;

struct Proportional {
    most: u32,
}

impl Pacing for Proportional {
    fn in_steps(&self) -> bool {
        true
    }

    fn moves(&self, view: View) -> u32 {
        let View { written, to_move, free, target, floor } = view;
        let budget = free.saturating_sub(target).max(1);
        let even = (u64::from(to_move) * u64::from(written)).div_ceil(u64::from(budget));
        let (whole, left) = (target.saturating_sub(floor).max(1), free.saturating_sub(floor).max(1));
        let bound = u64::from(self.most) * u64::from(written) * u64::from(whole) / u64::from(left.min(whole));
        even.min(bound).clamp(1, u64::from(to_move.max(1))) as u32
    }
}

pub(super) fn build(options: &Options) -> Result<Box<dyn Pacing>, OptionError> {
    let most = options.get("most", MOST, "moves from 1 to 1000", |most| (1..=1000).contains(&most))?;
    Ok(Box::new(Proportional { most }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn victim_is_empty_when_the_host_has_written_what_it_gains() {
        let policy = Proportional { most: MOST };
        // A victim of 300 valid pages that gains 100, at the target: three moves a page.
        let (mut to_move, mut free) = (300, 1100);
        for page in 0..100 {
            let moves = policy.moves(View { written: 1, to_move, free, target: 1000, floor: 200 });
            assert_eq!(moves, 3, "page {page}");
            to_move -= moves;
            free -= 1;
        }
        assert_eq!(to_move, 0);
    }

    #[test]
    fn bound_grows_as_free_space_nears_the_floor() {
        let policy = Proportional { most: 10 };
        let moves = |free| policy.moves(View { written: 1, to_move: 5000, free, target: 1000, floor: 200 });
        assert_eq!([moves(1000), moves(600), moves(300)], [10, 20, 80]);
        assert_eq!(moves(200), 5000);
    }
}
