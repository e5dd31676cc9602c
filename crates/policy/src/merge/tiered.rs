//! Tiered: a level collects runs, and once it has enough all of them become one run of the next level.
//!
//! After Cassandra's size-tiered compaction and RocksDB's universal one. Every entry is written once a level; a get
//! looks into every run, and space amplification reaches the number of runs of the last level. A merge of large runs
//! needs their size in free blocks; where these are fewer, the two oldest runs are merged by parts ([`View::within`]).

use super::{Choice, LEVELS, Merge, Shared, View};
use crate::{OptionError, Options};

pub(super) fn build(options: &Options) -> Result<Box<dyn Merge>, OptionError> {
    Ok(Box::new(Tiered { shared: Shared::read(options, 4)? }))
}

struct Tiered {
    shared: Shared,
}

impl Merge for Tiered {
    fn choose(&mut self, view: View<'_>) -> Option<Choice> {
        for level in 0..LEVELS {
            let runs = view.runs(level);
            if runs.len() >= self.shared.trigger as usize {
                let mut inputs = runs.concat();
                inputs.sort_unstable();
                // The runs of the last level become one of the same level.
                return Some(Choice::whole(inputs, (level + 1).min(LEVELS - 1), None));
            }
        }
        view.dense_tombstones(self.shared.tombstones, |level| level + 1).or_else(|| view.reclaim())
    }

    fn level_0_patches_max(&self, _value_bytes_mean: u64) -> u32 {
        self.shared.trigger * 3
    }
}
