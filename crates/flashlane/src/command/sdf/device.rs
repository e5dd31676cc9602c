//! The device below the blocks: opened for reading only where nothing has to be written.

use crate::begin::{consent, create};
use crate::device::{self as devices, Accept, OpenedBytes, Opening};
use crate::failure::{Failure, Status};
use crate::options::SafetyOptions;
use anyhow::anyhow;
use flashlane_base::Seed;
use flashlane_block::{Blocks, FormatError, Layout, OpenError as BlockOpenError, Options};
use flashlane_device::spec::Spec;
use flashlane_device::{Device, Profile};
use flashlane_host::DEPTH_DEFAULT;
use flashlane_measure::schema::Warning;
use flashlane_open::{
    AnyBlocks, BlockAccess, BlocksError, Division, OpenOptions, asks_to_format, asks_to_repair,
    checking_erased, formatting,
};

/// Opens the blocks on a device. They are ours, so that writing among them asks for no consent; a device that holds
/// something else is not opened. To be read they are opened without a superblock too.
pub fn open(spec: &Spec, access: BlockAccess) -> Result<AnyBlocks, Failure> {
    let without_superblock = access == BlockAccess::Read;
    open_with(spec, access, Options { without_superblock, ..Options::default() })
}

/// Opens them with other options.
pub fn open_with(spec: &Spec, access: BlockAccess, options: Options) -> Result<AnyBlocks, Failure> {
    OpenOptions::new().open_blocks_with(spec, access, options).map_err(|error| not_opened(spec, error))
}

/// Opens them once their lanes are repaired, over other data too with `overwrite`.
pub fn open_repaired(spec: &Spec, overwrite: bool) -> Result<AnyBlocks, Failure> {
    OpenOptions::new().open_blocks_repaired(spec, overwrite).map_err(|error| not_opened(spec, error))
}

fn not_opened(spec: &Spec, error: BlocksError) -> Failure {
    match error {
        BlocksError::Device(error) => error.into(),
        BlocksError::Open(error) => no_blocks(spec, error),
        BlocksError::FormatInSpec { .. } => Failure::unusable(anyhow!(
            "'{spec}' asks for format=yes, which loses all that is on it: only 'flashlane sdf format' and 'bench' do that"
        )),
        error @ BlocksError::RepairInSpec { .. } => Failure::unusable(error),
        error => Failure::failed(error),
    }
}

fn no_blocks(spec: &Spec, error: BlockOpenError) -> Failure {
    match &error {
        BlockOpenError::NotFormatted { .. } if devices::real_path(spec).is_none() => {
            Failure::unusable(anyhow!(
                "'{spec}' is simulated, and forgets everything when a command ends: 'flashlane sdf bench' puts and gets \
             within one"
            ))
        }
        BlockOpenError::NotFormatted { device, written: 0 } => {
            Failure::unusable(anyhow!("{error}: flashlane sdf format '{device}' --destroy-data"))
        }
        BlockOpenError::NotFormatted { device, .. } => Failure::unusable(anyhow!(
            "{error}. If what they hold may be lost, 'flashlane sdf format '{device}' --destroy-data' makes it hold blocks"
        )),
        BlockOpenError::Device { .. } => Failure::failed(error),
        _ => Failure::unusable(error),
    }
}

/// The blocks on a device as they are, to be measured beside others that are put: the device keeps its lanes and its
/// blocks. A device without blocks is formatted, and one without lanes is divided first, as its spec says.
pub fn open_or_format(
    spec: &Spec,
    safety: &SafetyOptions,
    seed: Option<Seed>,
    options: Options,
    accept: &dyn Fn(&Profile, &Layout) -> Result<(), Failure>,
) -> Result<(AnyBlocks, Vec<Warning>), Failure> {
    if asks_to_repair(spec) {
        return Err(not_opened(spec, BlocksError::RepairInSpec { spec: spec.to_string() }));
    }
    consent(spec, safety, "measuring puts", "")?;
    let format = || {
        let (blocks, warnings, _) = format(spec, safety, seed, options, accept)?;
        Ok((blocks, warnings))
    };
    if devices::real_path(spec).is_none() || safety.create.is_some() || asks_to_format(spec) {
        return format();
    }
    let checked = checking_erased(spec);
    let opened = || opened(&checked, safety, Seed(0), &|_| Ok(()));
    let there = match opened() {
        Err(failure) if is_not_divided(&failure) => return format(),
        there => there?,
    };
    let layout = Layout::new(there.device.profile()).map_err(Failure::unusable)?;
    accept(there.device.profile(), &layout)?;
    match Blocks::open(there.device, options) {
        Ok(blocks) => Ok((blocks, there.warnings)),
        Err(BlockOpenError::NotFormatted { .. }) => formatted(opened()?, seed, options),
        Err(error) => Err(no_blocks(spec, error)),
    }
}

/// Whether a device was not opened since it has no lanes.
fn is_not_divided(failure: &Failure) -> bool {
    use flashlane_layer::{LanesError, LayerError};
    use flashlane_open::OpenError::Layer;
    matches!(failure.error(), Some(Layer(LayerError::Lanes(LanesError::NotFormatted { .. }))))
}

/// Formats a device, unless it cannot hold blocks or `accept` has something against how they would lie: then nothing was
/// changed. A device that is divided into lanes keeps its division unless `spec` gives a shape. With the blocks come the
/// doubts about what will be measured on the device.
pub fn format(
    spec: &Spec,
    safety: &SafetyOptions,
    seed: Option<Seed>,
    options: Options,
    accept: &dyn Fn(&Profile, &Layout) -> Result<(), Failure>,
) -> Result<(AnyBlocks, Vec<Warning>, Division), Failure> {
    consent(spec, safety, "formatting", "")?;
    create(spec, safety)?;
    let formatted = format_made(spec, safety, seed, options, accept);
    if let (Err(Failure { status: Status::Unusable, .. }), Some(_)) = (&formatted, safety.create) {
        // The file was made for this. Where it cannot be removed, the refusal says all that is to be said.
        let _ = devices::real_path(spec).map(std::fs::remove_file);
    }
    formatted
}

fn format_made(
    spec: &Spec,
    safety: &SafetyOptions,
    seed: Option<Seed>,
    options: Options,
    accept: &dyn Fn(&Profile, &Layout) -> Result<(), Failure>,
) -> Result<(AnyBlocks, Vec<Warning>, Division), Failure> {
    let seed = seed.map_or_else(flashlane_host::fresh_seed, Ok).map_err(Failure::failed)?;
    let accept = |profile: &Profile| accept(profile, &Layout::new(profile).map_err(Failure::unusable)?);
    let (opened, division) = devices::open_to_format(spec, &opening(safety, seed), &accept)?;
    let (blocks, warnings) = formatted(opened, Some(seed), options)?;
    Ok((blocks, warnings, division))
}

/// Makes a device hold blocks, whatever is on its lanes.
fn formatted(
    opened: OpenedBytes,
    seed: Option<Seed>,
    options: Options,
) -> Result<(AnyBlocks, Vec<Warning>), Failure> {
    // Blocks of an earlier formatting must not be taken for this one's.
    let seed = seed.map_or_else(flashlane_host::fresh_seed, Ok).map_err(Failure::failed)?;
    let blocks = Blocks::format(opened.device, formatting(seed), options).map_err(|error| match error {
        FormatError::Failed(_) => Failure::failed(error),
        FormatError::Unsuitable(_) | FormatError::ReadOnly => Failure::unusable(error),
    })?;
    Ok((blocks, opened.warnings))
}

fn opened(
    spec: &Spec,
    safety: &SafetyOptions,
    seed: Seed,
    accept: &Accept<'_>,
) -> Result<OpenedBytes, Failure> {
    devices::open_bytes(spec, &opening(safety, seed), accept)
}

fn opening(safety: &SafetyOptions, seed: Seed) -> Opening<'_> {
    Opening { safety, writes: true, depth: u64::from(DEPTH_DEFAULT), seed }
}
