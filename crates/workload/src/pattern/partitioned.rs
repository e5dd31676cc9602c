//! Partitioned: equal parts of the area in turn, one access each, sequential in each.
//!
//! The `partitioning` patterns of Bouganim et al., *uFLIP* (CIDR 2009), Table 1: what a merge of sorted runs reads, or
//! a partitioning by buckets writes. Access `i` is the `i / partitions`-th of part `i % partitions`.

use super::{Area, Named, Offsets, Parameters, Pattern};

pub(super) const NAMED: Named = Named {
    name: "partitioned",
    meaning: "equal parts of the area in turn, sequential in each",
    keys: &["partitions"],
    make: |parameters| match parameters {
        Parameters { partitions: Some(partitions), .. } => {
            Ok(Pattern::Partitioned { partitions: *partitions })
        }
        _ => Err("a partitioned pattern needs partitions=N, the number of its parts"),
    },
};

pub(super) struct Partitioned {
    /// Start of the current part.
    start: u64,
    /// Offset in each part.
    at: u64,
    /// Length of a part, a multiple of the size.
    part: u64,
    /// Start of the last part.
    last: u64,
    size: u64,
}

impl Partitioned {
    pub(super) fn new(area: &Area, partitions: u64) -> Self {
        let part = area.length_bytes / area.size_bytes / partitions * area.size_bytes;
        Self { start: 0, at: 0, part, last: part * (partitions - 1), size: area.size_bytes }
    }
}

impl Offsets for Partitioned {
    #[inline]
    fn next(&mut self) -> u64 {
        let offset = self.start + self.at;
        if self.start < self.last {
            self.start += self.part;
        } else {
            self.start = 0;
            self.at = if self.at + self.size < self.part { self.at + self.size } else { 0 };
        }
        offset
    }
}
