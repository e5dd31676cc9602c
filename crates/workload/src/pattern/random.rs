//! Random: uniform over the aligned positions, with repetition.

use super::{Area, Named, Offsets, Pattern};
use flashlane_base::Random;

pub(super) const NAMED: Named = Named {
    name: "random",
    meaning: "uniform over the aligned positions",
    keys: &["align"],
    make: |_| Ok(Pattern::Random),
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
