//! Support for tests of devices: the laws that every device keeps, and a device with erase units in memory.
//!
//! | item | provides |
//! | --- | --- |
//! | [`conformance`] | the laws, and the tests that check a device against them |
//! | [`MemoryLanes`] | lanes of erase units, with faults and power cuts |
//!
//! [`flashlane_device::NullDevice`], which does no work, is there for programs too.

pub mod conformance;
mod memory;

pub use memory::{MemoryFaults, MemoryLanes};
