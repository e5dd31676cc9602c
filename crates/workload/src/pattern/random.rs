//! Random: over the aligned positions, with repetition; uniformly, unless a distribution is given (`skewed`).

use super::{Area, Named, Offsets, Pattern};
use flashlane_base::Random;

pub(super) const NAMED: Named = Named {
    name: "random",
    meaning: "over the aligned positions, uniformly unless zipf, pareto or hotspot is given",
    keys: &["align", "zipf", "pareto", "hotspot", "scatter"],
    make: |parameters| Ok(parameters.skew.map_or(Pattern::Random, Pattern::Skewed)),
};

pub(super) struct Uniform {
    positions: u64,
    align_bytes: u64,
    random: Random,
}

impl Uniform {
    pub(super) fn new(area: &Area, random: Random) -> Self {
        Self { positions: area.positions(), align_bytes: area.align_bytes, random }
    }
}

impl Offsets for Uniform {
    #[inline]
    fn next(&mut self) -> u64 {
        self.random.below(self.positions) * self.align_bytes
    }
}
