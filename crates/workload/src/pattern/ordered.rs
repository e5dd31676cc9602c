//! Ordered: a fixed step from the start of one access to the start of the next, forwards or backwards.
//!
//! The `order` patterns of Bouganim et al., *uFLIP* (CIDR 2009), Table 1: access `i` (from 0) is at `i * step` modulo
//! the area, where the step is `incr * size`. Since a step may also be given in bytes, the area is measured in the
//! greatest common divisor of step and size, of which every place is a multiple. Steps of whole accesses thus wrap
//! around the accesses that fit into the area.

use super::{Area, Named, Offsets, Parameters, Pattern};

pub(super) const NAMED: Named = Named {
    name: "ordered",
    meaning: "a fixed step from start to start, forwards or backwards, around the area",
    keys: &["incr", "stride"],
    make: |parameters| match parameters {
        Parameters { step_bytes: Some(step_bytes), .. } => Ok(Pattern::Ordered { step_bytes: *step_bytes }),
        _ => Err("an ordered pattern needs incr=N, its step in accesses, or stride=SIZE"),
    },
};

pub(super) struct Ordered {
    next: u64,
    /// Below `ring`: a step backwards is its complement.
    step: u64,
    ring: u64,
}

impl Ordered {
    /// The step, forwards or backwards, MUST be at most the area.
    pub(super) fn new(area: &Area, step_bytes: i128) -> Self {
        let unit = common_divisor(step_bytes.unsigned_abs() as u64, area.size_bytes);
        let ring = ((area.length_bytes - area.size_bytes) / unit + 1) * unit;
        let step = step_bytes.rem_euclid(i128::from(ring)) as u64;
        Self { next: 0, step, ring }
    }
}

impl Offsets for Ordered {
    #[inline]
    fn next(&mut self) -> u64 {
        let offset = self.next;
        let room = self.ring - offset;
        self.next = if self.step < room { offset + self.step } else { self.step - room };
        offset
    }
}

/// Returns the greatest common divisor; `size` where the other is zero.
fn common_divisor(mut other: u64, mut size: u64) -> u64 {
    while other != 0 {
        (size, other) = (other, size % other);
    }
    size
}
