//! A drive's profile: what a simulated drive is made of, as plain data read from TOML.
//!
//! Every quantity carries its unit as text (`"25us"`); every number's origin stands in `[provenance]`. Reading is
//! parse, then validate, then build: what a drive cannot do is refused here, naming file, line and field.
//!
//! Each section is a file: its settings, their defaults, and what is refused of them. `validate` has the order of the
//! checks, and the rules over several sections.

mod buffer;
mod cleaning;
mod compat;
mod error;
mod flash;
mod host;
mod initial;
pub(crate) mod lanes;
mod limits;
mod link;
mod load;
mod mapping;
mod policies;
mod quantity;
mod readahead;
mod refusal;
mod renamed;
mod reserve;
mod scheduling;
mod superblocks;
#[cfg(test)]
mod tests;
mod validate;
mod words;

pub use buffer::{Admit, BufferConfig, NO_BUFFER, Placement};
pub use cleaning::{CleaningConfig, DeferGc, WearConfig};
pub use compat::{CompatConfig, DiskSimConfig};
pub use error::ConfigError;
pub use flash::FlashConfig;
pub use host::HostConfig;
pub use initial::{InitialConfig, InitialState};
pub use lanes::LanesConfig;
pub use link::{CommandsWait, LinkConfig};
pub use load::{PROFILES, ProfileSource, field_names, load, load_with, names, parse, parse_with};
pub use mapping::MappingConfig;
pub use policies::PolicyOptions;
pub use quantity::{Bytes, Rate, Share, Time};
pub use readahead::ReadaheadConfig;
pub use scheduling::SchedulingConfig;

use flashlane_policy::Policies;
use serde::Deserialize;
use std::collections::BTreeMap;

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
    /// Over-provisioning of the profile's file, where settings changed it and gave neither it nor the capacity.
    #[serde(skip)]
    pub file_over_provisioning: Option<f64>,
    /// Smallest unit of a request.
    #[serde(default = "Bytes::sector")]
    pub sector: Bytes,
    /// What a request costs before it reaches the drive.
    #[serde(default)]
    pub host: HostConfig,
    /// The cable and its protocol.
    pub link: LinkConfig,
    /// Readahead; none where absent.
    pub readahead: Option<ReadaheadConfig>,
    /// Write-back buffer; none where absent, or where its policy is [`NO_BUFFER`].
    #[serde(default, deserialize_with = "buffer::unless_none")]
    pub buffer: Option<BufferConfig>,
    /// Which page goes where. Required, except for software-defined flash.
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
    /// Software-defined flash: every channel is a lane, and there is no translation layer; a conventional drive where
    /// absent.
    pub lanes: Option<LanesConfig>,
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

/// A level of the flash array, as a profile names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum LevelName {
    Channel,
    Package,
    Die,
    #[default]
    Plane,
}

impl DriveConfig {
    /// Whether the drive's behaviour depends on its seed: if not, it is the same under every seed, and measuring it once
    /// is enough.
    pub fn is_random(&self) -> bool {
        self.flash.is_random()
            || self.host.is_random()
            || self.initial.state == InitialState::Fragmented
            || readahead::is_random(self)
            || buffer::is_random(self)
            || self.policies.scheduling.is_random(&self.scheduling.policy)
            // Software-defined flash has no translation layer.
            || (self.lanes.is_none() && (mapping::is_random(self) || cleaning::is_random(self)))
    }
}
