//! The cache of the map: what it requires of the translation layer, its size and its policy.

use super::policy::check;
use crate::config::refusal::{Refusal, require};
use crate::config::{DriveConfig, LevelName, Programming, entries_of_translation_page};
use crate::nand::Geometry;
use flashlane_base::units::exact_bytes;

/// Checks the section, where there is one. Requires: counts and sizes of the flash are in range.
pub(super) fn validate(config: &DriveConfig, maps_blocks: bool) -> Result<(), Refusal> {
    let Some(cache) = &config.mapping.cache else { return Ok(()) };
    let geometry = Geometry::new(config);
    let only = |holds: bool, field: &'static str, allowed: &str| {
        require(holds, field, || {
            format!("a part of the map is on flash ([mapping.cache]); allowed with it: {allowed}")
        })
    };
    only(!maps_blocks, "mapping.translation", "only 'page'")?;
    only(geometry.parity.is_none(), "mapping.parity", "none")?;
    only(geometry.joined_planes == 1, "cleaning.multi_plane", "only false")?;
    only(config.replication.is_none(), "replication.policy", "only 'none'")?;
    only(config.flash.programming == Programming::default(), "flash.programming", "only 'page'")?;
    only(config.compat.disksim.summary_pages == 0, "compat.disksim.summary_pages", "only 0")?;
    only(config.compat.disksim.pool == LevelName::Plane, "compat.disksim.pool", "only 'plane'")?;
    let (line, unit) = (cache.line_bytes(geometry.unit_bytes), geometry.unit_bytes);
    require(cache.size.0 >= unit, "mapping.cache.size", || {
        format!(
            "it is {}; allowed: at least a translation page of {}",
            exact_bytes(cache.size.0),
            exact_bytes(unit)
        )
    })?;
    let all = line * u64::from(geometry.logical_units.div_ceil(cache.line_units(unit)));
    let sizes = cache.size.0.saturating_add(cache.host_memory.0);
    let field = if cache.size.0 > all { "mapping.cache.size" } else { "mapping.cache.host_memory" };
    require(sizes <= all, field, || {
        format!(
            "the cache has {}, and all of the map takes {} there; allowed: at most that, or no [mapping.cache], which keeps \
             all of the map in memory",
            exact_bytes(sizes),
            exact_bytes(all)
        )
    })?;
    let [lines, of_host] = cache.lines(unit);
    let most = (entries_of_translation_page(unit) - 1).min(lines / 2);
    require(cache.prefetch <= most, "mapping.cache.prefetch", || {
        format!(
            "it is {}; allowed: at most {most}, the rest of a translation page and half of the {lines} entries in the cache",
            cache.prefetch
        )
    })?;
    let build = |options: &_| config.policies.map_cache.build(&cache.policy, lines.max(of_host), options);
    check(("mapping.cache.policy", "mapping.cache.options"), &cache.options, build).map(drop)
}
