//! Simulated drives: flash, channels, translation layer and host interface in virtual time.
//!
//! [`Drive`], a conventional drive, [`Sdf`], software-defined flash, and [`Zoned`], a zoned drive, are each a
//! [`flashlane_device::Device`]. They model when things happen, not bytes. Their results depend on (profile, workload,
//! seed) and nothing else, and [`Drive::trace_hash`] proves it.

mod account;
mod amount;
mod buffer;
pub mod config;
mod divisor;
mod drive;
mod energy;
mod event;
mod ftl;
mod host_port;
mod ids;
mod kernel;
mod nand;
mod pieces;
pub mod profile;
mod progress;
mod sdf;
mod slab;
mod table_memory;
mod zoned;

pub use config::DriveConfig;
pub use drive::Drive;
pub use ftl::StopCheck;
pub use nand::Geometry;
pub use profile::ConfigError;
pub use sdf::Sdf;
pub use table_memory::MakeError;
pub use zoned::Zoned;

use flashlane_base::Seed;
use flashlane_device::Device;

/// The drive that a profile describes, of any kind, under the name that results give it. Requires: `config` was
/// loaded, and so validated, by [`profile::load`] or [`profile::parse`].
pub fn device(config: &DriveConfig, seed: Seed, name: String) -> Box<dyn Device> {
    let made = new_of_kind(config, seed, name, &mut ftl::never_stop);
    made.expect("nothing stops it, and its tables fit into memory")
}

/// The same for a drive of any size, that may take long to prepare.
///
/// # Errors
/// [`MakeError`] where `watch` breaks, or the system has no room for the drive's tables.
pub fn device_watched(
    config: &DriveConfig,
    seed: Seed,
    name: String,
    watch: StopCheck<'_>,
) -> Result<Box<dyn Device>, MakeError> {
    table_memory::check(config)?;
    new_of_kind(config, seed, name, watch)
}

fn new_of_kind(
    config: &DriveConfig,
    seed: Seed,
    name: String,
    watch: StopCheck<'_>,
) -> Result<Box<dyn Device>, MakeError> {
    Ok(if config.zones.is_some() {
        Box::new(Zoned::new(config, seed).named(name))
    } else if config.lanes.is_some() {
        Box::new(Sdf::new(config, seed).named(name))
    } else {
        Box::new(Drive::new_watched(config, seed, watch)?.named(name))
    })
}
