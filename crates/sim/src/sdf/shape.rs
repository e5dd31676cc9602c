//! How a lane's addresses lie on its planes: a unit is an erase block on each of them, and is striped over them.

use crate::config::DriveConfig;
use crate::ids::PlaneOfLane;

/// Counts and sizes of a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Planes, over all chips.
    pub(super) planes: u32,
    /// Of these, planes that are programmed and erased as one: all of a die's, or one.
    pub(super) planes_at_once: u32,
    /// Units.
    pub(super) units: u32,
    pub(super) unit_bytes: u64,
    pub(super) page_bytes: u64,
    /// Rows of a unit: a page on each plane.
    pub(super) rows: u32,
    stripe_pages: u32,
    /// Pages of one request that are on their way at once.
    pub(super) window_pages: u32,
}

impl Shape {
    /// Requires: `config` is validated and has lanes.
    pub(super) fn new(config: &DriveConfig) -> Self {
        let flash = &config.flash;
        let lanes = config.lanes.as_ref().expect("only drives with lanes have their shape");
        let (page_bytes, unit_bytes) = (flash.page.0, flash.channel_block_bytes());
        Self {
            planes: flash.planes_per_channel() as u32,
            planes_at_once: if flash.multi_plane { flash.planes } else { 1 },
            units: (config.capacity.0 / u64::from(flash.channels) / unit_bytes) as u32,
            unit_bytes,
            page_bytes,
            rows: flash.pages,
            stripe_pages: lanes.stripe.map_or(flash.pages, |stripe| (stripe.0 / page_bytes) as u32),
            window_pages: (lanes.window.0 / page_bytes).min(u64::from(u32::MAX / 2)) as u32,
        }
    }

    /// The plane of the lane on which a page of a unit lies.
    #[inline]
    pub(super) fn plane_of(&self, page: u32) -> PlaneOfLane {
        PlaneOfLane(page / self.stripe_pages % self.planes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_striped_over_its_planes() {
        let stripe = |stripe_pages| Shape {
            planes: 4,
            planes_at_once: 2,
            units: 1,
            unit_bytes: 32 << 10,
            page_bytes: 1 << 10,
            rows: 8,
            stripe_pages,
            window_pages: 4,
        };
        let planes = |shape: Shape| (0..32).map(|page| shape.plane_of(page).0).collect::<Vec<_>>();
        assert_eq!(planes(stripe(8)), (0..32).map(|page| page / 8).collect::<Vec<_>>());
        assert_eq!(planes(stripe(1)), (0..32).map(|page| page % 4).collect::<Vec<_>>());
        assert_eq!(planes(stripe(4))[12..20], [3, 3, 3, 3, 0, 0, 0, 0]);
    }
}
