//! A drive's configuration: what a simulated drive is made of, as plain data.
//!
//! Every quantity carries its unit as text (`"25us"`); every number's origin stands in `[provenance]`. Each section is
//! a file: its settings, their defaults and their ranges. [`crate::profile`] reads a configuration, and has the rules
//! over several sections.

pub(crate) mod array_size;
mod buffer;
mod cleaning;
mod compat;
mod flash;
mod host;
mod initial;
mod lanes;
mod level;
mod limits;
mod link;
mod map_cache;
mod mapping;
mod placement;
mod policy_options;
mod power;
mod quantity;
mod queues;
mod readahead;
pub(crate) mod refusal;
mod replication;
mod scheduling;
pub(crate) mod section;
mod slc;
mod zones;

pub use buffer::*;
pub use cleaning::*;
pub use compat::*;
pub use flash::*;
pub use host::*;
pub use initial::*;
pub use lanes::*;
pub use level::*;
pub use link::*;
pub use map_cache::*;
pub use mapping::*;
pub use placement::*;
pub use policy_options::*;
pub use power::*;
pub use quantity::*;
pub use queues::*;
pub use readahead::*;
pub use replication::*;
pub use scheduling::*;
pub use slc::*;
pub use zones::*;

use array_size::ArraySize;
use flashlane_device::OverProvisioningChange;
use flashlane_policy::Policies;
use section::{DriveKind, Facts, PageTimes, Room, Section};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Add;

/// The whole drive.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveConfig {
    /// Its name.
    pub name: String,
    /// One sentence about it.
    #[serde(default)]
    pub description: String,
    /// Bytes the host sees; a whole number of sectors. Reading a profile requires it, or derives it from
    /// `over_provisioning`.
    #[serde(default)]
    pub capacity: Bytes,
    /// Flash beyond the capacity, as a share of the capacity, where it was given in place of the capacity;
    /// [`DriveConfig::over_provisioning`] has the share in any case.
    pub over_provisioning: Option<Share>,
    /// Change of over-provisioning from the profile's file by settings of one of the flash and the capacity.
    #[serde(skip)]
    pub over_provisioning_change: Option<OverProvisioningChange>,
    /// Smallest unit of a request.
    #[serde(default = "Bytes::sector")]
    pub sector: Bytes,
    /// What a request costs before it reaches the drive.
    #[serde(default)]
    pub host: HostConfig,
    /// The cable and its protocol.
    pub link: LinkConfig,
    /// Submission queues; one, from which the drive takes every command at once, if absent.
    pub queues: Option<QueuesConfig>,
    /// Readahead; no readahead if absent.
    pub readahead: Option<ReadaheadConfig>,
    /// Write-back buffer; no buffer if absent, or if its policy is [`NO_BUFFER`].
    #[serde(default, deserialize_with = "buffer::unless_none")]
    pub buffer: Option<BufferConfig>,
    /// Where mapping units go. Required, except with `[lanes]` or `[zones]`.
    #[serde(default)]
    pub mapping: MappingConfig,
    /// Garbage collection.
    #[serde(default)]
    pub cleaning: CleaningConfig,
    /// Wear leveling.
    #[serde(default)]
    pub wear: WearConfig,
    /// Order of service at a die.
    #[serde(default)]
    pub scheduling: SchedulingConfig,
    /// Copies of mapping units on other dies; none if absent, or if its policy is [`NO_REPLICATION`].
    #[serde(default, deserialize_with = "replication::unless_none")]
    pub replication: Option<ReplicationConfig>,
    /// Blocks written with one bit a cell, as a cache; none if absent.
    pub slc: Option<SlcConfig>,
    /// Placement handles; one, which all writes have, if absent.
    pub placement: Option<PlacementConfig>,
    /// Software-defined flash: every channel is a lane, and there is no translation layer; a conventional drive where
    /// absent.
    pub lanes: Option<LanesConfig>,
    /// Zones, and no translation layer; a conventional drive where absent.
    pub zones: Option<ZonesConfig>,
    /// The power of operations and states; energy is not counted if absent.
    pub power: Option<PowerConfig>,
    /// The flash array.
    pub flash: FlashConfig,
    /// The state in which the drive starts.
    #[serde(default)]
    pub initial: InitialConfig,
    /// Agreement with other simulators.
    #[serde(default)]
    pub compat: CompatConfig,
    /// Where the numbers come from: field (or `section.*`) to source.
    #[serde(default)]
    pub provenance: BTreeMap<String, String>,
    /// The policies among which the names above choose.
    #[serde(skip)]
    pub policies: Policies,
}

/// Lists the sections, in the order in which they are asked: field and type.
macro_rules! sections {
    ($($($field:ident).+: $section:ty,)*) => {
        impl DriveConfig {
            /// Returns what is known of each section, and the section: a list that all rules and sizes are made from.
            pub(crate) fn sections(&self) -> Vec<(Facts, &dyn Section)> {
                vec![$((<$section>::facts(), &self.$($field).+ as &dyn Section)),*]
            }

            /// Returns the settings that have a value other than their default, and no effect beside the others: the
            /// name of each, and what it needs.
            pub fn without_effect(&self) -> Vec<(&'static str, String)> {
                self.sections().into_iter().flat_map(|(_, section)| section.without_effect(self)).collect()
            }

            /// Returns the section with this dotted name.
            pub(crate) fn section_mut(&mut self, name: &str) -> Option<&mut dyn Section> {
                $(if <$section>::facts().name == name {
                    return Some(&mut self.$($field).+);
                })*
                None
            }

            /// Returns what is known of each section.
            pub(crate) fn facts_of_sections() -> Vec<Facts> {
                vec![$(<$section>::facts()),*]
            }
        }
    };
}

sections! {
    host: HostConfig,
    link: LinkConfig,
    lanes: Option<LanesConfig>,
    queues: Option<QueuesConfig>,
    readahead: Option<ReadaheadConfig>,
    buffer: Option<BufferConfig>,
    mapping: MappingConfig,
    cleaning: CleaningConfig,
    wear: WearConfig,
    scheduling: SchedulingConfig,
    replication: Option<ReplicationConfig>,
    slc: Option<SlcConfig>,
    mapping.cache: Option<MapCacheConfig>,
    placement: Option<PlacementConfig>,
    zones: Option<ZonesConfig>,
    power: Option<PowerConfig>,
    flash: FlashConfig,
    initial: InitialConfig,
    compat: CompatConfig,
}

impl DriveConfig {
    /// Returns the options of the policy that a setting, a full name, chooses, if it is one that the drive has.
    pub(crate) fn options_of(&mut self, setting: &str) -> Option<&mut PolicyOptions> {
        let (section, _) = setting.rsplit_once('.')?;
        self.section_mut(section)?.options_of(setting)
    }

    /// Returns the sizes of the flash array. Requires: counts and sizes of the flash are in range.
    pub(crate) fn array_size(&self) -> ArraySize {
        let flash = &self.flash;
        let dies = flash.channels * flash.packages * flash.dies;
        let unit_bytes = self.mapping.unit.unwrap_or(flash.page).0;
        ArraySize {
            dies,
            planes: dies * flash.planes,
            blocks: flash.blocks,
            pages: flash.pages,
            cell_bits: flash.cell.map(Cell::bits),
            unit_bytes,
            units_per_page: (flash.page.0 / unit_bytes).max(1) as u32,
            pages_per_unit: (unit_bytes / flash.page.0).max(1) as u32,
            logical_units: self.capacity.0.div_ceil(unit_bytes).min(u64::from(u32::MAX - 1)) as u32,
        }
    }

    /// Returns the room that all sections take. Requires: settings are in range.
    pub(crate) fn room(&self, array: &ArraySize) -> Room {
        let rooms = self.sections().into_iter().map(|(_, section)| section.room(array));
        rooms.fold(Room::default(), Room::add)
    }

    /// Returns the array times of the pages that a section writes in times of their own.
    pub(crate) fn own_page_times(&self) -> Option<PageTimes> {
        self.sections().into_iter().find_map(|(_, section)| section.page_times())
    }

    /// Returns the kind of drive that it is.
    pub(crate) fn kind(&self) -> DriveKind {
        match (&self.zones, &self.lanes) {
            (Some(_), _) => DriveKind::Zoned,
            (None, Some(_)) => DriveKind::Lanes,
            (None, None) => DriveKind::Conventional,
        }
    }

    /// Returns the number of lanes that the device has: 1 where it has a translation layer.
    pub fn lane_count(&self) -> u32 {
        match &self.zones {
            Some(zones) => zones.lanes.unwrap_or_else(|| self.zone_groups()),
            None if self.lanes.is_some() => self.flash.channels,
            None => 1,
        }
    }

    /// Returns whether the device shows its erase units, and has no translation layer: software-defined flash, zones.
    pub fn has_erase_units(&self) -> bool {
        self.lanes.is_some() || self.zones.is_some()
    }

    /// Returns the number of groups of dies on which zones lie: 1 where a zone lies on all.
    pub(crate) fn zone_groups(&self) -> u32 {
        let dies = self.flash.channels * self.flash.packages * self.flash.dies;
        self.zones.as_ref().and_then(|zones| zones.dies).map_or(1, |of_zone| dies / of_zone.max(1))
    }

    /// Returns the bytes that a die programs at once, on all of its planes where it programs these together.
    pub(crate) fn program_bytes(&self) -> u64 {
        let flash = &self.flash;
        let planes = if flash.multi_plane { flash.planes } else { 1 };
        flash.page.0 * u64::from(flash.pages_per_program() * planes)
    }

    /// Returns the number of placement handles.
    pub fn handle_count(&self) -> u32 {
        self.placement.map_or(1, |placement| placement.handles)
    }

    /// Returns the number of submission queues.
    pub fn queue_count(&self) -> u32 {
        self.queues.as_ref().map_or(1, |queues| queues.count)
    }
}
