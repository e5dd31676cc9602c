//! What a layer says of itself: its entry in the registry, and how it is put over a device.
//!
//! A layer is put over a device in two steps. [`Layer::prepare`] reads what it needs from the device and writes nothing;
//! [`Prepared::finish`] makes the layer, and writes first where the layer keeps its state on the device. Between the two
//! a caller can refuse what would come of it.

use crate::options::{LayerError, OptionHelp, Options};
use flashlane_base::Seed;
use flashlane_device::{DataDevice, Device, Profile};
use std::fmt;
use std::sync::Arc;

/// A layer's line in the registry.
pub struct Entry {
    /// Its name in a spec.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// What it adds to the device below.
    pub adds: Capabilities,
    /// The settings it knows.
    pub options: fn() -> Vec<OptionHelp>,
    /// Reads its settings.
    pub(crate) read: fn(&Options<'_>) -> Result<Arc<dyn Plan>, LayerError>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("name", &self.name).field("adds", &self.adds).finish_non_exhaustive()
    }
}

/// What a device can do, known without opening it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// It has erase units, which are written in order and erased as a whole.
    pub erase_units: bool,
    /// Bytes that were written can be read back.
    pub bytes: bool,
    /// It keeps a state of its own on the device below, which outlasts the program and can be formatted and repaired.
    pub stored_state: bool,
}

impl Capabilities {
    /// Those of a device that adds these to the ones of the device below.
    pub fn over(self, below: Self) -> Self {
        Self {
            erase_units: self.erase_units || below.erase_units,
            bytes: self.bytes || below.bytes,
            stored_state: self.stored_state || below.stored_state,
        }
    }
}

/// A device to put layers on: one that models time only, or one that keeps bytes too.
pub enum Stack {
    /// Time only.
    Timing(Box<dyn Device>),
    /// Time and bytes.
    Data(Box<dyn DataDevice>),
}

impl Stack {
    /// Returns the profile of the device.
    pub fn profile(&self) -> &Profile {
        match self {
            Self::Timing(device) => device.profile(),
            Self::Data(device) => device.profile(),
        }
    }

    /// Returns the device without access to its bytes.
    pub fn into_device(self) -> Box<dyn Device> {
        match self {
            Self::Timing(device) => device,
            Self::Data(device) => device,
        }
    }
}

/// Damaged records of a stored state that may be written again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// Those whose places hold nothing else.
    Ours,
    /// All, over foreign data too, which is lost.
    Overwrite,
}

/// Whether a stored state is made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Never: the state that is there is used.
    Never,
    /// Where the device below has none.
    IfAbsent,
    /// Always: all that is on the device below is lost.
    Always,
}

/// What a caller wants done with the stored state of layers. A setting in the spec takes precedence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateRequest {
    /// Whether it is made anew. Unless given, only on a simulated device that has none, which has nothing to lose.
    pub format: Option<Format>,
    /// Repairs a state that is kept.
    pub repair: Option<Repair>,
    /// Takes an erased unit for written where it begins with foreign data.
    pub check_erased: bool,
}

/// What the settings of a layer say about its stored state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateSettings {
    /// Whether it is made anew, where they say so.
    pub format: Option<Format>,
    /// Whether it is repaired, where they say so.
    pub repair: Option<Repair>,
    /// Whether they give the shape of a new one.
    pub has_shape: bool,
}

/// A layer's settings, read and checked.
pub(crate) trait Plan: fmt::Debug + Send + Sync {
    /// Reads what the layer needs from `inner`, and writes nothing.
    fn prepare(&self, inner: Stack, request: StateRequest) -> Result<Prepared, LayerError>;

    /// Returns what the settings say about the stored state; the default for layers that store none.
    fn state_settings(&self) -> StateSettings {
        StateSettings::default()
    }
}

/// A layer with its settings, to be put over a device.
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

    /// Returns what the settings say about the stored state.
    pub fn state_settings(&self) -> StateSettings {
        self.plan.state_settings()
    }

    /// Reads what the layer needs from `inner`. Nothing is written.
    ///
    /// # Errors
    /// [`LayerError`] where the layer cannot be put over `inner`.
    pub fn prepare(&self, inner: Stack, request: StateRequest) -> Result<Prepared, LayerError> {
        self.plan.prepare(inner, request)
    }

    /// Puts the layer over `inner`. Its random choices follow from `seed` and the settings, never from where the device
    /// lies: a caller gives each layer of a stack a seed of its own.
    ///
    /// # Errors
    /// [`LayerError`] where the layer cannot be put over `inner`.
    pub fn build(&self, inner: Stack, seed: Seed) -> Result<Stack, LayerError> {
        self.prepare(inner, StateRequest::default())?.finish(seed)
    }
}

/// What finishing a layer writes on the device below.
#[derive(Clone, Debug, PartialEq)]
pub enum StateChange {
    /// Nothing.
    None,
    /// Damaged records of the state that is there. The layer will have this profile.
    Repaired(Profile),
    /// A new state: all that is on the device below is lost. The layer will have this profile.
    New(Profile),
}

impl StateChange {
    /// Returns the profile that the layer will have, where anything is written.
    pub fn profile(&self) -> Option<&Profile> {
        match self {
            Self::None => None,
            Self::Repaired(profile) | Self::New(profile) => Some(profile),
        }
    }
}

/// A layer that can be put over its device: nothing was written so far.
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

    /// Returns what [`finish`](Self::finish) writes.
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
