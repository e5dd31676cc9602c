//! Devices as the command line opens them: its options, its hints, and the exit status of what is refused.

use crate::failure::Failure;
use crate::near::nearest;
use crate::options::SafetyOptions;
use anyhow::anyhow;
use flashlane_base::Seed;
use flashlane_device::spec::Spec;
use flashlane_device::{DataDevice, Device, Profile};
use flashlane_host::{CreateError, DEPTH_DEFAULT, DEPTH_MAX};
use flashlane_layer::LayerError;
use flashlane_measure::check;
use flashlane_measure::schema::Warning;
use flashlane_open::{Division, OpenError, OpenOptions, Opened as OpenedDevice};
use flashlane_policy::Policies;
use flashlane_sim::config::{self, DriveConfig, InitialState, PROFILES, field_names};
use flashlane_sim::{ConfigError, MakeError};
use flashlane_workload::Workload;
use std::path::Path;

pub use flashlane_open::real_path;

/// How a device is to be opened.
pub struct Opening<'a> {
    pub safety: &'a SafetyOptions,
    /// Whether it will be written to.
    pub writes: bool,
    /// Requests that will be in flight.
    pub depth: u64,
    pub seed: Seed,
}

impl Opening<'_> {
    fn options(&self) -> OpenOptions {
        let depth = self.depth.clamp(u64::from(DEPTH_DEFAULT), u64::from(DEPTH_MAX)) as u32;
        let options = OpenOptions::new()
            .destroy_data(self.writes)
            .allow_page_cache(self.safety.allow_page_cache)
            .newly_made(self.safety.create.is_some())
            .depth(depth)
            .seed(self.seed);
        match &self.safety.really {
            Some(path) => options.really(path),
            None => options,
        }
    }
}

/// A device that is ready, and what is to be said of it.
pub struct Opened {
    pub device: Box<dyn Device>,
    /// Doubts about what will be measured on it.
    pub warnings: Vec<Warning>,
}

/// The profile of the simulated drive in a spec, read and checked; none where the device is real.
pub fn profile_of(spec: &Spec) -> Result<Option<DriveConfig>, Failure> {
    Ok(flashlane_open::config_of(spec, &Policies::default())?)
}

/// Opens the device that `spec` names, its lanes as one run of addresses where it has several.
pub fn open(spec: &Spec, opening: &Opening<'_>) -> Result<Opened, Failure> {
    let OpenedDevice { device, warnings } = opening.options().open(spec)?;
    Ok(Opened { device, warnings: doubts(&warnings) })
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

/// Refuses a workload that does not fit the device, before anything is prepared for it: a simulated drive takes minutes
/// to fill, and the file of `--create` to write.
pub fn check_workloads(spec: &Spec, safety: &SafetyOptions, workloads: &[Workload]) -> Result<(), Failure> {
    let Some(profile) = profile_unprepared(spec, safety)? else { return Ok(()) };
    let profile = Profile { name: spec.to_string(), ..profile };
    // Whether bytes are kept is refused by the device's name, where it is opened.
    workloads.iter().try_for_each(|workload| check(workload, &profile, true).map_err(Failure::unusable))
}

/// What a device will be that takes long to prepare; none of one that does not, which is asked when it is open.
fn profile_unprepared(spec: &Spec, safety: &SafetyOptions) -> Result<Option<Profile>, Failure> {
    match profile_of(spec)? {
        Some(config) if config.initial.state == InitialState::Fresh => Ok(None),
        Some(_) => {
            let opening = Opening { safety, writes: false, depth: 1, seed: Seed(0) };
            let fresh = with_fresh_state(spec);
            // Where it cannot be opened like that, the drive itself says why.
            Ok(open(&fresh, &opening).ok().map(|opened| opened.device.profile().clone()))
        }
        None => Ok(match (spec, safety.create) {
            (Spec::Path(_), Some(length_bytes)) => Some(file_profile(length_bytes)),
            _ => None,
        }),
    }
}

/// What the file of `--create` will be, whose units are at least a sector.
fn file_profile(length_bytes: u64) -> Profile {
    Profile {
        name: String::new(),
        capacity_bytes: length_bytes,
        lanes: 1,
        read_unit_bytes: 512,
        write_unit_bytes: 512,
        erase_unit_bytes: 0,
        depth: DEPTH_MAX,
        simulated: false,
        read_only: false,
        over_provisioning: None,
        begins_written: false,
    }
}

/// The same simulated drive with nothing written to it.
fn with_fresh_state(spec: &Spec) -> Spec {
    match spec {
        Spec::Simulated { profile, overrides, lane } => {
            let is_state = |key: &str| key == "state" || key == "initial.state";
            let mut overrides: Vec<_> = overrides.iter().filter(|(key, _)| !is_state(key)).cloned().collect();
            overrides.push(("initial.state".into(), "fresh".into()));
            Spec::Simulated { profile: profile.clone(), overrides, lane: *lane }
        }
        Spec::Layer { name, inner, options } => Spec::Layer {
            name: name.clone(),
            inner: Box::new(with_fresh_state(inner)),
            options: options.clone(),
        },
        Spec::Path(_) => spec.clone(),
    }
}

/// A device that keeps bytes.
pub struct OpenedBytes {
    pub device: Box<dyn DataDevice>,
    /// Doubts about what will be measured on it.
    pub warnings: Vec<Warning>,
}

/// The size of a device, where it can be known without dividing it into lanes; that of a real one by opening it for
/// reading.
pub fn capacity_of(spec: &Spec, safety: &SafetyOptions) -> Result<Option<u64>, Failure> {
    if is_divided(spec) {
        return Ok(None);
    }
    if let Some(config) = profile_of(spec)? {
        return Ok(Some(config.capacity.0));
    }
    if safety.create.is_some() {
        return Ok(safety.create);
    }
    let opening = Opening { safety, writes: false, depth: 1, seed: Seed(0) };
    Ok(Some(open(spec, &opening)?.device.profile().capacity_bytes))
}

/// Opens the device that `spec` names for a workload that verifies: only where it keeps bytes, since those of a simulated
/// drive are kept in memory where that is asked for by name.
pub fn open_verifiable(spec: &Spec, opening: &Opening<'_>) -> Result<OpenedBytes, Failure> {
    let refused = |allowed: &str| {
        Failure::unusable(anyhow!("the workload does not fit device '{spec}': verify is true: {allowed}"))
    };
    // Before it is opened, which may divide it anew.
    if is_divided(spec) {
        return Err(refused("the device has erase units; 'flashlane sdf bench' is for these"));
    }
    if !keeps_bytes(spec) {
        let backed =
            Spec::Layer { name: "backed".into(), inner: Box::new(spec.clone()), options: Vec::new() };
        let allowed = format!("the device models time and keeps no bytes; '{backed}' keeps them in memory");
        return Err(refused(&allowed));
    }
    let opened = open_bytes(spec, opening, &|_| Ok(()))?;
    if opened.device.profile().erase_unit_bytes > 0 {
        return Err(refused("the device has erase units; 'flashlane sdf bench' is for these"));
    }
    Ok(opened)
}

/// Whether what is written to a device can be read back.
fn keeps_bytes(spec: &Spec) -> bool {
    match spec {
        Spec::Path(_) => true,
        Spec::Simulated { .. } => false,
        Spec::Layer { name, inner, .. } => name == "backed" || keeps_bytes(inner),
    }
}

/// Asked of what a device will be, before it is divided into lanes and all that is on it is lost: nothing was written
/// where the answer is a refusal.
pub type Accept<'a> = dyn Fn(&Profile) -> Result<(), Failure> + 'a;

/// Opens the device that `spec` names, with its lanes as they are, for somebody who wants bytes back: those of a simulated
/// device are kept in memory. Lanes that are made anew are made if `accept` has nothing against them.
pub fn open_bytes(spec: &Spec, opening: &Opening<'_>, accept: &Accept<'_>) -> Result<OpenedBytes, Failure> {
    let OpenedDevice { device, warnings } = opening.options().open_data_if(spec, accept)?;
    Ok(OpenedBytes { device, warnings: doubts(&warnings) })
}

/// Opens a device that is to be formatted: one that is divided into lanes keeps its division unless `spec` gives a shape.
pub fn open_to_format(
    spec: &Spec,
    opening: &Opening<'_>,
    accept: &Accept<'_>,
) -> Result<(OpenedBytes, Division), Failure> {
    let (OpenedDevice { device, warnings }, division) = opening.options().open_to_format(spec, accept)?;
    Ok((OpenedBytes { device, warnings: doubts(&warnings) }, division))
}

/// The profile that stands behind `sim:`: one of ours by its name, or a file that ends in `.toml`.
pub fn profile_named(name: &str, overrides: &[(String, String)]) -> Result<DriveConfig, Failure> {
    Ok(flashlane_open::config_named(name, overrides, &Policies::default())?)
}

/// The text of a profile file.
pub fn profile_file(path: &str) -> Result<String, Failure> {
    Ok(flashlane_open::profile_text(path)?)
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Profile { profile, error } => no_such_profile(&profile, error),
            OpenError::Real { path, error } => not_opened(&path, error),
            OpenError::Create(error @ CreateError::Exists { .. }) => {
                Self::unusable(anyhow!("{error}; leave --create away to use it as it is"))
            }
            OpenError::CreateSimulated { spec } => {
                Self::unusable(anyhow!("--create makes a file, but there is no path in '{spec}'"))
            }
            OpenError::Make(error @ MakeError::Stopped) => {
                Self::failed(anyhow!("{error}; nothing was measured"))
            }
            OpenError::Layer(error @ LayerError::NoSuchOption { .. }) => {
                let hint = below_the_layer(&error);
                Self::unusable(anyhow!("{error}{hint}"))
            }
            OpenError::Create(CreateError::Stopped { .. } | CreateError::Os { .. })
            | OpenError::Random(_) => Self::failed(error),
            _ => Self::unusable(error),
        }
    }
}

/// How a setting of a simulated drive is written that was given to the layer over it.
fn below_the_layer(error: &LayerError) -> String {
    let LayerError::NoSuchOption { layer, given, .. } = error else { return String::new() };
    let is_field = |name: &String| name == given || name.rsplit('.').next() == Some(given);
    if !PROFILES.iter().flat_map(|profile| field_names(profile.text)).any(|name| is_field(&name)) {
        return String::new();
    }
    format!(
        "; '{given}' is a setting of the drive below it, which stands in parentheses of its own: \
         '{layer}((sim:NAME,{given}=…))'"
    )
}

fn no_such_profile(name: &str, error: ConfigError) -> Failure {
    if name.ends_with(".toml") || config::names().contains(&name) {
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

fn doubts(warnings: &[flashlane_host::Warning]) -> Vec<Warning> {
    warnings.iter().map(|w| Warning { code: w.code().into(), message: w.to_string() }).collect()
}

fn not_opened(path: &Path, error: flashlane_host::OpenError) -> Failure {
    use flashlane_host::OpenError;
    match error {
        OpenError::NotFound { .. } => Failure::unusable(anyhow!("{error}{}", instead_of(path))),
        OpenError::NoDirectIo { .. } => {
            Failure::unusable(anyhow!("{error}; --allow-page-cache measures it all the same"))
        }
        OpenError::Os { ref source, .. } => {
            let cause = cause_of(source);
            Failure::failed(anyhow!("{error}{cause}"))
        }
        OpenError::Locked { .. } | OpenError::Replaced { .. } => Failure::failed(error),
        _ => Failure::unusable(error),
    }
}

/// What stands behind the operating system's refusal to open a device.
fn cause_of(source: &std::io::Error) -> &'static str {
    match source.raw_os_error() {
        // EPERM: the file's own permissions would be EACCES.
        Some(1) => {
            "; the file's permissions allow it, but a control group or container that limits devices, or a security \
             module, forbids it to this process: run it outside, or have the device added there"
        }
        Some(13) => {
            "; the file's permissions do not allow it: run as its owner, a member of its group, or root"
        }
        _ => "",
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
