//! What tests of devices need: the laws that every device keeps, and a device with erase units in memory.
//!
//! | module | holds |
//! | --- | --- |
//! | [`conformance`] | the laws, and the body that drives a device through them |
//! | [`MemoryLanes`] | lanes of erase units, with faults and power cuts |
//!
//! A device that does nothing is [`flashlane_device::NullDevice`], which programs use too.

pub mod conformance;
mod memory;

pub use memory::{MemoryFaults, MemoryLanes};
