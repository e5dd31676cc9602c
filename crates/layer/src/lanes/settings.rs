//! The layer's settings: what is asked for, held against what is found.

use super::divide;
use super::error::LanesError;
use super::layout::Shape;
use super::open::{self, Driven};
use super::{Lanes, Repair};
use crate::options::{LayerError, OptionHelp, Options};
use crate::registry::{Entry, Stack};
use flashlane_base::Seed;
use flashlane_base::units::{exact_bytes, parse_bytes, parse_count};
use flashlane_device::{DataDevice, Profile};

pub(crate) const ENTRY: Entry = Entry {
    name: "lanes",
    summary: "divides a file or block device into lanes of erase units, with their states kept on it",
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
                "read the beginning of each erased unit, and take it for written where other data lies there",
            ),
        ]
    },
    build,
};

fn build(options: &Options<'_>, inner: Stack, seed: Seed) -> Result<Stack, LayerError> {
    let asked = Asked::read(options)?;
    match inner {
        Stack::Data(device) => Ok(Stack::Data(Box::new(asked.open(device, seed)?))),
        Stack::Timing(device) => {
            Err(LayerError::NeedsBytes { key: ENTRY.name, device: device.profile().name.clone() })
        }
    }
}

/// What lanes will say of themselves that these settings, with `format=yes` among them, divide `inner` into: so that
/// somebody who cannot use them can say so before all that is on it is lost. Nothing unless `format=yes` is among them: a
/// blank simulated device is divided without it, and has nothing to lose.
///
/// # Errors
/// [`LayerError`] where it cannot be divided so.
pub fn planned(settings: &[(String, String)], inner: &Stack) -> Result<Option<Profile>, LayerError> {
    let asked = Asked::read(&Options::new(ENTRY.name, &(ENTRY.options)(), settings)?)?;
    match inner {
        Stack::Data(device) if asked.format == Some(true) => {
            let layout = divide::planned(device.profile(), asked.shape())?;
            Ok(Some(super::profile(device.profile(), &layout)))
        }
        _ => Ok(None),
    }
}

/// A shape of which some is left open, and whether it is made anew.
struct Asked {
    lanes: Option<u32>,
    unit_bytes: Option<u64>,
    read_unit_bytes: Option<u64>,
    write_unit_bytes: Option<u64>,
    format: Option<bool>,
    repair: Option<Repair>,
    check_erased: Option<bool>,
}

impl Asked {
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
        Ok(Self {
            lanes: options.read("channels", lanes)?,
            unit_bytes: options.read("unit", parse_bytes)?,
            read_unit_bytes: options.read("read-unit", parse_bytes)?,
            write_unit_bytes: options.read("write-unit", parse_bytes)?,
            format: options.read("format", yes)?,
            repair: options.read("repair", repair)?,
            check_erased: options.read("check-erased", yes)?,
        })
    }

    /// The lanes on a device. A simulated one begins blank and has nothing to lose: it is divided without being asked for.
    fn open<D: DataDevice>(&self, mut device: D, seed: Seed) -> Result<Lanes<D>, LanesError> {
        let blank = self.format.is_none() && device.profile().simulated && {
            let mut driven = Driven { device: &mut device, next: &mut 0 };
            matches!(open::superblock(&mut driven, |_| Ok(())), Err(LanesError::NotFormatted { .. }))
        };
        if blank || self.format == Some(true) {
            return Lanes::format(device, self.shape(), seed);
        }
        let name = device.profile().name.clone();
        let accept = |found: &Shape| self.accepts(found, &name);
        let checks_erased = self.check_erased == Some(true);
        let Some(repair) = self.repair else {
            return Lanes::open_if(device, Repair::Ours, checks_erased, accept);
        };
        let mut lanes = Lanes::open_if(device, repair, checks_erased, accept)?;
        lanes.repair()?;
        Ok(lanes)
    }

    fn accepts(&self, found: &Shape, device: &str) -> Result<(), LanesError> {
        let bytes = |bytes: u64| exact_bytes(bytes).replace(' ', "");
        let lanes = |lanes: u64| lanes.to_string();
        let written: [(_, _, _, &dyn Fn(u64) -> String); 4] = [
            ("channels", self.lanes.map(u64::from), u64::from(found.lanes), &lanes),
            ("unit", self.unit_bytes, found.unit_bytes, &bytes),
            ("read-unit", self.read_unit_bytes, found.read_unit_bytes, &bytes),
            ("write-unit", self.write_unit_bytes, found.write_unit_bytes, &bytes),
        ];
        for (key, asked, found, written) in written {
            if let Some(asked) = asked.filter(|&asked| asked != found) {
                let (asked, found) = (written(asked), written(found));
                return Err(LanesError::OtherShape { device: device.into(), key, asked, found });
            }
        }
        Ok(())
    }

    /// What is to be made.
    fn shape(&self) -> Shape {
        let usual = Shape::default();
        let unit_bytes = self.unit_bytes.unwrap_or(usual.unit_bytes);
        let write_unit_bytes = self.write_unit_bytes.unwrap_or(unit_bytes);
        let read_unit_bytes =
            self.read_unit_bytes.unwrap_or_else(|| Shape::usual_read_unit(write_unit_bytes));
        Shape { lanes: self.lanes.unwrap_or(usual.lanes), unit_bytes, read_unit_bytes, write_unit_bytes }
    }
}
