//! Paced GC: a victim is emptied a few flash pages at a time, after writes of the host, as the pacing policy says.
//!
//! A plane has one victim at a time. It counts as not closed meanwhile, so that no policy chooses it again; what the
//! host overwrites or trims of it no longer has to be moved. Where the host needs a block and only the one kept for
//! moved units is free, the victim is finished first, and further ones are emptied whole: pacing never takes the last
//! block, so that GC always has room.

use crate::config::DriveConfig;
use crate::ids::{BlockId, PlaneId};
use crate::nand::Geometry;
use flashlane_policy::pacing::Pacing;

/// Free blocks that the host does not open before GC has gained more: one for the units that GC moves.
pub(super) const KEPT_BLOCKS: usize = 1;

/// The progress of GC on each plane.
pub(super) struct Pacer {
    pub(super) policy: Box<dyn Pacing>,
    /// Mapping units that are programmed at once: those of a flash page, on each plane of a superblock.
    pub(super) step_units: u32,
    /// The same in the SLC cache.
    pub(super) slc_step_units: u32,
    /// Erased units that the first plane keeps, and those at which the host may have to wait for whole victims.
    target: u32,
    pub(super) floor: u32,
    pub(super) planes: Vec<PlanePace>,
}

#[derive(Clone, Copy, Default)]
pub(super) struct PlanePace {
    /// Units that the host wrote since the last step.
    pub(super) written: u32,
    pub(super) victim: Option<Victim>,
}

/// A block that is being emptied.
#[derive(Clone, Copy)]
pub(super) struct Victim {
    pub(super) block: BlockId,
    /// The first of its units that may still be valid.
    pub(super) next: u32,
    /// Whether wear leveling chose it.
    pub(super) leveled: bool,
    /// Valid units when GC began with it.
    pub(super) valid: u32,
    /// Units that count as collected once it is empty, and those of them that do already.
    pub(super) units: u32,
    pub(super) collected: u32,
}

impl Victim {
    /// Returns the units that count as collected since the last call, with `valid` units left: in proportion to the
    /// valid ones that are gone.
    pub(super) fn newly_collected(&mut self, valid: u32) -> u32 {
        let left = u64::from(self.units) * u64::from(valid) / u64::from(self.valid.max(1));
        let collected = self.units - left as u32;
        collected - std::mem::replace(&mut self.collected, collected)
    }
}

impl Pacer {
    /// The pacer of a drive whose GC is paced. `geometry` counts superblocks as blocks.
    pub(super) fn new(config: &DriveConfig, geometry: &Geometry) -> Option<Self> {
        let policy = config
            .policies
            .pacing
            .build(&config.cleaning.pacing, &config.cleaning.pacing_options.options())
            .expect("validation built every policy once");
        policy.in_steps().then(|| Self {
            policy,
            step_units: geometry.step_units(&config.flash),
            slc_step_units: geometry.step_units(&config.flash) / config.flash.pages_per_program(),
            // The victim's units that were moved already occupy up to a block more until it is erased; the open block
            // for moved units has up to one left, which the host cannot use.
            floor: (KEPT_BLOCKS as u32 + 2) * geometry.data_units,
            // One block above the floor is the least distance in which a policy can act.
            target: (geometry.low_watermark_blocks + 1).max(KEPT_BLOCKS as u32 + 3) * geometry.data_units,
            planes: vec![PlanePace::default(); geometry.planes as usize],
        })
    }

    /// Erased units that a plane keeps: a little fewer from plane to plane, up to half a block, since planes that are
    /// written in step would otherwise end their victims at the same time, and their erases would stop the whole drive.
    pub(super) fn target(&self, plane: PlaneId) -> u32 {
        let half_block = u64::from(self.floor / (KEPT_BLOCKS as u32 + 2) / 2);
        self.target - (half_block * u64::from(plane.0) / self.planes.len() as u64) as u32
    }
}

/// The progress of a victim after a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum VictimProgress {
    /// The victim still holds valid units.
    Going,
    /// The victim was erased.
    Erased,
    /// There is no victim, or no room to move its units to.
    Stuck,
}
