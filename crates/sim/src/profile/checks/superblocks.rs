//! Blocks that are garbage-collected together, over channels for parity or over the planes of a die: allowed settings.

use crate::config::refusal::{Refusal, require};
use crate::config::{BufferSide, DeferGc, DriveConfig, LevelName};
use crate::nand::Geometry;
use flashlane_base::units::exact_bytes;

/// Checks what goes with them. Requires: counts and sizes of the flash are in range.
pub(super) fn validate(config: &DriveConfig, maps_blocks: bool) -> Result<(), Refusal> {
    let (mapping, flash, cleaning) = (&config.mapping, &config.flash, &config.cleaning);
    require(flash.multi_plane || !cleaning.multi_plane, "cleaning.multi_plane", || {
        "it is true; allowed: only with flash.multi_plane".into()
    })?;
    check_rows(config)?;
    if mapping.parity.is_none() && !cleaning.multi_plane {
        return Ok(());
    }
    if cleaning.rotate {
        check_rotation(config)?;
    }
    check_joined_blocks(config, maps_blocks)
}

/// Checks the channels that a row protects, without which no dies take turns.
fn check_rows(config: &DriveConfig) -> Result<(), Refusal> {
    let (mapping, flash, cleaning) = (&config.mapping, &config.flash, &config.cleaning);
    if let Some(protected) = mapping.parity {
        require(flash.channels.is_multiple_of(protected + 1), "mapping.parity", || {
            let (channels, row) = (flash.channels, protected + 1);
            format!(
                "it is {protected}, and {row} do not divide {channels} channels; allowed: a number that does with one more"
            )
        })
    } else {
        require(!cleaning.rotate, "cleaning.rotate", || {
            "it is true; allowed without mapping.parity: only false, since it is the dies of a row that take turns".into()
        })
    }
}

/// Checks what dies need to garbage-collect in turns.
fn check_rotation(config: &DriveConfig) -> Result<(), Refusal> {
    require(config.cleaning.defer == DeferGc::No, "cleaning.defer", || {
        "it says when all GC that is due runs; allowed with cleaning.rotate: only 'no'".into()
    })?;
    let low = Geometry::new(config).low_watermark_blocks;
    require(low >= 2, "cleaning.low", || {
        format!(
            "it keeps {low} of {} blocks of a plane free; allowed with cleaning.rotate: at least 2, half of which may wait \
             for their erase",
            config.flash.blocks
        )
    })
}

/// Checks what blocks that are filled and emptied together need of all other sections.
fn check_joined_blocks(config: &DriveConfig, maps_blocks: bool) -> Result<(), Refusal> {
    let (mapping, flash, cleaning) = (&config.mapping, &config.flash, &config.cleaning);
    let with = if mapping.parity.is_some() { "mapping.parity" } else { "cleaning.multi_plane" };
    let only = |holds, field, given: &str, allowed: &str| {
        require(holds, field, || format!("it is {given}; allowed with {with}: {allowed}"))
    };
    let (page, unit, chunk) = (flash.page.0, mapping.unit.unwrap_or(flash.page).0, mapping.chunk.0);
    let policy = format!("'{}'", mapping.policy);
    let translation = format!("'{}'", mapping.translation);
    only(!maps_blocks, "mapping.translation", &translation, "only 'page'")?;
    only(mapping.policy == "write-order", "mapping.policy", &policy, "only 'write-order'")?;
    // A row has a unit on each channel.
    let row = page.max(unit);
    only(
        chunk == row,
        "mapping.chunk",
        &exact_bytes(chunk),
        "only the flash page, or a unit that is larger",
    )?;
    only(
        unit == row || mapping.parity.is_none(),
        "mapping.unit",
        &exact_bytes(unit),
        "only the flash page, or several",
    )?;
    let disksim = &config.compat.disksim;
    let summary_pages = disksim.summary_pages.to_string();
    only(disksim.pool == LevelName::Plane, "compat.disksim.pool", "more than a plane", "only 'plane'")?;
    only(disksim.summary_pages == 0, "compat.disksim.summary_pages", &summary_pages, "only 0")?;
    only(!flash.copyback, "flash.copyback", "true", "only false, since a moved page changes its plane")?;
    let idle = cleaning.high.0 > cleaning.low.0;
    only(
        !idle,
        "cleaning.high",
        "above cleaning.low",
        "at most that, since it is not a single die that is idle",
    )?;
    let below = config.buffer.as_ref().is_some_and(|buffer| buffer.placement == BufferSide::Below);
    only(!below, "buffer.placement", "'below'", "only 'above'")?;
    let pages = u64::from(flash.pages) * page / unit;
    let together = u64::from(mapping.parity.unwrap_or(1)) * u64::from(Geometry::new(config).joined_planes);
    require(pages * together < 1 << 15, "flash.pages", || {
        let all = pages * together;
        format!("blocks that are cleaned together have {all} mapping units of data; allowed: at most 32767")
    })
}
