//! Blocks on the device of a spec, opened or formatted in one call.

use crate::{IntoSpec, OpenError, OpenOptions, Opened, real_path};
use flashlane_base::Seed;
use flashlane_block::{BlockStore, Blocks, FormatError, Options as BlockOptions};
use flashlane_device::spec::Spec;
use flashlane_device::{DataDevice, Profile};
use flashlane_layer::{LanesError, LayerError};

/// Blocks on a device of any kind, for calls that do not wait.
pub type AnyBlocks = Blocks<Box<dyn DataDevice>>;

/// Blocks on a device of any kind.
pub type AnyBlockStore = BlockStore<Box<dyn DataDevice>>;

/// What is to be done with the blocks on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockAccess {
    /// Get them.
    Read,
    /// Put and delete too.
    Write,
}

/// Why there are no blocks to be used. Where opening failed, nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum BlocksError {
    /// The device cannot be opened.
    #[error(transparent)]
    Device(#[from] OpenError),
    /// The device has no blocks, or is not as it was.
    #[error(transparent)]
    Open(#[from] flashlane_block::OpenError),
    /// The device cannot hold blocks, or could not be written.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The spec would divide the device anew, which loses its blocks.
    #[error("'{spec}' asks for format=yes, which loses all blocks: leave it away to open them")]
    FormatInSpec {
        /// The spec.
        spec: String,
    },
    /// The spec would repair the lanes before it is known that they hold blocks.
    #[error(
        "'{spec}' asks for a repair of its lanes: 'flashlane sdf fsck DEVICE --repair' repairs those with blocks"
    )]
    RepairInSpec {
        /// The spec.
        spec: String,
    },
    /// Formatting was not allowed to overwrite a real device.
    #[error(
        "formatting '{spec}' loses all data on it: allow that by destroy_data(true), or create a new file"
    )]
    NotAllowed {
        /// The spec.
        spec: String,
    },
}

impl OpenOptions {
    /// Opens the blocks on the device that `spec` names. A device that holds anything else is refused and nothing is
    /// written to it, which is why this needs no [`destroy_data`](Self::destroy_data).
    ///
    /// # Errors
    /// [`BlocksError`] says what failed.
    pub fn open_blocks(
        &self,
        spec: impl IntoSpec,
        access: BlockAccess,
    ) -> Result<AnyBlockStore, BlocksError> {
        Ok(self.open_blocks_with(spec, access, BlockOptions::default())?.into())
    }

    /// Opens as [`open_blocks`](Self::open_blocks) does, with other options of the block layer than the usual ones.
    ///
    /// # Errors
    /// [`BlocksError`] says what failed.
    pub fn open_blocks_with(
        &self,
        spec: impl IntoSpec,
        access: BlockAccess,
        options: BlockOptions,
    ) -> Result<AnyBlocks, BlocksError> {
        let spec = spec.into_spec().map_err(OpenError::from)?;
        if asks_to_format(&spec) {
            return Err(BlocksError::FormatInSpec { spec: spec.to_string() });
        }
        if asks_to_repair(&spec) {
            return Err(BlocksError::RepairInSpec { spec: spec.to_string() });
        }
        self.open_blocks_as_written(&spec, access, options)
    }

    /// Opens the blocks on a device whose lanes are repaired first: only records in whose places there is nothing else,
    /// unless `overwrite`. The lanes' table and the blocks' superblock have to say that the device is ours; with
    /// `overwrite` the headers of the blocks are enough.
    ///
    /// # Errors
    /// [`BlocksError`] says what failed.
    pub fn open_blocks_repaired(
        &self,
        spec: impl IntoSpec,
        overwrite: bool,
    ) -> Result<AnyBlocks, BlocksError> {
        let spec = spec.into_spec().map_err(OpenError::from)?;
        let options =
            BlockOptions { both_ends: true, without_superblock: overwrite, ..BlockOptions::default() };
        drop(self.open_blocks_with(&spec, BlockAccess::Read, options)?);
        self.open_blocks_as_written(&repairing(&spec, overwrite), BlockAccess::Write, options)
    }

    fn open_blocks_as_written(
        &self,
        spec: &Spec,
        access: BlockAccess,
        options: BlockOptions,
    ) -> Result<AnyBlocks, BlocksError> {
        let opening = self.clone().destroy_data(access == BlockAccess::Write).allow_page_cache(true);
        Ok(Blocks::open(opening.open_data(checking_erased(spec))?.device, options)?)
    }

    /// Makes the device that `spec` names hold blocks, none so far. A device that is divided into lanes keeps its division
    /// unless `spec` gives another shape. All data on a real device is lost, which [`destroy_data`](Self::destroy_data) has
    /// to allow; a file of [`create`](Self::create) is new, and removed again where this fails.
    ///
    /// # Errors
    /// [`BlocksError`] says what failed.
    pub fn format_blocks(&self, spec: impl IntoSpec) -> Result<AnyBlockStore, BlocksError> {
        let spec = spec.into_spec().map_err(OpenError::from)?;
        let is_real = real_path(&spec).is_some();
        if is_real && !self.destroy_data && self.create_bytes.is_none() {
            return Err(BlocksError::NotAllowed { spec: spec.to_string() });
        }
        self.creating(&spec, |options| {
            let opening = options.clone().allow_page_cache(true);
            let (opened, _) = opening.open_to_format::<BlocksError>(&spec, &|_| Ok(()))?;
            // Blocks of an earlier formatting must not be taken for this one's.
            let seed =
                if is_real { flashlane_host::fresh_seed().map_err(OpenError::Random)? } else { self.seed };
            Ok(BlockStore::format(opened.device, formatting(seed))?)
        })
    }

    /// Opens a device that is to be formatted. A real device that is divided into lanes keeps its division where `spec` gives
    /// no shape: records of the lanes that hold other data are then written anew. Otherwise `lanes(…)` is divided anew.
    /// `accept` is given what the device will be before anything is written.
    ///
    /// # Errors
    /// Those of `accept` and [`OpenError`].
    pub fn open_to_format<E: From<OpenError>>(
        &self,
        spec: &Spec,
        accept: &dyn Fn(&Profile) -> Result<(), E>,
    ) -> Result<(Opened<dyn DataDevice>, Division), E> {
        let may_be_kept = real_path(spec).is_some() && !self.is_new && self.create_bytes.is_none();
        if may_be_kept && has_lanes(spec) && !gives_shape(spec) {
            // Opened to be read first: nothing is repaired before it is accepted.
            match self.clone().destroy_data(false).open_data(spec) {
                Ok(opened) => {
                    accept(opened.device.profile())?;
                    drop(opened);
                    let opened = self.open_data(checking_erased(&repairing(spec, true)))?;
                    return Ok((opened, Division::Kept));
                }
                Err(OpenError::Layer(LayerError::Lanes(LanesError::NotFormatted { .. }))) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let opened = self.open_data_if(divided(spec), accept)?;
        // One that did not have to be divided was not asked yet.
        accept(opened.device.profile())?;
        Ok((opened, Division::New))
    }
}

/// How a device that is formatted comes to its lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// It keeps those that it had.
    Kept,
    /// It is divided anew, or shows its erase units itself.
    New,
}

/// Returns the number that tells the formatting of `seed` from any other.
pub fn formatting(seed: Seed) -> u128 {
    u128::from(seed.derive("format").0) << 64 | u128::from(seed.derive("formatting").0)
}

/// Returns whether a layer in `spec` would divide the device anew.
pub fn asks_to_format(spec: &Spec) -> bool {
    has_setting(spec, |key, value| key == "format" && value != "no")
}

/// Returns whether a layer in `spec` would repair its records on the device.
pub fn asks_to_repair(spec: &Spec) -> bool {
    has_setting(spec, |key, _| key == "repair")
}

fn has_lanes(spec: &Spec) -> bool {
    matches!(spec, Spec::Layer { name, inner, .. } if name == "lanes" || has_lanes(inner))
}

/// Returns whether lanes in `spec` are given a shape, or are to be divided anew in any case.
fn gives_shape(spec: &Spec) -> bool {
    let is_shape = |key: &str| matches!(key, "channels" | "unit" | "read-unit" | "write-unit");
    asks_to_format(spec) || has_setting(spec, |key, _| is_shape(key))
}

fn has_setting(spec: &Spec, is_it: impl Fn(&str, &str) -> bool + Copy) -> bool {
    let Spec::Layer { inner, options, .. } = spec else { return false };
    options.iter().any(|(key, value)| is_it(key, value)) || has_setting(inner, is_it)
}

/// Returns the same device, divided into lanes anew unless the spec says otherwise.
fn divided(spec: &Spec) -> Spec {
    with_lanes_setting(spec, "format", "yes")
}

/// Returns the same device, the damaged records of whose lanes are written anew when it is opened: with `overwrite` over
/// foreign data too, which is lost.
fn repairing(spec: &Spec, overwrite: bool) -> Spec {
    with_lanes_setting(spec, "repair", if overwrite { "overwrite" } else { "yes" })
}

/// Returns the same device, whose lanes take an erased unit for written where it begins with foreign data. Of a real device
/// only: nobody else writes to a simulated one.
pub fn checking_erased(spec: &Spec) -> Spec {
    if real_path(spec).is_none() {
        return spec.clone();
    }
    with_lanes_setting(spec, "check-erased", "yes")
}

fn with_lanes_setting(spec: &Spec, key: &str, value: &str) -> Spec {
    let Spec::Layer { name, inner, options } = spec else { return spec.clone() };
    let mut options = options.clone();
    if name == "lanes" && !options.iter().any(|(other, _)| other == key) {
        options.push((key.into(), value.into()));
    }
    Spec::Layer { name: name.clone(), inner: Box::new(with_lanes_setting(inner, key, value)), options }
}
