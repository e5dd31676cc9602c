//! The state of the drive before the probe. Never written space is not on flash, and reads of it show only the link.
//!
//! A simulated drive counts the reads that reach its flash; for a real device the caller may know (a file's holes).

use crate::bench::Bench;
use crate::error::EarlyEnd;
use flashlane_base::Seed;
use flashlane_measure::never_written_share;
use flashlane_workload::Access;

/// Number of reads at random places.
const READS: usize = 256;
/// Largest share of places without data at which a device counts as written.
const FEW: f64 = 0.01;

/// How much of the device was written before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DriveState {
    /// Share that was not, where known.
    pub(crate) never_written_share: Option<f64>,
}

impl DriveState {
    /// Measures the state by reads at random places; `known_share` is the caller's knowledge.
    pub(crate) fn measure(
        bench: &mut Bench<'_>,
        seed: Seed,
        known_share: Option<f64>,
    ) -> Result<Self, EarlyEnd> {
        let before = bench.device().counters();
        if before.get("host_pages_read").is_none() {
            return Ok(Self { never_written_share: known_share });
        }
        let mut random = seed.derive("state").source();
        let sector = bench.sector_bytes();
        let places = bench.device().info().capacity_bytes / sector;
        for _ in 0..READS {
            bench.one(Access::read(random.below(places) * sector, sector))?;
        }
        let counted = bench.device().counters().since(&before);
        Ok(Self { never_written_share: never_written_share(&counted).or(known_share) })
    }

    /// Returns whether the whole device is known to hold data.
    pub(crate) fn is_written(self) -> bool {
        self.never_written_share.is_some_and(|share| share <= FEW)
    }

    /// Returns whether most of the device is known to hold no data.
    pub(crate) fn is_empty(self) -> bool {
        self.never_written_share.is_some_and(|share| share > 0.5)
    }

    /// Returns whether the device is known to hold no data, and never to have held any.
    pub(crate) fn is_never_written(self) -> bool {
        self.never_written_share.is_some_and(|share| share >= 1.0 - FEW)
    }

    /// Name in results.
    pub(crate) fn name(self) -> &'static str {
        match self.never_written_share {
            None => "unknown",
            Some(share) if share <= FEW => "written",
            Some(share) if share >= 1.0 - FEW => "never-written",
            Some(_) => "partly-written",
        }
    }
}
