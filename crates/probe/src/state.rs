//! The state of the drive before the probe: what was never written is not on flash, and reads of it show the link.
//!
//! A simulated drive counts the reads that reach its flash; of a real device the caller may know (a file's holes).

use crate::rig::Rig;
use flashlane_base::Seed;
use flashlane_measure::{Interruption, never_written_share};
use flashlane_workload::Access;

/// Reads all over the device.
const READS: usize = 256;
/// Up to this share of places without data, a device counts as written.
const FEW: f64 = 0.01;

/// How much of the device was ever written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct State {
    /// The share that was not, where it is known.
    pub(crate) never_written_share: Option<f64>,
}

impl State {
    /// Reads at random places; `known_share` is what the caller knows.
    pub(crate) fn look(
        rig: &mut Rig<'_>,
        seed: Seed,
        known_share: Option<f64>,
    ) -> Result<Self, Interruption> {
        let before = rig.device().counters();
        if before.get("host_pages_read").is_none() {
            return Ok(Self { never_written_share: known_share });
        }
        let mut random = seed.derive("state").source();
        let sector = rig.sector_bytes();
        let places = rig.device().profile().capacity_bytes / sector;
        for _ in 0..READS {
            rig.one(Access::read(random.below(places) * sector, sector))?;
        }
        let counted = rig.device().counters().since(&before);
        Ok(Self { never_written_share: never_written_share(&counted).or(known_share) })
    }

    /// Whether all of the device is known to hold data.
    pub(crate) fn is_written(self) -> bool {
        self.never_written_share.is_some_and(|share| share <= FEW)
    }

    /// Whether reads of the device are mostly of places that hold none.
    pub(crate) fn is_empty(self) -> bool {
        self.never_written_share.is_some_and(|share| share > 0.5)
    }

    /// As results name it.
    pub(crate) fn name(self) -> &'static str {
        match self.never_written_share {
            None => "unknown",
            Some(share) if share <= FEW => "written",
            Some(share) if share >= 1.0 - FEW => "never-written",
            Some(_) => "partly-written",
        }
    }
}
