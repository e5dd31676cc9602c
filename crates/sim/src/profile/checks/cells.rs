//! Page types, and programs of whole word lines: what they require of the flash, the buffer and the translation layer.

use super::exclusions;
use crate::config::refusal::{Refusal, range, require};
use crate::config::section::{Exclusions, Other};
use crate::config::{Admit, Cell, DriveConfig, Programming};
use crate::nand::Geometry;
use flashlane_base::units::exact_bytes;

/// Checks the settings of cells. Requires: counts and sizes of the flash are in range.
pub(super) fn validate(config: &DriveConfig, maps_blocks: bool) -> Result<(), Refusal> {
    let flash = &config.flash;
    let Some(cell) = flash.cell else { return without_cells(config) };
    let one_shot = flash.programming == Programming::OneShot;
    for (field, times) in
        [("flash.read_by_type", &flash.read_by_type), ("flash.program_by_type", &flash.program_by_type)]
    {
        require(times.is_empty() || times.len() as u32 == cell.bits(), field, || {
            format!("it has {} times; allowed with flash.cell: {}", times.len(), cell.bits())
        })?;
    }
    require(!one_shot || flash.program_by_type.is_empty(), "flash.program_by_type", || {
        "all pages of a word line are programmed at once, in flash.program; allowed with it: flash.programming = 'page'"
            .into()
    })?;
    let excluded = Exclusions {
        reason: "pages have types (flash.cell); allowed with them".into(),
        others: &[Other::BlockMapping, Other::Summaries],
    };
    exclusions::check(config, maps_blocks, &excluded)?;
    if one_shot { validate_one_shot(config, cell) } else { Ok(()) }
}

/// Checks that nothing is set that only cells have.
pub(super) fn without_cells(config: &DriveConfig) -> Result<(), Refusal> {
    let flash = &config.flash;
    for (field, is_set) in [
        ("flash.read_by_type", !flash.read_by_type.is_empty()),
        ("flash.program_by_type", !flash.program_by_type.is_empty()),
        ("flash.programming", flash.programming != Programming::default()),
    ] {
        require(!is_set, field, || "pages have no types; allowed with a flash.cell only".into())?;
    }
    Ok(())
}

/// Checks what programs of whole word lines require: the pages of a word line that is not complete wait in the buffer.
fn validate_one_shot(config: &DriveConfig, cell: Cell) -> Result<(), Refusal> {
    let (flash, geometry) = (&config.flash, Geometry::new(config));
    let reason = "all pages of a word line are programmed at once (flash.programming); allowed with this";
    let only = |holds: bool, field: &'static str, allowed: &str| {
        require(holds, field, || format!("{reason}: {allowed}"))
    };
    only(cell != Cell::Slc, "flash.programming", "flash.cell 'mlc', 'tlc' or 'qlc'")?;
    only(flash.pages.is_multiple_of(cell.bits()), "flash.pages", "whole word lines")?;
    only(flash.page.0 * u64::from(cell.bits()) <= 1 << 20, "flash.page", "word lines of up to 1 MiB")?;
    let others = &[Other::Parity, Other::Section("replication"), Other::SharedPools];
    exclusions::check(config, false, &Exclusions { reason: reason.into(), others })?;
    only(
        config.cleaning.separate,
        "cleaning.separate",
        "only true, so that GC completes no word line of the host's",
    )?;
    let Some(buffer) = &config.buffer else {
        return only(false, "buffer.policy", "a buffer, in which pages wait for the rest of their word line");
    };
    only(buffer.admit == Admit::All, "buffer.admit", "only 'all'")?;
    only(buffer.batch_pages_per_package.is_none(), "buffer.batch_pages_per_package", "none")?;
    only(buffer.read_wait.is_none(), "buffer.read_wait", "none")?;
    // Otherwise units that wait for each other could be all that drains, or all that the buffer has room for.
    let of_cache = if config.slc.is_some() { geometry.units_per_page } else { 0 };
    let of_die = (geometry.units_per_program + of_cache) * geometry.planes_per_die;
    range("buffer.drain_per_die", buffer.drain_per_die, of_die, 1024)?;
    let of_all = u64::from(of_die) * u64::from(geometry.dies) * geometry.unit_bytes;
    require(buffer.size.0 >= of_all, "buffer.size", || {
        let given = exact_bytes(buffer.size.0);
        format!(
            "it is {given}; allowed: at least what is programmed at once on each plane, {} in all",
            exact_bytes(of_all)
        )
    })
}
