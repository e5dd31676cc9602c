//! Sequential: each access begins where the one before ended.

use super::{Area, Named, Offsets, Pattern, strided::Strided};

pub(super) const NAMED: Named = Named {
    name: "sequential",
    meaning: "one after the other, around the area",
    keys: &[],
    make: |_| Pattern::Sequential,
};

/// A stride of exactly one access.
pub(super) struct Sequential(Strided);

impl Sequential {
    pub(super) fn new(area: &Area) -> Self {
        Self(Strided::new(area, area.size_bytes))
    }
}

impl Offsets for Sequential {
    fn next(&mut self) -> u64 {
        self.0.next()
    }
}
