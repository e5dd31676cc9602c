//! Static wear leveling: like dynamic; and when an erased block is more than `spread` erases ahead of the least worn
//! block with data, that block's data is moved and the block becomes free.
//!
//! Option `spread`, 1 to 1,000,000 erases, default 64. Cost: one pass over the plane's erase counts every
//! `spread / 4` erases of a block, so that the search does not cost more than the moves.

use super::Wear;
use super::dynamic::Dynamic;
use crate::{OptionError, Options};

struct Static {
    spread: u32,
}

impl Wear for Static {
    fn next_free(&self, free: &[u32], erases: &[u32]) -> usize {
        Dynamic.next_free(free, erases)
    }

    fn migrate(&self, erased: usize, erases: &[u32], closed: &dyn Fn(usize) -> bool) -> Option<usize> {
        if !erases[erased].is_multiple_of((self.spread / 4).max(1)) {
            return None;
        }
        let coldest = (0..erases.len()).filter(|&block| closed(block)).min_by_key(|&block| erases[block])?;
        (erases[erased] - erases[coldest].min(erases[erased]) > self.spread).then_some(coldest)
    }
}

pub(super) fn build(options: &Options) -> Result<Box<dyn Wear>, OptionError> {
    let spread =
        options.get("spread", 64, "erases from 1 to 1000000", |spread| (1..=1_000_000).contains(&spread))?;
    Ok(Box::new(Static { spread }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cold_data_moves_once_wear_differs_by_the_spread() {
        let policy = Static { spread: 8 };
        assert_eq!(policy.migrate(0, &[10, 1, 3], &|block| block != 0), Some(1));
        assert_eq!(policy.migrate(0, &[10, 1, 3], &|block| block == 2), None);
    }
}
