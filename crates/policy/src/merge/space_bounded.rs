//! Bounded space: one last run, and newer runs above it until they may hold as much as a share of it is. Then all
//! become one.
//!
//! For large values. A get costs one read of the device however many runs there are, as indexes and filters are in
//! memory, and a scan costs a read for each value: merges only give space back. After RocksDB's universal compaction
//! (`max_size_amplification_percent`), with the levels of lazy leveling (Dayan and Idreos, "Dostoevsky", SIGMOD 2018,
//! section 4.1) above the last run, so that runs stay few where that is large.
//!
//! With a share `s` an entry is written `1/s` times by merges into the last run and read `(1 + s)/s` times, however
//! large the tree is, and once more for each level between, of which there is none up to `trigger / s` patches. Space
//! amplification is up to `1 + s`, and `2 + s` while all is merged.

use super::{Choice, LEVELS, Merge, Patch, Shared, View};
use crate::options::Share;
use crate::{OptionError, Options};

pub(super) fn build(options: &Options) -> Result<Box<dyn Merge>, OptionError> {
    let shared = Shared::read(options, 16)?;
    let space =
        options.get("space", Share(1.0), "a share of the last run, as \"50%\", above 0%", |share| {
            share.0 > 0.0 && share.0 <= 1.0
        })?;
    Ok(Box::new(SpaceBounded { shared, space: space.0 }))
}

struct SpaceBounded {
    shared: Shared,
    /// Bytes above the last run over its own from which on they are merged.
    space: f64,
}

/// Returns the level of the last run: the lowest of all, unless another policy has left it where runs have room above.
fn last_level(view: View<'_>) -> u8 {
    view.deepest().filter(|&deepest| deepest > 1).unwrap_or(LEVELS - 1)
}

/// Returns the bytes that patches may supersede: a tombstone counts as a mean value.
fn superseding_bytes<'a>(patches: impl Iterator<Item = &'a Patch<'a>>, value_bytes: u64) -> u64 {
    patches.map(|patch| patch.bytes + patch.tombstones * value_bytes).sum()
}

impl Merge for SpaceBounded {
    fn choose(&mut self, view: View<'_>) -> Option<Choice> {
        let last = last_level(view);
        let upper: Vec<usize> =
            (0..view.patches.len()).filter(|&nth| view.patches[nth].level < last).collect();
        let superseding =
            superseding_bytes(upper.iter().map(|&nth| &view.patches[nth]), view.value_bytes_mean());
        let least = u64::from(self.shared.trigger) * view.patch_bytes;
        let is_due = superseding >= least && superseding as f64 >= self.space * view.level_bytes(last) as f64;
        if !upper.is_empty() && (is_due || view.is_space_scarce) {
            return Some(view.merge_into_level(upper, last));
        }
        for level in 0..last {
            let runs = view.runs(level);
            if runs.len() >= self.shared.trigger as usize {
                let mut inputs = runs.concat();
                inputs.sort_unstable();
                return Some(match level + 1 == last {
                    true => view.merge_into_level(inputs, last),
                    false => Choice::whole(inputs, level + 1, None),
                });
            }
        }
        // Another policy may have left several runs.
        view.merge_into_one_run(last)
            .or_else(|| view.dense_tombstones(self.shared.tombstones, |_| last))
            .or_else(|| view.reclaim())
    }

    fn level_without_overlap(&self, view: View<'_>, _bytes: u64) -> u8 {
        last_level(view)
    }

    fn level_0_patches_max(&self, _value_bytes_mean: u64) -> u32 {
        self.shared.trigger * 4
    }
}
