//! A mapping unit in the buffer, and the stages that it goes through.

use super::drain_load::DrainCause;
use crate::amount::Amount;
use crate::ids::{BufferSlot, Lpn, PlaneId};
use crate::pieces::UnitParts;
use flashlane_device::PlacementHandle;

/// The stage of a buffered unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// The slot is empty.
    #[default]
    Free,
    /// Only read: flash holds the same.
    Clean,
    /// Written.
    Dirty,
    /// Chosen to drain, for this cause: it waits in the drain queue or for the version before it, or its missing parts
    /// are being read.
    Chosen(DrainCause),
    /// Being programmed.
    Programming,
    /// Superseded after it was chosen, by a trim, a write that bypassed it or a newer version that drained first: it
    /// must not be programmed.
    Void,
}

/// Above the number of any write.
pub(super) const NO_WRITE: u64 = u64::MAX;

/// What a write has of a mapping unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    /// The parts of the unit.
    pub(crate) present: UnitParts,
    /// Its bytes in the unit.
    pub(crate) bytes: u32,
    /// The placement handle, which all of the unit has from then on.
    pub(crate) handle: PlacementHandle,
    /// The number of the write, or a lower one (`Kernel::write_number_to_come`).
    pub(crate) write_number: u64,
}

/// A buffered mapping unit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BufferedUnit {
    pub(crate) lpn: Lpn,
    /// The plane that it will be programmed on. `None` where that is found when it is programmed: the drive assigns
    /// none before, or no plane had room.
    pub(super) plane: Option<PlaneId>,
    /// The placement handle of the last write; 0 on a drive without them, and of a unit that no write left here.
    pub(super) handle: PlacementHandle,
    /// Which parts of the unit are here: written, read, or those of the version before this one.
    pub(crate) present: UnitParts,
    /// Which parts of it the host has written to this version.
    pub(super) written: UnitParts,
    /// Bytes of the writes that left something new in this version; one that only replaced what was here has saved a
    /// program.
    pub(super) written_bytes: u64,
    /// The flush epoch in which it was first written.
    pub(super) epoch: u64,
    /// The [`Write::write_number`] of the first write that is here and not on flash; [`NO_WRITE`] where there is none.
    pub(super) first_write: u64,
    pub(super) stage: Stage,
    /// The slot of the version before this one, if that was chosen or programming when this one was admitted.
    pub(super) older_version: Option<BufferSlot>,
    /// Whether it is here only to be read and written along with its neighbours.
    pub(crate) pad: bool,
    /// Whether it counts among the units that drain to its plane's package.
    pub(super) is_counted: bool,
}

impl BufferedUnit {
    pub(super) fn of(lpn: Lpn) -> Self {
        Self { lpn, ..Self::default() }
    }

    /// Returns what the host wrote of it: nothing of a pad.
    pub(super) fn amount(&self) -> Amount {
        Amount { units: u64::from(!self.pad), bytes: self.written_bytes }
    }
}
