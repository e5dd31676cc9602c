//! Devices over devices: data for a simulated drive, faults, lanes of erase units, units striped over lanes, and copies
//! of blocked pages.
//!
//! A layer takes a device and is one. It MUST keep the rules of the device interface: the conformance tests of
//! `flashlane_device_testing` run over every layer. [`layer`] reads the name and settings of a layer in a spec
//! (`faulty(sim:ssd-s,read-errors=1%)`); its [`Entry`] describes what it adds to the device below, and is the only
//! place that knows the layer's name. A new layer is one file and one line in the registry.

mod backed;
mod below;
mod bytes;
mod chunks;
mod entry;
mod error;
pub mod faulty;
mod file_bytes;
mod label;
pub mod lanes;
mod options;
mod registry;
pub mod replicated;
mod slab;
mod state;
pub mod striped;
mod undo;

pub use backed::Backed;
pub use below::{Below, Bytes, Timing};
pub use entry::{Capabilities, Entry, Layer, Prepared, Stack, StateChange};
pub use error::LayerError;
pub use faulty::{Fault, Faults, Faulty, Rate};
pub use lanes::{Lanes, LanesError};
pub use options::OptionHelp;
pub use registry::{LAYERS, keeping_bytes, layer};
pub use replicated::Replicated;
pub use state::{Format, Repair, StateOptions, StateSettings};
pub use striped::Striped;
