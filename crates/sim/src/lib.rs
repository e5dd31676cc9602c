//! Simulated drives: flash, channels, translation layer and host interface in virtual time.
//!
//! [`Drive`], a conventional drive, and [`Sdf`], software-defined flash, are each a [`flashlane_device::Device`]. They
//! model when things happen, not bytes. Their results depend on (profile, workload, seed) and nothing else, and
//! [`Drive::trace_hash`] proves it.

mod buffer;
mod cache;
pub mod config;
mod divisor;
mod drive;
pub mod event;
pub mod ftl;
mod host;
pub mod nand;
mod pages;
mod request;
mod sdf;
mod slab;

pub use config::{ConfigError, DriveConfig};
pub use drive::Drive;
pub use sdf::Sdf;

use flashlane_base::Seed;
use flashlane_device::Device;

/// The drive that a profile describes, of either kind, under the name that results give it. Requires: `config` was
/// loaded, and so validated, by [`config::load`] or [`config::parse`].
pub fn device(config: &DriveConfig, seed: Seed, name: String) -> Box<dyn Device> {
    match config.lanes {
        None => Box::new(Drive::new(config, seed).named(name)),
        Some(_) => Box::new(Sdf::new(config, seed).named(name)),
    }
}
