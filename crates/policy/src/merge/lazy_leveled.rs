//! Lazy leveling: the last level is one run, those above it collect runs.
//!
//! After Dayan and Idreos, "Dostoevsky" (SIGMOD 2018, section 4.1). Nearly all data is in the last level, so that space
//! and long scans cost as with leveled; an entry is rewritten only on its way into the last level, so that writes cost
//! nearly as little as with tiered.

use super::{Choice, LEVELS, Merge, Shared, View};
use crate::{OptionError, Options};

pub(super) fn build(options: &Options) -> Result<Box<dyn Merge>, OptionError> {
    Ok(Box::new(LazyLeveled { shared: Shared::read(options, 4)? }))
}

struct LazyLeveled {
    shared: Shared,
}

impl Merge for LazyLeveled {
    fn choose(&mut self, view: View<'_>) -> Option<Choice> {
        let last = view.deepest()?.max(1);
        let trigger = self.shared.trigger as usize;
        for level in 0..last {
            let runs = view.runs(level);
            if runs.len() >= trigger {
                let mut inputs = runs.concat();
                inputs.sort_unstable();
                return Some(match level + 1 == last {
                    true => view.merge_into_level(inputs, last),
                    false => Choice::whole(inputs, level + 1, None),
                });
            }
        }
        // The last level outgrew its size: the next one becomes the last, and takes it patch by patch.
        let target = view.patch_bytes as f64 * f64::from(self.shared.trigger).powi(i32::from(last) + 1);
        if last + 1 < LEVELS && view.level_bytes(last) as f64 > target {
            return view.least_overlapping(last, 0);
        }
        // Another policy may have left several runs.
        view.merge_into_one_run(last)
            .or_else(|| view.dense_tombstones(self.shared.tombstones, |level| level + 1))
            .or_else(|| view.reclaim())
    }

    fn level_0_patches_max(&self, _value_bytes_mean: u64) -> u32 {
        self.shared.trigger * 3
    }
}
