//! Patterns: in what order a job visits its area.
//!
//! A pattern is a file with its `Offsets`, one line in [`Pattern`] and its match, and one line in [`NAMED`] if it
//! can be asked for by name.

mod list;
mod ordered;
mod partitioned;
mod permutation;
mod random;
mod sequential;
mod skewed;
mod zipf;

use flashlane_base::Random;
use std::sync::Arc;

pub use skewed::{Distribution, Skew};

/// The order in which a job visits its area.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// One after the other, again from the area's start when the next would not fit: [`Self::Ordered`] by one access.
    Sequential,
    /// Uniformly over the aligned positions.
    Random,
    /// At random over the aligned positions, some more often than others.
    Skewed(Skew),
    /// The aligned positions in a random order, each exactly once before any comes again; every round has the same
    /// order.
    Permutation,
    /// Each access starts this far behind (before, where negative) the start of the one before, from the area's start
    /// on; what leaves the area comes in again at its other end. A step of zero stays in place.
    Ordered {
        /// Distance from start to start, in bytes; at most the area. uFLIP's `Incr` times the size.
        step_bytes: i64,
    },
    /// As many equal parts of the area in turn, one access each, sequential in each and again from its start. A part
    /// is a whole number of accesses, and what is left of the area stays unvisited.
    Partitioned {
        /// How many; at least 1, and at most as many as accesses fit into the area.
        partitions: u64,
    },
    /// These offsets from the area's start, in this order, over and over.
    List(Arc<[u64]>),
}

/// A pattern that can be asked for by name.
pub struct Named {
    /// Its name; `-read`, `-write` or `-trim` follows.
    pub name: &'static str,
    /// What it does, in a few words.
    pub meaning: &'static str,
    /// The keys that only some patterns have and this one has.
    pub keys: &'static [&'static str],
    /// The pattern, or what it lacks.
    pub(crate) make: fn(&Parameters) -> Result<Pattern, &'static str>,
}

/// What some patterns are given beside their name.
#[derive(Clone, Copy, Default)]
pub(crate) struct Parameters {
    pub(crate) step_bytes: Option<i64>,
    pub(crate) partitions: Option<u64>,
    pub(crate) skew: Option<Skew>,
}

/// The patterns that can be asked for by name.
pub const NAMED: &[Named] =
    &[sequential::NAMED, random::NAMED, permutation::NAMED, ordered::NAMED, partitioned::NAMED];

/// The part of the device that a job keeps to, and the shape of its accesses.
pub(crate) struct Area {
    pub(crate) length_bytes: u64,
    pub(crate) size_bytes: u64,
    pub(crate) align_bytes: u64,
}

impl Area {
    /// Aligned positions at which an access fits.
    pub(crate) fn positions(&self) -> u64 {
        (self.length_bytes - self.size_bytes) / self.align_bytes + 1
    }
}

/// The offsets of an endless stream of accesses, from the area's start.
pub(crate) trait Offsets: Send {
    fn next(&mut self) -> u64;
}

impl Pattern {
    /// Its name as in [`NAMED`], or `list`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sequential => sequential::NAMED.name,
            Self::Random | Self::Skewed(_) => random::NAMED.name,
            Self::Permutation => permutation::NAMED.name,
            Self::Ordered { .. } => ordered::NAMED.name,
            Self::Partitioned { .. } => partitioned::NAMED.name,
            Self::List(_) => "list",
        }
    }

    pub(crate) fn offsets(&self, area: &Area, random: Random) -> Box<dyn Offsets> {
        match self {
            Self::Sequential => Box::new(ordered::Ordered::new(area, area.size_bytes.into())),
            Self::Random => Box::new(random::Uniform::new(area, random)),
            Self::Skewed(skew) => skew.offsets(area, random),
            Self::Permutation => Box::new(permutation::Permutation::new(area, random)),
            Self::Ordered { step_bytes } => Box::new(ordered::Ordered::new(area, (*step_bytes).into())),
            Self::Partitioned { partitions } => Box::new(partitioned::Partitioned::new(area, *partitions)),
            Self::List(offsets) => Box::new(list::List::new(offsets.clone())),
        }
    }
}

#[cfg(test)]
mod tests;
