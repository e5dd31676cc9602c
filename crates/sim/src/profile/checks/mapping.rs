//! The translation layer: its stripes, its scheme and its policies.

use crate::config::refusal::{Refusal, require};
use crate::config::{DriveConfig, LevelName};
use crate::ftl::scheme::Scheme;
use crate::ftl::scheme_registry;
use crate::nand::Geometry;
use flashlane_base::Seed;
use flashlane_base::units::exact_bytes;

/// Checks how mapping units are striped.
pub(super) fn striping(config: &DriveConfig) -> Result<(), Refusal> {
    let (page, chunk) = (config.flash.page.0, config.mapping.chunk.0);
    let unit = config.mapping.unit.unwrap_or(config.flash.page).0.max(1);
    require(chunk.is_multiple_of(unit) && chunk > 0, "mapping.chunk", || {
        format!("it is {}; allowed: whole mapping units of {}", exact_bytes(chunk), exact_bytes(unit))
    })?;
    let block = page * u64::from(config.flash.pages);
    require(chunk <= block, "mapping.chunk", || {
        format!(
            "it is {}, larger than an erase block of {} pages of {}; allowed: at most {}",
            exact_bytes(chunk),
            config.flash.pages,
            exact_bytes(page),
            exact_bytes(block)
        )
    })?;
    let mut order = config.mapping.order;
    order.sort_unstable();
    require(order.windows(2).all(|pair| pair[0] != pair[1]), "mapping.order", || {
        "a level is named twice; allowed: each of channel, package, die and plane once".into()
    })
}

/// Builds the translation scheme, and checks what goes with one that maps whole blocks.
///
/// Requires: counts and sizes of the flash are in range.
pub(super) fn translation(config: &DriveConfig) -> Result<Scheme, Refusal> {
    let (mapping, geometry) = (&config.mapping, Geometry::new(config));
    let fields = ("mapping.translation", "mapping.translation_options");
    let scheme = mapping
        .translation_options
        .check(fields, |options| scheme_registry::build(&mapping.translation, &geometry, options))?;
    if !scheme.maps_blocks() {
        return Ok(scheme);
    }
    let only = |field, allowed: &str, given: &str| {
        require(given == allowed, field, || {
            format!("it is '{given}'; allowed where whole blocks are mapped: only '{allowed}'")
        })
    };
    only("mapping.policy", "lba", &mapping.policy)?;
    only("mapping.allocation", "striped", &mapping.allocation)?;
    only("cleaning.policy", "greedy", &config.cleaning.policy)?;
    require(config.compat.disksim.pool == LevelName::Plane, "compat.disksim.pool", || {
        "a page's plane follows from its address where whole blocks are mapped; allowed: only 'plane'".into()
    })?;
    require(!config.cleaning.separate, "cleaning.separate", || {
        "blocks are merged where whole blocks are mapped; allowed: only false".into()
    })?;
    require(config.wear.policy != "static", "wear.policy", || {
        "it is 'static', which moves single pages; allowed where whole blocks are mapped: 'none' or 'dynamic'"
            .into()
    })?;
    let (chunk, data) = (geometry.chunk_units, geometry.data_units);
    require(data.is_multiple_of(chunk), "mapping.chunk", || {
        format!(
            "it has {chunk} of the {data} mapping units of an erase block; allowed where whole blocks are mapped: a \
             number by which they can be divided"
        )
    })?;
    Ok(scheme)
}

/// Checks the policies of mapping and allocation. Requires: the translation scheme was checked.
pub(super) fn policies(config: &DriveConfig) -> Result<(), Refusal> {
    let mapping = &config.mapping;
    mapping.options.check(("mapping.policy", "mapping.options"), |options| {
        config.policies.mapping.build(&mapping.policy, options)
    })?;
    let array = Geometry::new(config).array(&mapping.order, Seed(0));
    mapping.allocation_options.check(("mapping.allocation", "mapping.allocation_options"), |options| {
        config.policies.allocation.build(&mapping.allocation, &array, options)
    })?;
    // A page's place must be free to change where a plane has no room; a random place bound to an address could
    // fill one plane beyond its capacity.
    require(!(mapping.policy == "lba" && mapping.allocation != "striped"), "mapping.allocation", || {
        format!(
            "it is '{}', which spreads addresses unevenly; with mapping by lba only 'striped' is allowed",
            mapping.allocation
        )
    })
}
