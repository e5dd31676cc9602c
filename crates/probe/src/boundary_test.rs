//! How a place is tested for a boundary between chunks.

use crate::bench::Bench;
use crate::error::EarlyEnd;
use flashlane_workload::Access;

/// A test of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BoundaryTest {
    /// Its two sectors are read at once, and take an array time more on one die.
    Pairs,
    /// Its two sectors are one read, which takes an array time more across a boundary between pages of this size on one
    /// die. Only such boundaries are tested.
    Single {
        /// Size of a page.
        page_bytes: u64,
    },
}

impl BoundaryTest {
    /// Returns the distance of the places that can be tested.
    pub(crate) fn unit_bytes(self, bench: &Bench<'_>) -> u64 {
        match self {
            Self::Pairs => bench.sector_bytes(),
            Self::Single { page_bytes } => page_bytes,
        }
    }

    /// Measures a place, in microseconds.
    pub(crate) fn measure(self, bench: &mut Bench<'_>, at: u64) -> Result<f64, EarlyEnd> {
        let sector = bench.sector_bytes();
        let took = match self {
            // The upper sector goes first: two reads in ascending order might be taken for a sequential stream and
            // prefetched.
            Self::Pairs => bench.burst(&[Access::read(at, sector), Access::read(at - sector, sector)])?,
            Self::Single { .. } => bench.one(Access::read(at - sector, 2 * sector))?,
        };
        Ok(took.as_us_f64())
    }
}
