//! The translation schemes: what a profile's `mapping.translation` chooses among, with its options and with the blocks
//! that it needs beyond those of the data.

use super::block::{bast, fast, replacement};
use super::page;
use super::scheme::Scheme;
use crate::config::DriveConfig;
use crate::nand::Geometry;
use flashlane_policy::registry::{Entry, Family};
use flashlane_policy::{OptionError, Options};

/// Makes a scheme for an array, from the options of a profile.
pub(crate) type Build = fn(&Geometry, &Options) -> Result<Scheme, OptionError>;

/// All schemes.
const REGISTRY: &[Entry<Build>] = &[
    Entry { name: "page", summary: "any page holds any mapping unit", is_random: false, build: page::build },
    Entry {
        name: "block",
        summary: "whole blocks, and a replacement for each that is written anew",
        is_random: false,
        build: replacement::build,
    },
    Entry {
        name: "bast",
        summary: "whole blocks, and a log block for each of a few of them",
        is_random: false,
        build: bast::build,
    },
    Entry {
        name: "fast",
        summary: "whole blocks, and log blocks for pages of all of them",
        is_random: false,
        build: fast::build,
    },
];

/// The family.
pub(crate) const FAMILY: Family<Build> = Family::new("translation", &[], REGISTRY);

/// Builds the scheme called `name`.
///
/// # Errors
/// [`OptionError`] where there is none, or an option does not suit it.
pub(crate) fn build(name: &str, geometry: &Geometry, options: &Options) -> Result<Scheme, OptionError> {
    FAMILY.make(name, options, |build| build(geometry, options))
}

/// Builds the scheme of a profile. Requires: `config` is validated.
pub(crate) fn of(config: &DriveConfig, geometry: &Geometry) -> Scheme {
    let options = config.mapping.translation_options.options();
    build(&config.mapping.translation, geometry, &options).expect("validation built every policy once")
}

#[cfg(test)]
mod tests;
