//! Dynamic wear leveling: of the free blocks the least worn is written next; data that never changes stays
//! where it is. Cost: one pass over the plane's free blocks, once a block written.

use super::Wear;
use crate::{OptionError, Options};

pub(super) struct Dynamic;

impl Wear for Dynamic {
    fn next_free(&self, free: &[u32], erases: &[u32]) -> usize {
        let mut best = 0;
        for (position, &block) in free.iter().enumerate() {
            // Nothing is less worn than new: a fresh drive is filled without looking at all of its blocks each time.
            if erases[free[best] as usize] == 0 {
                break;
            }
            if erases[block as usize] < erases[free[best] as usize] {
                best = position;
            }
        }
        best
    }

    fn migrate(&self, _: usize, _: &[u32], _: &dyn Fn(usize) -> bool) -> Option<usize> {
        None
    }
}

pub(super) fn build(_: &Options) -> Result<Box<dyn Wear>, OptionError> {
    Ok(Box::new(Dynamic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_worn_free_block_is_next() {
        assert_eq!(Dynamic.next_free(&[4, 1, 2], &[0, 7, 3, 0, 9]), 2);
    }
}
