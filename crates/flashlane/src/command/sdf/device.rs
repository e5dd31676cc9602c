//! The device below the blocks: opened for reading only where nothing has to be written.

use crate::arguments::SafetyOptions;
use crate::begin::{consent, create};
use crate::device::{self as devices, Accept, OpenedBytes, Opening};
use crate::failure::{Failure, Status};
use anyhow::anyhow;
use flashlane_base::Seed;
use flashlane_block::{Blocks, FormatError, Layout, OpenError, Options};
use flashlane_device::spec::Spec;
use flashlane_device::{DataDevice, Device, Profile};
use flashlane_host::DEPTH_DEFAULT;
use flashlane_measure::schema::Warning;
use flashlane_open::{asks_to_format, divided, formatting};

pub type AnyBlocks = Blocks<Box<dyn DataDevice>>;

/// What is to be done with the blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

/// The blocks on a device. They are ours, so that writing among them asks for no consent; a device that holds something
/// else is not opened.
pub fn open(spec: &Spec, access: Access) -> Result<AnyBlocks, Failure> {
    open_with(spec, access, Options::default())
}

/// The same with other options than the usual ones.
pub fn open_with(spec: &Spec, access: Access, options: Options) -> Result<AnyBlocks, Failure> {
    let ours = SafetyOptions { destroy_data: true, really: None, create: None, allow_page_cache: true };
    if asks_to_format(spec) {
        return Err(Failure::unusable(anyhow!(
            "'{spec}' asks for format=yes, which loses all that is on it: only 'flashlane sdf format' and 'bench' do that"
        )));
    }
    let opened = opened(spec, &ours, access, Seed(0), &|_| Ok(()))?;
    Blocks::open(opened.device, options).map_err(|error| match &error {
        OpenError::NotFormatted { .. } if devices::real_path(spec).is_none() => Failure::unusable(anyhow!(
            "'{spec}' is simulated, and forgets everything when a command ends: 'flashlane sdf bench' puts and gets \
             within one"
        )),
        OpenError::NotFormatted { device, .. } => {
            Failure::unusable(anyhow!("{error}: flashlane sdf format '{device}' --destroy-data"))
        }
        OpenError::Device { .. } => Failure::failed(error),
        _ => Failure::unusable(error),
    })
}

/// Formats a device, unless it cannot hold blocks or `accept` has something against how they would lie: then nothing was
/// changed. With it come the doubts about what will be measured on it.
pub fn format(
    spec: &Spec,
    safety: &SafetyOptions,
    seed: Option<Seed>,
    options: Options,
    accept: &dyn Fn(&Profile, &Layout) -> Result<(), Failure>,
) -> Result<(AnyBlocks, Vec<Warning>), Failure> {
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
) -> Result<(AnyBlocks, Vec<Warning>), Failure> {
    // Blocks of an earlier formatting must not be taken for this one's.
    let seed = seed.map_or_else(flashlane_host::fresh_seed, Ok).map_err(Failure::failed)?;
    let accept = |profile: &Profile| accept(profile, &Layout::new(profile).map_err(Failure::unusable)?);
    let opened = opened(&divided(spec), safety, Access::Write, seed, &accept)?;
    // One that did not have to be divided was not asked yet.
    accept(opened.device.profile())?;
    let blocks = Blocks::format(opened.device, formatting(seed), options).map_err(|error| match error {
        FormatError::Failed(_) => Failure::failed(error),
        FormatError::Unsuitable(_) | FormatError::ReadOnly => Failure::unusable(error),
    })?;
    Ok((blocks, opened.warnings))
}

fn opened(
    spec: &Spec,
    safety: &SafetyOptions,
    access: Access,
    seed: Seed,
    accept: &Accept<'_>,
) -> Result<OpenedBytes, Failure> {
    let writes = access == Access::Write;
    devices::open_bytes(spec, &Opening { safety, writes, depth: u64::from(DEPTH_DEFAULT), seed }, accept)
}
