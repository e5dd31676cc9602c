//! The size of an SLC cache for which a drive has room.

use crate::config::{Bytes, DriveConfig};

/// Returns the largest `slc.size`, in whole blocks of all planes, for which `fits` holds; `None` where no blocks are kept for
/// the cache, or none fit.
///
/// Requires: where a size fits, smaller ones do; the section is valid.
pub(super) fn largest_size(config: &DriveConfig, fits: impl Fn(&DriveConfig) -> bool) -> Option<u64> {
    let (slc, array) = (config.slc.as_ref()?, config.array_size());
    let (block, kept) = (slc.blocks_bytes(&array), slc.kept_blocks(&array));
    let mut config = config.clone();
    let mut fits = |blocks: u64| {
        if let Some(slc) = &mut config.slc {
            slc.size = Bytes(blocks * block);
        }
        fits(&config)
    };
    // The most blocks that are known to fit, and the fewest that are not.
    let (mut fitting, mut beyond) = (0, u64::from(kept));
    while fitting + 1 < beyond {
        let middle = fitting + (beyond - fitting) / 2;
        match fits(middle) {
            true => fitting = middle,
            false => beyond = middle,
        }
    }
    (fitting > 0).then_some(fitting * block)
}
