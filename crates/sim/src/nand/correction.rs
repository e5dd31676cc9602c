//! Error correction: reads that need further array reads, and reads that cannot be corrected.
//!
//! What matters to the host is how often: both shares grow with a block's wear. GC and readahead are spared: they read
//! the same cells, but the host sees no failure of theirs.

use super::Read;
use crate::config::DriveConfig;
use flashlane_base::{Random, Seed};

/// Array reads after which a page is given up.
const MOST_RETRIES: u16 = 8;

#[derive(Clone)]
pub(crate) struct Correction {
    retry: f64,
    uncorrectable: f64,
    random: Random,
}

impl Correction {
    /// `None` for a drive whose reads never fail, which draws no random numbers.
    pub(crate) fn new(config: &DriveConfig, seed: Seed) -> Option<Self> {
        let (retry, uncorrectable) = (config.flash.read_retry.0, config.flash.uncorrectable.0);
        let random = seed.derive("error correction").source();
        (retry > 0.0 || uncorrectable > 0.0).then_some(Self { retry, uncorrectable, random })
    }

    /// Decides how a read from a block of this wear (share of its endurance) will go.
    pub(crate) fn decide(&mut self, read: &mut Read, wear: f64) {
        if self.random.chance(self.uncorrectable * wear) {
            (read.retries, read.unreadable) = (MOST_RETRIES, true);
        }
        while read.retries < MOST_RETRIES && self.random.chance(self.retry * wear) {
            read.retries += 1;
        }
    }
}
