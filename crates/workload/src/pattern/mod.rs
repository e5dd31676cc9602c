//! Patterns: in what order a job visits its area.
//!
//! A pattern is a file with its `Offsets`, one line in [`Pattern`] and its match, and one line in [`NAMED`] if it
//! can be asked for by name.

mod list;
mod permutation;
mod random;
mod sequential;
mod strided;

use flashlane_base::Random;
use std::sync::Arc;

/// The order in which a job visits its area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One after the other, again from the area's start when the next would not fit.
    Sequential,
    /// Uniformly over the aligned positions.
    Random,
    /// The aligned positions in a random order, each exactly once before any comes again; every round has the same
    /// order.
    Permutation,
    /// Each access starts this far behind the start of the one before; again from the area's start when the next
    /// would not fit. A stride of zero stays in place.
    Strided {
        /// Distance from start to start, in bytes.
        stride_bytes: u64,
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
    /// The pattern, given the value of `stride` where that is one of its keys.
    pub(crate) make: fn(stride_bytes: u64) -> Pattern,
}

/// The patterns that can be asked for by name.
pub const NAMED: &[Named] = &[sequential::NAMED, random::NAMED, permutation::NAMED, strided::NAMED];

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
            Self::Random => random::NAMED.name,
            Self::Permutation => permutation::NAMED.name,
            Self::Strided { .. } => strided::NAMED.name,
            Self::List(_) => "list",
        }
    }

    pub(crate) fn offsets(&self, area: &Area, random: Random) -> Box<dyn Offsets> {
        match self {
            Self::Sequential => Box::new(sequential::Sequential::new(area)),
            Self::Random => Box::new(random::Uniform::new(area, random)),
            Self::Permutation => Box::new(permutation::Permutation::new(area, random)),
            Self::Strided { stride_bytes } => Box::new(strided::Strided::new(area, *stride_bytes)),
            Self::List(offsets) => Box::new(list::List::new(offsets.clone())),
        }
    }
}

#[cfg(test)]
mod tests;
