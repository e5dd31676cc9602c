//! Devices over devices: bytes behind a simulated drive, faults, and lanes of erase units.
//!
//! A layer takes a device and is one. It never changes what its user can rely on: the conformance body of
//! `flashlane_device_testing` runs over every layer here. [`layer`] reads the name and settings that a layer has in a spec
//! (`faulty(sim:ssd-s,read-errors=1%)`); its [`Entry`] says what it adds to the device below, and nobody else knows
//! layers by name. A new layer is one file and one line in the registry.

mod backed;
mod chunks;
mod entry;
pub mod faulty;
mod label;
pub mod lanes;
mod options;
mod registry;
mod undo;

pub use backed::Backed;
pub use entry::{
    Capabilities, Entry, Format, Layer, Prepared, Repair, Stack, StateChange, StateRequest, StateSettings,
};
pub use faulty::{Fault, Faults, Faulty, Rate};
pub use lanes::{Lanes, LanesError};
pub use options::{LayerError, OptionHelp};
pub use registry::{LAYERS, keeping_bytes, layer};
