//! What a drive cannot be: rules over several fields, each refusal naming the field to change.

use super::{
    DriveConfig, LevelName, NO_BUFFER, PolicyOptions, Takes, Translation, lanes, reserve, superblocks,
};
use crate::buffer::{longest_page, shape};
use crate::nand::Geometry;
use flashlane_base::units::exact_bytes;
use flashlane_base::{Duration, Seed};
use flashlane_policy::buffer::Shape;
use flashlane_policy::{OptionError, Options};

pub(super) type Refusal = (&'static str, String);

/// The most pages a drive may have: page numbers are 32 bits, with one value kept for "none".
const MOST_PAGES: u64 = u32::MAX as u64 - 1;

/// The longest that one thing may take: far beyond any drive, and too short for sums to reach the end of the clock.
const LONGEST: Duration = Duration::from_s(10);

/// The slowest link or bus, for the same reason.
const SLOWEST_BYTES_PER_S: u64 = 1_000_000;

/// The most pages of a buffer.
const MOST_BUFFER_PAGES: u64 = 1 << 28;

/// Fields that a rule over several of them may be broken by, beside the one that its refusal names.
const SHARED_RULES: [(&str, &[&str]); 2] = [
    ("flash.channels", &["flash.packages", "flash.dies", "flash.planes"]),
    (
        "flash.blocks",
        &[
            "capacity",
            "over_provisioning",
            "cleaning.low",
            "flash.factory_bad",
            "flash.channels",
            "flash.packages",
            "flash.dies",
            "flash.planes",
            "flash.pages",
            "flash.page",
            "mapping.unit",
            "mapping.log_blocks",
        ],
    ),
];

/// The field to name in the refusal of `field`: where others were set that the same rule is about, the last of these,
/// since it worked without them.
pub(super) fn given<'a>(field: &'a str, set: &'a [String]) -> &'a str {
    if set.iter().any(|name| name == field) {
        return field;
    }
    let shared = SHARED_RULES.iter().find(|(named, _)| *named == field).map_or(&[][..], |(_, others)| others);
    set.iter().rev().find(|name| shared.contains(&name.as_str())).map_or(field, String::as_str)
}

/// Sets the capacity, too, where it follows from over-provisioning.
pub(super) fn validate(config: &mut DriveConfig) -> Result<(), Refusal> {
    times(config)?;
    counts(config)?;
    page(config)?;
    if let Some(shown) = &config.lanes {
        flash(config)?;
        lanes::validate(config, shown)?;
        return service(config);
    }
    units(config)?;
    flash(config)?;
    translation(config)?;
    superblocks::validate(config)?;
    reserve::set_capacity(config);
    capacity(config)?;
    buffers(config)?;
    policies(config)?;
    service(config)
}

pub(super) fn require(
    holds: bool,
    field: &'static str,
    reason: impl FnOnce() -> String,
) -> Result<(), Refusal> {
    if holds { Ok(()) } else { Err((field, reason())) }
}

pub(super) fn range(field: &'static str, given: u32, least: u32, most: u32) -> Result<(), Refusal> {
    require((least..=most).contains(&given), field, || format!("it is {given}; allowed: {least} to {most}"))
}

fn times(config: &DriveConfig) -> Result<(), Refusal> {
    let (host, link, flash) = (&config.host, &config.link, &config.flash);
    for (field, given) in [
        ("host.submission", host.submission),
        ("host.completion", host.completion),
        ("link.read_command", link.read_command),
        ("link.write_command", link.write_command),
        ("link.page_command", link.page_command),
        ("cleaning.idle", config.cleaning.idle),
        ("buffer.idle_drain", config.buffer.as_ref().and_then(|b| b.idle_drain).unwrap_or_default()),
        ("buffer.latency", config.buffer.as_ref().map(|b| b.latency).unwrap_or_default()),
        ("buffer.read_wait", config.buffer.as_ref().and_then(|b| b.read_wait).unwrap_or_default()),
        ("flash.read", flash.read),
        ("flash.program", flash.program),
        ("flash.erase", flash.erase),
        ("flash.bus_command", flash.bus_command),
        ("flash.suspend", flash.suspend.unwrap_or_default()),
    ] {
        require(given.0 <= LONGEST, field, || format!("it is {:#}; allowed: at most {LONGEST:#}", given.0))?;
    }
    for (field, given) in [
        ("link.bandwidth", link.bandwidth.0),
        ("link.write_bandwidth", link.write_bandwidth.unwrap_or_default().0),
        ("flash.bus", flash.bus.0),
    ] {
        require(given == 0 || given >= SLOWEST_BYTES_PER_S, field, || {
            format!("it is {given} B/s; allowed: at least 1MB/s, or 0 for no limit")
        })?;
    }
    Ok(())
}

fn counts(config: &DriveConfig) -> Result<(), Refusal> {
    let flash = &config.flash;
    range("flash.channels", flash.channels, 1, 1024)?;
    range("flash.packages", flash.packages, 1, 64)?;
    range("flash.dies", flash.dies, 1, 64)?;
    range("flash.planes", flash.planes, 1, 64)?;
    range("flash.blocks", flash.blocks, 4, 1 << 20)?;
    range("flash.pages", flash.pages, 1, 8192)?;
    range("link.depth", config.link.depth, 1, 65536)
}

fn flash(config: &DriveConfig) -> Result<(), Refusal> {
    let flash = &config.flash;
    require(flash.summary_pages < flash.pages, "flash.summary_pages", || {
        format!("it is {}, which leaves no page of {} for data", flash.summary_pages, flash.pages)
    })?;
    let planes = u64::from(flash.channels) * u64::from(flash.packages * flash.dies * flash.planes);
    require(planes <= 1 << 16, "flash.channels", || {
        format!("channels * packages * dies * planes is {planes}; allowed: at most 65536")
    })?;
    let unit = config.mapping.unit.unwrap_or(flash.page).0;
    require(
        unit > 0 && flash.page.0.is_multiple_of(unit) && unit.is_multiple_of(config.sector.0),
        "mapping.unit",
        || {
            format!(
                "it is {}; allowed: a whole fraction of the flash page of {} in whole sectors",
                exact_bytes(unit),
                exact_bytes(flash.page.0)
            )
        },
    )?;
    require(flash.spare.0 <= flash.page.0, "flash.spare", || {
        let (given, page) = (exact_bytes(flash.spare.0), exact_bytes(flash.page.0));
        format!("it is {given}; allowed: at most the page of {page}")
    })?;
    let summary = flash.summary.unwrap_or_default();
    require(summary.0 <= flash.page.0, "flash.summary", || {
        let (given, page) = (exact_bytes(summary.0), exact_bytes(flash.page.0));
        format!("it is {given}; allowed: at most the page of {page}")
    })?;
    let units = flash.page.0 / unit;
    require(u64::from(flash.pages) * units < 1 << 15, "flash.pages", || {
        format!("a block has {} mapping units; allowed: at most 32767", u64::from(flash.pages) * units)
    })?;
    let pages = planes * u64::from(flash.blocks) * u64::from(flash.pages) * units;
    require(pages <= MOST_PAGES, "flash.blocks", || {
        format!("the drive has {pages} pages; allowed: at most {MOST_PAGES}")
    })?;
    require(flash.endurance != Some(0), "flash.endurance", || {
        "it is 0; allowed: at least one erase, or none given where blocks never wear out".into()
    })?;
    require(flash.noise.0 < 1.0, "flash.noise", || "it is 100%; allowed: below 100%".into())
}

/// Sector and page.
fn page(config: &DriveConfig) -> Result<(), Refusal> {
    let (sector, page) = (config.sector.0, config.flash.page.0);
    require(sector.is_power_of_two() && (512..=65536).contains(&sector), "sector", || {
        format!("it is {}; allowed: a power of two from 512 B to 64 KiB", exact_bytes(sector))
    })?;
    require(page.is_multiple_of(sector) && page > 0 && page <= 1 << 20, "flash.page", || {
        format!(
            "it is {}; allowed: a multiple of the sector of {}, up to 1 MiB",
            exact_bytes(page),
            exact_bytes(sector)
        )
    })
}

/// How pages are striped.
fn units(config: &DriveConfig) -> Result<(), Refusal> {
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

/// What goes with mapping pages and what with mapping blocks.
fn translation(config: &DriveConfig) -> Result<(), Refusal> {
    let mapping = &config.mapping;
    if mapping.translation == Translation::Page {
        for (field, given) in [
            ("mapping.stripe", mapping.stripe),
            ("mapping.log_blocks", mapping.log_blocks),
            ("mapping.sequence_blocks", mapping.sequence_blocks),
            ("mapping.merge_batch", mapping.merge_batch),
        ] {
            require(given.is_none(), field, || {
                "it has no meaning where pages are mapped; allowed: with mapping.translation block, bast or fast"
                    .into()
            })?;
        }
        return require(!mapping.interleave, "mapping.interleave", || {
            "pages are striped one by one where pages are mapped; allowed: only false".into()
        });
    }
    let only = |field, allowed: &str, given: &str| {
        require(given == allowed, field, || {
            format!("it is '{given}'; allowed where whole blocks are mapped: only '{allowed}'")
        })
    };
    only("mapping.policy", "lba", &mapping.policy)?;
    only("mapping.allocation", "striped", &mapping.allocation)?;
    only("cleaning.policy", "greedy", &config.cleaning.policy)?;
    require(mapping.pool == LevelName::Plane, "mapping.pool", || {
        "a page's plane follows from its address where whole blocks are mapped; allowed: only 'plane'".into()
    })?;
    require(!config.cleaning.separate, "cleaning.separate", || {
        "pages are merged, not cleaned, where whole blocks are mapped; allowed: only false".into()
    })?;
    require(config.wear.policy != "static", "wear.policy", || {
        "it is 'static', which moves pages that were mapped one by one; allowed where whole blocks are mapped: \
         'none' or 'dynamic'"
            .into()
    })?;
    let planes = Geometry::new(config).planes;
    let stripe = mapping.stripe.unwrap_or(planes);
    require(stripe > 0 && planes.is_multiple_of(stripe), "mapping.stripe", || {
        format!("it is {stripe}; allowed: a number of planes by which all {planes} can be divided")
    })?;
    let (chunk, data) = (Geometry::new(config).chunk_pages, Geometry::new(config).data_pages);
    require(data.is_multiple_of(chunk), "mapping.chunk", || {
        format!(
            "it has {chunk} of the {data} pages of an erase block; allowed where whole blocks are mapped: a number by \
             which they can be divided"
        )
    })?;
    require(mapping.log_blocks.is_some(), "mapping.log_blocks", || {
        "none are given; allowed where whole blocks are mapped: at least 1".into()
    })?;
    range("mapping.log_blocks", mapping.log_blocks.unwrap_or(0), 1, config.flash.blocks)?;
    for (field, given) in
        [("mapping.sequence_blocks", mapping.sequence_blocks), ("mapping.merge_batch", mapping.merge_batch)]
    {
        require(given.is_none() || mapping.translation == Translation::Fast, field, || {
            "it has no meaning where each unit has log blocks of its own; allowed: with mapping.translation fast".into()
        })?;
    }
    range("mapping.sequence_blocks", mapping.sequence_blocks.unwrap_or(1), 1, config.flash.blocks)?;
    range("mapping.merge_batch", mapping.merge_batch.unwrap_or(1), 1, 1 << 16)
}

fn capacity(config: &DriveConfig) -> Result<(), Refusal> {
    let capacity = config.capacity.0;
    require(capacity > 0 && capacity.is_multiple_of(config.sector.0), "capacity", || {
        format!(
            "it is {}; allowed: a positive multiple of the sector of {}",
            exact_bytes(capacity),
            exact_bytes(config.sector.0)
        )
    })?;
    let both = config.cleaning.lazy && config.cleaning.yields;
    require(!both, "cleaning.yields", || "it is true; allowed with cleaning.lazy: only false".into())?;
    require(config.cleaning.low.0 < 0.5, "cleaning.low", || {
        format!("it is {}%; allowed: below 50%", config.cleaning.low.0 * 100.0)
    })?;
    let geometry = Geometry::new(config).of_superblocks();
    let blocks_needed = geometry.least_blocks_per_plane();
    let good = geometry.blocks - geometry.factory_bad_per_plane;
    require(blocks_needed <= u64::from(good), "flash.blocks", || {
        format!(
            "a plane has {good} good blocks, but its share of the capacity of {} and its spare blocks for cleaning \
             need {blocks_needed}; allowed: more blocks, a smaller capacity (or more over_provisioning), or a smaller cleaning.low",
            exact_bytes(capacity)
        )
    })?;
    require(config.flash.summary.is_none() || config.flash.summary_pages > 0, "flash.summary", || {
        "no page is set aside for it; allowed: with flash.summary_pages of at least 1".into()
    })
}

fn buffers(config: &DriveConfig) -> Result<(), Refusal> {
    let page = config.flash.page.0;
    if let Some(buffer) = &config.buffer {
        require(buffer.size.0 >= page, "buffer.size", || {
            let given = match buffer.size.0 {
                0 => "missing, or 0 B".into(),
                bytes => exact_bytes(bytes),
            };
            format!("it is {given}; allowed: at least one page of {}", exact_bytes(page))
        })?;
        let unit = config.mapping.unit.unwrap_or(config.flash.page).0;
        require(buffer.size.0 / unit <= MOST_BUFFER_PAGES, "buffer.size", || {
            format!(
                "it is {}; allowed: at most {MOST_BUFFER_PAGES} mapping units of {}",
                exact_bytes(buffer.size.0),
                exact_bytes(unit)
            )
        })?;
        require(!(buffer.takes == Takes::Parts && config.link.completions_wait), "buffer.takes", || {
            "it is 'parts', with which writes may be overtaken on the way back; allowed: 'all', or \
             link.completions_wait = false"
                .into()
        })?;
        range("buffer.drain_per_die", buffer.drain_per_die, 1, 1024)?;
        range("buffer.parallel_pages", buffer.parallel_pages.unwrap_or(1), 1, 1 << 16)?;
        let longest = longest_page(config, &Geometry::new(config));
        require(buffer.read_wait.is_none_or(|wait| wait.0 >= longest), "buffer.read_wait", || {
            let given = buffer.read_wait.unwrap_or_default().0;
            format!("it is {given:#}; allowed: at least {longest:#}, the time of one page")
        })?;
    }
    if let Some(readahead) = &config.readahead {
        require(readahead.window.0 >= page, "readahead.window", || {
            format!(
                "it is {}; allowed: at least one page of {}",
                exact_bytes(readahead.window.0),
                exact_bytes(page)
            )
        })?;
        require(readahead.cache.0 >= readahead.window.0, "readahead.cache", || {
            format!("it is {}; allowed: at least the window", exact_bytes(readahead.cache.0))
        })?;
    }
    Ok(())
}

/// Every policy is built once, so that its name and options are refused here and not in the middle of a run.
fn check<P>(
    fields: (&'static str, &'static str),
    options: &PolicyOptions,
    build: impl FnOnce(&Options) -> Result<P, OptionError>,
) -> Result<(), Refusal> {
    build(&options.options()).map(drop).map_err(|error| match error {
        OptionError::Policy { .. } => (fields.0, error.to_string()),
        // Only a buffer's policies can be unsuited, and only where the buffer stands makes them so.
        OptionError::Unsuited { .. } => (
            "buffer.placement",
            format!("{error}; allowed: \"below\", or a mapping that binds a page to a place"),
        ),
        _ => (fields.1, error.to_string()),
    })
}

/// The policies that every drive has.
fn service(config: &DriveConfig) -> Result<(), Refusal> {
    let (w, s) = (&config.wear, &config.scheduling);
    check(("wear.policy", "wear.options"), &w.options, |o| config.policies.wear.build(&w.policy, o))?;
    check(("scheduling.policy", "scheduling.options"), &s.options, |o| {
        config.policies.scheduling.build(&s.policy, o)
    })
}

/// What goes with cleaning that is paced.
fn paced(config: &DriveConfig) -> Result<(), Refusal> {
    let c = &config.cleaning;
    let build = |options: &Options| config.policies.pacing.build(&c.pacing, options);
    check(("cleaning.pacing", "cleaning.pacing_options"), &c.pacing_options, build)?;
    if !build(&c.pacing_options.options()).is_ok_and(|pacing| pacing.in_steps()) {
        return Ok(());
    }
    require(config.mapping.translation == Translation::Page, "cleaning.pacing", || {
        format!("it is '{}'; allowed where whole blocks are mapped and merged: only 'watermark'", c.pacing)
    })?;
    for (field, is) in [("cleaning.lazy", c.lazy), ("cleaning.yields", c.yields)] {
        require(!is, field, || {
            format!(
                "it is true, which says when a whole victim is cleaned; allowed with cleaning.pacing '{}', which spreads \
                 the moves over the writes: only false",
                c.pacing
            )
        })?;
    }
    Ok(())
}

/// Those of a drive with a translation layer.
fn policies(config: &DriveConfig) -> Result<(), Refusal> {
    let c = config;
    check(("mapping.policy", "mapping.options"), &c.mapping.options, |o| {
        c.policies.mapping.build(&c.mapping.policy, o)
    })?;
    let array = Geometry::new(c).array(&c.mapping.order, Seed(0));
    check(("mapping.allocation", "mapping.allocation_options"), &c.mapping.allocation_options, |o| {
        c.policies.allocation.build(&c.mapping.allocation, &array, o)
    })?;
    check(("cleaning.policy", "cleaning.options"), &c.cleaning.options, |o| {
        c.policies.cleaning.build(&c.cleaning.policy, Seed(0), o)
    })?;
    paced(c)?;
    if let Some(r) = &c.readahead {
        check(("readahead.policy", "readahead.options"), &r.options, |o| {
            c.policies.readahead.build(&r.policy, r.window.0, o)
        })?;
    }
    if let Some((b, shape)) = c.buffer.as_ref().zip(shape(c, &Geometry::new(c))) {
        // One slot will do to see whether its policy can be built.
        let shape = Shape { slots: 1, ..shape };
        check(("buffer.policy", "buffer.options"), &b.options, |o| {
            c.policies.buffer.build(&b.policy, shape, o)
        })
        .map_err(|(field, reason)| match field {
            "buffer.policy" => (field, format!("{reason}; or '{NO_BUFFER}', for no buffer")),
            _ => (field, reason),
        })?;
    }
    // A page's place must be free to change where a plane has no room; a random place bound to an address could
    // fill one plane beyond its capacity.
    require(!(c.mapping.policy == "lba" && c.mapping.allocation != "striped"), "mapping.allocation", || {
        format!(
            "it is '{}', which spreads addresses unevenly; with mapping by lba only 'striped' is allowed",
            c.mapping.allocation
        )
    })
}
