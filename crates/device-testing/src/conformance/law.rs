//! A law and the devices that it needs.

use super::watched::{Health, Watched};
use flashlane_device::Device;

/// Creates a fresh device.
pub(super) type Make<'a> = dyn FnMut() -> Box<dyn Device> + 'a;

/// The test of a law.
pub(super) enum Law {
    /// Needs one device.
    Alone(fn(Watched<Box<dyn Device>>)),
    /// Needs several simulated devices.
    Simulated(fn(&mut Make<'_>, &'static str, Health)),
}
