//! From a device's spec to the device: simulated drives, real ones, and layers over either.

use crate::arguments::SafetyOptions;
use crate::failure::Failure;
use crate::input::{SETTINGS_BYTES, read_text};
use crate::near::nearest;
use anyhow::anyhow;
use flashlane_base::Seed;
use flashlane_base::units::parse_bytes;
use flashlane_device::spec::Spec;
use flashlane_device::{DataDevice, Device, Interleaved, Lane, OneLane, Profile, SubmitError};
use flashlane_host::{Access, DEPTH_DEFAULT, DEPTH_MAX, OpenError, OpenOptions, ZonedError, ZonedOptions};
use flashlane_layer::{Backed, Stack, lanes};
use flashlane_measure::schema::Warning;
use flashlane_sim::ConfigError;
use flashlane_sim::config::{self, DriveConfig};
use std::path::Path;

/// How a device is to be opened.
pub struct Opening<'a> {
    pub safety: &'a SafetyOptions,
    /// Whether it will be written to.
    pub writes: bool,
    /// Requests that will be in flight.
    pub depth: u64,
    pub seed: Seed,
}

/// A device that is ready, and what is to be said of it.
pub struct Opened {
    pub device: Box<dyn Device>,
    /// Doubts about what will be measured on it.
    pub warnings: Vec<Warning>,
}

/// The path of the real device in a spec, if there is one.
pub fn real_path(spec: &Spec) -> Option<&Path> {
    match spec {
        Spec::Path(path) => Some(path),
        Spec::Simulated { .. } => None,
        Spec::Layer { inner, .. } => real_path(inner),
    }
}

/// The profile of the simulated drive in a spec, read and checked; none where the device is real.
pub fn profile_of(spec: &Spec) -> Result<Option<DriveConfig>, Failure> {
    match spec {
        Spec::Path(_) => Ok(None),
        Spec::Simulated { profile, overrides, .. } => profile_named(profile, overrides).map(Some),
        Spec::Layer { inner, .. } => profile_of(inner),
    }
}

/// Opens the device that `spec` names, its lanes as one run of addresses where it has several.
pub fn open(spec: &Spec, opening: &Opening<'_>) -> Result<Opened, Failure> {
    let mut warnings = Vec::new();
    let device = stack(spec, opening, &|_| Ok(()), &mut warnings)?.into_device();
    let device = if device.profile().lanes > 1 { Box::new(Interleaved::new(device)) } else { device };
    Ok(Opened { device, warnings })
}

/// The same for `what`, which writes and reads anywhere: devices with erase units are refused.
pub fn open_rewritable(spec: &Spec, opening: &Opening<'_>, what: &str) -> Result<Opened, Failure> {
    let refused = || {
        Failure::unusable(anyhow!(
            "{what} writes and reads anywhere, and '{spec}' has erase units, which are written in order and erased as a \
             whole: 'flashlane sdf bench' measures it"
        ))
    };
    // Before it is opened, which may divide it anew.
    if is_divided(spec) {
        return Err(refused());
    }
    let opened = open(spec, opening)?;
    if opened.device.profile().erase_unit_bytes > 0 { Err(refused()) } else { Ok(opened) }
}

/// Whether a layer in it gives a device erase units.
fn is_divided(spec: &Spec) -> bool {
    let Spec::Layer { name, inner, .. } = spec else { return false };
    name == "lanes" || name == "zoned" || is_divided(inner)
}

/// A device that keeps bytes.
pub struct OpenedBytes {
    pub device: Box<dyn DataDevice>,
    /// Doubts about what will be measured on it.
    pub warnings: Vec<Warning>,
}

/// Asked of what a device will be, before it is divided into lanes and all that is on it is lost: nothing was written
/// where the answer is a refusal.
pub type Accept<'a> = dyn Fn(&Profile) -> Result<(), Failure> + 'a;

/// Opens the device that `spec` names, with its lanes as they are, for somebody who wants bytes back: those of a simulated
/// device are kept in memory. Lanes that are made anew are made if `accept` has nothing against them.
pub fn open_bytes(spec: &Spec, opening: &Opening<'_>, accept: &Accept<'_>) -> Result<OpenedBytes, Failure> {
    let mut warnings = Vec::new();
    let device = match stack(spec, opening, accept, &mut warnings)? {
        Stack::Data(device) => device,
        Stack::Timing(device) => Box::new(Backed::new(device)),
    };
    Ok(OpenedBytes { device, warnings })
}

fn stack(
    spec: &Spec,
    opening: &Opening<'_>,
    accept: &Accept<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<Stack, Failure> {
    match spec {
        Spec::Path(path) => real(path, opening, warnings),
        Spec::Simulated { profile, overrides, lane } => {
            let config = profile_named(profile, overrides)?;
            let whole =
                Spec::Simulated { profile: profile.clone(), overrides: overrides.clone(), lane: None };
            let drive = flashlane_sim::device(&config, opening.seed, whole.to_string());
            let Some(lane) = *lane else { return Ok(Stack::Timing(drive)) };
            let one = OneLane::new(drive, Lane(lane)).map_err(|error| match error {
                SubmitError::NoSuchLane { lanes: 1, .. } => {
                    anyhow!("device '{spec}' has no lane {lane}: a conventional drive has lane 0 only")
                }
                _ => anyhow!("device '{spec}' cannot be: {error}"),
            });
            Ok(Stack::Timing(Box::new(one.map_err(Failure::unusable)?)))
        }
        Spec::Layer { name, inner, options } if name == "zoned" => zoned(inner, options, opening, warnings),
        Spec::Layer { name, inner, options } => {
            let inner = stack(inner, opening, accept, warnings)?;
            let mut options = options.clone();
            // The file was made a moment ago: there is nothing on it that dividing it could lose.
            let new = name == "lanes" && opening.safety.create.is_some();
            if new && !options.iter().any(|(key, _)| key == "format") {
                options.push(("format".into(), "yes".into()));
            }
            let mut seed = opening.seed;
            if name == "lanes"
                && let Some(lanes) = lanes::planned(&options, &inner).map_err(Failure::unusable)?
            {
                accept(&lanes)?;
                // On a real device the lanes outlast the run: no two divisions may have one id.
                if real_path(spec).is_some() {
                    seed = flashlane_host::fresh_seed().map_err(Failure::failed)?;
                }
            }
            flashlane_layer::build(name, &options, inner, seed.derive("layer")).map_err(Failure::unusable)
        }
    }
}

/// The profile that stands behind `sim:`: one of ours by its name, or a file that ends in `.toml`.
pub fn profile_named(name: &str, overrides: &[(String, String)]) -> Result<DriveConfig, Failure> {
    if name.ends_with(".toml") {
        return config::parse(name, &profile_file(name)?, overrides).map_err(Failure::unusable);
    }
    config::load(name, overrides).map_err(|error| no_such_profile(name, error))
}

/// The text of a profile file.
pub fn profile_file(path: &str) -> Result<String, Failure> {
    read_text(path.as_ref(), SETTINGS_BYTES)
        .map_err(|error| Failure::unusable(anyhow!("cannot read the profile file '{path}': {error}")))
}

fn no_such_profile(name: &str, error: ConfigError) -> Failure {
    if config::names().contains(&name) {
        return Failure::unusable(error);
    }
    let file = format!("{name}.toml");
    let hint = match nearest(name, config::names()) {
        _ if Path::new(&file).exists() => format!("; did you mean the file '{file}'?"),
        Some(near) => format!("; did you mean '{near}'?"),
        None => String::new(),
    };
    Failure::unusable(anyhow!("{error}{hint}"))
}

/// How a path is opened.
fn options_of(path: &Path, opening: &Opening<'_>) -> OpenOptions {
    OpenOptions {
        access: if opening.writes { Access::Destroy } else { Access::ReadOnly },
        really: opening.safety.really.clone(),
        depth: opening.depth.clamp(u64::from(DEPTH_DEFAULT), u64::from(DEPTH_MAX)) as u32,
        allow_page_cache: opening.safety.allow_page_cache,
        ..OpenOptions::read_only(path)
    }
}

fn doubts(warnings: &[flashlane_host::Warning]) -> impl Iterator<Item = Warning> {
    warnings.iter().map(|w| Warning { code: w.code().into(), message: w.to_string() })
}

fn real(path: &Path, opening: &Opening<'_>, warnings: &mut Vec<Warning>) -> Result<Stack, Failure> {
    let device = options_of(path, opening).open().map_err(|error| not_opened(path, error))?;
    warnings.extend(doubts(device.warnings()));
    Ok(Stack::Data(Box::new(device)))
}

/// `zoned(PATH,…)`: it looks like a layer, and is a real drive.
fn zoned(
    inner: &Spec,
    settings: &[(String, String)],
    opening: &Opening<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<Stack, Failure> {
    let Spec::Path(path) = inner else {
        return Err(Failure::unusable(anyhow!(
            "'zoned' is for the path of a zoned block device, not '{inner}'"
        )));
    };
    let mut options = ZonedOptions::new(options_of(path, opening));
    for (key, given) in settings {
        let refused =
            |reason: String| Failure::unusable(anyhow!("'zoned' cannot take '{key}={given}': {reason}"));
        let twice = match key.as_str() {
            "lanes" => {
                let lanes = given.parse().map_err(|_| refused("a count is expected".into()))?;
                options.lanes.replace(lanes).is_some()
            }
            "write-unit" => {
                let bytes = parse_bytes(given).map_err(|error| refused(error.to_string()))?;
                options.write_unit_bytes.replace(bytes).is_some()
            }
            _ => return Err(refused("it knows lanes and write-unit".into())),
        };
        if twice {
            return Err(refused("it is given twice".into()));
        }
    }
    let device = options.open().map_err(|error| match error {
        ZonedError::Open(error) => not_opened(path, error),
        error => Failure::unusable(error),
    })?;
    warnings.extend(doubts(device.warnings()));
    Ok(Stack::Data(Box::new(device)))
}

fn not_opened(path: &Path, error: OpenError) -> Failure {
    match error {
        OpenError::NotFound { .. } => Failure::unusable(anyhow!("{error}{}", instead_of(path))),
        OpenError::NoDirectIo { .. } => {
            Failure::unusable(anyhow!("{error}; --allow-page-cache measures it all the same"))
        }
        OpenError::Locked { .. } | OpenError::Replaced { .. } | OpenError::Os { .. } => {
            Failure::failed(error)
        }
        _ => Failure::unusable(error),
    }
}

/// What may have been meant by a path that is not there.
pub fn instead_of(path: &Path) -> String {
    let given = path.to_string_lossy();
    if given.starts_with("/dev/") {
        return String::new();
    }
    if given.contains('/') {
        return "; --create SIZE makes it, a new file to measure on".into();
    }
    // `ssd-s,channels=4`, too, was meant to be simulated.
    let (name, settings) =
        given.split_once(',').map_or((&*given, ""), |(name, _)| (name, &given[name.len()..]));
    match nearest(name, config::names()) {
        Some(near) => format!("; the simulated drive is called 'sim:{near}{settings}'"),
        None => "; simulated drives are written 'sim:NAME', and 'flashlane profile list' names them".into(),
    }
}
