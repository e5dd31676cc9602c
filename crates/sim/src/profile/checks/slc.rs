//! The SLC cache: what it requires of the translation layer, and its size.

use crate::config::refusal::{Refusal, require};
use crate::config::{Bytes, Cell, DeferGc, DriveConfig, LevelName};
use crate::nand::Geometry;
use flashlane_base::units::exact_bytes;

/// Checks the section, where there is one. Requires: counts and sizes of the flash are in range.
pub(super) fn validate(config: &DriveConfig, maps_blocks: bool) -> Result<(), Refusal> {
    let Some(slc) = &config.slc else { return Ok(()) };
    let geometry = Geometry::new(config);
    let only = |holds: bool, field: &'static str, allowed: &str| {
        require(holds, field, || format!("there is an SLC cache ([slc]); allowed with it: {allowed}"))
    };
    only(!maps_blocks, "mapping.translation", "only 'page'")?;
    only(geometry.parity.is_none(), "mapping.parity", "none")?;
    only(config.replication.is_none(), "replication.policy", "only 'none'")?;
    only(config.cleaning.defer == DeferGc::No, "cleaning.defer", "only 'no'")?;
    only(config.compat.disksim.pool == LevelName::Plane, "compat.disksim.pool", "only 'plane'")?;
    only(config.compat.disksim.summary_pages == 0, "compat.disksim.summary_pages", "only 0")?;
    let bits = slc.bits(config.flash.cell);
    let units = config.flash.pages / geometry.pages_per_unit;
    require(units >= bits, "slc.bits", || {
        format!(
            "it is {bits}, but a block has {units} pages, or larger mapping units; allowed: at most these"
        )
    })?;
    let of_cell = config.flash.cell.map_or(bits, Cell::bits);
    require(bits == of_cell, "slc.bits", || {
        format!("it is {bits}, and a flash.cell has {of_cell}; allowed: these, or leave it away")
    })?;
    require(of_cell > 1, "flash.cell", || {
        "it is 'slc', beside an SLC cache; allowed with one: more bits".into()
    })?;
    require(geometry.kept_slc_blocks < geometry.blocks, "slc.size", || {
        let block = u64::from(geometry.slc_units) * geometry.unit_bytes * u64::from(geometry.planes);
        format!(
            "it is {}, and a block of each plane holds {} in it; allowed: less than {}",
            exact_bytes(slc.size.0),
            exact_bytes(block),
            exact_bytes(block * u64::from(geometry.blocks))
        )
    })
}

/// Returns the largest `slc.size`, in whole blocks of all planes, for which `fits` holds; `None` where no blocks are kept for
/// the cache, or none fit.
///
/// Requires: where a size fits, smaller ones do; the section is valid.
pub(super) fn largest_size(config: &DriveConfig, fits: impl Fn(&DriveConfig) -> bool) -> Option<u64> {
    let geometry = Geometry::new(config);
    let block = u64::from(geometry.slc_units) * geometry.unit_bytes * u64::from(geometry.planes);
    let mut config = config.clone();
    let mut fits = |blocks: u64| {
        if let Some(slc) = &mut config.slc {
            slc.size = Bytes(blocks * block);
        }
        fits(&config)
    };
    // The most blocks that are known to fit, and the fewest that are not.
    let (mut fitting, mut beyond) = (0, u64::from(geometry.kept_slc_blocks));
    while fitting + 1 < beyond {
        let middle = fitting + (beyond - fitting) / 2;
        match fits(middle) {
            true => fitting = middle,
            false => beyond = middle,
        }
    }
    (fitting > 0).then_some(fitting * block)
}
