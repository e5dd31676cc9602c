//! By size: leveled where values are small, bounded space where they are large on average.
//!
//! Small values share a read with their neighbours, so that a scan of few runs reads less. Of large ones each costs a
//! read however many runs there are, and merges cost most: see `space_bounded`. Each takes over the shape that the
//! other has left, so a tree whose mean passes the bound is not rewritten for that.
//!
//! Merges into the last run need as many free blocks as the tree has. Where there are too few, levels are merged, of
//! which each merge needs few.

use super::{Choice, Merge, View, leveled, space_bounded};
use crate::options::Bytes;
use crate::{OptionError, Options};

pub(super) fn build(options: &Options) -> Result<Box<dyn Merge>, OptionError> {
    let large = options.get("large", Bytes(8 << 10), "a size of values, as \"8KiB\"", |large| large.0 > 0)?;
    let (small_values, large_values) = (leveled::build(options)?, space_bounded::build(options)?);
    Ok(Box::new(BySize { large_bytes: large.0, small_values, large_values }))
}

struct BySize {
    /// Mean of the bytes of an entry from which on values are large.
    large_bytes: u64,
    small_values: Box<dyn Merge>,
    large_values: Box<dyn Merge>,
}

impl BySize {
    fn policy(&self, value_bytes_mean: u64) -> &dyn Merge {
        if value_bytes_mean >= self.large_bytes { &*self.large_values } else { &*self.small_values }
    }
}

impl Merge for BySize {
    fn choose(&mut self, view: View<'_>) -> Option<Choice> {
        if view.value_bytes_mean() >= self.large_bytes {
            let choice = self.large_values.choose(view)?;
            if view.blocks_written_max(&choice) <= view.merge_blocks {
                return Some(choice);
            }
        }
        self.small_values.choose(view)
    }

    fn level_without_overlap(&self, view: View<'_>, bytes: u64) -> u8 {
        self.policy(view.value_bytes_mean()).level_without_overlap(view, bytes)
    }

    fn level_0_patches_max(&self, value_bytes_mean: u64) -> u32 {
        self.policy(value_bytes_mean).level_0_patches_max(value_bytes_mean)
    }
}
