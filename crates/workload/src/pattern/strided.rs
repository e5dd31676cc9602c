//! Strided: a fixed distance from the start of one access to the start of the next.

use super::{Area, Named, Offsets, Pattern};

pub(super) const NAMED: Named = Named {
    name: "strided",
    meaning: "a fixed distance from start to start, around the area",
    keys: &["stride"],
    make: |stride_bytes| Pattern::Strided { stride_bytes },
};

pub(super) struct Strided {
    next: u64,
    stride: u64,
    /// The last offset at which an access fits.
    last: u64,
}

impl Strided {
    pub(super) fn new(area: &Area, stride_bytes: u64) -> Self {
        Self { next: 0, stride: stride_bytes, last: area.length_bytes - area.size_bytes }
    }
}

impl Offsets for Strided {
    #[inline]
    fn next(&mut self) -> u64 {
        let offset = self.next;
        // Back to the area's start, not to what is left over: every round visits the same places.
        self.next = if self.last - offset >= self.stride { offset + self.stride } else { 0 };
        offset
    }
}
