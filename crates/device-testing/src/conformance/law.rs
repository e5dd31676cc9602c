//! A law, and how it gets its devices.

use super::watched::{Health, Watched};
use flashlane_device::Device;

/// How a fresh device is made.
pub(super) type Make<'a> = dyn FnMut() -> Box<dyn Device> + 'a;

/// A law, by what it needs.
pub(super) enum Law {
    /// One device.
    Alone(fn(Watched<Box<dyn Device>>)),
    /// Several simulated ones.
    Simulated(fn(&mut Make<'_>, &'static str, Health)),
}
