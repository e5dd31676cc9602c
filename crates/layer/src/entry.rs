//! A layer's entry in the registry, and the steps that put it over a device.
//!
//! A layer is put over a device in two steps. [`Layer::prepare`] reads what the layer needs from the device and writes
//! nothing; [`Prepared::finish`] makes the layer, after writing its state where the layer stores one on the device.
//! Between the two a caller can refuse the change.

use crate::error::LayerError;
use crate::options::{OptionHelp, Options};
use crate::state::{StateOptions, StateSettings};
use flashlane_base::Seed;
use flashlane_device::{DataDevice, Device, DeviceInfo};
use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// The registry entry of a layer.
pub struct Entry {
    /// Name in a spec.
    pub name: &'static str,
    /// Effect, in one line.
    pub summary: &'static str,
    /// Capabilities added to those of the device below.
    pub adds: Capabilities,
    /// Help texts of the settings.
    pub options: fn() -> Vec<OptionHelp>,
    /// Parses the settings.
    pub(crate) read: fn(&Options<'_>) -> Result<Arc<dyn Plan>, LayerError>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("name", &self.name).field("adds", &self.adds).finish_non_exhaustive()
    }
}

/// Capabilities of a device, known without opening it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Has erase units, which are written in order and erased as a whole.
    pub erase_units: bool,
    /// Stores data, which can be read back.
    pub bytes: bool,
    /// Stores a state on the device below, which outlives the program and can be formatted and repaired.
    pub stored_state: bool,
}

impl Capabilities {
    /// Returns the capabilities of a layer that adds these to `below`.
    pub fn over(self, below: Self) -> Self {
        Self {
            erase_units: self.erase_units || below.erase_units,
            bytes: self.bytes || below.bytes,
            stored_state: self.stored_state || below.stored_state,
        }
    }
}

/// A device to put layers on: it models time only, or stores data too.
pub enum Stack {
    /// Time only.
    Timing(Box<dyn Device>),
    /// Time and data.
    Data(Box<dyn DataDevice>),
}

impl Stack {
    /// Returns what the device reports of itself.
    pub fn info(&self) -> &DeviceInfo {
        match self {
            Self::Timing(device) => device.info(),
            Self::Data(device) => device.info(),
        }
    }

    /// Returns the device without access to its data.
    pub fn into_device(self) -> Box<dyn Device> {
        match self {
            Self::Timing(device) => device,
            Self::Data(device) => device,
        }
    }
}

/// The parsed and checked settings of a layer.
pub(crate) trait Plan: fmt::Debug + Send + Sync {
    /// Reads what the layer needs from `inner`. MUST NOT write.
    fn prepare(&self, inner: Stack, state: StateOptions) -> Result<Prepared, LayerError>;

    /// Returns the properties of the layer over a device with the properties `below` that holds nothing yet. The
    /// default is for layers that take any device and leave its properties.
    fn planned(&self, below: &DeviceInfo) -> Result<DeviceInfo, LayerError> {
        Ok(below.clone())
    }

    /// Returns whether the layer divides its erase units into several of the device below. The default is for layers
    /// that do not.
    fn divides_units(&self) -> bool {
        false
    }

    /// Returns whether the layer writes to the device below where none of its own addresses lead, without
    /// checking for other data. The default is for layers that do not.
    fn overwrites_free_places(&self) -> bool {
        false
    }

    /// Returns the settings for the stored state. The default is for layers without one.
    fn state_settings(&self) -> StateSettings {
        StateSettings::default()
    }

    /// Returns the file that the layer empties for its data. The default is for layers without one.
    fn file(&self) -> Option<&Path> {
        None
    }

    /// Returns the same layer with its data in the open file `file`, which is that of [`Plan::file`]; `None`, the
    /// default, for layers without a file.
    fn emptying(&self, _file: File) -> Option<Arc<dyn Plan>> {
        None
    }

    /// Returns the same layer with its data in memory; `None`, the default, for layers without a file.
    fn in_memory(&self) -> Option<Arc<dyn Plan>> {
        None
    }
}

/// A layer with its settings.
#[derive(Clone, Debug)]
pub struct Layer {
    pub(crate) entry: &'static Entry,
    pub(crate) plan: Arc<dyn Plan>,
}

impl Layer {
    /// Returns the layer's entry in the registry.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// Returns the settings for the stored state.
    pub fn state_settings(&self) -> StateSettings {
        self.plan.state_settings()
    }

    /// Returns whether the layer divides its erase units into several of the device below.
    pub fn divides_units(&self) -> bool {
        self.plan.divides_units()
    }

    /// Returns whether the layer writes to the device below where none of its own addresses lead, without
    /// checking for other data.
    pub fn overwrites_free_places(&self) -> bool {
        self.plan.overwrites_free_places()
    }

    /// Returns the file in which the layer keeps data, which [`Prepared::finish`] makes. One that exists is refused,
    /// unless the layer was given it open ([`emptying`](Self::emptying)).
    pub fn file(&self) -> Option<&Path> {
        self.plan.file()
    }

    /// Returns the same layer, which empties the open file `file` for its data instead of making one. A layer without a
    /// file is unchanged.
    pub fn emptying(&self, file: File) -> Self {
        Self { plan: self.plan.emptying(file).unwrap_or_else(|| Arc::clone(&self.plan)), ..self.clone() }
    }

    /// Returns the same layer, which keeps its data in memory even where its settings name a file.
    pub fn in_memory(&self) -> Self {
        Self { plan: self.plan.in_memory().unwrap_or_else(|| Arc::clone(&self.plan)), ..self.clone() }
    }

    /// Reads what the layer needs from `inner`. Nothing is written.
    ///
    /// # Errors
    /// [`LayerError`] where the layer cannot be put over `inner`.
    pub fn prepare(&self, inner: Stack, state: StateOptions) -> Result<Prepared, LayerError> {
        self.plan.prepare(inner, state)
    }

    /// Returns the properties that the layer will have over a device with the properties `below` that holds nothing
    /// yet, without opening any.
    ///
    /// # Errors
    /// [`LayerError`] where the layer cannot be put over such a device.
    pub fn planned(&self, below: &DeviceInfo) -> Result<DeviceInfo, LayerError> {
        self.plan.planned(below)
    }

    /// Puts the layer over `inner`. Its randomness MUST depend on `seed` and the settings only, not on the location of
    /// the device; a caller gives each layer of a stack a different seed.
    ///
    /// # Errors
    /// [`LayerError`] where the layer cannot be put over `inner`.
    pub fn build(&self, inner: Stack, seed: Seed) -> Result<Stack, LayerError> {
        self.prepare(inner, StateOptions::default())?.finish(seed)
    }
}

/// The change that finishing a layer writes to the device below.
#[derive(Clone, Debug, PartialEq)]
pub enum StateChange {
    /// Nothing.
    None,
    /// Damaged records of the existing state. The layer will have these properties.
    Repaired(DeviceInfo),
    /// A new state: all data on the device below is lost. The layer will have these properties.
    New(DeviceInfo),
}

impl StateChange {
    /// Returns the properties of the layer, if there is a change.
    pub fn info(&self) -> Option<&DeviceInfo> {
        match self {
            Self::None => None,
            Self::Repaired(info) | Self::New(info) => Some(info),
        }
    }
}

/// A layer ready to be put over its device. Nothing was written yet.
pub struct Prepared {
    change: StateChange,
    finish: Box<dyn FnOnce(Seed) -> Result<Stack, LayerError>>,
}

impl Prepared {
    pub(crate) fn new(
        change: StateChange,
        finish: impl FnOnce(Seed) -> Result<Stack, LayerError> + 'static,
    ) -> Self {
        Self { change, finish: Box::new(finish) }
    }

    /// Returns the change that [`finish`](Self::finish) writes.
    pub fn change(&self) -> &StateChange {
        &self.change
    }

    /// Makes the layer.
    ///
    /// # Errors
    /// [`LayerError`] where writing its state failed.
    pub fn finish(self, seed: Seed) -> Result<Stack, LayerError> {
        (self.finish)(seed)
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("change", &self.change).finish_non_exhaustive()
    }
}
