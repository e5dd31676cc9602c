//! Opens, formats and repairs the device of a block store, read-only unless the command writes.

use crate::device::{self as devices, OpenRequest, OpenedBytes};
use crate::failure::Failure;
use crate::options::SafetyOptions;
use crate::preflight::{create, require_consent};
use crate::suggest::{quoted, to_destroy};
use anyhow::anyhow;
use flashlane_base::Seed;
use flashlane_base::units::exact_bytes;
use flashlane_block::{BlockOptions, Blocks, FormatError, Layout, OpenError as BlockOpenError, Unsuitable};
use flashlane_device::{Device, DeviceInfo};
use flashlane_host::Finding;
use flashlane_layer::{Format, LanesError, LayerError};
use flashlane_open::{
    AccessMode, AnyBlocks, BlocksError, Consent, Division, OpenError, OpenOptions, Target, file_length,
    formatting, least_length_for_blocks, refuse_store,
};
use flashlane_result::Warning;
use std::path::Path;

/// Opens the blocks on a device. Writing among existing blocks requires no consent; a device with other data is
/// refused. Reading works without a superblock.
pub fn open(target: &Target, access: AccessMode) -> Result<AnyBlocks, Failure> {
    let without_superblock = access == AccessMode::ReadOnly;
    open_with(target, access, BlockOptions { without_superblock, ..BlockOptions::default() })
}

pub fn open_with(target: &Target, access: AccessMode, options: BlockOptions) -> Result<AnyBlocks, Failure> {
    require_erase_units(target)?;
    OpenOptions::new().open_blocks_with(target, access, options).map_err(|error| not_opened(target, error))
}

/// Refuses a simulated drive without erase units by the name it was given: it is opened with its bytes in memory, as
/// `backed(…)`.
fn require_erase_units(target: &Target) -> Result<(), Failure> {
    if !target.is_simulated() || target.capabilities().erase_units {
        return Ok(());
    }
    Err(Failure::unusable(anyhow!(
        "'{target}' has no erase units, and blocks need them; allowed: a simulated drive that shows its flash, like sim:sdf, \
         or lanes(FILE)"
    )))
}

/// Returns the refusal of a file or block device that has lanes, and was named without them; `None` where it has none.
pub fn named_without_lanes(target: &Target) -> Option<Failure> {
    let path = target.path().filter(|path| !target.capabilities().erase_units && path.exists())?;
    let lanes = format!("lanes({})", path.display());
    let opened = OpenOptions::new().access(AccessMode::ReadOnly).open_data(&*lanes).is_ok();
    opened.then(|| {
        Failure::unusable(anyhow!(
            "'{target}' is named as a plain device, and has lanes of erase units: name it {}",
            quoted(&lanes)
        ))
    })
}

/// Repairs the lanes of a device and opens its blocks. Data in place of the lanes' records is overwritten only where
/// `consent` allows to destroy it.
pub fn open_repaired(target: &Target, consent: Consent) -> Result<AnyBlocks, Failure> {
    require_erase_units(target)?;
    let options = OpenOptions::new().consent(consent);
    options.open_blocks_repaired(target).map_err(|error| not_opened(target, error))
}

/// Returns the refusal to write to a device that looks used, with the way out. Only the repair accepts `--really`.
pub fn used_device_refusal(target: &Target, error: &flashlane_host::OpenError) -> Option<Failure> {
    let flashlane_host::OpenError::Refused { path, findings, .. } = error else { return None };
    let is_used = |finding: &Finding| !matches!(finding, Finding::Signature(_));
    let is_hidden = |finding: &Finding| matches!(finding, Finding::HiddenUse { .. });
    let advice = if findings.iter().any(is_hidden) {
        "name the file by its path on the file system below, or copy it to another one".to_owned()
    } else if findings.iter().any(is_used) {
        "stop that use first".to_owned()
    } else if open(target, AccessMode::ReadOnly).is_err() {
        "no blocks of Flashlane can be read from it".to_owned()
    } else {
        format!(
            "its blocks can be read. If the other data may be lost, 'flashlane sdf fsck {} --repair --destroy-data --really \
             {}' overwrites it with the lanes' records",
            quoted(&target.to_string()),
            quoted(&path.to_string_lossy())
        )
    };
    Some(Failure::unusable(anyhow!("{}\n{advice}", error.found())))
}

/// Returns the spec of a device that can hold blocks: a file is divided into lanes.
fn for_blocks(target: &Target) -> String {
    if target.capabilities().erase_units { target.to_string() } else { format!("lanes({target})") }
}

fn not_opened(target: &Target, error: BlocksError) -> Failure {
    if let Some(refusal) = named_without_lanes(target) {
        return refusal;
    }
    if let BlocksError::Device(OpenError::Real { error, .. }) = &error
        && let Some(refusal) = used_device_refusal(target, error)
    {
        return refusal;
    }
    match error {
        BlocksError::Device(
            error @ OpenError::Real { error: flashlane_host::OpenError::NotFound { .. }, .. },
        ) if !target.path().is_some_and(|path| path.starts_with("/dev")) => Failure::unusable(anyhow!(
            "{error}; 'flashlane sdf format {} --create SIZE' creates a new one for blocks",
            quoted(&for_blocks(target))
        )),
        BlocksError::Device(OpenError::Layer(LayerError::Lanes(LanesError::NotFormatted { device }))) => {
            Failure::unusable(anyhow!(
                "'{device}' is not divided into lanes. If the data on it may be lost, 'flashlane sdf format {}{}' formats \
                 it for blocks",
                quoted(&target.to_string()),
                to_destroy(target, &Consent::Destroy)
            ))
        }
        BlocksError::Device(error) => error.into(),
        BlocksError::Open(error) => no_blocks(target, error),
        BlocksError::FormatInSpec { .. } => Failure::unusable(anyhow!(
            "'{target}' sets format=yes, which destroys all data on it: only 'flashlane sdf format' and 'bench' accept it"
        )),
        BlocksError::RepairInSpec { .. } => {
            let lanes = target.path().map_or(target.to_string(), |path| format!("lanes({})", path.display()));
            Failure::unusable(anyhow!(
                "'{target}' asks for a repair of its lanes: 'flashlane sdf fsck {} --repair' repairs those with blocks",
                quoted(&lanes)
            ))
        }
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
            let options = to_destroy(target, &Consent::Destroy);
            Failure::unusable(anyhow!("{error}: flashlane sdf format {}{options}", quoted(device)))
        }
        BlockOpenError::NotFormatted { device, .. } => Failure::unusable(anyhow!(
            "{error}. If that data may be lost, 'flashlane sdf format {}{}' formats it for blocks",
            quoted(device),
            to_destroy(target, &Consent::Destroy)
        )),
        BlockOpenError::Device { .. } | BlockOpenError::Unreadable { .. } => Failure::failed(error),
        BlockOpenError::NoSuperblock { unreadable: 1.., .. } => Failure::failed(error),
        _ => Failure::unusable(error),
    }
}

/// Opens the blocks on a device for a bench, keeping existing lanes and blocks. Formats a device without blocks, after
/// dividing one without lanes as its spec says.
pub fn open_or_format(
    target: &Target,
    safety: &SafetyOptions,
    seed: Option<Seed>,
    options: BlockOptions,
    accept: &dyn Fn(&DeviceInfo, &Layout) -> Result<(), Failure>,
) -> Result<(AnyBlocks, Vec<Warning>), Failure> {
    let settings = target.state_settings();
    if settings.repair.is_some() {
        return Err(not_opened(target, BlocksError::RepairInSpec { spec: target.to_string() }));
    }
    require_erase_units(target)?;
    require_consent(target, &safety.consent(), "measuring puts", "")?;
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
    let layout = Layout::new(there.device.info()).map_err(Failure::unusable)?;
    accept(there.device.info(), &layout)?;
    match Blocks::open(there.device, options) {
        Ok(mut blocks) => {
            refuse_store(&mut blocks).map_err(Failure::unusable)?;
            Ok((blocks, there.warnings))
        }
        Err(BlockOpenError::NotFormatted { .. }) => {
            formatted(devices::open_bytes(target, &opening(safety, Seed(0)))?, seed, options)
        }
        Err(error) => Err(no_blocks(target, error)),
    }
}

/// Returns whether opening failed because the device has no lanes.
fn is_not_divided(failure: &Failure) -> bool {
    use flashlane_layer::{LanesError, LayerError};
    matches!(failure.error(), Some(OpenError::Layer(LayerError::Lanes(LanesError::NotFormatted { .. }))))
}

/// Formats a device. If it cannot hold blocks or `accept` refuses their layout, nothing is changed. Existing lanes are
/// kept unless the spec gives a shape. Also returns warnings about measurements on the device.
pub fn format(
    target: &Target,
    safety: &SafetyOptions,
    seed: Option<Seed>,
    options: BlockOptions,
    accept: &dyn Fn(&DeviceInfo, &Layout) -> Result<(), Failure>,
) -> Result<(AnyBlocks, Vec<Warning>, Division), Failure> {
    require_erase_units(target)?;
    require_consent(target, &safety.consent(), "formatting", "")?;
    let length_bytes = file_length(target).or(safety.create);
    let accept = |info: &DeviceInfo| accept(info, &Layout::new(info).map_err(Failure::unusable)?);
    let formatted = format_any(target, safety, seed, options, &accept);
    formatted.map_err(|failure| {
        let length_bytes = length_bytes.filter(|_| is_of_length(&failure));
        match length_bytes.and_then(|bytes| least_length_for_blocks(target, bytes)) {
            Some(least) => {
                failure.with_remedy(&format!("A file of {} is long enough for blocks", exact_bytes(least)))
            }
            None => failure,
        }
    })
}

/// Returns whether formatting failed because the device is too short.
fn is_of_length(failure: &Failure) -> bool {
    matches!(failure.error(), Some(Unsuitable::TooFewUnits { .. }))
        || matches!(failure.error(), Some(flashlane_host::OpenError::TooSmall { .. }))
        || failure.error().is_some_and(OpenError::is_of_length)
}

fn format_any(
    target: &Target,
    safety: &SafetyOptions,
    seed: Option<Seed>,
    options: BlockOptions,
    accept: &dyn Fn(&DeviceInfo) -> Result<(), Failure>,
) -> Result<(AnyBlocks, Vec<Warning>, Division), Failure> {
    if let Some(length_bytes) = safety.create.filter(|_| !target.path().is_some_and(Path::exists)) {
        accept(&target.planned(length_bytes)?)?;
    }
    create(target, safety)?;
    // A file without blocks is of no use, whatever the reason.
    format_made(target, safety, seed, options, accept).inspect_err(|_| target.remove_created())
}

fn format_made(
    target: &Target,
    safety: &SafetyOptions,
    seed: Option<Seed>,
    options: BlockOptions,
    accept: &dyn Fn(&DeviceInfo) -> Result<(), Failure>,
) -> Result<(AnyBlocks, Vec<Warning>, Division), Failure> {
    let seed = seed.map_or_else(flashlane_host::fresh_seed, Ok).map_err(Failure::failed)?;
    let (opened, division) = devices::open_to_format(target, &opening(safety, seed), accept)?;
    let (blocks, warnings) = formatted(opened, Some(seed), options)?;
    Ok((blocks, warnings, division))
}

/// Formats an open device for blocks, whatever its lanes hold.
fn formatted(
    opened: OpenedBytes,
    seed: Option<Seed>,
    options: BlockOptions,
) -> Result<(AnyBlocks, Vec<Warning>), Failure> {
    // Blocks of an earlier format must not be mistaken for blocks of this one.
    let seed = seed.map_or_else(flashlane_host::fresh_seed, Ok).map_err(Failure::failed)?;
    let blocks = Blocks::format(opened.device, formatting(seed), options).map_err(|error| match error {
        FormatError::Failed(_) => Failure::failed(error),
        FormatError::Unsuitable(_) | FormatError::ReadOnly => Failure::unusable(error),
    })?;
    Ok((blocks, opened.warnings))
}

fn opening(safety: &SafetyOptions, seed: Seed) -> OpenRequest {
    OpenRequest::new(safety, AccessMode::ReadWrite, seed)
}
