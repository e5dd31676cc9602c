//! Stripes: the planes over which an erase unit is laid out, and the order of units in the drive's addresses.

use crate::nand::Geometry;
use flashlane_policy::{OptionError, Options};

/// How erase units lie on planes. Options `stripe`, planes of a stripe, default all; `interleave`, whether neighbouring
/// units lie on different stripes, default false: one stripe follows the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stripes {
    /// Planes of a stripe: a unit has a block on each of them.
    pub(super) planes: u32,
    pub(super) count: u32,
    pub(super) interleave: bool,
}

impl Stripes {
    pub(super) fn new(geometry: &Geometry, options: &Options) -> Result<Self, OptionError> {
        let all = geometry.planes;
        let allowed = format!("a number of planes by which all {all} can be divided");
        let divides = |planes: u32| planes > 0 && all.is_multiple_of(planes);
        let planes = options.get("stripe", all, allowed, divides)?;
        let interleave = options.get("interleave", false, "true or false", |_| true)?;
        Ok(Self { planes, count: all / planes, interleave })
    }

    /// The erase units that a plane has a block of.
    pub(crate) fn erase_units_per_plane(&self, geometry: &Geometry) -> u32 {
        let erase_unit_size = self.planes.saturating_mul(geometry.data_units);
        geometry.logical_units.div_ceil(erase_unit_size).div_ceil(self.count)
    }
}

/// Option `log_blocks`, required: the most replacement or log blocks of a plane.
pub(super) fn log_blocks(geometry: &Geometry, options: &Options) -> Result<u32, OptionError> {
    let most = geometry.blocks_per_plane;
    options.require("log_blocks", format!("a count from 1 to {most}"), |count| (1..=most).contains(&count))
}
