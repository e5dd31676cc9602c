//! Patterns: the order in which a job visits its area.
//!
//! A pattern is a file with its `Offsets`, one line in [`Pattern`] and its match, and one line in [`NAMED`] if it
//! has a name in the written forms.

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
pub use zipf::Zipf;

/// The order in which a job visits its area.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Consecutive accesses, from the area's start again when the next would not fit: [`Self::Ordered`] by one access.
    Sequential,
    /// Uniformly over the aligned positions.
    Random,
    /// Random over the aligned positions, some more often than others.
    Skewed(Skew),
    /// The aligned positions in a random order, each exactly once before any comes again; every round has the same
    /// order.
    Permutation,
    /// Each access starts this distance after the start of the previous one (before it, where negative), beginning at
    /// the area's start and wrapping around at its ends. A step of zero stays in place.
    Ordered {
        /// Distance from start to start, in bytes; at most the area. uFLIP's `Incr` times the size.
        step_bytes: i64,
    },
    /// Equal parts of the area in turn, one access each, sequential and wrapping around in each. A part is a whole
    /// number of accesses; the remainder of the area stays unvisited.
    Partitioned {
        /// Number of parts; at least 1, and at most the number of accesses that fit into the area.
        partitions: u64,
    },
    /// These offsets from the area's start, in this order, over and over.
    List(Arc<[u64]>),
}

/// A pattern with a name in the written forms.
pub struct Named {
    /// Its name; `-read`, `-write` or `-trim` follows.
    pub name: &'static str,
    /// Short description.
    pub meaning: &'static str,
    /// Keys of this pattern that not all patterns have.
    pub keys: &'static [&'static str],
    /// Returns the pattern, or the missing key.
    pub(crate) make: fn(&Parameters) -> Result<Pattern, &'static str>,
}

/// Parameters of some patterns.
#[derive(Clone, Copy, Default)]
pub(crate) struct Parameters {
    pub(crate) step_bytes: Option<i64>,
    pub(crate) partitions: Option<u64>,
    pub(crate) skew: Option<Skew>,
}

/// The patterns with a name in the written forms.
pub const NAMED: &[Named] =
    &[sequential::NAMED, random::NAMED, permutation::NAMED, ordered::NAMED, partitioned::NAMED];

/// The part of the device that a job accesses, and the size and alignment of its accesses.
pub(crate) struct Area {
    pub(crate) length_bytes: u64,
    pub(crate) size_bytes: u64,
    pub(crate) align_bytes: u64,
}

impl Area {
    /// Returns the number of aligned positions at which an access fits.
    pub(crate) fn positions(&self) -> u64 {
        (self.length_bytes - self.size_bytes) / self.align_bytes + 1
    }
}

/// The offsets of an endless stream of accesses, from the area's start.
pub(crate) trait Offsets: Send {
    fn next(&mut self) -> u64;
}

impl Pattern {
    /// Returns its name as in [`NAMED`], or `list`.
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
