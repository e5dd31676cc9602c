//! Blocks on the device of a spec, opened or formatted in one call.

use crate::error::OpenError;
use crate::open::Opened;
use crate::options::{AccessMode, OpenOptions};
use crate::target::{IntoTarget, Target};
use flashlane_base::Seed;
use flashlane_block::{BlockOptions, BlockStore, Blocks, FormatError, Outcome};
use flashlane_device::{DataDevice, DeviceInfo};
use flashlane_host::{Change, Consent};
use flashlane_layer::{Format, Repair, StateChange, StateOptions};
use flashlane_store::{MARK_BYTES, is_block_of_a_store};

/// Blocks on a device of any kind, for calls that do not wait.
pub type AnyBlocks = Blocks<Box<dyn DataDevice>>;

/// Blocks on a device of any kind.
pub type AnyBlockStore = BlockStore<Box<dyn DataDevice>>;

/// Why blocks could not be opened or formatted. Where opening failed, nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum BlocksError {
    /// The device cannot be opened.
    #[error(transparent)]
    Device(#[from] OpenError),
    /// The device has no blocks, or its layout does not match.
    #[error(transparent)]
    Open(#[from] flashlane_block::OpenError),
    /// The device cannot hold blocks, or a write failed.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The spec would format the lanes, which loses the blocks.
    #[error("'{spec}' asks for format=yes, which loses all blocks: leave it away to open them")]
    FormatInSpec {
        /// The spec.
        spec: String,
    },
    /// The spec would repair the lanes before they are known to hold blocks.
    #[error(
        "'{spec}' asks for a repair of its lanes: 'flashlane sdf fsck DEVICE --repair' repairs those with blocks"
    )]
    RepairInSpec {
        /// The spec.
        spec: String,
    },
    /// The blocks are those of a store.
    #[error(
        "the blocks on '{device}' are those of a store, which could not be opened with a block that it did not write: \
         use 'flashlane store', or another device"
    )]
    OfStore {
        /// The device's name.
        device: String,
    },
    /// Formatting was not allowed to overwrite a real device.
    #[error(
        "formatting '{spec}' loses all data on it: allow that by consent(Consent::Destroy), or create a new file"
    )]
    NotAllowed {
        /// The spec.
        spec: String,
    },
}

impl OpenOptions {
    /// Opens the blocks on `device`. A device that holds anything else is refused and not written, so this requires
    /// no [`consent`](Self::consent).
    ///
    /// # Errors
    /// [`BlocksError`] says what failed.
    pub fn open_blocks(
        &self,
        device: impl IntoTarget,
        access: AccessMode,
    ) -> Result<AnyBlockStore, BlocksError> {
        let mut blocks = self.open_blocks_with(device, access, BlockOptions::default())?;
        if access == AccessMode::ReadWrite {
            refuse_store(&mut blocks)?;
        }
        Ok(blocks.into())
    }

    /// Opens as [`open_blocks`](Self::open_blocks) does, with the given options of the block layer.
    ///
    /// # Errors
    /// [`BlocksError`] says what failed.
    pub fn open_blocks_with(
        &self,
        device: impl IntoTarget,
        access: AccessMode,
        options: BlockOptions,
    ) -> Result<AnyBlocks, BlocksError> {
        let target = device.into_target(&self.policies)?;
        target_of_blocks(&target)?;
        self.open_blocks_requested(&target, access, options, None)
    }

    /// Repairs the lanes of a device and opens its blocks. Only records whose locations hold no other data are
    /// rewritten, unless the [`consent`](Self::consent) is to destroy data. The lanes' table and the blocks' superblock
    /// must identify the device as ours; with that consent, the headers of the blocks suffice.
    ///
    /// # Errors
    /// [`BlocksError`] says what failed.
    pub fn open_blocks_repaired(&self, device: impl IntoTarget) -> Result<AnyBlocks, BlocksError> {
        let target = device.into_target(&self.policies)?;
        let overwrite = self.consent.allows(Change::Destroy);
        let options = BlockOptions {
            verify_footers: true,
            without_superblock: overwrite,
            replaces_other_data: overwrite,
            ..BlockOptions::default()
        };
        drop(self.open_blocks_with(&target, AccessMode::ReadOnly, options)?);
        let repair = if overwrite { Repair::Overwrite } else { Repair::Ours };
        self.open_blocks_requested(&target, AccessMode::ReadWrite, options, Some(repair))
    }

    fn open_blocks_requested(
        &self,
        target: &Target,
        access: AccessMode,
        options: BlockOptions,
        repair: Option<Repair>,
    ) -> Result<AnyBlocks, BlocksError> {
        let opening = self.keeping_blocks(access);
        let state = StateOptions { repair, check_erased: true, ..StateOptions::default() };
        let (opened, _) = opening.open_with_state::<BlocksError>(target, state, &|_| Ok(()))?;
        Ok(Blocks::open(opened.device, options)?)
    }

    /// Formats `device` to hold blocks. A device with lanes keeps them unless its spec gives another shape. All data on
    /// a real device is lost, which requires [`consent`](Self::consent); a file of [`create`](Self::create) is new, and
    /// is removed where this fails.
    ///
    /// # Errors
    /// [`BlocksError`] says what failed.
    pub fn format_blocks(&self, device: impl IntoTarget) -> Result<AnyBlockStore, BlocksError> {
        let target = device.into_target(&self.policies)?;
        if !self.may_overwrite(&target) {
            return Err(BlocksError::NotAllowed { spec: target.to_string() });
        }
        self.creating(&target, |options| {
            let opening = options.clone().allow_page_cache(true);
            let (opened, _) = opening.open_to_format::<BlocksError>(&target, &|_| Ok(()))?;
            // The id of this formatting must differ from those of earlier ones, whose blocks may remain on the device.
            Ok(BlockStore::format(opened.device, self.new_formatting(&target)?)?)
        })
    }

    /// Returns options that open a device among whose blocks `access` reads or writes.
    pub(crate) fn keeping_blocks(&self, access: AccessMode) -> Self {
        let consent = self.consent.clone().keeping_blocks();
        self.clone().access(access).consent(consent).allow_page_cache(true)
    }

    /// Returns whether the content of `target` may be lost.
    pub(crate) fn may_overwrite(&self, target: &Target) -> bool {
        target.is_simulated() || self.create_bytes.is_some() || self.consent.allows(Change::Overwrite)
    }

    /// Returns the id of a new formatting of `target`: by the seed where it is simulated, and otherwise one that no
    /// earlier formatting had.
    pub(crate) fn new_formatting(&self, target: &Target) -> Result<u128, OpenError> {
        let seed = match target.is_simulated() {
            true => self.seed,
            false => flashlane_host::fresh_seed().map_err(OpenError::Random)?,
        };
        Ok(formatting(seed))
    }

    /// Opens a device to format. A real device with lanes keeps them where its spec gives no shape: damaged lane
    /// records are rewritten even where they hold other data. Otherwise the lanes of `lanes(…)` are formatted anew.
    /// `accept` receives what the device reports of itself before anything is written.
    ///
    /// # Errors
    /// Those of `accept` and [`OpenError`].
    pub fn open_to_format<E: From<OpenError>>(
        &self,
        target: &Target,
        accept: &dyn Fn(&DeviceInfo) -> Result<(), E>,
    ) -> Result<(Opened<dyn DataDevice>, Division), E> {
        let settings = target.state_settings();
        let is_new = self.consent == Consent::NewFile || self.create_bytes.is_some();
        let may_keep = !target.is_simulated()
            && !is_new
            && !settings.has_shape
            && settings.format != Some(Format::Always);
        let state = match may_keep {
            true => StateOptions {
                format: Some(Format::IfAbsent),
                repair: Some(Repair::Overwrite),
                check_erased: true,
                ..StateOptions::default()
            },
            false => {
                StateOptions { format: Some(Format::Always), check_erased: true, ..StateOptions::default() }
            }
        };
        let (opened, change) = self.open_with_state(target, state, accept)?;
        // `accept` was not called for a device that stores no state.
        accept(opened.device.info())?;
        let division = match change {
            StateChange::Repaired(_) => Division::Kept,
            StateChange::New(_) | StateChange::None => Division::New,
        };
        Ok((opened, division))
    }
}

/// Returns whether blocks belong to a store. A superblock that was rebuilt does not know whether there is one; then the
/// blocks decide.
pub fn belongs_to_store(blocks: &mut AnyBlocks) -> bool {
    let ids: Vec<u64> = blocks.list().map(|info| info.id).collect();
    blocks.has_log() && (ids.is_empty() || ids.iter().any(|&id| is_of_store(blocks, id)))
}

/// Refuses the blocks of a store to callers that put blocks: the store does not open with a block that it did not
/// write.
///
/// # Errors
/// [`BlocksError::OfStore`].
pub fn refuse_store(blocks: &mut AnyBlocks) -> Result<(), BlocksError> {
    match belongs_to_store(blocks) {
        true => Err(BlocksError::OfStore { device: blocks.device().info().name.clone() }),
        false => Ok(()),
    }
}

/// Returns whether a block bears the mark of a store. A block that cannot be read bears none.
pub fn is_of_store(blocks: &mut AnyBlocks, id: u64) -> bool {
    let offset = blocks.info(id).and_then(|info| info.length_bytes.checked_sub(MARK_BYTES));
    let ticket = offset.and_then(|offset| blocks.get(id, offset, MARK_BYTES).ok());
    match ticket.and_then(|ticket| blocks.wait(ticket)).map(|finished| finished.outcome) {
        Some(Outcome::Get(Ok(tail))) => is_block_of_a_store(tail.as_slice()),
        _ => false,
    }
}

/// Refuses a target whose settings would change its lanes before they are known to hold blocks.
pub(crate) fn target_of_blocks(target: &Target) -> Result<(), BlocksError> {
    let settings = target.state_settings();
    if settings.format == Some(Format::Always) {
        return Err(BlocksError::FormatInSpec { spec: target.to_string() });
    }
    if settings.repair.is_some() {
        return Err(BlocksError::RepairInSpec { spec: target.to_string() });
    }
    Ok(())
}

/// Origin of the lanes of a formatted device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// The existing lanes are kept.
    Kept,
    /// The lanes are new, or the erase units of the device itself.
    New,
}

/// Returns the id of the formatting of `seed`, which differs for each seed.
pub fn formatting(seed: Seed) -> u128 {
    u128::from(seed.derive("format").0) << 64 | u128::from(seed.derive("formatting").0)
}
