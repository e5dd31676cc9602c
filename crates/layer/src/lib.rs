//! Devices over devices: bytes behind a simulated drive, faults, and lanes of erase units.
//!
//! A layer takes a device and is one. It never changes what its user can rely on: the conformance body of
//! `flashlane_device` runs over every layer here. [`build`] makes a layer by the name and settings it has in a
//! spec (`faulty(sim:ssd-s,read-errors=1%)`); a new layer is one file and one line in the registry.

mod backed;
mod chunks;
pub mod faulty;
pub mod lanes;
mod options;
mod registry;
mod undo;

pub use backed::Backed;
pub use faulty::{Fault, Faults, Faulty, Rate};
pub use lanes::{Lanes, LanesError};
pub use options::{LayerError, OptionHelp};
pub use registry::{Entry, LAYERS, Stack, build};

/// What a layer calls itself: its spec, so that a result says how to make the device again.
fn label(layer: &str, inner: &str, settings: &str) -> String {
    let word = inner.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(0);
    let is_layer = word > 0 && inner[word..].starts_with('(');
    // A device with settings of its own stands in parentheses, or they would be read as the layer's.
    if inner.contains(',') && !is_layer {
        format!("{layer}(({inner}){settings})")
    } else {
        format!("{layer}({inner}{settings})")
    }
}
