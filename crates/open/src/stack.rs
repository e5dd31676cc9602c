//! Builds the device of a target from the inside out.

use crate::error::OpenError;
use crate::options::OpenOptions;
use crate::own::{block_ranges, own_data};
use crate::target::{Real, Resolved, Simulated, Target};
use flashlane_device::spec::Spec;
use flashlane_device::{DeviceInfo, Lane, OneLane};
use flashlane_host::{
    Change, Consent, CreateError, Doubts, Finding, OwnData, PageCache, ZonedError, ZonedOptions,
    check_new_file, create_empty,
};
use flashlane_layer::{Format, Layer, Stack, StateChange, StateOptions};
use std::fs::File;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Called before a layer writes its state to the device, with the properties that the whole stack will have.
pub(crate) type Accept<'a, E> = &'a dyn Fn(&DeviceInfo) -> Result<(), E>;

/// A device with its layers.
pub(crate) struct Built {
    pub stack: Stack,
    /// Doubts about measurements on the device.
    pub doubts: Doubts,
    /// The change of a layer's stored state.
    pub change: StateChange,
}

/// Builds the device of `target`. `state` goes to the layer that stores a state, if there is one.
pub(crate) fn build<E: From<OpenError>>(
    target: &Target,
    options: &OpenOptions,
    state: StateOptions,
    accept: Accept<'_, E>,
) -> Result<Built, E> {
    let (layer, inner, bytes) = match &target.resolved {
        Resolved::Simulated(drive) => return Ok(simulated(drive, options)?),
        Resolved::Real(device) => return Ok(real(device, options)?),
        Resolved::Layered { layer, inner, bytes } => (layer, inner, bytes),
    };
    // An existing file stays locked from its check on; a new one is made last, which refuses one that is there by then.
    let existing = layer.file().map(|path| bytes_file(path, options)).transpose()?.flatten();
    let accept_below = |below: &DeviceInfo| accept(&layer.planned(below).map_err(OpenError::Layer)?);
    let state_below =
        StateOptions { units_are_parts: state.units_are_parts || layer.divides_units(), ..state };
    let built = build(inner, options, state_below, &accept_below)?;
    let Some(path) = layer.file() else { return put_over(layer, built, target, options, state, accept) };
    let file = match existing {
        Some(file) => file,
        None => {
            let (file, created) = create_empty(path).map_err(|error| match error {
                CreateError::Exists { path } => OpenError::BytesFileExists { path },
                error => OpenError::Create(error),
            })?;
            bytes.note(created);
            file
        }
    };
    let finished = put_over(&layer.emptying(file), built, target, options, state, accept);
    finished.inspect_err(|_| bytes.remove(path))
}

/// Puts a layer over a device: the last step of [`build`] for `target`.
fn put_over<E: From<OpenError>>(
    layer: &Layer,
    Built { stack, doubts, change }: Built,
    target: &Target,
    options: &OpenOptions,
    state: StateOptions,
    accept: Accept<'_, E>,
) -> Result<Built, E> {
    // A new file has no state to lose.
    let is_new = options.consent == Consent::NewFile;
    let format = state.format.or(is_new.then_some(Format::Always));
    let prepared = layer.prepare(stack, StateOptions { format, ..state }).map_err(OpenError::Layer)?;
    if let Some(info) = prepared.change().info() {
        accept(info)?;
    }
    let (mut seed, change) = match prepared.change() {
        // On a real device the state outlives the run, so its id must be unique.
        StateChange::New(_) if !target.is_simulated() => {
            (flashlane_host::fresh_seed().map_err(OpenError::Random)?, prepared.change().clone())
        }
        StateChange::None => (options.seed, change),
        written => (options.seed, written.clone()),
    };
    seed = seed.derive_nth("layer", layers(target.spec()) - 1);
    Ok(Built { stack: prepared.finish(seed).map_err(OpenError::Layer)?, doubts, change })
}

/// Opens the file at `path` to become the data of a simulated device; `None` where nothing is there.
///
/// # Errors
/// Those of a file whose loss is not allowed, and of a path at which none can be made.
fn bytes_file(path: &Path, options: &OpenOptions) -> Result<Option<File>, OpenError> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return check_new_file(path).map(|()| None).map_err(OpenError::Create);
        }
        Err(error) => return Err(OpenError::BytesFile { path: path.into(), error }),
        Ok(metadata) if !metadata.is_file() => {
            return Err(OpenError::BytesFileIsNone { path: path.into() });
        }
        Ok(_) if !options.consent.allows(Change::Destroy) => {
            return Err(OpenError::BytesFileExists { path: path.into() });
        }
        Ok(_) => {}
    }
    let host = flashlane_host::OpenOptions {
        consent: options.consent.clone(),
        page_cache: PageCache::Use,
        ..flashlane_host::OpenOptions::read_write(path)
    };
    host.open_file().map(Some).map_err(|error| OpenError::Real { path: path.into(), error })
}

/// Returns the number of layers in `spec`.
fn layers(spec: &Spec) -> u64 {
    match spec {
        Spec::Layer { inner, .. } => 1 + layers(inner),
        _ => 0,
    }
}

fn simulated(drive: &Simulated, options: &OpenOptions) -> Result<Built, OpenError> {
    let Simulated { config, lane, name } = drive;
    // Preparing a large drive takes long, so an interrupt stops it.
    let mut watch = || match !options.after_interrupt && flashlane_host::interrupted() {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let whole = flashlane_sim::device_watched(config, options.seed, name.clone(), &mut watch)?;
    let stack = match *lane {
        None => Stack::Timing(whole),
        Some(lane) => {
            let one = OneLane::new(whole, Lane(lane)).expect("resolving checks that the lane exists");
            Stack::Timing(Box::new(one))
        }
    };
    Ok(Built { stack, doubts: Doubts::default(), change: StateChange::None })
}

/// How often a device is opened whose blocks differ each time.
const LOOKS_MAX: u32 = 10;

/// Opens a device of which `own` is known, until it holds that once it is open. `open` also returns what it holds then.
/// Returns `None` where that differs each time.
fn settled<T>(
    mut own: OwnData,
    mut open: impl FnMut(&OwnData) -> Result<(T, OwnData), OpenError>,
) -> Result<Option<T>, OpenError> {
    for _ in 0..LOOKS_MAX {
        let (opened, held) = open(&own)?;
        if held == own {
            return Ok(Some(opened));
        }
        // Nothing is lost by looking again, but for a name that leads elsewhere each time it would not end.
        own = held;
    }
    Ok(None)
}

/// Returns whether a real device that is not in use would still be refused with this consent, because of signatures on
/// it: its path is to be repeated then. Only reads.
pub fn has_signatures(target: &Target, consent: &Consent) -> bool {
    let Some(device) = target.real() else { return false };
    let own_data = match consent {
        Consent::KeepBlocks => OwnData::Preserved(block_ranges(device)),
        Consent::Destroy => own_data(device, None),
        Consent::ReadOnly | Consent::NewFile | Consent::DestroyUsed(_) => return false,
    };
    let host = flashlane_host::OpenOptions {
        consent: consent.clone(),
        own_data,
        ..flashlane_host::OpenOptions::read_only(device.path())
    };
    let findings = host.findings().unwrap_or_default();
    let is_signature = |finding: &Finding| matches!(finding, Finding::Signature(_));
    !findings.is_empty() && findings.iter().all(is_signature)
}

fn real(device: &Real, options: &OpenOptions) -> Result<Built, OpenError> {
    let consent = options.consent_to_access();
    let looks_for_blocks = consent == Consent::Destroy;
    let own = match &consent {
        Consent::KeepBlocks => OwnData::Preserved(Vec::new()),
        Consent::Destroy => own_data(device, None),
        Consent::ReadOnly | Consent::NewFile | Consent::DestroyUsed(_) => OwnData::Unknown,
    };
    let opened = settled(own, |own| {
        let (opened, path) = open_real(device, options, own.clone())?;
        // Another Flashlane may have stored blocks before this one held the device, and another device may have its
        // path.
        let held = if looks_for_blocks { own_data(device, Some(path)) } else { own.clone() };
        Ok((opened, held))
    })?;
    opened.ok_or_else(|| OpenError::Changing { path: device.path().into(), looks: LOOKS_MAX })
}

/// Opens a real device, on which the caller knows of `own_data`. Also returns the path to the open device.
fn open_real(device: &Real, options: &OpenOptions, own_data: OwnData) -> Result<(Built, PathBuf), OpenError> {
    let path = device.path();
    let host = flashlane_host::OpenOptions {
        consent: options.consent_to_access(),
        created: device.created(),
        own_data,
        depth: options.depth,
        page_cache: options.page_cache,
        ..flashlane_host::OpenOptions::read_only(path)
    };
    let refused = |error| OpenError::Real { path: path.into(), error };
    let (stack, doubts, held) = match device.zoned {
        None => {
            // A block can contain a foreign signature, so look for blocks only if the host refused.
            let again = |error| match error {
                flashlane_host::OpenError::Refused { .. } if host.consent == Consent::KeepBlocks => {
                    let own_data = OwnData::Preserved(block_ranges(device));
                    flashlane_host::OpenOptions { own_data, ..host.clone() }.open()
                }
                error => Err(error),
            };
            let device = host.open().or_else(again).map_err(refused)?;
            let (doubts, held) = (device.doubts().clone(), device.held_path());
            (Stack::Data(Box::new(device)), doubts, held)
        }
        Some(zoned) => {
            let mut zones = ZonedOptions::new(host);
            (zones.lanes, zones.write_unit_bytes) = (zoned.lanes, zoned.write_unit_bytes);
            let device = zones.open().map_err(|error| match error {
                ZonedError::Open(error) => refused(error),
                error => OpenError::Zoned(error),
            })?;
            let (doubts, held) = (device.doubts().clone(), device.held_path());
            (Stack::Data(Box::new(device)), doubts, held)
        }
    };
    Ok((Built { stack, doubts, change: StateChange::None }, held))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_that_changes_is_opened_ten_times() {
        let blocks = |nth: u32| OwnData::Found(format!("Flashlane lanes with {nth} blocks"));
        for (changes, expected) in [(0, Some(1)), (3, Some(4)), (9, Some(10)), (10, None)] {
            let mut looks = 0;
            let opened = settled(blocks(0), |own| {
                assert_eq!(own, &blocks(looks.min(changes)), "what was found last is known");
                looks += 1;
                Ok((looks, blocks(looks.min(changes))))
            });
            assert_eq!((opened.unwrap(), looks), (expected, expected.unwrap_or(10)), "{changes} changes");
        }
    }
}
