//! The settings of the layer, and their comparison with the lanes on the device.

use super::blocking::Blocking;
use super::error::LanesError;
use super::format;
use super::layout::Shape;
use super::open;
use super::recover::RecoverOptions;
use super::{ErasedCheck, Lanes, NAME};
use crate::entry::{Capabilities, Entry, Plan, Prepared, Stack, StateChange};
use crate::error::LayerError;
use crate::options::{OptionHelp, Options};
use crate::state::{Format, Repair, StateOptions, StateSettings};
use flashlane_base::units::{parse_bytes, parse_count, typed_bytes};
use flashlane_device::{DataDevice, Device, DeviceInfo};
use std::sync::Arc;

pub(crate) const ENTRY: Entry = Entry {
    name: NAME,
    summary: "divides a file or block device into lanes of erase units, with their states kept on it",
    adds: Capabilities { erase_units: true, bytes: false, stored_state: true },
    options: || {
        let option = |key, value, summary| OptionHelp { key, value, summary };
        vec![
            option("channels", "N", "how many lanes"),
            option("unit", "SIZE", "an erase unit"),
            option("read-unit", "SIZE", "what reads are multiples of"),
            option("write-unit", "SIZE", "what writes are multiples of: a whole unit unless given"),
            option("format", "yes|no", "divide the device anew; all that is on it is lost"),
            option(
                "repair",
                "yes|overwrite",
                "write damaged records of the lanes anew, with overwrite over other data too",
            ),
            option(
                "check-erased",
                "yes|no",
                "look for other data in erased units, at their beginnings and before the first write, and take such a unit for written",
            ),
        ]
    },
    read: |options| Ok(Arc::new(Settings::read(options)?)),
};

/// The parsed settings: a partial shape, and the options for the state on the device.
#[derive(Clone, Copy, Debug)]
struct Settings {
    lanes: Option<u32>,
    unit_bytes: Option<u64>,
    read_unit_bytes: Option<u64>,
    write_unit_bytes: Option<u64>,
    format: Option<Format>,
    repair: Option<Repair>,
    check_erased: Option<bool>,
}

impl Plan for Settings {
    fn prepare(&self, inner: Stack, state: StateOptions) -> Result<Prepared, LayerError> {
        let Stack::Data(mut device) = inner else {
            return Err(LayerError::NeedsBytes { key: NAME, device: inner.info().name.clone() });
        };
        let settings = self.or(state);
        let check = match settings.check_erased {
            Some(true) if state.units_are_parts => ErasedCheck::Parts,
            Some(true) => ErasedCheck::Units,
            _ => ErasedCheck::None,
        };
        let finished = |lanes| Ok(Stack::Data(Box::new(lanes)));
        if settings.divides(&mut device) {
            let shape = settings.shape();
            let layout = format::planned(device.info(), shape)?;
            let change = StateChange::New(super::info(device.info(), &layout));
            return Ok(Prepared::new(change, move |seed| {
                finished(Lanes::format_with(device, shape, seed, check)?)
            }));
        }
        let name = device.info().name.clone();
        let accept = |found: &Shape| self.accepts(found, &name);
        let repair = settings.repair;
        let recovery = RecoverOptions { shape: self.whole_shape(), looks_for_blocks: true };
        let mut lanes = Lanes::open_if(device, repair.unwrap_or(Repair::Ours), check, recovery, accept)?;
        let change = match repair {
            Some(_) => StateChange::Repaired(lanes.info().clone()),
            None => StateChange::None,
        };
        Ok(Prepared::new(change, move |_| {
            if repair.is_some() {
                lanes.repair()?;
            }
            finished(lanes)
        }))
    }

    fn planned(&self, below: &DeviceInfo) -> Result<DeviceInfo, LayerError> {
        Ok(super::info(below, &format::planned(below, self.shape())?))
    }

    fn state_settings(&self) -> StateSettings {
        let sizes = [self.unit_bytes, self.read_unit_bytes, self.write_unit_bytes];
        let has_shape = self.lanes.is_some() || sizes.iter().any(Option::is_some);
        StateSettings { format: self.format, repair: self.repair, has_shape }
    }
}

impl Settings {
    fn read(options: &Options<'_>) -> Result<Self, LayerError> {
        let lanes = |text: &str| {
            let count = parse_count(text).map_err(|error| error.to_string())?;
            u32::try_from(count).map_err(|_| format!("there are at most {} lanes", u32::MAX))
        };
        let yes = |text: &str| match text {
            "yes" => Ok(true),
            "no" => Ok(false),
            _ => Err("it is yes or no"),
        };
        let repair = |text: &str| match text {
            "yes" => Ok(Repair::Ours),
            "overwrite" => Ok(Repair::Overwrite),
            _ => Err("it is yes or overwrite"),
        };
        let format = |text: &str| yes(text).map(|yes| if yes { Format::Always } else { Format::Never });
        Ok(Self {
            lanes: options.read("channels", lanes)?,
            unit_bytes: options.read("unit", parse_bytes)?,
            read_unit_bytes: options.read("read-unit", parse_bytes)?,
            write_unit_bytes: options.read("write-unit", parse_bytes)?,
            format: options.read("format", format)?,
            repair: options.read("repair", repair)?,
            check_erased: options.read("check-erased", yes)?,
        })
    }

    /// Returns these settings, completed by a caller's options.
    fn or(self, state: StateOptions) -> Self {
        Self {
            format: self.format.or(state.format),
            repair: self.repair.or(state.repair),
            check_erased: self.check_erased.or(Some(state.check_erased)),
            ..self
        }
    }

    /// Returns whether the device is to be formatted. A simulated device begins blank and has nothing to lose: it is
    /// formatted without a request.
    fn divides<D: DataDevice>(&self, device: &mut D) -> bool {
        match self.format {
            Some(Format::Always) => return true,
            Some(Format::Never) => return false,
            None if !device.info().simulated => return false,
            Some(Format::IfAbsent) | None => {}
        }
        let mut blocking = Blocking { device, next: &mut 0 };
        let found = open::superblock(&mut blocking, |_| Ok(()));
        matches!(found, Err(LanesError::NotFormatted { .. }))
    }

    fn accepts(&self, found: &Shape, device: &str) -> Result<(), LanesError> {
        let lanes = |lanes: u64| lanes.to_string();
        let written: [(_, _, _, &dyn Fn(u64) -> String); 4] = [
            ("channels", self.lanes.map(u64::from), u64::from(found.lanes), &lanes),
            ("unit", self.unit_bytes, found.unit_bytes, &typed_bytes),
            ("read-unit", self.read_unit_bytes, found.read_unit_bytes, &typed_bytes),
            ("write-unit", self.write_unit_bytes, found.write_unit_bytes, &typed_bytes),
        ];
        for (key, requested, found, written) in written {
            if let Some(requested) = requested.filter(|&requested| requested != found) {
                let (requested, found) = (written(requested), written(found));
                return Err(LanesError::OtherShape { device: device.into(), key, requested, found });
            }
        }
        Ok(())
    }

    /// Returns the shape where the settings give the values that have no default on a formatted device.
    fn whole_shape(&self) -> Option<Shape> {
        (self.lanes.is_some() && self.unit_bytes.is_some()).then(|| self.shape())
    }

    /// Returns the shape of a new format.
    fn shape(&self) -> Shape {
        let usual = Shape::default();
        let unit_bytes = self.unit_bytes.unwrap_or(usual.unit_bytes);
        let write_unit_bytes = self.write_unit_bytes.unwrap_or(unit_bytes);
        let read_unit_bytes =
            self.read_unit_bytes.unwrap_or_else(|| Shape::usual_read_unit(write_unit_bytes));
        Shape { lanes: self.lanes.unwrap_or(usual.lanes), unit_bytes, read_unit_bytes, write_unit_bytes }
    }
}
