//! Support for tests of devices: the laws that every device keeps, and devices in memory.
//!
//! | item | provides |
//! | --- | --- |
//! | [`conformance`] | the laws, and the tests that check a device against them |
//! | [`MemoryLanes`] | lanes of erase units, with faults and power cuts |
//! | [`MemoryDisk`] | a disk with a volatile cache, with faults and power cuts |
//! | [`cycle_power`] | a power cut before a device is opened anew |
//!
//! [`flashlane_device::NullDevice`], which does no work, is there for programs too.

pub mod conformance;
mod disk;
mod memory;
mod queue;

pub use disk::MemoryDisk;
pub use memory::{MemoryFaults, MemoryLanes};

/// Cuts the power of a device and takes the completions of the requests that it ended: who opens the device next must
/// not take them for those of its own requests.
///
/// # Panics
/// Where the power of the device cannot be cut.
pub fn cycle_power(device: &mut impl flashlane_device::Device) {
    device.cut_power().expect("the power of a device for tests can be cut");
    device.reap(device.now(), &mut Vec::new());
}
