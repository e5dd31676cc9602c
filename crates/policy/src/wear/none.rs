//! No wear leveling: free blocks are used in the order in which they became free.

use super::Wear;
use crate::{OptionError, Options};

struct None_;

impl Wear for None_ {
    fn next_free(&self, _: &[u32], _: &[u32]) -> usize {
        0
    }

    fn migrate(&self, _: usize, _: &[u32], _: &dyn Fn(usize) -> bool) -> Option<usize> {
        None
    }
}

pub(super) fn build(_: &Options) -> Result<Box<dyn Wear>, OptionError> {
    Ok(Box::new(None_))
}
