//! The device below the blocks: opened for reading only where nothing has to be written.

use crate::device::{self as devices, OpenedBytes, Opening};
use crate::failure::{Failure, Status};
use crate::options::SafetyOptions;
use crate::preflight::{consent, create};
use anyhow::anyhow;
use flashlane_base::Seed;
use flashlane_block::{BlockOptions, Blocks, FormatError, Layout, OpenError as BlockOpenError};
use flashlane_device::{Device, Profile};
use flashlane_host::{DEPTH_DEFAULT, Finding};
use flashlane_layer::Format;
use flashlane_open::{
    AnyBlocks, BlockAccess, BlocksError, Division, OpenError, OpenOptions, Target, formatting,
};
use flashlane_result::Warning;
use std::path::Path;

/// Opens the blocks on a device. They are ours, so that writing among them asks for no consent; a device that holds
/// something else is not opened. To be read they are opened without a superblock too.
pub fn open(target: &Target, access: BlockAccess) -> Result<AnyBlocks, Failure> {
    let without_superblock = access == BlockAccess::Read;
    open_with(target, access, BlockOptions { without_superblock, ..BlockOptions::default() })
}

/// Opens them with other options.
pub fn open_with(target: &Target, access: BlockAccess, options: BlockOptions) -> Result<AnyBlocks, Failure> {
    OpenOptions::new().open_blocks_with(target, access, options).map_err(|error| not_opened(target, error))
}

/// What a repair may overwrite.
#[derive(Clone, Copy, Debug)]
pub struct RepairOptions<'a> {
    /// Other data over the lanes' records.
    pub overwrite: bool,
    /// A device that looks used, by its path.
    pub really: Option<&'a Path>,
}

/// Opens them once their lanes are repaired.
pub fn open_repaired(target: &Target, repair: RepairOptions<'_>) -> Result<AnyBlocks, Failure> {
    let options = OpenOptions::new();
    let options = repair.really.map_or(options.clone(), |path| options.really(path));
    options.open_blocks_repaired(target, repair.overwrite).map_err(|error| not_opened(target, error))
}

/// Why a device that looks used is not written to by commands that open blocks, and what to do. `--really` belongs to the
/// repair alone.
fn used_device_refusal(target: &Target, error: &flashlane_host::OpenError) -> Option<Failure> {
    let flashlane_host::OpenError::Refused { path, findings, .. } = error else { return None };
    let is_used = |finding: &Finding| !matches!(finding, Finding::Signature(_));
    let advice = if findings.iter().any(is_used) {
        "stop that use first".to_owned()
    } else {
        format!(
            "its blocks can be read. If the other data may be lost, 'flashlane sdf fsck \"{target}\" --repair \
             --destroy-data --really {}' overwrites it with the lanes' records",
            path.display()
        )
    };
    Some(Failure::unusable(anyhow!("{}\n{advice}", error.found())))
}

fn not_opened(target: &Target, error: BlocksError) -> Failure {
    if let BlocksError::Device(OpenError::Real { error, .. }) = &error
        && let Some(refusal) = used_device_refusal(target, error)
    {
        return refusal;
    }
    match error {
        BlocksError::Device(
            error @ OpenError::Real { error: flashlane_host::OpenError::NotFound { .. }, .. },
        ) if !target.path().is_some_and(|path| path.starts_with("/dev")) => Failure::unusable(anyhow!(
            "{error}; flashlane sdf format '{target}' --create SIZE creates a new one for blocks"
        )),
        BlocksError::Device(error) => error.into(),
        BlocksError::Open(error) => no_blocks(target, error),
        BlocksError::FormatInSpec { .. } => Failure::unusable(anyhow!(
            "'{target}' sets format=yes, which destroys all data on it: only 'flashlane sdf format' and 'bench' accept it"
        )),
        error @ BlocksError::RepairInSpec { .. } => Failure::unusable(error),
        error => Failure::failed(error),
    }
}

fn no_blocks(target: &Target, error: BlockOpenError) -> Failure {
    match &error {
        BlockOpenError::NotFormatted { .. } if target.is_simulated() => Failure::unusable(anyhow!(
            "'{target}' is simulated and keeps nothing between commands; use 'flashlane sdf bench', which puts and gets in \
             one command"
        )),
        BlockOpenError::NotFormatted { device, written: 0 } => {
            Failure::unusable(anyhow!("{error}: flashlane sdf format '{device}' --destroy-data"))
        }
        BlockOpenError::NotFormatted { device, .. } => Failure::unusable(anyhow!(
            "{error}. If that data may be lost, 'flashlane sdf format '{device}' --destroy-data' formats it for blocks"
        )),
        BlockOpenError::Device { .. } | BlockOpenError::Unreadable { .. } => Failure::failed(error),
        BlockOpenError::NoSuperblock { unreadable: 1.., .. } => Failure::failed(error),
        _ => Failure::unusable(error),
    }
}

/// The blocks on a device as they are, to be measured beside others that are put: the device keeps its lanes and its
/// blocks. A device without blocks is formatted, and one without lanes is divided first, as its spec says.
pub fn open_or_format(
    target: &Target,
    safety: &SafetyOptions,
    seed: Option<Seed>,
    options: BlockOptions,
    accept: &dyn Fn(&Profile, &Layout) -> Result<(), Failure>,
) -> Result<(AnyBlocks, Vec<Warning>), Failure> {
    let settings = target.state_settings();
    if settings.repair.is_some() {
        return Err(not_opened(target, BlocksError::RepairInSpec { spec: target.to_string() }));
    }
    consent(target, safety, "measuring puts", "")?;
    let format = || {
        let (blocks, warnings, _) = format(target, safety, seed, options, accept)?;
        Ok((blocks, warnings))
    };
    let asks_to_format = settings.format == Some(Format::Always);
    if target.is_simulated() || safety.create.is_some() || asks_to_format {
        return format();
    }
    let there = match devices::open_kept(target, &opening(safety, Seed(0))) {
        Err(failure) if is_not_divided(&failure) => return format(),
        there => there?,
    };
    let layout = Layout::new(there.device.profile()).map_err(Failure::unusable)?;
    accept(there.device.profile(), &layout)?;
    match Blocks::open(there.device, options) {
        Ok(blocks) => Ok((blocks, there.warnings)),
        Err(BlockOpenError::NotFormatted { .. }) => {
            formatted(devices::open_bytes(target, &opening(safety, Seed(0)))?, seed, options)
        }
        Err(error) => Err(no_blocks(target, error)),
    }
}

/// Whether a device was not opened since it has no lanes.
fn is_not_divided(failure: &Failure) -> bool {
    use flashlane_layer::{LanesError, LayerError};
    matches!(failure.error(), Some(OpenError::Layer(LayerError::Lanes(LanesError::NotFormatted { .. }))))
}

/// Formats a device, unless it cannot hold blocks or `accept` has something against how they would lie: then nothing was
/// changed. A device that is divided into lanes keeps its division unless `spec` gives a shape. With the blocks come the
/// doubts about what will be measured on the device.
pub fn format(
    target: &Target,
    safety: &SafetyOptions,
    seed: Option<Seed>,
    options: BlockOptions,
    accept: &dyn Fn(&Profile, &Layout) -> Result<(), Failure>,
) -> Result<(AnyBlocks, Vec<Warning>, Division), Failure> {
    consent(target, safety, "formatting", "")?;
    create(target, safety)?;
    let formatted = format_made(target, safety, seed, options, accept);
    if let (Err(Failure { status: Status::Unusable, .. }), Some(_)) = (&formatted, safety.create) {
        // The file was made for this. Where it cannot be removed, the refusal says all that is to be said.
        let _ = target.path().map(std::fs::remove_file);
    }
    formatted
}

fn format_made(
    target: &Target,
    safety: &SafetyOptions,
    seed: Option<Seed>,
    options: BlockOptions,
    accept: &dyn Fn(&Profile, &Layout) -> Result<(), Failure>,
) -> Result<(AnyBlocks, Vec<Warning>, Division), Failure> {
    let seed = seed.map_or_else(flashlane_host::fresh_seed, Ok).map_err(Failure::failed)?;
    let accept = |profile: &Profile| accept(profile, &Layout::new(profile).map_err(Failure::unusable)?);
    let (opened, division) = devices::open_to_format(target, &opening(safety, seed), &accept)?;
    let (blocks, warnings) = formatted(opened, Some(seed), options)?;
    Ok((blocks, warnings, division))
}

/// Makes a device hold blocks, whatever is on its lanes.
fn formatted(
    opened: OpenedBytes,
    seed: Option<Seed>,
    options: BlockOptions,
) -> Result<(AnyBlocks, Vec<Warning>), Failure> {
    // Blocks of an earlier formatting must not be taken for this one's.
    let seed = seed.map_or_else(flashlane_host::fresh_seed, Ok).map_err(Failure::failed)?;
    let blocks = Blocks::format(opened.device, formatting(seed), options).map_err(|error| match error {
        FormatError::Failed(_) => Failure::failed(error),
        FormatError::Unsuitable(_) | FormatError::ReadOnly => Failure::unusable(error),
    })?;
    Ok((blocks, opened.warnings))
}

fn opening(safety: &SafetyOptions, seed: Seed) -> Opening<'_> {
    Opening { safety, writes: true, depth: u64::from(DEPTH_DEFAULT), seed }
}
