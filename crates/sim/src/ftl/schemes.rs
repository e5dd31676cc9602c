//! The translation schemes: what a profile's `mapping.translation` chooses among, with its options and with the blocks
//! that it needs beyond those of the data.

use super::block::{BlockScheme, Stripes, bast, fast, replacement};
use super::page;
use crate::config::DriveConfig;
use crate::nand::Geometry;
use flashlane_policy::registry::{Entry, Family};
use flashlane_policy::{OptionError, Options};

/// A translation scheme, without anything written.
pub(crate) enum Scheme {
    /// Any page of flash holds any mapping unit.
    Pages,
    /// Whole erase blocks are mapped over stripes of planes; this takes what is written out of order.
    Blocks(Stripes, Box<dyn BlockScheme>),
}

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

impl Scheme {
    /// Whether whole blocks are mapped.
    pub(crate) fn maps_blocks(&self) -> bool {
        matches!(self, Self::Blocks(..))
    }

    /// Blocks that a plane needs beyond those of its data.
    pub(crate) fn spare_blocks(&self, geometry: &Geometry) -> u32 {
        match self {
            Self::Pages => page::spare_blocks(geometry),
            Self::Blocks(_, scheme) => scheme.spare_blocks(),
        }
    }

    /// Blocks that a plane needs for its share of the capacity, and to write to. `geometry` counts superblocks as blocks.
    pub(crate) fn least_blocks_per_plane(&self, geometry: &Geometry) -> u64 {
        let data_blocks = match self {
            Self::Pages => geometry.logical_units_per_plane().div_ceil(geometry.data_units),
            Self::Blocks(stripes, _) => stripes.erase_units_per_plane(geometry),
        };
        u64::from(data_blocks) + u64::from(self.spare_blocks(geometry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;

    fn build_with(name: &str, options: &[(&str, &str)]) -> Result<Scheme, String> {
        let geometry = Geometry::new(&load("samsung-like", &[]).unwrap());
        let options = Options::new(options.iter().map(|&(key, value)| (key.into(), value.into())));
        build(name, &geometry, &options).map_err(|error| error.to_string())
    }

    #[test]
    fn every_scheme_that_maps_blocks_requires_log_blocks() {
        for entry in REGISTRY {
            let (without, with) =
                (build_with(entry.name, &[]), build_with(entry.name, &[("log_blocks", "3")]));
            match entry.name {
                "page" => assert!(with.err().unwrap().contains("'log_blocks' is unknown")),
                _ => {
                    assert!(without.err().unwrap().contains("'log_blocks' is missing"));
                    assert!(with.unwrap().maps_blocks());
                }
            }
        }
    }

    #[test]
    fn schemes_need_spare_blocks_for_logs_and_merges() {
        let geometry = Geometry::new(&load("samsung-like", &[]).unwrap());
        let spare = |name, options: &[_]| build_with(name, options).unwrap().spare_blocks(&geometry);
        assert_eq!(spare("page", &[]), geometry.low_blocks + 2);
        assert_eq!(spare("block", &[("log_blocks", "3")]), 3);
        assert_eq!(spare("bast", &[("log_blocks", "3")]), 4);
        assert_eq!(spare("fast", &[("log_blocks", "3")]), 5);
        assert_eq!(spare("fast", &[("log_blocks", "3"), ("sequence_blocks", "4")]), 8);
    }
}
