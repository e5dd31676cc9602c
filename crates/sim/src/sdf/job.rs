//! Where a request to a lane stands.

use crate::ids::{LaneUnit, PlaneOfLane};
use crate::progress::Progress;

/// The pages of a read, the rows of a write, or the operations of an erase.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Job {
    pub(super) unit: LaneUnit,
    /// In pages, but for the rows of a write that are requested next, and the operations of an erase.
    pub(super) progress: Progress,
    /// The next row of a write whose data cross the link.
    pub(super) next_received: u32,
    /// The row and plane of a write of which the program will fail.
    pub(super) fails: Option<(u32, PlaneOfLane)>,
}
