//! Leveled: every level below 0 is one run, larger than the one above it by a factor.
//!
//! After LevelDB (`doc/impl.md`, "Compactions") and RocksDB's leveled compaction: a level's score is its size over its
//! target, the highest score goes first, and of a level below 0 as many neighbouring patches as exceed its target,
//! those with the fewest bytes below them (RocksDB's `kMinOverlappingRatio`, for several files). Write amplification is
//! up to the factor a level, space amplification about `1 + 1/factor`, and a get looks into one patch a level and those
//! of level 0. A new patch that overlaps no other goes to the first level that has room for it, which costs no merge.

use super::{Choice, LEVELS, Merge, Shared, View};
use crate::{OptionError, Options};

pub(super) fn build(options: &Options) -> Result<Box<dyn Merge>, OptionError> {
    // With more patches each merge of level 0 rewrites less of level 1 for each of them, and the levels below are
    // fewer; a get reads one patch all the same, and a scan all of them.
    let shared = Shared::read(options, 8)?;
    let factor = options.get("factor", 8, "2 to 64", |factor| (2..=64).contains(&factor))?;
    Ok(Box::new(Leveled { shared, factor }))
}

struct Leveled {
    shared: Shared,
    factor: u64,
}

impl Leveled {
    /// Returns the size of a level over its target.
    fn score(&self, view: View<'_>, level: u8) -> f64 {
        let trigger = f64::from(self.shared.trigger);
        match level {
            0 => view.patches.iter().filter(|patch| patch.level == 0).count() as f64 / trigger,
            _ => view.level_bytes(level) as f64 / self.target_bytes(view, level),
        }
    }

    /// Returns the size of a level below 0 from which on it is merged into the next one.
    fn target_bytes(&self, view: View<'_>, level: u8) -> f64 {
        // Level 1 takes what level 0 gives it at once.
        let first = f64::from(self.shared.trigger) * view.patch_bytes as f64;
        first * (self.factor as f64).powi(i32::from(level) - 1)
    }
}

impl Merge for Leveled {
    fn choose(&mut self, view: View<'_>) -> Option<Choice> {
        let mut full: Vec<(f64, u8)> =
            (0..LEVELS - 1).map(|level| (self.score(view, level), level)).collect();
        full.retain(|&(score, level)| if level == 0 { score >= 1.0 } else { score > 1.0 });
        // The highest score first; of equal ones the upper level.
        full.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        match full.first() {
            Some((_, 0)) => Some(view.merge_into_level(view.runs(0).concat(), 1)),
            Some(&(_, level)) => {
                let excess = view.level_bytes(level) as f64 - self.target_bytes(view, level);
                view.least_overlapping(level, excess as u64)
            }
            // Another policy may have left several runs.
            None => (1..LEVELS)
                .find_map(|level| view.merge_into_one_run(level))
                .or_else(|| view.dense_tombstones(self.shared.tombstones, |level| level + 1))
                .or_else(|| view.reclaim()),
        }
    }

    fn level_without_overlap(&self, view: View<'_>, bytes: u64) -> u8 {
        let has_room =
            |level: &u8| (view.level_bytes(*level) + bytes) as f64 <= self.target_bytes(view, *level);
        (1..LEVELS).find(has_room).unwrap_or(0)
    }

    fn level_0_patches_max(&self, _value_bytes_mean: u64) -> u32 {
        self.shared.trigger * 3
    }
}
