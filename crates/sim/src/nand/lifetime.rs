//! Which blocks are bad from the start, and how long the others last: drawn at random once, when a drive is made.

use super::Geometry;
use crate::config::FlashConfig;
use crate::ids::PlaneId;
use flashlane_base::Seed;

/// The blocks of a plane that are good from the start, in order.
pub(crate) fn good_blocks(geometry: &Geometry, plane: PlaneId, seed: Seed) -> Vec<u32> {
    let mut good: Vec<u32> = (0..geometry.blocks_per_plane).collect();
    if geometry.factory_bad_per_plane > 0 {
        let kept = geometry.blocks_per_plane.saturating_sub(geometry.factory_bad_per_plane);
        let mut random = seed.derive_nth("factory bad blocks", u64::from(plane.0)).source();
        // A shuffle from the last position on, as far as the bad blocks reach.
        let mut shuffled = good.clone();
        for last in (kept.max(1)..geometry.blocks_per_plane).rev() {
            shuffled.swap(last as usize, random.below(u64::from(last) + 1) as usize);
        }
        let mut is_bad = vec![false; good.len()];
        shuffled[kept as usize..].iter().for_each(|&block| is_bad[block as usize] = true);
        good.retain(|&block| !is_bad[block as usize]);
    }
    good
}

/// The erase count at which each of `count` blocks wears out; empty where blocks never do.
pub(crate) fn endurances(flash: &FlashConfig, count: usize, seed: Seed) -> Vec<u32> {
    let Some(erases) = flash.endurance else { return Vec::new() };
    let mut random = seed.derive("endurance").source();
    let spread = flash.endurance_spread.0;
    (0..count)
        .map(|_| (f64::from(erases) * (1.0 + spread * (2.0 * random.unit() - 1.0))).max(1.0) as u32)
        .collect()
}
