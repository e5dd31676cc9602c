//! Opens a zoned drive: selects the zones that are units, and reads their states.

use super::ZonedDevice;
use super::error::ZonedError;
use super::report::{self, Condition, Zone};
use crate::file_device::{FileDevice, LENGTH_MAX_BYTES};
use crate::open::OpenOptions;
use flashlane_base::units::{exact_bytes, typed_bytes};
use flashlane_device::{Device, DeviceInfo, Lane, UnitState, UnitStates};
use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::path::PathBuf;

/// Default number of lanes for a drive without a limit of open zones.
const LANES_DEFAULT: u64 = 8;

/// How to open a zoned drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZonedOptions {
    /// The drive's path and the consent to write to it: all rules of [`OpenOptions`] apply.
    pub open: OpenOptions,
    /// Number of lanes that the zones are divided into. Default: the drive's limit of open zones, so that each lane can
    /// write at any time; 8 where there is no limit.
    pub lanes: Option<u32>,
    /// Unit of writes; by default a whole erase unit.
    pub write_unit_bytes: Option<u64>,
}

impl ZonedOptions {
    /// Options with the default lanes and write unit.
    pub fn new(open: OpenOptions) -> Self {
        Self { open, lanes: None, write_unit_bytes: None }
    }

    /// Opens the drive.
    ///
    /// # Errors
    /// [`ZonedError`] says what was found and what is required.
    pub fn open(&self) -> Result<ZonedDevice, ZonedError> {
        let path = || self.open.path.clone();
        let mut setup = self.open.setup()?;
        if !setup.block {
            return Err(ZonedError::NotZoned { path: path(), found: "a regular file" });
        }
        let size = report::zones_of(&setup.file).map_err(|e| self.open.os("ask for the zones of", e))?;
        let Some((zone_bytes, count)) = size else {
            return Err(ZonedError::NotZoned { path: path(), found: "a block device without zones" });
        };
        let zones = report::report(&setup.file, 0, count as usize);
        let zones = zones.map_err(|e| self.open.os("read the zones of", e))?;
        let most_open = most_open(&setup.file);
        let chosen = self.choose(&zones, most_open, setup.info.read_unit_bytes)?;
        let Chosen { lanes, unit_bytes, write_unit_bytes, zones, left_out } = chosen;
        let per_lane = zones.len() as u64 / u64::from(lanes);
        setup.info.erase_unit_bytes = zone_bytes;
        let below = setup.info.clone();
        let drive = FileDevice::new(setup).map_err(|e| self.open.os("set up I/O on", e))?;
        let write_unit = if self.write_unit_bytes.is_some() {
            format!(",write-unit={}", typed_bytes(write_unit_bytes))
        } else {
            String::new()
        };
        let info = DeviceInfo {
            name: format!("zoned({},lanes={lanes}{write_unit})", below.name),
            capacity_bytes: per_lane * unit_bytes,
            lanes,
            write_unit_bytes,
            erase_unit_bytes: unit_bytes,
            depth: drive.info().depth,
            ..below
        };
        let mut device = ZonedDevice {
            drive,
            units: UnitStates::new(&info),
            info,
            zones,
            left_out,
            most_open,
            open: BTreeSet::new(),
            stay_open: BTreeSet::new(),
            in_flight: Default::default(),
            held: VecDeque::new(),
            in_drive: 0,
            ready: Vec::new(),
            returned: Vec::new(),
            arrived: Vec::new(),
        };
        for (zone, number) in device.zones.iter().zip(0_u64..) {
            let lane = Lane((number % u64::from(lanes)) as u32);
            device.units.set(lane, number / u64::from(lanes), state(zone, write_unit_bytes), None);
            if zone.condition == Condition::Active {
                device.open.insert(number);
                device.stay_open.insert(number);
            }
        }
        Ok(device)
    }

    fn choose(
        &self,
        zones: &[Zone],
        most_open: Option<u32>,
        read_unit_bytes: u64,
    ) -> Result<Chosen, ZonedError> {
        let path = || self.open.path.clone();
        let in_order = |zone: &&Zone| zone.condition != Condition::Conventional && zone.capacity > 0;
        let unit_bytes = zones.iter().find(in_order).map_or(0, |zone| zone.capacity);
        let mut usable: Vec<Zone> =
            zones.iter().filter(in_order).filter(|zone| zone.capacity == unit_bytes).copied().collect();
        let count = usable.len() as u64;
        let usual = most_open.map_or(LANES_DEFAULT, u64::from).clamp(1, count.max(1)) as u32;
        let lanes = self.lanes.unwrap_or(usual);
        if lanes == 0 || u64::from(lanes) > count {
            return Err(ZonedError::Lanes { path: path(), lanes, zones: count });
        }
        let write_unit_bytes = self.write_unit_bytes.unwrap_or(unit_bytes);
        let refuse = |reason| Err(ZonedError::WriteUnit { path: path(), write_unit_bytes, reason });
        if write_unit_bytes == 0 || !write_unit_bytes.is_multiple_of(read_unit_bytes) {
            return refuse(format!("the drive takes multiples of {}", exact_bytes(read_unit_bytes)));
        }
        if !unit_bytes.is_multiple_of(write_unit_bytes) {
            return refuse(format!("a unit of {} is no whole number of them", exact_bytes(unit_bytes)));
        }
        if write_unit_bytes > LENGTH_MAX_BYTES {
            return refuse(format!(
                "a write has at most {}: give a smaller one",
                exact_bytes(LENGTH_MAX_BYTES)
            ));
        }
        // All lanes have the same number of zones.
        usable.truncate((count / u64::from(lanes) * u64::from(lanes)) as usize);
        let left_out = (zones.len() - usable.len()) as u64;
        Ok(Chosen { lanes, unit_bytes, write_unit_bytes, zones: usable, left_out })
    }
}

/// The division of a drive.
struct Chosen {
    lanes: u32,
    unit_bytes: u64,
    write_unit_bytes: u64,
    zones: Vec<Zone>,
    left_out: u64,
}

/// Returns the state of a zone as a unit.
fn state(zone: &Zone, write_unit_bytes: u64) -> UnitState {
    match zone.condition {
        Condition::Empty | Condition::Active | Condition::Full => {}
        Condition::Conventional | Condition::ReadOnly | Condition::Offline | Condition::Unknown => {
            return UnitState::Bad;
        }
    }
    if zone.written.is_multiple_of(write_unit_bytes) {
        UnitState::Written { bytes: zone.written }
    } else {
        UnitState::Torn
    }
}

/// Returns the limit of partly written zones: the smaller one of the drive's limits of open and of active zones.
fn most_open(file: &File) -> Option<u32> {
    let stat = rustix::fs::fstat(file).ok()?;
    let (major, minor) = (rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev));
    let queue = PathBuf::from(format!("/sys/dev/block/{major}:{minor}/queue"));
    let limit = |name| std::fs::read_to_string(queue.join(name)).ok()?.trim().parse::<u32>().ok();
    ["max_open_zones", "max_active_zones"].iter().filter_map(limit).filter(|&limit| limit > 0).min()
}
