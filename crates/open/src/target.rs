//! A resolved spec: the device that it names, and its properties before it is opened.
//!
//! A spec is resolved once, and every later check asks the [`Target`]: whether it is simulated, stores data or has
//! erase units, and its path and configuration. Resolving reads profile files but opens no device.

use crate::error::OpenError;
use crate::profile::{config_named, is_profile_file};
use crate::zoned::ZonedSettings;
use flashlane_device::spec::{Spec, SpecError};
use flashlane_device::{DeviceInfo, Lane, SubmitError};
use flashlane_host::{Created, DEPTH_DEFAULT, is_same_file};
use flashlane_layer::{Capabilities, Layer, LayerError, StateSettings};
use flashlane_policy::Policies;
use flashlane_result::Machine;
use flashlane_sim::config::DriveConfig;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A device that is named but not open.
#[derive(Clone, Debug)]
pub struct Target {
    spec: Spec,
    pub(crate) resolved: Resolved,
}

/// The device that a spec names.
#[derive(Clone, Debug)]
pub(crate) enum Resolved {
    /// A simulated drive.
    Simulated(Simulated),
    /// A file, a block device or a zoned drive.
    Real(Box<Real>),
    /// A layer over another target.
    Layered { layer: Layer, inner: Box<Target>, bytes: CreatedFile },
}

/// A simulated drive, with its configuration.
#[derive(Clone, Debug)]
pub(crate) struct Simulated {
    pub(crate) config: Box<DriveConfig>,
    /// The lane to open, where the spec names one.
    pub(crate) lane: Option<u32>,
    /// The drive's name, without the lane.
    pub(crate) name: String,
}

/// The file that was made for a target, if one was. All clones of the target know it.
#[derive(Clone, Debug, Default)]
pub(crate) struct CreatedFile(Arc<Mutex<Option<Created>>>);

impl CreatedFile {
    pub(crate) fn get(&self) -> Option<Created> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, created: Created) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(created);
    }

    /// Removes the file, unless another one has its path by now.
    pub(crate) fn remove(&self, path: &Path) {
        if let Some(created) = self.get() {
            // The caller has an error to report.
            let _ = created.remove(path);
        }
    }
}

/// A real device: its path, and what the kernel reports about it.
#[derive(Clone, Debug)]
pub struct Real {
    path: PathBuf,
    pub(crate) zoned: Option<ZonedSettings>,
    identity: OnceLock<Machine>,
    created: CreatedFile,
}

impl Real {
    /// Returns the path as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file that [`create`](crate::create) made at the path, if it did.
    pub(crate) fn created(&self) -> Option<Created> {
        self.created.get()
    }

    /// Notes the file that was made at the path.
    pub(crate) fn note_created(&self, created: Created) {
        self.created.note(created);
    }

    /// Returns the kernel's description of the drive. It is read on the first call, because a file may be created after
    /// its target was resolved.
    pub fn identity(&self) -> &Machine {
        self.identity.get_or_init(|| flashlane_host::identity(&self.path))
    }
}

/// Name of a zoned drive's spec, which has the form of a layer.
const ZONED: &str = "zoned";
/// Both names of the setting for the initial state of a simulated drive.
const STATE: &str = "initial.state";
const STATE_SHORT: &str = "state";

impl Target {
    /// Resolves a spec: reads and checks the profile of a simulated drive and the settings of layers. `policies` are
    /// available to the profile.
    ///
    /// # Errors
    /// [`OpenError::Profile`], [`OpenError::ProfileFile`], [`OpenError::ProfileAsDevice`],
    /// [`OpenError::ConventionalLane`], [`OpenError::Lane`], [`OpenError::Layer`], [`OpenError::BytesFileIsProfile`],
    /// [`OpenError::StripedTwice`], [`OpenError::ZonedOver`] and [`OpenError::ZonedSetting`].
    pub fn resolve(spec: &Spec, policies: &Policies) -> Result<Self, OpenError> {
        let real = |path: &Path, zoned| {
            let (identity, created) = (OnceLock::new(), CreatedFile::default());
            Box::new(Real { path: path.into(), zoned, identity, created })
        };
        let resolved = match spec {
            Spec::Path(path) if path.to_str().is_some_and(is_profile_file) => {
                return Err(OpenError::ProfileAsDevice { path: path.clone() });
            }
            Spec::Path(path) => Resolved::Real(real(path, None)),
            Spec::Simulated { profile, overrides, lane } => {
                let config = Box::new(config_named(profile, overrides, policies)?);
                if let Some(lane) = lane.filter(|&lane| lane >= config.lane_count()) {
                    return Err(no_such_lane(spec.to_string(), lane, config.lane_count()));
                }
                let whole =
                    Spec::Simulated { profile: profile.clone(), overrides: overrides.clone(), lane: None };
                Resolved::Simulated(Simulated { config, lane: *lane, name: whole.to_string() })
            }
            Spec::Layer { name, inner, options } if name == ZONED => {
                let Spec::Path(path) = &**inner else {
                    return Err(OpenError::ZonedOver { inner: inner.to_string() });
                };
                Resolved::Real(real(path, Some(ZonedSettings::read(options)?)))
            }
            Spec::Layer { name, inner, options } => {
                let inner = Box::new(Self::resolve(inner, policies)?);
                let layer = flashlane_layer::layer(name, options).map_err(and_zoned)?;
                if layer.divides_units() && inner.divides_units() {
                    return Err(OpenError::StripedTwice { spec: spec.to_string() });
                }
                check_bytes_file(&layer, inner.spec())?;
                Resolved::Layered { layer, inner, bytes: CreatedFile::default() }
            }
        };
        Ok(Self { spec: spec.clone(), resolved })
    }

    /// Returns the spec that was resolved.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Returns the file in which a layer keeps the data of a simulated device, if one does.
    pub fn bytes_file(&self) -> Option<&Path> {
        match &self.resolved {
            Resolved::Layered { layer, inner, .. } => layer.file().or_else(|| inner.bytes_file()),
            _ => None,
        }
    }

    /// Returns the real device below all layers, or `None` where the device is simulated.
    pub fn real(&self) -> Option<&Real> {
        match &self.resolved {
            Resolved::Simulated(_) => None,
            Resolved::Real(real) => Some(real),
            Resolved::Layered { inner, .. } => inner.real(),
        }
    }

    /// Returns the path of the real device, or `None` where the device is simulated.
    pub fn path(&self) -> Option<&Path> {
        self.real().map(Real::path)
    }

    /// Removes the files that were made for this target, by [`create`](crate::create) or for the data of a simulated
    /// device, unless others have their paths by now.
    pub fn remove_created(&self) {
        match &self.resolved {
            Resolved::Simulated(_) => {}
            Resolved::Real(real) => real.created.remove(&real.path),
            Resolved::Layered { layer, inner, bytes } => {
                layer.file().into_iter().for_each(|path| bytes.remove(path));
                inner.remove_created();
            }
        }
    }

    /// Returns the properties that the device will have once its file is created with `length_bytes`, with the layers
    /// formatted anew. The units of the file are not known before; they are taken for single bytes, so that opening may
    /// still refuse what passes here.
    ///
    /// # Errors
    /// [`OpenError::CreateSimulated`], and [`OpenError::Layer`] where a layer cannot be put over such a file.
    pub fn planned(&self, length_bytes: u64) -> Result<DeviceInfo, OpenError> {
        match &self.resolved {
            Resolved::Simulated(_) => Err(OpenError::CreateSimulated { spec: self.to_string() }),
            Resolved::Real(real) => {
                let name = real.path.display().to_string();
                Ok(DeviceInfo { depth: DEPTH_DEFAULT, ..DeviceInfo::new(name, length_bytes, 1) })
            }
            Resolved::Layered { layer, inner, .. } => Ok(layer.planned(&inner.planned(length_bytes)?)?),
        }
    }

    /// Returns whether the device below all layers is simulated.
    pub fn is_simulated(&self) -> bool {
        self.real().is_none()
    }

    /// Returns the configuration of the simulated drive, or `None` where the device is real.
    pub fn config(&self) -> Option<&DriveConfig> {
        match &self.resolved {
            Resolved::Simulated(simulated) => Some(&simulated.config),
            Resolved::Real(_) => None,
            Resolved::Layered { inner, .. } => inner.config(),
        }
    }

    /// Returns whether there are layers over the drive.
    pub fn is_layered(&self) -> bool {
        matches!(self.resolved, Resolved::Layered { .. })
    }

    /// Returns whether a layer divides its erase units into several of the device below.
    fn divides_units(&self) -> bool {
        match &self.resolved {
            Resolved::Simulated(_) | Resolved::Real(_) => false,
            Resolved::Layered { layer, inner, .. } => layer.divides_units() || inner.divides_units(),
        }
    }

    /// Returns the name of the layer that writes where no address of the device leads, without a look at what is there,
    /// if there is one.
    pub fn overwrites_free_places(&self) -> Option<&'static str> {
        match &self.resolved {
            Resolved::Simulated(_) | Resolved::Real(_) => None,
            Resolved::Layered { layer, .. } if layer.overwrites_free_places() => Some(layer.entry().name),
            Resolved::Layered { inner, .. } => inner.overwrites_free_places(),
        }
    }

    /// Returns the capabilities of the device.
    pub fn capabilities(&self) -> Capabilities {
        match &self.resolved {
            Resolved::Simulated(simulated) => {
                Capabilities { erase_units: simulated.config.has_erase_units(), ..Capabilities::default() }
            }
            Resolved::Real(real) => {
                Capabilities { erase_units: real.zoned.is_some(), bytes: true, stored_state: false }
            }
            Resolved::Layered { layer, inner, .. } => layer.entry().adds.over(inner.capabilities()),
        }
    }

    /// Returns the capacity of a simulated drive, or `None` where only the open device can report it.
    pub fn capacity_bytes(&self) -> Option<u64> {
        match &self.resolved {
            Resolved::Simulated(simulated) => Some(simulated.config.capacity.0),
            Resolved::Real(_) => None,
            Resolved::Layered { layer, .. } if layer.entry().adds.erase_units => None,
            Resolved::Layered { inner, .. } => inner.capacity_bytes(),
        }
    }

    /// Returns the settings for the state that a layer stores on the device.
    pub fn state_settings(&self) -> StateSettings {
        match &self.resolved {
            Resolved::Layered { layer, .. } if layer.entry().adds.stored_state => layer.state_settings(),
            Resolved::Layered { inner, .. } => inner.state_settings(),
            Resolved::Simulated(_) | Resolved::Real(_) => StateSettings::default(),
        }
    }

    /// Returns the same device with another initial state of its simulated drive (a value of `initial.state`), to
    /// measure beside this one: layers keep its data in memory. `None` where the device is real.
    ///
    /// # Errors
    /// Those of [`Target::resolve`].
    pub fn with_state(&self, state: &str) -> Result<Option<Self>, OpenError> {
        let Some(config) = self.config() else { return Ok(None) };
        let key = if sets(&self.spec, STATE_SHORT) { STATE_SHORT } else { STATE };
        let spec = self.spec.with_setting(key, state).expect("the drive is simulated");
        Ok(Some(Self::resolve(&spec, &config.policies)?.in_memory()))
    }

    /// Returns the same device, with the data of its layers in memory, for use beside this one: a file is of one device
    /// only.
    pub fn in_memory(self) -> Self {
        let resolved = match self.resolved {
            Resolved::Layered { layer, inner, bytes } => {
                Resolved::Layered { layer: layer.in_memory(), inner: Box::new(inner.in_memory()), bytes }
            }
            other => other,
        };
        Self { resolved, ..self }
    }
}

/// Refuses a layer that would keep its data in the file of the profile below it.
fn check_bytes_file(layer: &Layer, inner: &Spec) -> Result<(), OpenError> {
    let profile = profile_file(inner);
    match layer.file().filter(|file| profile.is_some_and(|profile| is_same_file(file, profile))) {
        Some(path) => Err(OpenError::BytesFileIsProfile { path: path.into() }),
        None => Ok(()),
    }
}

/// Returns the profile file of the simulated drive in `spec`, if it has one.
fn profile_file(spec: &Spec) -> Option<&Path> {
    match spec {
        Spec::Path(_) => None,
        Spec::Simulated { profile, .. } => is_profile_file(profile).then(|| Path::new(profile)),
        Spec::Layer { inner, .. } => profile_file(inner),
    }
}

/// Adds `zoned`, which has the form of a layer, to the names in the refusal of an unknown layer.
fn and_zoned(error: LayerError) -> LayerError {
    match error {
        LayerError::NoSuchLayer { given, allowed } => {
            LayerError::NoSuchLayer { given, allowed: format!("{allowed}, {ZONED}") }
        }
        error => error,
    }
}

fn no_such_lane(spec: String, lane: u32, lanes: u32) -> OpenError {
    match lanes {
        1 => OpenError::ConventionalLane { spec, lane },
        _ => OpenError::Lane { spec, error: SubmitError::NoSuchLane { lane: Lane(lane), lanes } },
    }
}

/// Returns whether the spec of a simulated drive sets `key`.
fn sets(spec: &Spec, key: &str) -> bool {
    match spec {
        Spec::Simulated { overrides, .. } => overrides.iter().any(|(given, _)| given == key),
        Spec::Layer { inner, .. } => sets(inner, key),
        Spec::Path(_) => false,
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spec.fmt(f)
    }
}

/// A device name: text, a parsed spec, or a resolved target.
pub trait IntoTarget {
    /// Parses and resolves the name as far as needed. `policies` as in [`Target::resolve`].
    ///
    /// # Errors
    /// [`OpenError::Spec`] gives the position in the text and the expected token; otherwise as [`Target::resolve`].
    fn into_target(self, policies: &Policies) -> Result<Target, OpenError>;
}

impl IntoTarget for &str {
    fn into_target(self, policies: &Policies) -> Result<Target, OpenError> {
        let spec: Result<Spec, SpecError> = self.parse();
        spec?.into_target(policies)
    }
}

impl IntoTarget for &String {
    fn into_target(self, policies: &Policies) -> Result<Target, OpenError> {
        self.as_str().into_target(policies)
    }
}

impl IntoTarget for Spec {
    fn into_target(self, policies: &Policies) -> Result<Target, OpenError> {
        Target::resolve(&self, policies)
    }
}

impl IntoTarget for &Spec {
    fn into_target(self, policies: &Policies) -> Result<Target, OpenError> {
        Target::resolve(self, policies)
    }
}

impl IntoTarget for Target {
    fn into_target(self, _: &Policies) -> Result<Target, OpenError> {
        Ok(self)
    }
}

impl IntoTarget for &Target {
    fn into_target(self, _: &Policies) -> Result<Target, OpenError> {
        Ok(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_sim::profile::PROFILES;

    fn target(text: &str) -> Target {
        text.into_target(&Policies::default()).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn capabilities_add_up_over_layers() {
        let of = |text: &str| {
            let Capabilities { erase_units, bytes, stored_state } = target(text).capabilities();
            [erase_units, bytes, stored_state]
        };
        for (text, expected) in [
            ("sim:ssd-s", [false, false, false]),
            ("sim:sdf", [true, false, false]),
            ("sim:sdf#3", [true, false, false]),
            ("sim:zn540-1tb", [true, false, false]),
            ("./file", [false, true, false]),
            ("zoned(/dev/x,lanes=3)", [true, true, false]),
            ("faulty(./file)", [false, true, false]),
            ("backed(sim:ssd-s)", [false, true, false]),
            ("lanes(sim:ssd-s)", [true, false, true]),
            ("faulty(lanes(backed(sim:ssd-s)))", [true, true, true]),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }

    #[test]
    fn path_and_configuration_are_found_below_layers() {
        assert_eq!(target("faulty(lanes(./file))").path(), Some(Path::new("./file")));
        assert_eq!(target("zoned(/dev/x)").path(), Some(Path::new("/dev/x")));
        assert!(target("faulty(./file)").config().is_none());
        assert_eq!(target("faulty(backed(sim:ssd-s,file=./b))").bytes_file(), Some(Path::new("./b")));
        let drive = target("faulty(backed((sim:ssd-s,channels=16)))");
        assert_eq!(drive.config().map(|config| config.flash.channels), Some(16));
        assert!(drive.is_simulated() && drive.path().is_none());
        assert_eq!(drive.capacity_bytes(), drive.config().map(|config| config.capacity.0));
        assert_eq!(target("lanes(backed(sim:ssd-s))").capacity_bytes(), None);
    }

    #[test]
    fn with_state_replaces_the_state_under_either_name() {
        let with = |text: &str| target(text).with_state("full").unwrap().map(|target| target.to_string());
        // The short name is that of a field that the profile sets.
        let folder = tempfile::tempdir().expect("there is room");
        let own = folder.path().join("own.toml").display().to_string();
        let source = PROFILES.iter().find(|source| source.name == "ssd-s").expect("it is ours");
        std::fs::write(&own, format!("{}\n[initial]\nstate = \"fresh\"\n", source.text)).expect("it is new");
        for (given, expected) in [
            ("sim:ssd-s", "sim:ssd-s,initial.state=full"),
            ("sim:OWN,state=fragmented,channels=16", "sim:OWN,state=full,channels=16"),
            ("backed((sim:ssd-s,initial.state=fresh))", "backed((sim:ssd-s,initial.state=full))"),
        ] {
            assert_eq!(with(&given.replace("OWN", &own)), Some(expected.replace("OWN", &own)));
        }
        assert_eq!(with("./file"), None);
    }

    #[test]
    fn device_in_another_state_leaves_the_bytes_file_alone() {
        let text = "faulty(backed((sim:ssd-s,initial.state=full),file=./b))";
        let fresh = target(text).with_state("fresh").unwrap().expect("it is simulated");
        assert_eq!(fresh.to_string(), text.replace("full", "fresh"));
        assert_eq!((fresh.bytes_file(), target(text).bytes_file()), (None, Some(Path::new("./b"))));
    }

    #[test]
    fn invalid_specs_are_refused_before_opening() {
        for (text, part) in [
            ("sim:none", "no such profile"),
            ("backed((sim:ssd-s,channels=0))", "channels"),
            ("bakced(./file)", "no layer"),
            ("./own.toml", "sim:./own.toml"),
            ("lanes(/tmp/own.toml)", "sim:/tmp/own.toml"),
            ("zned(/dev/x)", "backed, faulty, lanes, replicated, striped, zoned"),
            ("lanes(./file,chanels=3)", "chanels"),
            ("lanes(./file,channels=many)", "channels"),
            ("sim:ssd-s#1", "lane 0 only"),
            ("sim:sdf#44", "lane 44"),
            ("zoned(sim:sdf)", "zoned"),
            ("zoned(/dev/x,channels=3)", "channels"),
        ] {
            let error = text.into_target(&Policies::default()).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
