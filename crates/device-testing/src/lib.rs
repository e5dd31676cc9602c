//! Support for tests of devices: the laws that every device keeps, and devices in memory.
//!
//! | item | provides |
//! | --- | --- |
//! | [`conformance`] | the laws, and the tests that check a device against them |
//! | [`MemoryLanes`] | lanes of erase units, with faults and power cuts |
//! | [`MemoryDisk`] | a disk with a volatile cache, with faults and power cuts |
//!
//! [`flashlane_device::NullDevice`], which does no work, is there for programs too.

pub mod conformance;
mod disk;
mod memory;
mod queue;

pub use disk::MemoryDisk;
pub use memory::{MemoryFaults, MemoryLanes};
