//! Builds the parts of the layer from what recovery found, or for a device to be formatted.

use crate::block_table::{BlockTable, StoredBlock};
use crate::header::{Content, Header};
use crate::ids::{IdAllocator, SequenceCounter};
use crate::layout::{Layout, UnitAddress};
use crate::recovery::{Found, NewestSuperblock};
use crate::superblock::SuperblockStore;
use crate::units::{Cause, Holds, UnitTable, UnitUse};
use flashlane_device::{Device, UnitState};

/// The state of the layer, a part for each owner.
pub(crate) struct Parts {
    pub(crate) units: UnitTable,
    pub(crate) blocks: BlockTable,
    pub(crate) superblocks: SuperblockStore,
    pub(crate) ids: IdAllocator,
    pub(crate) sequence: SequenceCounter,
}

impl Parts {
    /// The parts for a device that is formatted: every unit that is not erased has to be.
    pub(crate) fn to_format(device: &impl Device, layout: Layout, has_log: bool) -> Self {
        let mut parts = Self::empty(layout);
        parts.superblocks = SuperblockStore::new(has_log);
        for unit in 0..layout.units {
            for lane in 0..layout.lanes {
                let address = UnitAddress { lane, unit };
                let Some(reported) = device.unit(address.device_lane(), unit.into()) else { continue };
                let state = match reported.state {
                    UnitState::ERASED => UnitUse::Erased,
                    UnitState::Bad => UnitUse::Bad,
                    _ => UnitUse::ToErase(Cause::Obsolete),
                };
                parts.units.found(address, state, reported.erases.unwrap_or(0));
            }
        }
        parts
    }

    /// The parts for the units that recovery found.
    pub(crate) fn from_survey(
        layout: Layout,
        units: Vec<(UnitAddress, Found)>,
        newest: NewestSuperblock,
    ) -> Self {
        let NewestSuperblock { sequence: mut newest_sequence, superblock, copies, is_rebuilt, .. } = newest;
        let mut parts = Self::empty(layout);
        parts.ids = IdAllocator::from_floor(superblock.id_floor);
        for (address, found) in units {
            if let Found::Written(header) = &found {
                newest_sequence = newest_sequence.max(header.sequence);
            }
            if copies.contains(&address) {
                parts.units.found(address, UnitUse::Live(Holds::Superblock), 0);
            } else if superblock.retired.contains(&address) {
                parts.units.found(address, UnitUse::Retired, 0);
            } else {
                parts.add_unit(address, found);
            }
        }
        let needs_gap = !parts.units.damaged().is_empty() || copies.is_empty();
        parts.superblocks = SuperblockStore::found(superblock, copies, is_rebuilt);
        parts.sequence = SequenceCounter::after(newest_sequence);
        if needs_gap {
            parts.ids.add_gap();
            parts.superblocks.mark_stale();
        }
        parts
    }

    fn empty(layout: Layout) -> Self {
        Self {
            units: UnitTable::new(layout),
            blocks: BlockTable::default(),
            superblocks: SuperblockStore::default(),
            ids: IdAllocator::default(),
            sequence: SequenceCounter::default(),
        }
    }

    fn add_unit(&mut self, address: UnitAddress, found: Found) {
        match found {
            Found::Bad => {}
            Found::Erased { erases } => self.units.found(address, UnitUse::Erased, erases),
            Found::Torn => self.units.found(address, UnitUse::Torn, 0),
            Found::Damaged { given_out, is_foreign } => {
                self.units.found(address, UnitUse::Damaged, 0);
                if is_foreign {
                    self.units.held_no_block(address);
                }
                given_out.into_iter().for_each(|id| self.ids.note_used(id));
            }
            // An older superblock.
            Found::Written(Header { content: Content::Superblock(_), .. }) => {
                self.units.found(address, UnitUse::ToErase(Cause::Obsolete), 0);
            }
            Found::Written(Header {
                content: Content::Block { id, length_bytes, checksums },
                sequence,
                ..
            }) => {
                self.ids.note_used(id);
                self.units.found(address, UnitUse::Live(Holds::Block(id)), 0);
                let block = StoredBlock::new(address, length_bytes, sequence, checksums);
                if let Some(older) = self.blocks.found(id, block) {
                    self.units.supersede(older);
                }
            }
        }
    }
}
