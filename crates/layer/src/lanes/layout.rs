//! The layout of a device: the locations that follow from its shape.
//!
//! ```text
//! | superblock | table, slots 0 | (gap) | units, lane by lane in turn | (rest) | table, slots 1 | superblock |
//! ```
//!
//! Damage to one end of the device leaves a superblock, and one slot of each table sector, at the other. In version 1,
//! which is still supported, slots 1 follow slots 0.
//!
//! Unit `i` of lane `l` is unit number `i * lanes + l` of the device, in the table and on the medium: writes to the
//! lanes in turn write the medium in order, and change records in one sector.

use super::constants::{RECORDS, SECTOR_BYTES, UNITS_MAX, VERSION};
use super::error::LanesError;
use flashlane_base::units::{exact_bytes, typed_bytes};
use flashlane_device::{DeviceInfo, Lane, Request};
use std::ops::Range;

/// The shape of the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of lanes.
    pub lanes: u32,
    /// Length of an erase unit.
    pub unit_bytes: u64,
    /// Length of a read unit.
    pub read_unit_bytes: u64,
    /// Length of a write unit.
    pub write_unit_bytes: u64,
}

impl Default for Shape {
    /// The shape of the published device (sdf14, section 2): 44 lanes, units of 8 MiB that are written whole, reads of
    /// 8 KiB.
    fn default() -> Self {
        Self { lanes: 44, unit_bytes: 8 << 20, read_unit_bytes: 8 << 10, write_unit_bytes: 8 << 20 }
    }
}

impl Shape {
    /// Returns the default read unit for a write unit.
    pub(super) fn usual_read_unit(write_unit_bytes: u64) -> u64 {
        Self::default().read_unit_bytes.min(write_unit_bytes)
    }

    /// Returns the settings for this shape, each after a comma, without those that follow from the others.
    pub(super) fn settings(&self) -> String {
        let mut text = format!(",channels={},unit={}", self.lanes, typed_bytes(self.unit_bytes));
        if self.read_unit_bytes != Self::usual_read_unit(self.write_unit_bytes) {
            text += &format!(",read-unit={}", typed_bytes(self.read_unit_bytes));
        }
        if self.write_unit_bytes != self.unit_bytes {
            text += &format!(",write-unit={}", typed_bytes(self.write_unit_bytes));
        }
        text
    }

    /// Checks the shape without a device.
    pub(super) fn check(&self) -> Result<(), LanesError> {
        let refuse = |key, given: u64, reason: String| Err(LanesError::Shape { key, given, reason });
        if self.lanes == 0 {
            return refuse("channels", 0, "at least one is needed".into());
        }
        if self.unit_bytes == 0 || !self.unit_bytes.is_multiple_of(SECTOR_BYTES) {
            return refuse(
                "unit",
                self.unit_bytes,
                format!("a multiple of {} is needed", exact_bytes(SECTOR_BYTES)),
            );
        }
        if self.write_unit_bytes == 0 || !self.unit_bytes.is_multiple_of(self.write_unit_bytes) {
            let whole = format!("a unit of {} is no whole number of them", exact_bytes(self.unit_bytes));
            return refuse("write-unit", self.write_unit_bytes, whole);
        }
        if self.read_unit_bytes == 0 || !self.write_unit_bytes.is_multiple_of(self.read_unit_bytes) {
            let whole =
                format!("a write unit of {} is no whole number of them", exact_bytes(self.write_unit_bytes));
            return refuse("read-unit", self.read_unit_bytes, whole);
        }
        Ok(())
    }

    /// Checks that a device below supports the shape's reads and writes.
    pub(super) fn fits(&self, below: &DeviceInfo) -> Result<(), LanesError> {
        for (key, given, unit) in [
            ("read-unit", self.read_unit_bytes, below.read_unit_bytes),
            ("write-unit", self.write_unit_bytes, below.write_unit_bytes),
        ] {
            if !given.is_multiple_of(unit) {
                let reason = format!("the device below takes multiples of {}", exact_bytes(unit));
                return Err(LanesError::Shape { key, given, reason });
            }
        }
        Ok(())
    }
}

/// The locations on a device with a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    version: u32,
    pub shape: Shape,
    /// Length of the device, in whole sectors.
    pub device_bytes: u64,
    pub units_per_lane: u64,
}

impl Layout {
    /// Returns the layout of a new format: as many units as fit, the same number on every lane.
    pub fn new(shape: Shape, device_bytes: u64) -> Result<Self, LanesError> {
        Self::of_version(VERSION, shape, device_bytes)
    }

    /// Returns the layout of a device formatted with `version`.
    pub fn of_version(version: u32, shape: Shape, device_bytes: u64) -> Result<Self, LanesError> {
        shape.check()?;
        let device_bytes = device_bytes / SECTOR_BYTES * SECTOR_BYTES;
        let with = |units_per_lane| Self { version, shape, device_bytes, units_per_lane };
        let too_small = || {
            let needed_bytes = with(1).end().map(|end| end + with(1).tail_bytes());
            LanesError::TooSmall { device_bytes, needed_bytes: needed_bytes.unwrap_or(u64::MAX) }
        };
        let lane_step = shape.unit_bytes.checked_mul(u64::from(shape.lanes)).ok_or_else(too_small)?;
        let mut units_per_lane = device_bytes / lane_step;
        let units = units_per_lane.checked_mul(u64::from(shape.lanes));
        if units.is_none_or(|units| units > UNITS_MAX) {
            return Err(LanesError::TooManyUnits { units: units.unwrap_or(u64::MAX) });
        }
        while units_per_lane > 0 {
            let layout = with(units_per_lane);
            if layout.end().is_some_and(|end| end + layout.tail_bytes() <= device_bytes) {
                return Ok(layout);
            }
            units_per_lane -= 1;
        }
        Err(too_small())
    }

    pub fn units(&self) -> u64 {
        self.units_per_lane * u64::from(self.shape.lanes)
    }

    /// Number of table sectors; each has two slots.
    pub fn sectors(&self) -> u64 {
        self.units().div_ceil(RECORDS)
    }

    /// Number of records in a sector: all sectors are full but the last.
    pub fn records_of(&self, sector: u64) -> u64 {
        RECORDS.min(self.units() - sector * RECORDS)
    }

    /// Returns whether formatting cleared the head of each unit.
    pub fn heads_are_cleared(&self) -> bool {
        self.version > 2
    }

    /// Returns the offset of a unit, by its number.
    pub fn head(&self, number: u64) -> u64 {
        self.data() + number * self.shape.unit_bytes
    }

    /// Returns the lane of a unit, and its index there.
    pub fn lane_and_unit(&self, number: u64) -> (u32, u64) {
        let lanes = u64::from(self.shape.lanes);
        ((number % lanes) as u32, number / lanes)
    }

    fn slots_are_apart(&self) -> bool {
        self.version > 1
    }

    /// Returns the offset of a slot of a table sector.
    pub fn slot(&self, sector: u64, slot: u64) -> u64 {
        match slot {
            1 if self.slots_are_apart() => self.device_bytes - self.tail_bytes() + SECTOR_BYTES * sector,
            _ => SECTOR_BYTES * (1 + slot * self.sectors() + sector),
        }
    }

    /// Length of our records at the end of the device.
    fn tail_bytes(&self) -> u64 {
        SECTOR_BYTES * if self.slots_are_apart() { 1 + self.sectors() } else { 1 }
    }

    /// Returns the offset of the superblock's copy.
    pub fn last_superblock(&self) -> u64 {
        self.device_bytes - SECTOR_BYTES
    }

    /// Returns the offset of the first unit, aligned to 1 MiB where units are multiples of that, as drives prefer.
    pub fn data(&self) -> u64 {
        const MIB: u64 = 1 << 20;
        let step = if self.shape.unit_bytes.is_multiple_of(MIB) { MIB } else { SECTOR_BYTES };
        let slots = if self.slots_are_apart() { 1 } else { 2 };
        (SECTOR_BYTES * (1 + slots * self.sectors())).next_multiple_of(step)
    }

    /// Returns the end of the last unit.
    fn end(&self) -> Option<u64> {
        self.shape
            .unit_bytes
            .checked_mul(self.units_per_lane)?
            .checked_mul(u64::from(self.shape.lanes))?
            .checked_add(self.data())
    }

    /// Length of the device without its units: superblocks, table, and the unused rest.
    pub fn overhead_bytes(&self) -> u64 {
        self.device_bytes - self.units() * self.shape.unit_bytes
    }

    /// Returns the number of the unit that holds a request.
    pub fn number(&self, request: &Request) -> u64 {
        request.offset_bytes / self.shape.unit_bytes * u64::from(self.shape.lanes) + u64::from(request.lane.0)
    }

    /// Returns the number of a unit.
    pub fn number_of(&self, lane: Lane, unit: u64) -> u64 {
        unit * u64::from(self.shape.lanes) + u64::from(lane.0)
    }

    /// Returns the byte range of a unit on the device.
    pub fn unit_range(&self, lane: Lane, unit: u64) -> Range<u64> {
        let number = self.number_of(lane, unit);
        let start = self.data() + number * self.shape.unit_bytes;
        start..start + self.shape.unit_bytes
    }

    /// Returns the offset of a request on the device.
    pub fn offset_of(&self, request: &Request) -> u64 {
        let within = request.offset_bytes % self.shape.unit_bytes;
        self.data() + self.number(request) * self.shape.unit_bytes + within
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_device::Lane;
    use proptest::prelude::*;

    #[test]
    fn locations_equal_those_computed_by_hand() {
        let shape = Shape { lanes: 3, unit_bytes: 8192, read_unit_bytes: 512, write_unit_bytes: 4096 };
        let layout = Layout::new(shape, 100 * 4096 + 17).unwrap();
        // One table sector, thus two sectors before the data and two after it: 96 sectors are 48 units, 16 per lane.
        assert_eq!((layout.units_per_lane, layout.sectors(), layout.data()), (16, 1, 2 * 4096));
        let places = (layout.slot(0, 0), layout.slot(0, 1), layout.last_superblock());
        assert_eq!(places, (4096, 98 * 4096, 99 * 4096));
        let request = Request::read(0, 2 * 8192 + 512, 512).on(Lane(1));
        assert_eq!((layout.number(&request), layout.offset_of(&request)), (7, 2 * 4096 + 7 * 8192 + 512));
        assert_eq!(layout.overhead_bytes(), 4 * 4096);
        let old = Layout::of_version(1, shape, 100 * 4096 + 17).unwrap();
        assert_eq!((old.units_per_lane, old.sectors(), old.data()), (16, 1, 3 * 4096));
        assert_eq!((old.slot(0, 0), old.slot(0, 1), old.last_superblock()), (4096, 8192, 99 * 4096));
    }

    proptest! {
        #[test]
        fn layout_never_overlaps_and_uses_all_space(
            version in 1_u32..=3, lanes in 1_u32..50, unit in 1_u64..300, device in 1_u64..(1 << 33)
        ) {
            let unit_bytes = unit * SECTOR_BYTES;
            let shape = Shape { lanes, unit_bytes, read_unit_bytes: 512, write_unit_bytes: unit_bytes };
            match Layout::of_version(version, shape, device) {
                Ok(layout) => {
                    let (last, end) = (layout.sectors() - 1, layout.end().unwrap());
                    prop_assert!(layout.slot(last, 0) + SECTOR_BYTES <= layout.data());
                    if version == 1 {
                        prop_assert!(layout.slot(last, 0) < layout.slot(0, 1));
                        prop_assert!(layout.slot(last, 1) + SECTOR_BYTES <= layout.data());
                        prop_assert!(end <= layout.last_superblock());
                    } else {
                        prop_assert!(end <= layout.slot(0, 1));
                        prop_assert_eq!(layout.slot(last, 1) + SECTOR_BYTES, layout.last_superblock());
                    }
                    let more = Layout { units_per_lane: layout.units_per_lane + 1, ..layout };
                    prop_assert!(more.end().unwrap() + more.tail_bytes() > layout.device_bytes);
                }
                Err(LanesError::TooSmall { needed_bytes, .. }) => {
                    prop_assert!(needed_bytes > device / SECTOR_BYTES * SECTOR_BYTES);
                    prop_assert_eq!(Layout::of_version(version, shape, needed_bytes).unwrap().units_per_lane, 1);
                }
                Err(error) => prop_assert!(matches!(error, LanesError::TooManyUnits { .. }), "{error}"),
            }
        }
    }
}
