//! What can be told of the layer as it stands.

use crate::blocks::Counts;
use crate::layout::Layout;

/// The layer as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// Names the formatting.
    pub format: u128,
    /// Sizes and counts of the device.
    pub layout: Layout,
    /// Blocks that are stored.
    pub blocks: u64,
    /// Blocks that there is room for.
    pub blocks_free: u64,
    /// The id that is given out next.
    pub next_id: u64,
    /// Copies of the superblock that were found or written: two, but for damage.
    pub superblock_copies: usize,
    /// What happened since it was opened.
    pub counts: Counts,
    /// Lane by lane.
    pub lanes: Vec<LaneStatus>,
}

/// A lane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LaneStatus {
    /// Units that hold a block.
    pub blocks: u64,
    /// Units that can be written at once.
    pub erased: u64,
    /// Units that have to be erased first.
    pub dirty: u64,
    /// Units that can be used no more.
    pub bad: u64,
    /// Units of ours that hold nothing that can be told: they are left as they are.
    pub damaged: u64,
    /// Least, mean and most erases of a unit, where the device counts.
    pub erases: Option<(u32, f64, u32)>,
}

impl LaneStatus {
    pub(crate) fn note_erases(&mut self, erases: &[u32]) {
        let sum: u64 = erases.iter().copied().map(u64::from).sum();
        self.erases = erases
            .iter()
            .min()
            .zip(erases.iter().max())
            .map(|(&least, &most)| (least, sum as f64 / erases.len() as f64, most));
    }
}
