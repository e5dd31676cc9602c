//! Cleaning in steps: a victim is emptied a few flash pages at a time, after writes of the host, as the pacing policy
//! says.
//!
//! A plane has one victim at a time. It counts as not closed meanwhile, so that no policy chooses it again; what the
//! host overwrites or trims of it is not moved any more. Where the host needs a block and only the one kept for moved
//! pages is free, the victim is finished first, and further ones are cleaned as a whole: pacing never takes the last
//! block, so that cleaning always has room to go on.

use crate::config::DriveConfig;
use crate::ids::PlaneId;
use crate::nand::Geometry;
use flashlane_policy::pacing::Pacing;

/// Free blocks that the host does not open before cleaning has gone on: one for the pages that cleaning moves.
pub(super) const KEPT_BLOCKS: usize = 1;

/// Where the cleaning of each plane stands.
pub(super) struct Pacer {
    pub(super) policy: Box<dyn Pacing>,
    /// Pages that are programmed at once: those of a flash page, on each plane of a superblock.
    pub(super) step_units: u32,
    /// Erased pages that the first plane keeps, and those at which the host may have to wait for whole victims.
    target: u32,
    pub(super) floor: u32,
    pub(super) planes: Vec<PlanePace>,
}

#[derive(Clone, Copy, Default)]
pub(super) struct PlanePace {
    /// Pages that the host wrote since the last step.
    pub(super) written: u32,
    pub(super) victim: Option<Victim>,
}

/// A block that is being emptied.
#[derive(Clone, Copy)]
pub(super) struct Victim {
    pub(super) block: u32,
    /// The first of its pages that may still hold something.
    pub(super) next: u32,
    /// Whether wear leveling chose it.
    pub(super) leveled: bool,
}

impl Pacer {
    /// The pacer of a drive that cleans in steps. `geometry` counts superblocks as blocks.
    pub(super) fn new(config: &DriveConfig, geometry: &Geometry) -> Option<Self> {
        let policy = config
            .policies
            .pacing
            .build(&config.cleaning.pacing, &config.cleaning.pacing_options.options())
            .expect("validation built every policy once");
        policy.in_steps().then(|| Self {
            policy,
            step_units: geometry.block_units / config.flash.pages,
            // The victim's pages that were moved already take up to a block more until it is erased; the block that moved
            // pages go to has up to one left, which is of no use to the host.
            floor: (KEPT_BLOCKS as u32 + 2) * geometry.data_units,
            // One block above the floor is the least distance in which a policy can act.
            target: (geometry.low_blocks + 1).max(KEPT_BLOCKS as u32 + 3) * geometry.data_units,
            planes: vec![PlanePace::default(); geometry.planes as usize],
        })
    }

    /// Free blocks of a plane that holds as many erased pages as it keeps.
    pub(super) fn kept_blocks(&self, geometry: &Geometry) -> u32 {
        self.target / geometry.data_units
    }

    /// Erased pages that a plane keeps: a little fewer from plane to plane, up to half a block, since planes that are
    /// written in step would otherwise end their victims at the same time, and their erases would stop the whole drive.
    pub(super) fn target(&self, plane: PlaneId) -> u32 {
        let half_block = u64::from(self.floor / (KEPT_BLOCKS as u32 + 2) / 2);
        self.target - (half_block * u64::from(plane.0) / self.planes.len() as u64) as u32
    }
}

/// What became of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The victim still holds valid pages.
    Going,
    /// The victim was erased.
    Erased,
    /// There is no victim, or no room to move its pages to.
    Stuck,
}
