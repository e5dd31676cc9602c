//! The device of a spec, from the inside out.

use crate::{OpenError, OpenOptions, config_named, real_path};
use flashlane_base::units::parse_bytes;
use flashlane_device::spec::Spec;
use flashlane_device::{Lane, OneLane, Profile, SubmitError};
use flashlane_host::{Access, Warning, ZonedError, ZonedOptions};
use flashlane_layer::{Stack, lanes};
use std::ops::ControlFlow;
use std::path::Path;

pub fn stack<E: From<OpenError>>(
    spec: &Spec,
    options: &OpenOptions,
    accept: &dyn Fn(&Profile) -> Result<(), E>,
    warnings: &mut Vec<Warning>,
) -> Result<Stack, E> {
    match spec {
        Spec::Path(path) => Ok(real(path, options, warnings)?),
        Spec::Simulated { profile, overrides, lane } => Ok(simulated(profile, overrides, *lane, options)?),
        Spec::Layer { name, inner, options: settings } if name == "zoned" => {
            Ok(zoned(inner, settings, options, warnings)?)
        }
        Spec::Layer { name, inner, options: settings } => {
            let below = layers(inner);
            let inner = stack(inner, options, accept, warnings)?;
            let mut settings = settings.clone();
            // There is nothing on a new file that dividing it could lose.
            if name == "lanes" && options.is_new && !settings.iter().any(|(key, _)| key == "format") {
                settings.push(("format".into(), "yes".into()));
            }
            let mut seed = options.seed;
            if name == "lanes"
                && let Some(lanes) = lanes::planned(&settings, &inner).map_err(OpenError::Layer)?
            {
                accept(&lanes)?;
                // On a real device the lanes outlast the run: no two divisions may have the same id.
                if real_path(spec).is_some() {
                    seed = flashlane_host::fresh_seed().map_err(OpenError::Random)?;
                }
            }
            let layer = flashlane_layer::build(name, &settings, inner, seed.derive_nth("layer", below));
            Ok(layer.map_err(OpenError::Layer)?)
        }
    }
}

/// How many layers there are in `spec`.
fn layers(spec: &Spec) -> u64 {
    match spec {
        Spec::Layer { inner, .. } => 1 + layers(inner),
        _ => 0,
    }
}

fn simulated(
    profile: &str,
    overrides: &[(String, String)],
    lane: Option<u32>,
    options: &OpenOptions,
) -> Result<Stack, OpenError> {
    let named = |lane| Spec::Simulated { profile: profile.into(), overrides: overrides.into(), lane };
    let config = config_named(profile, overrides, &options.policies)?;
    // Preparing a large drive takes long: where the program catches Ctrl-C, it stops here too.
    let mut watch = || match flashlane_host::interrupted() {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let drive = flashlane_sim::device_watched(&config, options.seed, named(None).to_string(), &mut watch)?;
    let Some(lane) = lane else { return Ok(Stack::Timing(drive)) };
    let one = OneLane::new(drive, Lane(lane)).map_err(|error| {
        let spec = named(Some(lane)).to_string();
        match error {
            SubmitError::NoSuchLane { lanes: 1, .. } => OpenError::ConventionalLane { spec, lane },
            error => OpenError::Lane { spec, error },
        }
    })?;
    Ok(Stack::Timing(Box::new(one)))
}

fn host_options(path: &Path, options: &OpenOptions) -> flashlane_host::OpenOptions {
    flashlane_host::OpenOptions {
        access: if options.destroy_data { Access::Destroy } else { Access::ReadOnly },
        really: options.really.clone(),
        depth: options.depth,
        allow_page_cache: options.allow_page_cache,
        ..flashlane_host::OpenOptions::read_only(path)
    }
}

fn real(path: &Path, options: &OpenOptions, warnings: &mut Vec<Warning>) -> Result<Stack, OpenError> {
    let opened = host_options(path, options).open();
    let device = opened.map_err(|error| OpenError::Real { path: path.into(), error })?;
    warnings.extend_from_slice(device.warnings());
    Ok(Stack::Data(Box::new(device)))
}

/// `zoned(PATH,…)` is written like a layer and is a real drive.
fn zoned(
    inner: &Spec,
    settings: &[(String, String)],
    options: &OpenOptions,
    warnings: &mut Vec<Warning>,
) -> Result<Stack, OpenError> {
    let Spec::Path(path) = inner else { return Err(OpenError::ZonedOver { inner: inner.to_string() }) };
    let mut zoned = ZonedOptions::new(host_options(path, options));
    for (key, given) in settings {
        let refused =
            |reason: String| OpenError::ZonedSetting { key: key.clone(), given: given.clone(), reason };
        let twice = match key.as_str() {
            "lanes" => {
                let lanes = given.parse().map_err(|_| refused("a count is expected".into()))?;
                zoned.lanes.replace(lanes).is_some()
            }
            "write-unit" => {
                let bytes = parse_bytes(given).map_err(|error| refused(error.to_string()))?;
                zoned.write_unit_bytes.replace(bytes).is_some()
            }
            _ => return Err(refused("it knows lanes and write-unit".into())),
        };
        if twice {
            return Err(refused("it is given twice".into()));
        }
    }
    let device = zoned.open().map_err(|error| match error {
        ZonedError::Open(error) => OpenError::Real { path: path.into(), error },
        error => OpenError::Zoned(error),
    })?;
    warnings.extend_from_slice(device.warnings());
    Ok(Stack::Data(Box::new(device)))
}
