//! Generates the accesses of a job.

use crate::pattern::Offsets;
use crate::{Job, Mix};
use flashlane_base::{Operation, Random, Seed};

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Read, write, trim, append or flush.
    pub operation: Operation,
    /// First byte on the device; of an append, where a write in its place would begin.
    pub offset_bytes: u64,
    /// Length in bytes.
    pub length_bytes: u64,
}

impl Access {
    /// A read.
    pub fn read(offset_bytes: u64, length_bytes: u64) -> Self {
        Self { operation: Operation::Read, offset_bytes, length_bytes }
    }

    /// A write.
    pub fn write(offset_bytes: u64, length_bytes: u64) -> Self {
        Self { operation: Operation::Write, offset_bytes, length_bytes }
    }

    /// A trim.
    pub fn trim(offset_bytes: u64, length_bytes: u64) -> Self {
        Self { operation: Operation::Trim, offset_bytes, length_bytes }
    }

    /// A flush.
    pub fn flush() -> Self {
        Self { operation: Operation::Flush, offset_bytes: 0, length_bytes: 0 }
    }
}

/// The endless accesses of one job.
pub struct Generator {
    offsets: Box<dyn Offsets>,
    start_bytes: u64,
    length_bytes: u64,
    operation: Choice,
}

/// Choice of the operation of each access.
enum Choice {
    Always(Operation),
    /// A read where the next random number is below the threshold.
    Mixed {
        threshold: u64,
        others: Operation,
        random: Random,
    },
}

impl Generator {
    /// Creates the generator of `job` on a device of `capacity_bytes`. Its random numbers are derived from `seed` and
    /// the job's name. The job MUST have passed [`crate::Workload::check`] for that capacity.
    pub fn new(job: &Job, capacity_bytes: u64, seed: Seed) -> Self {
        let seed = seed.derive("workload").derive(&job.name);
        let area = crate::pattern::Area {
            length_bytes: job.area_length_bytes(capacity_bytes),
            size_bytes: job.size_bytes,
            align_bytes: job.align_bytes.unwrap_or(job.size_bytes),
        };
        Self {
            offsets: job.pattern.offsets(&area, seed.derive("offsets").source()),
            start_bytes: job.area_offset_bytes + job.shift_bytes,
            length_bytes: job.size_bytes,
            operation: Choice::new(job.mix, seed.derive("operations")),
        }
    }

    /// Returns the next access.
    #[inline]
    pub fn access(&mut self) -> Access {
        let operation = match &mut self.operation {
            Choice::Always(operation) => *operation,
            Choice::Mixed { threshold, others, random } => {
                if random.bits() < *threshold {
                    Operation::Read
                } else {
                    *others
                }
            }
        };
        let offset_bytes = self.start_bytes + self.offsets.next();
        Access { operation, offset_bytes, length_bytes: self.length_bytes }
    }
}

impl Iterator for Generator {
    type Item = Access;

    #[inline]
    fn next(&mut self) -> Option<Access> {
        Some(self.access())
    }
}

impl Choice {
    fn new(mix: Mix, seed: Seed) -> Self {
        if mix.changes().is_none() {
            Self::Always(Operation::Read)
        } else if mix.reads <= 0.0 {
            Self::Always(mix.others)
        } else {
            // `reads` is below 1 here, so the product is below 2^64.
            let threshold = (mix.reads * 2_f64.powi(64)) as u64;
            Self::Mixed { threshold, others: mix.others, random: seed.source() }
        }
    }
}
