//! Dynamic wear leveling: the least worn free block is written next; data that never changes is not moved.
//! Cost: one pass over the plane's free blocks per block opened.

use super::Wear;
use crate::{OptionError, Options};

pub(super) struct Dynamic;

impl Wear for Dynamic {
    fn next_free(&self, free: &[u32], erases: &[u32]) -> usize {
        let mut best = 0;
        for (position, &block) in free.iter().enumerate() {
            // No block is less worn than a new one: filling a fresh drive does not scan all of its blocks each time.
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
    fn least_worn_free_block_is_next() {
        assert_eq!(Dynamic.next_free(&[4, 1, 2], &[0, 7, 3, 0, 9]), 2);
    }
}
