//! Opens devices for the command line.

use crate::failure::Failure;
use crate::options::SafetyOptions;
use anyhow::anyhow;
use flashlane_base::Seed;
use flashlane_device::spec::Spec;
use flashlane_device::{DataDevice, Device, DeviceInfo};
use flashlane_host::{DEPTH_DEFAULT, DEPTH_MAX, OpenError as HostError};
use flashlane_layer::{Capabilities, Format as StateFormat, Repair, StateSettings};
use flashlane_measure::check;
use flashlane_open::{AccessMode, Consent, Division, OpenOptions, Opened, Target};
use flashlane_policy::Policies;
use flashlane_result::Warning;
use flashlane_sim::config::InitialState;
use flashlane_workload::Workload;

/// What a command asks of a device that it opens.
pub struct OpenRequest {
    /// What the user has agreed to lose.
    pub consent: Consent,
    /// What the command does with the device.
    pub access: AccessMode,
    /// Whether a file system without direct I/O may be measured through the page cache.
    pub allow_page_cache: bool,
    /// Requests in flight that the command needs, where it knows: a real device refuses more than [`DEPTH_MAX`], and is
    /// ready for [`DEPTH_DEFAULT`] anyway. A simulated drive has the depth of its profile.
    pub depth: Option<u64>,
    pub seed: Seed,
    /// Whether the command goes on after an interrupt, which stops the preparation of a simulated drive otherwise.
    pub after_interrupt: bool,
}

impl OpenRequest {
    /// Opens for `access` as `safety` allows.
    pub fn new(safety: &SafetyOptions, access: AccessMode, seed: Seed) -> Self {
        let allow_page_cache = safety.allow_page_cache;
        let consent = safety.consent();
        Self { consent, access, allow_page_cache, depth: None, seed, after_interrupt: false }
    }

    fn options(&self) -> OpenOptions {
        let needed = self.depth.map_or(0, |depth| u32::try_from(depth).unwrap_or(u32::MAX));
        OpenOptions::new()
            .consent(self.consent.clone())
            .access(self.access)
            .allow_page_cache(self.allow_page_cache)
            .depth(needed.max(DEPTH_DEFAULT))
            .seed(self.seed)
            .after_interrupt(self.after_interrupt)
    }
}

/// An open device with its warnings.
pub struct OpenedForCommand {
    pub device: Box<dyn Device>,
    /// Doubts about measurements on the device.
    pub warnings: Vec<Warning>,
}

/// Resolves a device spec, once per command and once per point of a sweep.
pub fn resolve(spec: &Spec) -> Result<Target, Failure> {
    Ok(Target::resolve(spec, &Policies::default())?)
}

/// Opens the device; several lanes form one address space.
pub fn open(target: &Target, opening: &OpenRequest) -> Result<OpenedForCommand, Failure> {
    refuse_change_by_reader(target, opening.access)?;
    let Opened { device, doubts } = opening.options().open(target)?;
    Ok(OpenedForCommand { device, warnings: warnings_of(&doubts) })
}

/// Refuses settings that change the state of a real device's layers where the command only reads the device.
fn refuse_change_by_reader(target: &Target, access: AccessMode) -> Result<(), Failure> {
    if target.is_simulated() || access != AccessMode::ReadOnly {
        return Ok(());
    }
    let StateSettings { format, repair, .. } = target.state_settings();
    let setting = match (format, repair) {
        (Some(StateFormat::Always), _) => "format=yes",
        (_, Some(Repair::Ours)) => "repair=yes",
        (_, Some(Repair::Overwrite)) => "repair=overwrite",
        _ => return Ok(()),
    };
    Err(Failure::unusable(anyhow!(
        "'{target}' asks for {setting}, which writes to the device, and what only reads it writes nothing; leave the \
         setting out, or use a workload or command that writes"
    )))
}

/// Opens the device for `what`, which requires random access. Refuses devices with erase units before opening them,
/// which could divide them into lanes again.
pub fn open_random_access(
    target: &Target,
    opening: &OpenRequest,
    what: &str,
) -> Result<OpenedForCommand, Failure> {
    if target.capabilities().erase_units {
        return Err(Failure::unusable(anyhow!(
            "{what} requires random access, but '{target}' has erase units, which are written in order and erased as a \
             whole; use 'flashlane sdf bench'"
        )));
    }
    let opened = open(target, opening)?;
    assert_eq!(opened.device.info().erase_unit_bytes, 0, "a device has erase units where its target says so");
    Ok(opened)
}

/// Refuses a workload that does not fit the device before preparing the device: filling a simulated drive and writing
/// the file of `--create` take minutes.
pub fn check_workloads(
    target: &Target,
    safety: &SafetyOptions,
    workloads: &[Workload],
) -> Result<(), Failure> {
    // `open_verifiable` refuses devices that keep no bytes, with the name of the device.
    let fits =
        |workload: &Workload, info: &DeviceInfo| check(workload, info, true).map_err(Failure::unusable);
    let is_too_deep = |workload: &&Workload| workload.depth() > DEPTH_MAX.into();
    check_unprepared(target, safety, |info| {
        workloads.iter().try_for_each(|workload| fits(workload, info))?;
        // A simulated drive lets requests wait at the host; a real device would refuse them only once its file is made.
        match workloads.iter().find(is_too_deep) {
            Some(workload) if !info.simulated => {
                let depth = u32::try_from(workload.depth()).unwrap_or(u32::MAX);
                Err(Failure::unusable(HostError::Depth { depth }))
            }
            _ => Ok(()),
        }
    })
}

/// Checks the properties of a device that takes long to prepare, or loses its data by that. Others are to be checked
/// once open.
pub fn check_unprepared(
    target: &Target,
    safety: &SafetyOptions,
    check: impl FnOnce(&DeviceInfo) -> Result<(), Failure>,
) -> Result<(), Failure> {
    match info_unprepared(target, safety)? {
        Some(info) => check(&DeviceInfo { name: target.to_string(), ..info }),
        None => Ok(()),
    }
}

/// Returns the properties of a device that takes long to prepare, or loses its data by that. `None` for others: they
/// are checked once open.
fn info_unprepared(target: &Target, safety: &SafetyOptions) -> Result<Option<DeviceInfo>, Failure> {
    match target.config() {
        Some(config) if config.initial.state == InitialState::Fresh => Ok(None),
        Some(_) => {
            let opening = OpenRequest::new(safety, AccessMode::ReadOnly, Seed(0));
            // If this fails, opening the drive itself reports why.
            let fresh = target.with_state("fresh").ok().flatten();
            let opened = fresh.and_then(|fresh| open(&fresh, &opening).ok());
            Ok(opened.map(|opened| opened.device.info().clone()))
        }
        None if safety.create.is_none() && target.is_layered() => {
            let opening = OpenRequest::new(safety, AccessMode::ReadWrite, Seed(0));
            // If this fails, opening the device itself reports why.
            Ok(opening.options().planned_change(target).ok().flatten())
        }
        // If this fails, opening the device itself reports why.
        None if target.is_layered() => Ok(safety.create.and_then(|length| target.planned(length).ok())),
        None if target.capabilities().erase_units => Ok(None),
        None => Ok(safety.create.map(file_info)),
    }
}

/// Returns the properties of the file that `--create` will create, with units of at least a sector.
fn file_info(length_bytes: u64) -> DeviceInfo {
    DeviceInfo { depth: DEPTH_MAX, ..DeviceInfo::new(String::new(), length_bytes, 512) }
}

/// An open device that stores data, with its warnings.
pub struct OpenedBytes {
    pub device: Box<dyn DataDevice>,
    /// Doubts about measurements on the device.
    pub warnings: Vec<Warning>,
}

/// Returns the size of a device, if known without dividing it into lanes. Opens a real device read-only.
pub fn capacity_of(target: &Target, safety: &SafetyOptions) -> Result<Option<u64>, Failure> {
    if target.is_simulated() || target.capabilities().erase_units {
        return Ok(target.capacity_bytes());
    }
    if safety.create.is_some() {
        return Ok(safety.create);
    }
    let opening = OpenRequest::new(safety, AccessMode::ReadOnly, Seed(0));
    Ok(Some(open(target, &opening)?.device.info().capacity_bytes))
}

/// Opens the device for a workload that verifies. Refuses a simulated drive unless the spec keeps its data in memory by
/// name (`backed`), and devices with erase units before opening them, which could divide them into lanes again.
pub fn open_verifiable(target: &Target, opening: &OpenRequest) -> Result<OpenedBytes, Failure> {
    let refused = |allowed: &str| {
        Failure::unusable(anyhow!(
            "the workload does not fit device '{target}': verify is true; allowed: {allowed}"
        ))
    };
    let Capabilities { erase_units, bytes, .. } = target.capabilities();
    if erase_units {
        return Err(refused("none on a device with erase units; use 'flashlane sdf bench'"));
    }
    if !bytes {
        let name = flashlane_layer::keeping_bytes().name.to_owned();
        let inner = Box::new(target.spec().clone());
        let backed = Spec::Layer { name, inner, options: Vec::new() };
        let allowed = format!("only over a device that keeps bytes; '{backed}' keeps them in memory");
        return Err(refused(&allowed));
    }
    open_bytes(target, opening)
}

/// Checks the future properties of a device before it is divided into lanes, which destroys its data. If it refuses,
/// nothing is written.
pub type Accept<'a> = dyn Fn(&DeviceInfo) -> Result<(), Failure> + 'a;

/// Opens the device with its existing lanes and its data; data of a simulated device is kept in memory.
pub fn open_bytes(target: &Target, opening: &OpenRequest) -> Result<OpenedBytes, Failure> {
    refuse_change_by_reader(target, opening.access)?;
    open_data(target, opening.options())
}

/// Does the same as [`open_bytes`], for a caller that keeps existing blocks.
pub fn open_kept(target: &Target, opening: &OpenRequest) -> Result<OpenedBytes, Failure> {
    let consent = opening.consent.clone().keeping_blocks();
    open_data(target, opening.options().consent(consent))
}

fn open_data(target: &Target, options: OpenOptions) -> Result<OpenedBytes, Failure> {
    let Opened { device, doubts } = options.check_erased(true).open_data(target)?;
    Ok(OpenedBytes { device, warnings: warnings_of(&doubts) })
}

/// Opens a device for formatting. Existing lanes are kept unless the spec gives a shape.
pub fn open_to_format(
    target: &Target,
    opening: &OpenRequest,
    accept: &Accept<'_>,
) -> Result<(OpenedBytes, Division), Failure> {
    let (Opened { device, doubts }, division) = opening.options().open_to_format(target, accept)?;
    Ok((OpenedBytes { device, warnings: warnings_of(&doubts) }, division))
}

fn warnings_of(doubts: &flashlane_host::Doubts) -> Vec<Warning> {
    doubts.iter().map(Warning::from).collect()
}
