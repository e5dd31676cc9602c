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

    /// Decides how a read will go, of a block that has used the share `wear` of its endurance, at most 1. Most reads go
    /// well whatever it is: it is asked for only where it decides, since it lies at random places of memory.
    pub(crate) fn decide(&mut self, read: &mut Read, wear: impl Fn() -> f64) {
        if self.happens(self.uncorrectable, &wear) {
            (read.retries, read.unreadable) = (MOST_RETRIES, true);
        }
        while read.retries < MOST_RETRIES && self.happens(self.retry, &wear) {
            read.retries += 1;
        }
    }

    /// Draws something that happens to the share `at_most` of reads of a block at the end of its endurance.
    #[inline]
    fn happens(&mut self, at_most: f64, wear: impl Fn() -> f64) -> bool {
        let drawn = self.random.unit();
        drawn < at_most && {
            let wear = wear();
            debug_assert!(wear <= 1.0, "a block of wear {wear} is used beyond its endurance");
            drawn < at_most * wear
        }
    }
}
