//! The write buffer: its size beside the array's, its policy, and how long a read may wait behind it.

use crate::buffer::{longest_unit_time, shape};
use crate::config::refusal::{Refusal, range, require};
use crate::config::{Admit, DriveConfig, NO_BUFFER};
use crate::nand::Geometry;
use flashlane_base::units::exact_bytes;
use flashlane_policy::buffer::Shape;

/// The most mapping units of a buffer.
const MOST_UNITS: u64 = 1 << 28;

/// Checks the sizes and times.
pub(super) fn sizes(config: &DriveConfig) -> Result<(), Refusal> {
    let Some(buffer) = &config.buffer else { return Ok(()) };
    let page = config.flash.page.0;
    require(buffer.size.0 >= page, "buffer.size", || {
        let given = match buffer.size.0 {
            0 => "missing, or 0 B".into(),
            bytes => exact_bytes(bytes),
        };
        format!("it is {given}; allowed: at least one page of {}", exact_bytes(page))
    })?;
    let capacity = config.capacity.0;
    require(buffer.size.0 <= capacity, "buffer.size", || {
        let (given, most) = (exact_bytes(buffer.size.0), exact_bytes(capacity));
        format!("it is {given}; allowed: at most the drive's capacity of {most}")
    })?;
    let unit = config.mapping.unit.unwrap_or(config.flash.page).0;
    require(buffer.size.0 / unit <= MOST_UNITS, "buffer.size", || {
        format!(
            "it is {}; allowed: at most {MOST_UNITS} mapping units of {}",
            exact_bytes(buffer.size.0),
            exact_bytes(unit)
        )
    })?;
    let completions_cross_link = config.compat.disksim.completions_wait;
    require(!(buffer.admit == Admit::PartialPageWrites && completions_cross_link), "buffer.admit", || {
        "it is 'partial-page-writes', with which completions of writes may come back out of order; allowed: 'all', or \
         compat.disksim.completions_wait = false"
            .into()
    })?;
    range("buffer.drain_per_die", buffer.drain_per_die, 1, 1024)?;
    range("buffer.batch_pages_per_package", buffer.batch_pages_per_package.unwrap_or(1), 1, 1 << 16)?;
    let longest = longest_unit_time(config, &Geometry::new(config));
    require(buffer.read_wait.is_none_or(|wait| wait.0 >= longest), "buffer.read_wait", || {
        let given = buffer.read_wait.unwrap_or_default().0;
        format!("it is {given:#}; allowed: at least {longest:#}, the time of one page")
    })
}

/// Checks the replacement policy.
pub(super) fn policy(config: &DriveConfig) -> Result<(), Refusal> {
    let Some((buffer, shape)) = config.buffer.as_ref().zip(shape(config, &Geometry::new(config))) else {
        return Ok(());
    };
    // One slot is enough to see whether the policy can be built.
    let shape = Shape { slots: 1, ..shape };
    let build = |options: &_| config.policies.buffer.build(&buffer.policy, shape, options);
    buffer.options.check(("buffer.policy", "buffer.options"), build).map(drop).map_err(|(field, reason)| {
        match field {
            "buffer.policy" => (field, format!("{reason}; or '{NO_BUFFER}', for no buffer")),
            _ => (field, reason),
        }
    })
}
