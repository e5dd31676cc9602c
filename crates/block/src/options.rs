//! Options of the layer. None of them is stored on the device.

use crate::placement::Placement;
use std::num::NonZeroU32;

/// How the layer behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockOptions {
    /// How a block's lane is chosen.
    pub placement: Placement,
    /// Erased units that a lane keeps in reserve, where it has others to erase, even while it is busy: a write then
    /// finds one without waiting. An idle lane erases all it can.
    pub reserve_units: u32,
    /// Writes in flight on a lane. One keeps a channel of flash busy; a device that hides its channels may need more.
    pub writes_per_lane: NonZeroU32,
    /// Whether opening also reads the footers of units whose header is valid.
    pub verify_footers: bool,
    /// Whether opening goes on without a readable copy of the superblock, using the headers of blocks.
    pub without_superblock: bool,
    /// Whether copies of the superblock may be replaced that hold other data, and units erased whose heads do: that
    /// data is lost then.
    pub replaces_other_data: bool,
}

impl Default for BlockOptions {
    fn default() -> Self {
        Self {
            placement: Placement::default(),
            reserve_units: 2,
            writes_per_lane: NonZeroU32::MIN,
            verify_footers: false,
            without_superblock: false,
            replaces_other_data: false,
        }
    }
}
