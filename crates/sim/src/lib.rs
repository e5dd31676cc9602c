//! The simulated drive: flash, channels, translation layer and host interface in virtual time.
//!
//! [`Drive`] is a [`flashlane_device::Device`]. It models when things happen, not bytes. Its result depends on
//! (profile, workload, seed) and nothing else, and [`Drive::trace_hash`] proves it.

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
mod slab;

pub use config::{ConfigError, DriveConfig};
pub use drive::Drive;
