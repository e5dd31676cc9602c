//! Devices as the command line opens them.

use crate::failure::Failure;
use crate::options::SafetyOptions;
use anyhow::anyhow;
use flashlane_base::Seed;
use flashlane_device::spec::Spec;
use flashlane_device::{DataDevice, Device, Profile};
use flashlane_host::{DEPTH_DEFAULT, DEPTH_MAX};
use flashlane_layer::Capabilities;
use flashlane_measure::check;
use flashlane_open::{Division, OpenOptions, Opened as OpenedDevice, Target};
use flashlane_policy::Policies;
use flashlane_result::Warning;
use flashlane_sim::config::InitialState;
use flashlane_workload::Workload;

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
        match &self.safety.repeated.really {
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

/// Resolves the device that was typed: once a command, and once a point of a sweep.
pub fn resolve(spec: &Spec) -> Result<Target, Failure> {
    Ok(Target::resolve(spec, &Policies::default())?)
}

/// Opens the device, its lanes as one run of addresses where it has several.
pub fn open(target: &Target, opening: &Opening<'_>) -> Result<Opened, Failure> {
    let OpenedDevice { device, warnings } = opening.options().open(target)?;
    Ok(Opened { device, warnings: doubts(&warnings) })
}

/// Opens the device for `what`, which writes and reads anywhere: devices with erase units are refused, before opening
/// them may divide them anew.
pub fn open_rewritable(target: &Target, opening: &Opening<'_>, what: &str) -> Result<Opened, Failure> {
    if target.capabilities().erase_units {
        return Err(Failure::unusable(anyhow!(
            "{what} requires random access, but '{target}' has erase units, which are written in order and erased as a \
             whole; use 'flashlane sdf bench'"
        )));
    }
    let opened = open(target, opening)?;
    assert_eq!(
        opened.device.profile().erase_unit_bytes,
        0,
        "a device has erase units where its target says so"
    );
    Ok(opened)
}

/// Refuses a workload that does not fit the device, before anything is prepared for it: a simulated drive takes minutes
/// to fill, and the file of `--create` to write.
pub fn check_workloads(
    target: &Target,
    safety: &SafetyOptions,
    workloads: &[Workload],
) -> Result<(), Failure> {
    let Some(profile) = profile_unprepared(target, safety)? else { return Ok(()) };
    let profile = Profile { name: target.to_string(), ..profile };
    // Whether bytes are kept is refused by the device's name, where it is opened.
    workloads.iter().try_for_each(|workload| check(workload, &profile, true).map_err(Failure::unusable))
}

/// What a device will be that takes long to prepare; none of one that does not, which is asked when it is open.
fn profile_unprepared(target: &Target, safety: &SafetyOptions) -> Result<Option<Profile>, Failure> {
    match target.config() {
        Some(config) if config.initial.state == InitialState::Fresh => Ok(None),
        Some(_) => {
            let opening = Opening { safety, writes: false, depth: 1, seed: Seed(0) };
            // Where it cannot be opened like that, the drive itself says why.
            let fresh = target.with_state("fresh").ok().flatten();
            let opened = fresh.and_then(|fresh| open(&fresh, &opening).ok());
            Ok(opened.map(|opened| opened.device.profile().clone()))
        }
        None if target.is_layered() || target.capabilities().erase_units => Ok(None),
        None => Ok(safety.create.map(file_profile)),
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

/// A device that keeps bytes.
pub struct OpenedBytes {
    pub device: Box<dyn DataDevice>,
    /// Doubts about what will be measured on it.
    pub warnings: Vec<Warning>,
}

/// The size of a device, where it can be known without dividing it into lanes; that of a real one by opening it for
/// reading.
pub fn capacity_of(target: &Target, safety: &SafetyOptions) -> Result<Option<u64>, Failure> {
    if target.is_simulated() || target.capabilities().erase_units {
        return Ok(target.capacity_bytes());
    }
    if safety.create.is_some() {
        return Ok(safety.create);
    }
    let opening = Opening { safety, writes: false, depth: 1, seed: Seed(0) };
    Ok(Some(open(target, &opening)?.device.profile().capacity_bytes))
}

/// Opens the device for a workload that verifies: only where it keeps bytes, since those of a simulated drive are kept in
/// memory where that is asked for by name. Devices with erase units are refused, before opening them may divide them
/// anew.
pub fn open_verifiable(target: &Target, opening: &Opening<'_>) -> Result<OpenedBytes, Failure> {
    let refused = |allowed: &str| {
        Failure::unusable(anyhow!("the workload does not fit device '{target}': verify is true: {allowed}"))
    };
    let Capabilities { erase_units, bytes, .. } = target.capabilities();
    if erase_units {
        return Err(refused("the device has erase units; use 'flashlane sdf bench'"));
    }
    if !bytes {
        let name = flashlane_layer::keeping_bytes().name.to_owned();
        let inner = Box::new(target.spec().clone());
        let backed = Spec::Layer { name, inner, options: Vec::new() };
        let allowed = format!("the device models time and keeps no bytes; '{backed}' keeps them in memory");
        return Err(refused(&allowed));
    }
    open_bytes(target, opening)
}

/// Asked of what a device will be, before it is divided into lanes and all that is on it is lost: nothing was written
/// where the answer is a refusal.
pub type Accept<'a> = dyn Fn(&Profile) -> Result<(), Failure> + 'a;

/// Opens the device with its lanes as they are, for somebody who wants bytes back: those of a simulated device are kept
/// in memory.
pub fn open_bytes(target: &Target, opening: &Opening<'_>) -> Result<OpenedBytes, Failure> {
    let OpenedDevice { device, warnings } = opening.options().check_erased(true).open_data(target)?;
    Ok(OpenedBytes { device, warnings: doubts(&warnings) })
}

/// The same, for somebody who keeps the blocks that are there.
pub fn open_kept(target: &Target, opening: &Opening<'_>) -> Result<OpenedBytes, Failure> {
    let options = opening.options().check_erased(true).keeps_blocks(true);
    let OpenedDevice { device, warnings } = options.open_data(target)?;
    Ok(OpenedBytes { device, warnings: doubts(&warnings) })
}

/// Opens a device that is to be formatted: one that is divided into lanes keeps its division unless its spec gives a
/// shape.
pub fn open_to_format(
    target: &Target,
    opening: &Opening<'_>,
    accept: &Accept<'_>,
) -> Result<(OpenedBytes, Division), Failure> {
    let (OpenedDevice { device, warnings }, division) = opening.options().open_to_format(target, accept)?;
    Ok((OpenedBytes { device, warnings: doubts(&warnings) }, division))
}

fn doubts(warnings: &[flashlane_host::Doubt]) -> Vec<Warning> {
    warnings.iter().map(Warning::from).collect()
}
